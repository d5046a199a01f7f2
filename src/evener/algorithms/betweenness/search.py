"""The arrays of the searches of a run, and the supersteps of its timeline."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from evener.engine.engine import Engine, PartitionedArray

__all__ = ["SOURCES_BY_LEVEL", "BetweennessState", "LevelBounds", "Pace"]

# Largest number of sources for which the timeline has a superstep per level, and of supersteps beyond.
SOURCES_BY_LEVEL = 16
RUNS_OF_SOURCES = 1000


class LevelBounds:
    """The begin of each level of a search in a list of vertices, as an array that grows.

    Parameters
    ----------
    engine : Engine
    n : int
        Number of vertices.
    per_call : int
        Largest number of levels in one call.

    Attributes
    ----------
    array : PartitionedArray
        uint64.
    """

    def __init__(self, engine: Engine, n: int, per_call: int) -> None:
        self._engine = engine
        # Long enough for most graphs. A bound per vertex would need 8 bytes more for each vertex.
        self._most = n + 2
        self._capacity = min(2 * per_call, self._most)
        self.array = engine.local_array(self._capacity, "uint64")

    def reserve(self, levels: int, more: int) -> PartitionedArray:
        """Return `array` with room for this many levels and `more` levels of one more call."""
        needed = levels + more + 1
        if self._capacity < min(needed, self._most):
            self._capacity = min(max(2 * self._capacity, needed), self._most)
            self.array = self._engine.lengthen(self.array, self._capacity, kept=levels + 1)
        return self.array


class BetweennessState:
    """The arrays of a run, allocated once for all sources.

    Parameters
    ----------
    engine : Engine
    n : int
        Number of vertices.
    narrow_levels : int
        Largest number of narrow levels in one call.
    centrality : PartitionedArray
        The sums of dependencies of owned vertices.
    """

    def __init__(self, engine: Engine, n: int, narrow_levels: int, centrality: PartitionedArray) -> None:
        self.centrality = centrality
        self.value = engine.array("float64")
        self.arriving = engine.array("float64", 0)
        self.visited, self.frontier, self.arrived = engine.bitmaps(3)
        self.order = engine.owned_array("uint32")
        self._bounds = LevelBounds(engine, n, narrow_levels)
        # Four numbers per narrow level: see `count_paths` of the driver.
        self.levels = engine.local_array(4 * narrow_levels, "float64")

    @property
    def bounds(self) -> PartitionedArray:
        """The begin of each level in `order`."""
        return self._bounds.array

    def bounds_for(self, levels: int, more: int) -> PartitionedArray:
        """Return `bounds` with room for this many levels and `more` levels of one more call."""
        return self._bounds.reserve(levels, more)


class Pace:
    """Begins a superstep at each level or, for many sources, at each run of sources."""

    def __init__(self, engine: Engine, sources: int) -> None:
        self._engine = engine
        self._sources = sources
        self._run = -(-sources // RUNS_OF_SOURCES)
        self._by_level = sources <= SOURCES_BY_LEVEL
        self._done = 0
        self._edges = 0

    def source(self, done: int, edges: int) -> None:
        """Begin the next source, after `done` sources whose searches followed `edges` edges."""
        self._done = done
        if not self._by_level and done % self._run == 0:
            # The edges of the previous run, because the next edges are not known.
            self._engine.superstep("sources", edges=edges - self._edges, fraction=done / self._sources)
            self._edges = edges

    def search(self) -> AbstractContextManager[None]:
        """Return a context in which the supersteps of another search count, if each level has one."""
        return nullcontext() if self._by_level else self._engine.recorder.merged_supersteps()

    def level(self, phase: str, edges: int = 0) -> None:
        """Begin a superstep for a level, if each level has one."""
        if self._by_level:
            self._engine.superstep(phase, edges=edges, fraction=self._done / self._sources)
