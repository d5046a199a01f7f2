"""Transitivity of a graph: three times its triangles over its paths of two edges.

The direction of edges is ignored. Idea, encoding and sources: see `evener.primitives.triangles`.

Newman, Watts, Strogatz: Random graph models of social networks (2002).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import numpy as np

from evener.primitives.triangle_verification import SimpleEdges
from evener.primitives.triangles import clustering_of
from evener.spec.algorithm import AlgorithmSpec, Column, StateBytes, Traffic
from evener.spec.answer_parts import parts_of
from evener.spec.run import begin
from evener.spec.run_options import driver
from evener.spec.verification import column, fail

if TYPE_CHECKING:
    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph
    from evener.results.result import Result
    from evener.spec.answer import Answer
    from evener.spec.run_options import BasicOptions

__all__ = ["SPEC", "check", "transitivity"]

SPEC = AlgorithmSpec(
    name="transitivity",
    summary="Share of paths of two edges that are part of a triangle.",
    run="evener.algorithms.transitivity:transitivity",
    verify="evener.algorithms.transitivity:check",
    verifies_parts=True,
    row="graph",
    columns=(Column("transitivity", real=True), Column("triangles"), Column("paths")),
    directions="both",
    reads_every_edge=True,
    # As for the clustering coefficient.
    state=StateBytes(8 + 4 + 4 + 4 + 8 + 4 + 8, 8 + 4 + 4),
    host_state=StateBytes(8 + 4 + 4 + 4 + 8 + 4 + 8, 8 + 4 + 4),
    traffic=Traffic(pushed=12.0, pulled=4.0 + 64.0),
    synonyms=("global_clustering_coefficient", "transitivity_undirected"),
)


@driver(SPEC)
def transitivity(graph: Graph | PartitionedGraph | str, **options: Unpack[BasicOptions]) -> Result:
    """Return the transitivity of a graph: the share of its paths of two edges that are part of a triangle.

    Parameters
    ----------
    graph : Graph, PartitionedGraph or str
        Directions, weights, self-loops and repeated edges do not count.

    Returns
    -------
    TableResult
        One row with the columns ``transitivity`` (float64, from 0 to 1; 0 without paths), ``triangles`` and
        ``paths``. ``float(result)`` is the transitivity.

    Examples
    --------
    >>> import evener as ev
    >>> float(ev.transitivity(ev.Graph.from_edges([0, 0, 0, 1], [1, 2, 3, 2], directed=False)))
    0.6
    """
    run = begin(SPEC, graph, options)
    engine = run.engine()
    found = clustering_of(engine, "undirected")
    return run.finish(engine, _row(found.triangles, found.pairs // 2))


def _row(triangles: int, paths: int) -> dict[str, np.ndarray]:
    share = 3 * triangles / paths if paths else 0.0
    return {"transitivity": np.array([share]), "triangles": np.array([triangles]), "paths": np.array([paths])}


def check(answer: Answer) -> None:
    """Raise VerificationError unless triangles counted in another order give the same numbers."""
    parts = parts_of(answer)
    edges = SimpleEdges(parts)
    neighbours, _ = edges.degrees()
    triangles = int(parts.reduce(int(edges.triangles().sum()), "sum")) // 3
    paths = int(parts.reduce(int((neighbours * (neighbours - 1)).sum()), "sum")) // 2
    for name, expected in _row(triangles, paths).items():
        given = column(answer, name, of_vertices=False)
        if given.shape != (1,) or not abs(given[0] - expected[0]) <= 1e-6 * expected[0]:  # refuses NaN
            fail(answer, f"{name} is that of the graph", f"expected {expected[0]}, found {given.tolist()}")
