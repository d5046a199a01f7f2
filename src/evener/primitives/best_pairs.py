"""The pairs of vertices with the highest scores, of all pairs that are two steps apart. It runs on CPUs.

Idea: the owner of a vertex walks two steps to the ends of all paths. It needs the rows of the neighbours with
the numbers of their targets in the graph, because it may have no mirrors of the ends. The rows are fetched
for batches of vertices, so that they never need more memory than the rows of the partition or the neighbours
of one vertex.

Encoding: `place` uint32, the row of a neighbour among the fetched rows; a heap of the best pairs of each
thread. A thread keeps 12 bytes for each vertex of the graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numba
import numpy as np

from evener.engine.array import PartitionedArray
from evener.kernels.kernel import KernelFile
from evener.primitives import neighbour_rows
from evener.primitives.neighbour_rows import NeighbourRows
from evener.primitives.pair_scores import Measure, weights_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from evener.engine.engine import Engine

__all__ = ["best_pairs"]

kernels = KernelFile(__package__, "best_pairs")


def best_pairs(engine: Engine, k: int, measure: Measure) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the best pairs of vertices with a common neighbour and without an edge.

    This is a collective operation; all ranks must call it, and get the same pairs.

    Returns
    -------
    (ndarray of int64, shape (2, pairs), ndarray of float64, shape (pairs,))
        The numbers of the vertices, the smaller first, and the scores. The highest score is first. Among
        equal scores, smaller numbers are first.
    """
    engine.superstep("rows", active=engine.owned)
    rows = NeighbourRows(engine, oriented=False)
    weights, lengths = weights_of(engine, rows, measure), rows.lengths()
    degree = engine.upload_to_all(_of_all_vertices(engine, lengths))
    threads = numba.get_num_threads()
    best, firsts, seconds = (
        PartitionedArray([part.reshape(threads, k) for part in engine.local_array(threads * k, dtype)])
        for dtype in ("float64", "uint32", "uint32")
    )
    held = PartitionedArray([element.allocate(threads, "uint64", 0) for element in engine.elements])
    engine.superstep("two steps", active=engine.owned)
    for bounds, place, offsets, targets in _neighbourhoods(engine, rows, lengths):
        engine.compute(
            kernels.keep_best, *bounds, rows.offsets, rows.targets, engine.vertices, place, offsets, targets,
            weights, degree, measure.code, best, firsts, seconds, held,
        )  # fmt: skip
    kept = [
        np.column_stack([firsts[p][t, :count], seconds[p][t, :count], best[p][t, :count]])
        for p, counts in enumerate(held)
        for t, count in enumerate(counts)
    ]
    found = np.concatenate(engine.partitioned.world.allgather(np.concatenate(kept)))
    order = np.lexsort((found[:, 1], found[:, 0], -found[:, 2]))[:k]
    return found[order, :2].T.astype(np.int64, order="C"), found[order, 2]


def _of_all_vertices(engine: Engine, lengths: PartitionedArray) -> NDArray[np.uint32]:
    """Return the value of each vertex of the graph."""
    pg = engine.partitioned
    return np.concatenate(pg.world.allgather(pg.gather(lengths.parts)))


def _neighbourhoods(
    engine: Engine, rows: NeighbourRows, lengths: PartitionedArray
) -> Iterator[tuple[list[PartitionedArray], PartitionedArray, PartitionedArray, PartitionedArray]]:
    """Yield owned vertices in batches, the places of their neighbours' rows, and these rows."""
    paths = engine.owned_array("uint64")
    engine.compute(kernels.count_paths, rows.offsets, rows.targets, lengths, paths)
    bounds = [
        neighbour_rows.cut(own, 0, max(len(targets), neighbour_rows.MIN_BATCH))
        if engine.has_mirrors
        else [0, len(own)]
        for own, targets in zip(paths, rows.targets, strict=True)
    ]
    for batch in range(max(map(len, engine.gather(bounds))) - 1):
        parts = [neighbour_rows.part_of(own, batch) for own in bounds]
        near = [
            np.unique(targets[int(offsets[part.start]) : int(offsets[part.stop])])
            for part, offsets, targets in zip(parts, rows.offsets, rows.targets, strict=True)
        ]
        wanted = [vertices[own] for vertices, own in zip(engine.vertices, near, strict=True)]
        fetched, places = rows.fetch(wanted, numbers=True)
        place = engine.array("uint32")
        for own, neighbours, found in zip(place, near, places, strict=True):
            own[neighbours] = found
        ends = [PartitionedArray([getattr(part, end) for part in parts]) for end in ("start", "stop")]
        yield ends, place, fetched.offsets, fetched.targets
