"""Verification of the scores of pairs of vertices: products of sparse rows."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_matrix

from evener.primitives.neighbour_rows import cut
from evener.primitives.pair_scores import numbers_of_pairs
from evener.spec.verification import column, count_parameter, fail, first_true, vertex_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.graph.graph import Graph
    from evener.primitives.pair_scores import Measure
    from evener.spec.answer import Answer

__all__ = ["check_pairs", "scope"]

# Neighbours that a verifier compares at once.
_PIECE = 1 << 22


def check_pairs(answer: Answer, measure: Measure) -> None:
    """Raise VerificationError unless each pair has its score, from rows of a sparse matrix."""
    ends = [vertex_numbers(answer, end, of_vertices=False) for end in ("first", "second")]
    given = column(answer, answer.algorithm, of_vertices=False)
    shapes = {given.shape, *(vertices.shape for vertices in ends)}
    if len(shapes) > 1 or given.ndim != 1:
        fail(answer, "each pair has two vertices and a score", f"found arrays of the shapes {shapes}")
    if any((vertices >= answer.graph.n).any() for vertices in ends):
        fail(answer, "a pair has two vertices of the graph", "found a pair with less than two")
    _check_arguments(answer, np.column_stack(ends))
    expected = np.empty(len(given))
    near, weights = _neighbours(answer.graph, measure)
    degree = np.diff(near.indptr)
    bounds = cut(degree[ends[0]] + degree[ends[1]], 0, _PIECE)
    for low, high in pairwise(bounds):
        first, second = (vertices[low:high] for vertices in ends)
        common = near[first].multiply(near[second]) @ weights
        expected[low:high] = _score(common, degree[first], degree[second], measure)
    wrong = ~(np.abs(given - expected) <= 1e-6 * expected)
    if wrong.any():
        row = first_true(wrong)
        pair = " and ".join(str(answer.graph.ids[vertices[row]]) for vertices in ends)
        detail = f"{pair} have {given[row]}, expected {expected[row]}"
        fail(answer, "the score is that of the common neighbours", detail)


def _check_arguments(answer: Answer, pairs: NDArray[np.uint32]) -> None:
    """Raise an error unless an answer has the given pairs, or at most the requested number of pairs."""
    if (wanted := answer.parameters.get("pairs")) is not None:
        if not np.array_equal(numbers_of_pairs(answer.graph, wanted), pairs):
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
