"""Triangles: three vertices with an edge between each two of them, from oriented rows of neighbours.

Idea: each triangle is found once, at its vertex of lowest degree, as a common neighbour of this vertex and of
a target of its row. A triangle of three partitions is found where this vertex is owned, and the counts of
mirrors are pushed to their owners.

Encoding: `counts` uint64, for each vertex and mirror.

Schank, Wagner: Finding, counting and listing all triangles in large graphs (2005); Fagiolo: Clustering in
complex directed networks (2007).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from evener.kernels.kernel import KernelFile
from evener.primitives.neighbour_rows import NeighbourRows
from evener.primitives.triangles_cpu import visit_triangles

if TYPE_CHECKING:
    from evener.engine.array import PartitionedArray
    from evener.engine.engine import Engine
    from evener.kernels.kernel import Kernel

__all__ = ["Clustering", "clustering_of", "map_triangles", "triangle_counts", "visit_triangles"]

kernels = KernelFile(__package__, "triangles")


class Clustering(NamedTuple):
    """Triangles, and the pairs of neighbours that may form one.

    Attributes
    ----------
    coefficient : PartitionedArray
        The clustering coefficient of each owned vertex, float64.
    total : float
        The sum of the coefficients of all vertices.
    triangles : int
        The triangles of the graph; -1 if directed triangles were counted.
    pairs : int
        The sum of the pairs of neighbours of all vertices, in both orders.
    """

    coefficient: PartitionedArray
    total: float
    triangles: int
    pairs: int


def triangle_counts(engine: Engine, rows: NeighbourRows | None = None) -> tuple[PartitionedArray, int]:
    """Return the number of triangles of each vertex, uint64, and that of the graph.

    This is a collective operation; all ranks must call it. Directions do not count, and a directed graph must
    be placed with the edges of both directions. `rows` are oriented rows that the caller has; by default,
    they are made here.
    """
    rows = rows or _oriented(engine)
    counts, total = engine.array("uint64", 0), 0
    engine.superstep("intersect", active=engine.owned)
    for first, offsets, targets, _ in rows.batches():
        total += engine.compute(
            kernels.count_triangles, rows.offsets, rows.targets, first, offsets, targets, counts
        )
    engine.push(counts, "add")
    return counts, int(total)


def directed_triangles(engine: Engine, rows: NeighbourRows, *, opposite: bool) -> PartitionedArray:
    """Return the number of directed triangles of each vertex, uint64; repeated edges do not count.

    This is a collective operation; all ranks must call it.

    Parameters
    ----------
    engine : Engine
    rows : NeighbourRows
        Oriented rows with `mutual`.
    opposite : bool
        Whether a triangle counts once for each direction of the edge between the other two vertices.
        Otherwise it counts once for each choice of a direction of its three edges.
    """
    counts = engine.array("uint64", 0)
    engine.superstep("intersect", active=engine.owned)
    owned = rows.offsets, rows.targets, rows.mutual
    for batch in rows.batches():
        engine.compute(kernels.count_directed, *owned, *batch, opposite, counts)
    engine.push(counts, "add")
    return counts


def map_triangles(engine: Engine, rows: NeighbourRows, kernel: Kernel, *arguments: Any) -> None:
    """Run a kernel on all triangles: with CPUs one from `visit_triangles`, with GPUs one of "triangles.cuh".

    This is a collective operation; all ranks must call it. The element that owns the vertex of lowest degree
    has a triangle. Its other two vertices may be mirrors.

    Parameters
    ----------
    engine : Engine
    rows : NeighbourRows
        Oriented rows.
    kernel : Kernel
    *arguments
        The arguments of the kernel after the rows.
    """
    for first, offsets, targets, _ in rows.batches():
        engine.compute(kernel, rows.offsets, rows.targets, first, offsets, targets, *arguments)


def clustering_of(engine: Engine, kind: Literal["undirected", "directed", "neighbours"]) -> Clustering:
    """Return the clustering coefficients.

    This is a collective operation; all ranks must call it. A directed graph must be placed with the edges of
    both directions.

    Parameters
    ----------
    engine : Engine
    kind : {"undirected", "directed", "neighbours"}
        "undirected" ignores directions: the share of a vertex's pairs of neighbours with an edge. "directed"
        is the share of directed triangles, of all that the links of a vertex may form (Fagiolo 2007).
        "neighbours" is the share of directed edges between neighbours, as in LDBC Graphalytics.
    """
    directions = engine.partitioned.graph.directed
    rows = _oriented(engine, mutual=directions)
    mutual = engine.array("uint32", 0)
    if directions:
        engine.compute(kernels.count_mutual, rows.offsets, rows.targets, rows.mutual, mutual)
        engine.push(mutual, "add")
    if directions and kind != "undirected":
        counts, factor, triangles = directed_triangles(engine, rows, opposite=kind == "neighbours"), 1, -1
    else:
        (counts, triangles), factor = triangle_counts(engine, rows), 2
    coefficient = engine.owned_array("float64")
    total, pairs = engine.compute(
        kernels.coefficients,
        rows.links(),
        mutual,
        counts,
        factor,
        directions and kind == "directed",
        coefficient,
    )
    return Clustering(coefficient, float(total), triangles, int(pairs))


def _oriented(engine: Engine, *, mutual: bool = False) -> NeighbourRows:
    engine.superstep("orient", active=engine.owned)
    return NeighbourRows(engine, oriented=True, mutual=mutual)
