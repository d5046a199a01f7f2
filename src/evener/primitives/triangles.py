"""Triangles: three vertices with an edge between each two of them, from oriented rows of neighbours.

Idea: each triangle is found once, at its vertex of lowest degree, as a common neighbour of this vertex and of
a target of its row. A triangle of three partitions is found where this vertex is owned, and the counts of
mirrors are pushed to their owners.

Encoding: `counts` uint64, for each vertex and mirror.

Schank, Wagner: Finding, counting and listing all triangles in large graphs (2005).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evener.kernels.kernel import KernelFile
from evener.primitives.neighbour_rows import NeighbourRows

if TYPE_CHECKING:
    from evener.engine.array import PartitionedArray
    from evener.engine.engine import Engine

__all__ = ["directed_triangles", "triangle_counts"]

kernels = KernelFile(__package__, "triangles")


def triangle_counts(engine: Engine) -> PartitionedArray:
    """Return the number of triangles of each vertex, uint64; directions and repeated edges do not count.

    This is a collective operation; all ranks must call it. A directed graph must be placed with the edges of
    both directions.
    """
    engine.superstep("orient", active=engine.owned)
    rows = NeighbourRows(engine, oriented=True)
    counts = engine.array("uint64", 0)
    engine.superstep("intersect", active=engine.owned)
    for first, offsets, targets, _ in rows.batches():
        engine.compute(kernels.count_triangles, rows.offsets, rows.targets, first, offsets, targets, counts)
    engine.push(counts, "add")
    return counts


def directed_triangles(engine: Engine, *, opposite: bool) -> PartitionedArray:
    """Return the number of directed triangles of each vertex, uint64; repeated edges do not count.

    This is a collective operation; all ranks must call it. A directed graph must be placed with the edges of
    both directions.

    Parameters
    ----------
    engine : Engine
    opposite : bool
        Whether a triangle counts once for each direction of the edge between the other two vertices.
        Otherwise it counts once for each choice of a direction of its three edges.
    """
    engine.superstep("orient", active=engine.owned)
    rows = NeighbourRows(engine, oriented=True, mutual=True)
    counts = engine.array("uint64", 0)
    engine.superstep("intersect", active=engine.owned)
    own = rows.offsets, rows.targets, rows.mutual
    for batch in rows.batches():
        engine.compute(kernels.count_directed, *own, *batch, opposite, counts)
    engine.push(counts, "add")
    return counts
