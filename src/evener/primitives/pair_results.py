"""Runs of algorithms that score pairs of vertices, and the verification of their results."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_matrix

from evener.errors import ArgumentError
from evener.graph.checks import is_integral
from evener.partition.block_exchange import block_bounds
from evener.primitives.best_pairs import best_pairs
from evener.primitives.neighbour_rows import cut
from evener.primitives.pair_scores import Measure, score_pairs
from evener.spec.algorithm import AlgorithmSpec, Column, Option, StateBytes, Traffic
from evener.spec.run import begin
from evener.spec.verification import column, count_parameter, fail, first_true, vertex_numbers

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph
    from evener.results.result import Result
    from evener.spec.answer import Answer
    from evener.spec.run_options import BasicOptions

__all__ = ["check_pairs", "pair_spec", "run_on_pairs"]

# Neighbours that a verifier compares at once.
_PIECE = 1 << 22


def pair_spec(name: str, summary: str, *, real: bool = True, synonyms: tuple[str, ...] = ()) -> AlgorithmSpec:
    """Return the spec of an algorithm that scores pairs."""
    return AlgorithmSpec(
        name=name,
        summary=summary,
        run=f"evener.algorithms.{name}:{name}",
        verify=f"evener.algorithms.{name}:check",
        verified_scope="evener.primitives.pair_results:scope",
        row="pair",
        columns=(Column("first", "vertex"), Column("second", "vertex"), Column(name, real=real)),
        options=(
            Option("pairs", "vertices", "Two ids for each pair (default: the best of all pairs)."),
            Option("k", "int", "Number of the best pairs, without --pairs (default 100)."),
        ),
        directions="both",
        reads_every_edge=True,
        # The degree, the length and the offset of a row, and a weight.
        state=StateBytes(4 + 4 + 8 + 8, 4 + 8),
        host_state=StateBytes(4 + 4 + 8, 4),
        # The lengths of mirrors, and rows of the ends of pairs.
        traffic=Traffic(pushed=0.0, pulled=8.0),
        synonyms=synonyms,
    )


def run_on_pairs(
    spec: AlgorithmSpec,
    measure: Measure,
    graph: Graph | PartitionedGraph | str,
    pairs: ArrayLike | None,
    k: int,
    options: BasicOptions,
) -> Result:
    """Return the scores of given pairs, or the best `k` of all pairs two steps apart.

    This is a collective operation; all ranks must call it, and have the results of some pairs.
    """
    if not is_integral(k) or k < 1:
        msg = f"k=: expected an integer of at least 1, found {k!r}"
        raise ArgumentError(msg)
    run = begin(spec, graph, options)
    if pairs is None:
        run.place(replace(spec, kinds=("cpu",)))
        engine = run.engine()
        ends, scores = best_pairs(engine, int(k), measure)
    else:
        # A copy with the ends of all pairs in a row each. The caller may change `pairs`.
        ends = np.array(_numbers_of(run.graph, pairs).T, order="C")
        engine = run.engine()
        scores = score_pairs(engine, ends, measure)
    world = engine.partitioned.world
    block = slice(*block_bounds(len(ends[0]), world.size)[world.rank : world.rank + 2])
    if pairs is None:
        scores = scores[block]
    if not spec.columns[-1].real:
        scores = scores.astype(np.int64)
    parameters = {"k": int(k)} if pairs is None else {}
    arrays = {"first": ends[0, block], "second": ends[1, block], spec.name: scores}
    return run.finish(engine, arrays, parameters=parameters)


def _numbers_of(graph: Graph, pairs: Any) -> NDArray[np.int64]:
    """Return the numbers of the vertices of pairs, of shape (pairs, 2)."""
    if graph.has_object_ids and not isinstance(pairs, np.ndarray):
        found = list(pairs)
        ids: Any = [vertex for pair in found for vertex in pair]
        paired = all(len(pair) == 2 for pair in found)
    else:
        try:
            given = np.asarray(pairs)
        except ValueError:  # sequences of unequal lengths
            given = np.empty(1)
        ids = given.ravel()
        paired = given.shape[1:] == (2,) or (given.ndim == 1 and len(ids) % 2 == 0)
    if not paired:
        msg = "pairs=: expected two vertices for each pair, an array of shape (pairs, 2); found another shape"
        raise ArgumentError(msg)
    return graph.numbers_of(ids).reshape(-1, 2) if len(ids) else np.empty((0, 2), np.int64)


# ---- verification
# --------------------------------------------------------------------------------------------


def check_pairs(answer: Answer, measure: Measure) -> None:
    """Raise VerificationError unless each pair has its score, from rows of a sparse matrix."""
    ends = [vertex_numbers(answer, end, of_vertices=False) for end in ("first", "second")]
    given = column(answer, answer.algorithm, of_vertices=False)
    shapes = {given.shape, *(own.shape for own in ends)}
    if len(shapes) > 1 or given.ndim != 1:
        fail(answer, "each pair has two vertices and a score", f"found arrays of the shapes {shapes}")
    if any((own >= answer.graph.n).any() for own in ends):
        fail(answer, "a pair has two vertices of the graph", "found a pair with less than two")
    _check_arguments(answer, np.column_stack(ends))
    expected = np.empty(len(given))
    near, weights = _neighbours(answer.graph, measure)
    degree = np.diff(near.indptr)
    bounds = cut(degree[ends[0]] + degree[ends[1]], 0, _PIECE)
    for low, high in pairwise(bounds):
        first, second = (own[low:high] for own in ends)
        common = near[first].multiply(near[second]) @ weights
        expected[low:high] = _score(common, degree[first], degree[second], measure)
    wrong = ~(np.abs(given - expected) <= 1e-6 * expected)
    if wrong.any():
        row = first_true(wrong)
        pair = " and ".join(str(answer.graph.ids[own[row]]) for own in ends)
        detail = f"{pair} have {given[row]}, expected {expected[row]}"
        fail(answer, "the score is that of the common neighbours", detail)


def _check_arguments(answer: Answer, pairs: NDArray[np.uint32]) -> None:
    """Raise an error unless an answer has the given pairs, or at most the requested number of pairs."""
    if (wanted := answer.parameters.get("pairs")) is not None:
        if not np.array_equal(_numbers_of(answer.graph, wanted), pairs):
            fail(answer, "the pairs are those of pairs=", "found other pairs, or in another order")
    elif "k" in answer.parameters and len(pairs) > (k := count_parameter(answer, "k")):
        fail(answer, "there are at most k pairs", f"expected {k} or fewer, found {len(pairs)}")


def scope(answer: Answer) -> str:
    """Return the end of a sentence about the scope of the verification."""
    return ", without the scores of other pairs" if "k" in answer.parameters else ""


def _neighbours(graph: Graph, measure: Measure) -> tuple[Any, NDArray[np.float64]]:
    """Return the matrix of the pairs of neighbours, and the weight of each vertex."""
    edges = np.ones(graph.m), graph.targets.astype(np.int64), graph.offsets.astype(np.int64)
    near = csr_matrix(edges, (graph.n, graph.n))
    near = (near + near.T).tocsr()
    near.setdiag(0)
    near.eliminate_zeros()
    near.data[:] = 1
    degree = np.diff(near.indptr).astype(np.float64)
    if measure.weight == "one":
        return near, np.ones(graph.n)
    divisor = np.log(np.maximum(degree, 1)) if measure.weight == "logarithm" else degree
    return near, np.divide(1, divisor, out=np.zeros(graph.n), where=divisor > 0)


def _score(common: Any, first: Any, second: Any, measure: Measure) -> Any:
    if measure.kind == "sum":
        return common
    total = first + second - common if measure.kind == "jaccard" else np.minimum(first, second)
    return np.divide(common, total, out=np.zeros(len(common)), where=total > 0)
