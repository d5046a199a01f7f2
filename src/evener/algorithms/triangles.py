"""Triangles of each vertex: pairs of its neighbours that are neighbours of each other.

Idea, encoding and sources: see `evener.primitives.triangles`. With m edges, the work is at most m times the
square root of m.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import numpy as np

from evener.primitives.triangle_verification import SimpleEdges
from evener.primitives.triangles import triangle_counts
from evener.spec.algorithm import AlgorithmSpec, Column, StateBytes, Traffic
from evener.spec.answer_parts import parts_of
from evener.spec.run import begin
from evener.spec.run_options import driver

if TYPE_CHECKING:
    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph
    from evener.results.result import Result
    from evener.spec.answer import Answer
    from evener.spec.run_options import BasicOptions

__all__ = ["SPEC", "check", "triangles"]

SPEC = AlgorithmSpec(
    name="triangles",
    summary="Triangles of each vertex.",
    run="evener.algorithms.triangles:triangles",
    verify="evener.algorithms.triangles:check",
    verifies_parts=True,
    columns=(Column("triangles"),),
    directions="both",
    reads_every_edge=True,
    # Triangles, degree, and the length and the offset of a row; mirrors have no row.
    state=StateBytes(8 + 4 + 4 + 8, 8 + 4),
    host_state=StateBytes(8 + 4 + 4 + 8, 8 + 4),
    # The degrees of mirrors, their rows, and their triangles.
    traffic=Traffic(pushed=8.0, pulled=4.0 + 64.0),
    synonyms=(
        "triangle_count",
        "triangle_counting",
        "count_triangles",
        "adjacent_triangles",
        "list_triangles",
    ),
)


@driver(SPEC)
def triangles(graph: Graph | PartitionedGraph | str, **options: Unpack[BasicOptions]) -> Result:
    """Return the number of triangles of every vertex, ignoring the direction of edges.

    Parameters
    ----------
    graph : Graph, PartitionedGraph or str
        Weights, self-loops and repeated edges do not count.

    Returns
    -------
    Result
        ``triangles``: int64, shape (n,). `outcome` has the number of ``triangles`` of the graph.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 0, 1, 2], [1, 2, 2, 3], directed=False)
    >>> r = ev.triangles(g)
    >>> r["triangles"].tolist(), r.outcome["triangles"]
    ([1, 1, 1, 0], 1)
    """
    run = begin(SPEC, graph, options)
    engine = run.engine()
    counts, total = triangle_counts(engine)
    gather = engine.partitioned.gather
    arrays = {"triangles": lambda: gather(counts.parts).astype(np.int64)}
    return run.finish(engine, arrays, outcome={"triangles": total})


def check(answer: Answer) -> None:
    """Raise VerificationError unless triangles counted in another order give the same numbers."""
    parts = parts_of(answer)
    counted = parts.column("triangles")
    expected = SimpleEdges(parts).triangles()
    parts.require(
        expected == counted,
        "each vertex has its triangles",
        lambda v: (
            f"vertex {parts.id(v)} has {parts.at(counted, v)} triangles, expected {parts.at(expected, v)}"
        ),
    )
