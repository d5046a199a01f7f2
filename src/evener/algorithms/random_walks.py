"""Random walks along out-edges, with weights, restarts, and the parameters p and q of node2vec.

Idea and sources: see `evener.primitives.walks`. With W walks of T steps, the work is W times T draws.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from evener.errors import ArgumentError
from evener.graph.checks import is_integral, is_number
from evener.kernels.vertex import NO_VERTEX
from evener.primitives.walks import WalkRules, random_walk_rows
from evener.spec.algorithm import WEIGHTS_OPTION, AlgorithmSpec, Column, Option, StateBytes, Traffic
from evener.spec.arguments import weights_used
from evener.spec.run import begin
from evener.spec.run_options import driver
from evener.spec.verification import count_parameter, fail, vertex_numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph
    from evener.results.result import Result
    from evener.spec.answer import Answer
    from evener.spec.run_options import BasicOptions

__all__ = ["SPEC", "check", "random_walks"]

SPEC = AlgorithmSpec(
    name="random_walks",
    summary="Random walks from vertices.",
    run="evener.algorithms.random_walks:random_walks",
    verify="evener.algorithms.random_walks:check",
    columns=(Column("walk", "vertex"),),
    row="walk",
    options=(
        Option("sources", "vertices", "Vertices to start from (default: all)."),
        Option("length", "int", "Steps of a walk (default 80)."),
        Option("walks_per_vertex", "int", "Walks from each source (default 1)."),
        Option("p", "float", "Return parameter of node2vec (default 1)."),
        Option("q", "float", "In-out parameter of node2vec (default 1)."),
        Option("restart", "float", "Probability of a step to the source (default 0)."),
        WEIGHTS_OPTION,
        Option("seed", "int", "Seed of the generator (default 0)."),
    ),
    directions="out",
    reads_every_edge=False,
    state=StateBytes(8, 0),
    host_state=StateBytes(0, 0),
    traffic=Traffic(0, 0),
    synonyms=("uniform_random_walks", "biased_random_walks", "node2vec_random_walks", "random_walk"),
)

# The largest p and q; the smallest is its inverse.
_LARGEST_BIAS = 1000.0


@driver(SPEC)
def random_walks(
    graph: Graph | PartitionedGraph | str,
    sources: Sequence[Any] | None = None,
    *,
    length: int = 80,
    walks_per_vertex: int = 1,
    p: float = 1.0,
    q: float = 1.0,
    restart: float = 0.0,
    weights: bool | None = None,
    seed: int = 0,
    **options: Unpack[BasicOptions],
) -> Result:
    """Return random walks along out-edges.

    The same seed gives the same walks, whatever the elements, ranks and threads. Elements and ranks divide
    the walks. Each rank needs the whole graph. A GPU needs memory for a copy of all edges, and keeps the
    walks until they are read.

    Parameters
    ----------
    graph : Graph, PartitionedGraph or str
        A repeated edge counts each time. A walk may follow a self-loop.
    sources : sequence of ids, optional
        The first vertices of walks. Default: all vertices.
    length : int, default 80
        The number of steps. A walk ends earlier at a vertex without an out-edge to follow.
    walks_per_vertex : int, default 1
        The walks from each source, which follow each other in the result.
    p, q : float, default 1
        The parameters of node2vec, from 0.001 to 1000. After a step from t to v, a neighbour x of v counts
        1/p times if x is t. It counts once if t has an edge to x, and else 1/q times.
    restart : float, default 0
        The probability that a step leads to the source instead of along an edge: from 0 to 1.
    weights : bool, optional
        Whether an edge is drawn in proportion to its weight. Default: if the graph has weights.
    seed : int, default 0
        At least 0 and below 2^64.

    Returns
    -------
    Result
        ``walk``: ids of shape (walks, length + 1), with -1 or None after the end of a walk. A table has a
        list of ids for each walk. With several ranks, each rank has a part of the walks. The parameter
        ``sources`` is an array of ids, or None for all vertices.

    Raises
    ------
    ArgumentError
        If an argument has a wrong type or value, or if weights are used and one is negative or not finite.
        If each rank has only a part of the graph.
    OutOfMemoryError
        If there is no memory for the walks, or on a GPU for a copy of all edges.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 1, 2], [1, 2, 3])
    >>> ev.random_walks(g, [0, 2], length=3)["walk"].tolist()
    [[0, 1, 2, 3], [2, 3, -1, -1]]
    """
    run = begin(SPEC, graph, options)
    _check_integer("length", length, 1, 2**31)
    _check_integer("walks_per_vertex", walks_per_vertex, 1, 2**31)
    _check_integer("seed", seed, 0, 2**64)
    _check_number("p", p, 1 / _LARGEST_BIAS, _LARGEST_BIAS)
    _check_number("q", q, 1 / _LARGEST_BIAS, _LARGEST_BIAS)
    _check_number("restart", restart, 0.0, 1.0)
    weighted = weights_used(run.graph, weights, "random_walks")
    rules = WalkRules(
        int(length), int(walks_per_vertex), float(p), float(q), float(restart), weighted, int(seed)
    )
    numbers = np.arange(run.graph.n) if sources is None else run.graph.numbers_of(sources)
    engine = run.engine()
    walks, steps = random_walk_rows(engine, numbers.astype(np.uint32), rules)
    listed = None if sources is None else run.graph.ids_of(numbers)
    parameters = {**rules._asdict(), "weights": weighted, "sources": listed}
    del parameters["weighted"]
    return run.finish(engine, {"walk": walks}, parameters=parameters, edges=steps)


def _check_integer(name: str, value: Any, least: int, limit: int) -> None:
    if not is_integral(value) or not least <= value < limit:
        msg = f"{name}=: expected an integer from {least} to below {limit:,}, found {value!r}"
        raise ArgumentError(msg)


def _check_number(name: str, value: Any, least: float, most: float) -> None:
    if not is_number(value) or not least <= value <= most:
        msg = f"{name}=: expected a number from {least:g} to {most:g}, found {value!r}"
        raise ArgumentError(msg)


def check(answer: Answer) -> None:
    """Raise VerificationError unless walks begin at their sources, follow edges, and end at dead ends."""
    graph, parameters = answer.graph, answer.parameters
    walks = vertex_numbers(answer, "walk", of_vertices=False)
    length, each = (count_parameter(answer, name) for name in ("length", "walks_per_vertex"))
    listed = parameters.get("sources")
    sources = np.repeat(np.arange(graph.n) if listed is None else graph.numbers_of(listed), each)
    if walks.ndim != 2 or len(walks) != len(sources) or walks.shape[1] > length + 1:
        fail(answer, "there is a row for each walk", f"shape {walks.shape}, {len(sources)} walks")
    # A table has no places after the end of its longest walk.
    walks = np.pad(walks, ((0, 0), (0, length + 1 - walks.shape[1])), constant_values=NO_VERTEX)
    if (wrong := np.flatnonzero(walks[:, 0] != sources)).size:
        fail(answer, "walks begin at their sources", f"walk {wrong[0]} does not")
    before, after = walks[:, :-1], walks[:, 1:]
    if ((before == NO_VERTEX) & (after != NO_VERTEX)).any():
        fail(answer, "no vertex follows the end of a walk", "a vertex follows an end")
    tails, heads = _usable_edges(graph, weighted=bool(parameters.get("weights")))
    dead = np.ones(graph.n + 1, bool)
    dead[tails] = False
    known = before != NO_VERTEX
    if (((after == NO_VERTEX) & known) != (dead[np.where(known, before, graph.n)] & known)).any():
        fail(answer, "walks end at vertices without an edge to follow, and only there", "a walk does not")
    steps = known & (after != NO_VERTEX)
    if parameters.get("restart"):
        steps &= after != sources[:, None]
    pairs = before[steps].astype(np.uint64) * np.uint64(graph.n) + after[steps]
    edges = tails * np.uint64(graph.n) + heads  # ascending, as the rows of the graph
    if not (np.searchsorted(edges, pairs, "left") < np.searchsorted(edges, pairs, "right")).all():
        fail(answer, "steps follow edges", "a step follows no edge")


def _usable_edges(graph: Graph, *, weighted: bool) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the ends of the edges that a walk may follow."""
    tails = np.repeat(np.arange(graph.n, dtype=np.uint64), graph.out_degree().astype(np.int64))
    heads = graph.targets.astype(np.uint64)
    if weighted and graph.weights is not None:
        kept = graph.weights > 0
        return tails[kept], heads[kept]
    return tails, heads
