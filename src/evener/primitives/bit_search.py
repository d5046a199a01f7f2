"""Searches from up to 64 sources at once, with one bit for each.

Idea: a word of a vertex has the bits of the searches that have seen it. In each level, a vertex takes the
bits that its in-neighbours got in the last level. A row is read once for all searches, and left early when no
search is missing. A search that reached no vertex in the last level is over, and misses nothing. While few
vertices are new, only their out-neighbours look at their in-neighbours.

Encoding: uint64 words for each vertex and mirror. `frontier` has the searches that reached a vertex in the
last level, and `changed` flags the vertices whose word is not 0; `seen` has all searches that reached it.

Then, Kaufmann, Chirigati et al.: The more the merrier: efficient multi-source graph traversal (2014).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evener.kernels.kernel import KernelFile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from evener.engine.array import PartitionedArray
    from evener.engine.engine import Engine

__all__ = ["WIDTH", "BitSearch", "Level"]

kernels = KernelFile(__package__, "bit_search")

# The largest number of searches at once.
WIDTH = 64
# Reading the rows of all vertices costs as much as this share of their edges from few vertices.
_FEW = 16


class Level(NamedTuple):
    """The vertices that searches reach with the same distance.

    Attributes
    ----------
    distance : int
        1 or more.
    changed : PartitionedArray
        A bitmap of the owned vertices that a search reached.
    reached : PartitionedArray
        For each vertex, the bits of the searches that reached it, uint64; 0 for other vertices.
    """

    distance: int
    changed: PartitionedArray
    reached: PartitionedArray


class BitSearch:
    """Breadth-first searches along the edges of a placed graph, which must have the edges of both directions.

    Parameters
    ----------
    engine : Engine

    Attributes
    ----------
    seen : PartitionedArray
        For each owned vertex, the searches that have reached it, uint64. A caller may exchange it for another
        array, to keep the searches of a run.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._words = [engine.array("uint64", 0) for _ in range(2)]
        self._flags = engine.bitmaps(3)
        self.seen = engine.owned_array("uint64")

    def run(self, sources: NDArray[np.integer], *, backward: bool = False) -> Iterator[Level]:
        """Yield the levels of the searches from up to 64 vertices, given their numbers without repeats.

        This is a collective operation; all ranks must call it, and take all levels. The search from
        ``sources[k]`` has bit ``k`` of the numbers in ascending order. With `backward`, searches follow edges
        from head to tail.
        """
        engine = self._engine
        frontier, arriving = self._words
        changed, next_changed, candidates = self._flags
        going = np.uint64(2 ** len(sources) - 1)
        numbers = engine.upload_to_all(np.sort(sources).astype(np.uint32))
        engine.compute(
            kernels.begin_searches, engine.vertices, numbers, frontier, arriving, self.seen, *self._flags
        )
        ahead, behind = (engine.in_, engine.out) if backward else (engine.out, engine.in_)
        in_offsets, in_targets, _ = behind
        offsets, targets, _ = ahead
        edges = engine.compute(kernels.mark_sources, offsets, changed, frontier)
        distance, limit = 0, engine.partitioned.graph.m // _FEW
        while edges:
            distance += 1
            few = edges < limit
            if few:
                engine.compute(kernels.mark_neighbours, offsets, targets, changed, candidates)
                engine.push(candidates, "or")
            engine.pull(frontier, changed=changed)
            _, counts, arrived = engine.compute(
                kernels.take_bits, not few, going, offsets, in_offsets, in_targets, candidates, frontier,
                self.seen, arriving, next_changed, count_next_active=True, reduce=list,
            )  # fmt: skip
            edges, going = sum(counts), np.bitwise_or.reduce(np.array(arrived, np.uint64))
            engine.compute(kernels.clear_words, changed, frontier)
            frontier, arriving = arriving, frontier
            changed, next_changed = next_changed, changed
            if going:
                yield Level(distance, changed, frontier)
