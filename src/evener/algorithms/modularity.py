"""Modularity: how much of the weight is inside communities, compared with a random graph of equal strengths.

The strength of a vertex is the sum of the weights of its edges, where a self-loop of an undirected graph
counts twice. In an undirected graph of weight m, a community with the weight L inside and the strength d
adds L / m - resolution (d / 2m)^2. In a directed graph, the square is the product of the strengths of
out-edges and of in-edges over m^2. The modularity is the sum over all communities, as in NetworkX.

Newman: Networks, an introduction (2010); Leicht, Newman: Community structure in directed networks (2008).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from evener.engine.array import PartitionedArray
from evener.errors import ArgumentError
from evener.graph.checks import is_number
from evener.primitives.exact_weights import exact_weights
from evener.primitives.label_sums import LabelSums, engine_on
from evener.spec.algorithm import WEIGHTS_OPTION, AlgorithmSpec, Column, Option, StateBytes, Traffic
from evener.spec.answer_parts import parts_of
from evener.spec.arguments import weights_used
from evener.spec.run import begin
from evener.spec.run_options import driver
from evener.spec.verification import column, fail
from evener.spec.verification_communities import modularity_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph
    from evener.results.result import Result
    from evener.spec.answer import Answer
    from evener.spec.run_options import BasicOptions

__all__ = ["SPEC", "check", "checked_resolution", "modularity"]

SPEC = AlgorithmSpec(
    name="modularity",
    summary="The modularity of given communities.",
    run="evener.algorithms.modularity:modularity",
    verify="evener.algorithms.modularity:check",
    verifies_parts=True,
    row="graph",
    columns=(Column("modularity", real=True),),
    options=(
        Option("communities", "vertex_values", "A number for each vertex: ID=NUMBER, or a table."),
        Option("resolution", "float", "Factor of the expected weight inside communities (default 1)."),
        WEIGHTS_OPTION,
    ),
    directions="both",
    reads_every_edge=True,
    state=StateBytes(52, 8),
    host_state=StateBytes(24, 8),
    traffic=Traffic(pushed=0.0, pulled=4.0),
)


@driver(SPEC)
def modularity(
    graph: Graph | PartitionedGraph | str,
    communities: Any = None,
    *,
    resolution: float = 1.0,
    weights: bool | None = None,
    **options: Unpack[BasicOptions],
) -> Result:
    """Return the modularity of communities.

    Parameters
    ----------
    graph : Graph, PartitionedGraph or str
        Self-loops and repeated edges count as in NetworkX.
    communities : array of shape (n,), or mapping of id to number, optional
        The community of each vertex, in the order of the ids: numbers or strings. With several ranks, all
        ranks give all communities. Default: each vertex is a community.
    resolution : float, default 1
        The factor of the expected weight inside communities. With more than 1, small communities have a
        higher modularity.
    weights : bool, optional
        Whether edges have their weights; otherwise each edge weighs 1. Default: if the graph has weights.

    Returns
    -------
    Result
        ``modularity``: a number, from -resolution to 1; also ``float(result)``. It is 0 for a graph without
        edges.

    Raises
    ------
    ArgumentError
        Unless each vertex has one community. If a weight is negative or infinite.

    Notes
    -----
    Weights that are no integers are rounded to 50 bits of their sum, so that the result does not depend on
    the split of the graph.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 0, 1, 2, 3, 3, 4], [1, 2, 2, 3, 4, 5, 5], directed=False)
    >>> round(float(ev.modularity(g, [0, 0, 0, 1, 1, 1])), 4)
    0.3571
    """
    factor = checked_resolution(resolution)
    run = begin(SPEC, graph, options)
    weighted = weights_used(run.graph, weights, "modularity")
    label = numbers_of_communities(run.graph, communities)
    pg = run.place()
    engine = run.engine()
    engine.superstep("sum", active=engine.owned, edges=pg.graph.m)
    sums = LabelSums(
        engine_on(engine, exact_weights(pg, used=weighted)), weighted=weighted, resolution=factor
    )
    sums.begin(PartitionedArray(pg.scatter(label)))
    found = np.array([sums.modularity()])
    given = {"communities": communities, "resolution": factor, "weights": weighted}
    return run.finish(engine, {"modularity": found}, parameters=given)


def checked_resolution(resolution: Any) -> float:
    """Return the resolution; raise `ArgumentError` unless it is a finite number of at least 0."""
    if not is_number(resolution) or not 0 <= resolution < np.inf:
        msg = f"resolution=: expected a finite number of at least 0, found {resolution!r}"
        raise ArgumentError(msg)
    return float(resolution)


def numbers_of_communities(graph: Graph, communities: Any) -> NDArray[np.uint32]:
    """Return a number below n for the community of each vertex.

    Raises
    ------
    ArgumentError
        Unless there is one community for each vertex.
    """
    if communities is None:
        return np.arange(graph.n, dtype=np.uint32)
    if hasattr(communities, "items"):
        values = np.array(list(communities.values()))
        numbers = graph.numbers_of(list(communities))
        if len(np.unique(numbers)) != graph.n:
            msg = f"communities=: expected each of {graph.n:,} vertices, found {len(np.unique(numbers)):,}"
            raise ArgumentError(msg)
        given = np.empty(graph.n, values.dtype)
        given[numbers] = values
    else:
        given = np.asarray(communities)
    if given.shape != (graph.n,):
        msg = f"communities=: expected one per vertex, shape ({graph.n},), found {given.shape}"
        raise ArgumentError(msg)
    if given.dtype.kind not in "biufUSOT" or (given.dtype.kind == "f" and np.isnan(given).any()):
        msg = f"communities=: expected numbers or strings, found {given.dtype}"
        raise ArgumentError(msg)
    return np.unique(given, return_inverse=True)[1].astype(np.uint32)


def check(answer: Answer) -> None:
    """Raise VerificationError unless the modularity is that of the communities."""
    parts = parts_of(answer)
    values = column(answer, "modularity", of_vertices=False)
    weighted = weights_used(parts.graph, answer.parameters.get("weights"), "modularity")
    resolution = checked_resolution(answer.parameters.get("resolution", 1.0))
    label = numbers_of_communities(parts.graph, answer.parameters.get("communities"))
    block = label[parts.block.start : parts.block.stop]
    expected = modularity_of(parts, block, resolution=resolution, weighted=weighted)
    if values.shape != (1,) or not abs(values[0] - expected) <= 1e-9 * (1 + resolution):
        fail(answer, "the modularity of the communities", f"found {values}, expected {expected:.12g}")
