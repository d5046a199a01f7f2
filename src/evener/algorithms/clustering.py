"""Clustering coefficient of each vertex: the share of pairs of its neighbours that have an edge.

In a directed graph, it is the share of the directed triangles that the edges of the vertex may form. LDBC's
local clustering coefficient is the share of directed edges among the neighbours. Idea, encoding and sources:
see `evener.primitives.triangles`.

Watts, Strogatz: Collective dynamics of 'small-world' networks (1998); Fagiolo: Clustering in complex directed
networks (2007); Iosup et al.: The LDBC Graphalytics benchmark (2020).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from evener.errors import ArgumentError
from evener.primitives.triangle_verification import SimpleEdges
from evener.primitives.triangles import clustering_of
from evener.spec.algorithm import AlgorithmSpec, Column, Option, StateBytes, Traffic
from evener.spec.answer_parts import parts_of
from evener.spec.run import begin
from evener.spec.run_options import driver

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph
    from evener.results.result import Result
    from evener.spec.answer import Answer
    from evener.spec.run_options import BasicOptions

__all__ = ["SPEC", "check", "clustering"]

SPEC = AlgorithmSpec(
    name="clustering",
    summary="Clustering coefficient of each vertex.",
    run="evener.algorithms.clustering:clustering",
    verify="evener.algorithms.clustering:check",
    verifies_parts=True,
    columns=(Column("clustering", real=True),),
    options=(
        Option(
            "semantics",
            "str",
            "networkx (default) or graphalytics (edges among neighbours in a directed graph).",
            choices=("networkx", "graphalytics"),
        ),
    ),
    directions="both",
    reads_every_edge=True,
    # Triangles, degree, mutual neighbours, links, coefficient, and the length and the offset of a row.
    state=StateBytes(8 + 4 + 4 + 4 + 8 + 4 + 8, 8 + 4 + 4),
    host_state=StateBytes(8 + 4 + 4 + 4 + 8 + 4 + 8, 8 + 4 + 4),
    # The degrees of mirrors, their rows, their triangles and mutual neighbours.
    traffic=Traffic(pushed=12.0, pulled=4.0 + 64.0),
    graphalytics=("clustering", "epsilon"),
    synonyms=("clustering_coefficient", "local_clustering_coefficient", "lcc", "average_clustering"),
)


@driver(SPEC)
def clustering(
    graph: Graph | PartitionedGraph | str,
    *,
    semantics: str = "networkx",
    **options: Unpack[BasicOptions],
) -> Result:
    """Return the clustering coefficient of every vertex.

    In an undirected graph, it is the share of pairs of neighbours with an edge. In a directed graph, it is
    the share of directed triangles, of all that the edges of the vertex may form.

    Parameters
    ----------
    graph : Graph, PartitionedGraph or str
        Weights, self-loops and repeated edges do not count.
    semantics : {"networkx", "graphalytics"}, default "networkx"
        "graphalytics" is LDBC's coefficient: in a directed graph, the number of directed edges among the d
        neighbours, over d (d - 1). A neighbour in both directions counts once.

    Returns
    -------
    Result
        ``clustering``: float64, shape (n,), from 0 to 1; 0 for vertices with less than two neighbours.
        `outcome` has the ``average`` of all vertices.

    Raises
    ------
    ArgumentError
        If `semantics` is another word.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 0, 0, 1], [1, 2, 3, 2], directed=False)
    >>> ev.clustering(g)["clustering"].round(2).tolist()
    [0.33, 1.0, 1.0, 0.0]
    """
    if semantics not in ("networkx", "graphalytics"):
        msg = f'semantics=: expected "networkx" or "graphalytics", found {semantics!r}'
        raise ArgumentError(msg)
    run = begin(SPEC, graph, options)
    engine = run.engine()
    found = clustering_of(engine, "neighbours" if semantics == "graphalytics" else "directed")
    return run.finish(
        engine,
        {"clustering": found.coefficient},
        parameters={"semantics": semantics},
        outcome={"average": found.total / max(1, engine.partitioned.graph.n)},
    )


def check(answer: Answer) -> None:
    """Raise VerificationError unless triangles counted in another order give the same coefficients."""
    parts = parts_of(answer)
    given = parts.column("clustering")
    expected = _expected(SimpleEdges(parts), answer.parameters.get("semantics", "networkx"))
    parts.require(
        np.abs(given - expected) <= 1e-6 * expected,
        "the coefficient is the share of triangles",
        lambda v: f"vertex {parts.id(v)} has {parts.at(given, v)}, expected {parts.at(expected, v)}",
    )


def _expected(edges: SimpleEdges, semantics: str) -> NDArray[Any]:
    """Return the coefficients of this rank's vertices."""
    neighbours, mutual = edges.degrees()
    if not edges.directed:
        count, pairs = 2.0 * edges.triangles(), neighbours * (neighbours - 1)
    elif semantics == "graphalytics":
        count, pairs = edges.triangles("opposite") * 1.0, neighbours * (neighbours - 1)
    else:
        links = neighbours + mutual
        count, pairs = edges.triangles("directions") * 1.0, links * (links - 1) - 2 * mutual
    shares: NDArray[Any] = np.divide(count, pairs, out=np.zeros(len(pairs)), where=pairs > 0)
    return shares
