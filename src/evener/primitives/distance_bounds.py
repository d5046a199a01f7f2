"""Bounds of the eccentricity of each vertex, which searches from few vertices tighten.

Idea: the eccentricity of a source, and the distance of a vertex to it, bound that of the vertex. Central
sources lower the upper bounds, and remote sources raise the lower bounds, so each batch has both. In a
directed graph, a source bounds the vertices of its strong component from above. Other vertices take the
largest bound of their out-neighbours, plus one.

Encoding: `lower` and `upper` uint32; `together` uint64, the sources that reach a vertex in the batch.

Takes, Kosters: Computing the eccentricity distribution of large graphs (2013); Borassi et al.: Fast diameter
and radius BFS-based computation in (weakly connected) real-world graphs (2015).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evener.engine.checkpoints.state import Bounded
from evener.kernels.kernel import KernelFile
from evener.primitives.bit_search import WIDTH, BitSearch
from evener.spec.algorithm import StateBytes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.engine.checkpoints.checkpoints import Checkpoints
    from evener.engine.engine import Engine

__all__ = ["HOST_STATE", "STATE", "EccentricityBounds"]

kernels = KernelFile(__package__, "distance_bounds")
few_searches = KernelFile(__package__, "few_searches")

# Two words, two arrays of words seen, two bounds, degrees; three bitmaps. On one CPU, distances and a queue.
STATE = StateBytes(8 + 8 + 8 + 8 + 4 + 4 + 4 + 4 + 3, 8 + 8 + 4 + 3)
HOST_STATE = StateBytes(8 + 8 + 8 + 8 + 4 + 4 + 2, 8 + 8 + 4)
# Larger bounds and degrees are equal in the order of sources.
_MOST_BOUND, _MOST_DEGREE = 2**20 - 1, 2**12 - 1
# An odd number, to draw among equal vertices by a multiplicative hash (Knuth: TAOCP 3, 6.4).
_MIX = np.uint32(2654435761)
# Sources of the first batch. Each batch has twice as many as the last one, up to 64.
_FIRST = 1
# Most sources of a batch for the diameter of an undirected graph with long distances. Searches over long
# paths share few rows. Distances are long if a level has fewer stored edges than `_LEVEL` on average.
_FEW, _LEVEL = 2, 80_000
# Most supersteps of a run, each for consecutive batches.
_SUPERSTEPS = 1000


class _Candidates(NamedTuple):
    """Vertices of a partition and their places in an order of sources, best first."""

    numbers: NDArray[np.uint32]
    keys: NDArray[np.uint64]


class EccentricityBounds:
    """Lower and upper bounds of the eccentricity of each vertex of a graph with the edges of both directions.

    The constructor and the methods are collective operations; all ranks must call them.

    Parameters
    ----------
    engine : Engine

    Attributes
    ----------
    lower, upper : PartitionedArray
        uint32; `upper` also for mirrors.
    searches : int
        The number of sources so far.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine, self._search = engine, BitSearch(engine)
        self._together = engine.owned_array("uint64", 0)
        self.lower, self.upper, self.searches = engine.owned_array("uint32"), engine.array("uint32"), 0
        self._n, self._directed = engine.partitioned.graph.n, engine.partitioned.graph.directed
        engine.compute(kernels.begin_bounds, engine.out[0], max(self._n - 1, 0), self.lower, self.upper)
        self._degrees = [
            np.minimum(np.diff(offsets), _MOST_DEGREE).astype(np.uint16)
            for offsets in engine.download(engine.out[0])
        ]
        self._few = False  # whether batches have few sources
        # Distances and a queue, for searches on the only element.
        queued = engine.single and engine.elements[0].kind == "cpu" and not self._directed
        self._temporary = [engine.owned_array("uint32") for _ in range(2)] if queued else []
        if self._directed:
            self._bound_by_neighbours()

    def tighten(self, checkpoints: Checkpoints, *, only_largest: bool, most: int | None = None) -> bool:
        """Search until the bounds of all vertices are equal, and return true.

        Parameters
        ----------
        checkpoints : Checkpoints
            Open checkpoints of the run.
        only_largest : bool
            Whether to stop when no upper bound is larger than the largest lower bound.
        most : int, optional
            The number of searches after which to stop. The result is then false, unless the bounds are equal.
        """
        engine, batches = self._engine, 0
        bounds = {"lower": Bounded(self.lower, 0, self._n), "upper": Bounded(self.upper, 0, self._n)}
        each = -(-self._n // (WIDTH * _SUPERSTEPS))
        while True:
            self.searches, batches = checkpoints.step(bounds, self.searches, batches)
            if checkpoints.restored:
                checkpoints.require(0 <= self.searches <= self._n, f"at most {self._n} searches")
            longest = self._longest() if only_largest else 0
            self._few = not self._directed and longest * _LEVEL > engine.partitioned.graph.m
            width = min(_FIRST << batches, _FEW if self._few else WIDTH)
            if most is not None:
                width = min(width, most - self.searches)
            sources, left = self._choose(width, longest)
            if not left or not width:
                return not left
            if batches % each == 0:
                engine.superstep("search", active=engine.owned, fraction=1 - left / self._n)
            if self._temporary and (self._few or not batches):
                for source in sources.tolist():
                    self._search_single(source)
            else:
                self._search_from(sources)
            self.searches, batches = self.searches + len(sources), batches + 1

    def largest_lower(self) -> tuple[int, int]:
        """Return the largest lower bound, and the first vertex that has it, of a graph with vertices."""
        engine = self._engine
        parts = zip(engine.download(self.lower), engine.download(engine.vertices), strict=True)
        found = [
            (-int(low.max()), int(numbers[: len(low)][low == low.max()].min()))
            for low, numbers in parts
            if len(low)
        ]
        bound, vertex = min(one for own in engine.partitioned.world.allgather(found) for one in own)
        return -bound, vertex

    def largest_upper(self) -> int:
        """Return the largest upper bound of a vertex."""
        of_partitions = [int(high.max(initial=0)) for _, high in self._bounds()]
        return max(self._engine.gather(of_partitions))

    def farthest(self, source: int) -> tuple[int, int]:
        """Return the eccentricity of a vertex and the first vertex at this distance. Bounds may be lost."""
        engine = self._engine
        if self._temporary and self._few:
            return self._search_single(source)
        engine.compute(kernels.begin_bounds, engine.out[0], 0, self.lower, self.upper)
        none = engine.upload_to_all(np.zeros(WIDTH, np.uint32))
        self._together = engine.owned_array("uint64", 0)
        for level in self._search.run(np.array([source])):
            engine.compute(
                kernels.tighten, level.distance, 0, level.changed, level.reached, self._together, none,
                self.lower, self.upper,
            )  # fmt: skip
        distance, vertex = self.largest_lower()
        return (distance, vertex) if distance else (0, source)

    def _search_single(self, source: int) -> tuple[int, int]:
        """Tighten the bounds by a search on the only element.

        Return the eccentricity of the source, and the first vertex at this distance.
        """
        engine = self._engine
        offsets, targets, _ = engine.out
        distance, vertex = engine.compute(
            few_searches.search, offsets, targets, engine.vertices, engine.at_vertex(source),
            *self._temporary, self.lower, self.upper,
        )  # fmt: skip
        return int(distance), int(vertex)

    def _search_from(self, sources: NDArray[np.uint32]) -> None:
        """Tighten the bounds by searches from up to 64 vertices: along edges, then against them."""
        engine, search = self._engine, self._search
        last = engine.upload([np.zeros(WIDTH, np.uint32) for _ in engine.elements])
        for level in search.run(sources):
            engine.compute(kernels.write_last, level.distance, level.changed, level.reached, last)
        found = np.max(engine.gather(engine.download(last)), axis=0)
        search.seen, self._together = self._together, search.seen
        eccentricity = engine.upload_to_all(found)
        for level in search.run(sources, backward=True):
            engine.compute(
                kernels.tighten, level.distance, not self._directed, level.changed, level.reached,
                self._together, eccentricity, self.lower, self.upper,
            )  # fmt: skip
        numbers = engine.upload_to_all(np.sort(sources))
        engine.compute(kernels.settle_sources, engine.vertices, numbers, eccentricity, self.lower, self.upper)
        if self._directed:
            self._bound_by_neighbours()

    def _bound_by_neighbours(self) -> None:
        engine, fell = self._engine, 1
        offsets, targets, _ = engine.out
        while fell:
            engine.pull(self.upper)
            fell = engine.compute(kernels.bound_by_neighbours, offsets, targets, self.lower, self.upper)

    def _bounds(self) -> list[tuple[NDArray[np.uint32], NDArray[np.uint32]]]:
        """Return the lower and upper bounds of the owned vertices of each partition."""
        pairs = zip(self._engine.download(self.lower), self._engine.download(self.upper), strict=True)
        return [(low, high[: len(low)]) for low, high in pairs]

    def _longest(self) -> int:
        """Return the largest lower bound of a vertex."""
        return max(self._engine.gather([int(low.max(initial=0)) for low, _ in self._bounds()]))

    def _choose(self, width: int, floor: int) -> tuple[NDArray[np.uint32], int]:
        """Return up to `width` sources, and how many vertices have bounds that are too far apart.

        Vertices whose upper bound is at most `floor` do not count. The first half has the largest upper
        bounds, the second half the smallest lower bounds. Among equals, vertices with many edges come first.
        """
        engine = self._engine
        bounds = self._bounds()
        proposals: list[tuple[int, _Candidates, _Candidates]] = []
        parts = zip(bounds, engine.download(engine.vertices), self._degrees, strict=True)
        for (low, high), numbers, degrees in parts:
            left = np.flatnonzero(high > np.maximum(low, floor))
            number = numbers[left]
            tie = degrees[left].astype(np.uint64) << np.uint64(32) | number * _MIX
            far, near = (np.minimum(bound[left], _MOST_BOUND).astype(np.uint64) for bound in (high, low))
            by_upper, by_lower = (
                _best(number, bound << np.uint64(44) | tie) for bound in (far, np.uint64(_MOST_BOUND) - near)
            )
            proposals.append((len(left), by_upper, by_lower))
        counts, remote_parts, central_parts = zip(*engine.gather(proposals), strict=True)
        remote, central = _merged(remote_parts), _merged(central_parts)
        first = remote.numbers[: (width + 1) // 2]
        second = central.numbers[~np.isin(central.numbers, first)]
        return np.concatenate([first, second])[:width], sum(counts)


def _best(numbers: NDArray[np.uint32], keys: NDArray[np.uint64]) -> _Candidates:
    """Return up to 64 vertices with the largest keys, in descending order of these."""
    if len(keys) > WIDTH:
        best = np.argpartition(keys, len(keys) - WIDTH)[len(keys) - WIDTH :]
        numbers, keys = numbers[best], keys[best]
    order = np.argsort(keys)[::-1]
    return _Candidates(numbers[order], keys[order])


def _merged(parts: tuple[_Candidates, ...]) -> _Candidates:
    return _best(np.concatenate([p.numbers for p in parts]), np.concatenate([p.keys for p in parts]))
