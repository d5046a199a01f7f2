"""PageRank: ranks sum to one, and one more iteration in float64 hardly moves them (GAP's check).

A run of a fixed number of iterations (LDBC Graphalytics, or tolerance 0) is not at rest yet, so the same
number of iterations is done again here in float64 and compared vertex by vertex.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.kernels.cpu import verify as kernels
from evener.verify.rules import broken, column, edge_blocks, first_true

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from evener.verify.rules import Answer

__all__ = ["check"]

# A float32 iteration rounds each share it reads and each rank it writes; over 100 iterations at R-MAT 20
# the L1 distance to the same in float64 stayed under 3 units of the type's precision.
_ROUNDINGS = 8

# How far apart the ranks of two fixed-length runs may lie, relative: DESIGN's 1e-6 for float32 answers.
_RELATIVE = {"float32": 1e-6, "float64": 1e-10}


def check(answer: Answer) -> None:
    """Raise VerificationError unless `rank` is the PageRank that the answer's parameters ask for."""
    graph, parameters = answer.graph, answer.parameters
    stored = column(answer, "rank")
    if graph.n == 0:
        return
    if stored.dtype.name not in _RELATIVE:
        broken(answer, "ranks are float32 or float64", f"they are {stored.dtype}")
    rank = stored.astype(np.float64)
    proper = np.isfinite(rank) & (rank >= 0)
    if not proper.all():
        v = first_true(~proper)
        broken(answer, "a rank is a non-negative number", f"vertex {graph.ids[v]} has {rank[v]}, not >= 0")
    slack = _ROUNDINGS * float(np.finfo(stored.dtype).eps)
    total = float(rank.sum())
    if abs(total - 1.0) > slack:
        v = int(rank.argmax())
        detail = f"they sum to {total} and not 1.0; the largest is {rank[v]} at vertex {graph.ids[v]}"
        broken(answer, "ranks sum to one", detail)

    step = _iteration(answer)
    tolerance = float(parameters.get("tol") or 0.0)
    if parameters.get("semantics") == "graphalytics" or tolerance == 0.0:
        expected = np.full(graph.n, 1.0 / graph.n)
        for _ in range(int(parameters["max_iter"])):
            expected = step(expected)
        _check_each(answer, rank, expected, _RELATIVE[stored.dtype.name])
        return
    moved = np.abs(step(rank) - rank)
    if moved.sum() > tolerance + slack:
        v = int(moved.argmax())
        detail = (
            f"one more moves them by {moved.sum():.3g} in all, allowed are {tolerance + slack:.3g}; "
            f"most at vertex {graph.ids[v]}, from {rank[v]} to {step(rank)[v]}"
        )
        broken(answer, "another iteration leaves the ranks in place", detail)


def _check_each(
    answer: Answer, rank: NDArray[np.float64], expected: NDArray[np.float64], relative: float
) -> None:
    off = np.abs(rank - expected) > relative * expected
    if off.any():
        v = first_true(off)
        detail = f"vertex {answer.graph.ids[v]} has {rank[v]}, recomputed {expected[v]}"
        broken(answer, f"ranks are those of {answer.parameters['max_iter']} iterations", detail)


def _iteration(answer: Answer) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """One iteration in float64: rank' = damping (shares of in-neighbours + dangling mass) + teleport."""
    graph, parameters = answer.graph, answer.parameters
    damping = float(parameters.get("damping", 0.85))
    teleport = _teleport(answer, parameters.get("personalization"))
    degree = graph.out_degree().astype(np.float64)
    dangling = degree == 0
    degree[dangling] = 1.0
    backward = graph.reverse
    blocks = edge_blocks(backward.offsets)

    def step(rank: NDArray[np.float64]) -> NDArray[np.float64]:
        arriving = np.empty(graph.n)
        kernels.gather(backward.offsets, backward.targets, rank / degree, arriving, blocks)
        spread = damping * rank[dangling].sum() + (1.0 - damping)
        result: NDArray[np.float64] = damping * arriving + spread * teleport
        return result

    return step


def _teleport(answer: Answer, personalization: Mapping[Any, float] | ArrayLike | None) -> NDArray[np.float64]:
    """Where a jump, or the mass of a vertex without out-edges, goes: a distribution over vertices."""
    graph = answer.graph
    if personalization is None:
        return np.full(graph.n, 1.0 / graph.n)
    if isinstance(personalization, Mapping):
        weight = np.zeros(graph.n)
        weight[graph.numbers_of(list(personalization))] = list(personalization.values())
    else:
        weight = np.asarray(personalization, dtype=np.float64)
    result: NDArray[np.float64] = weight / weight.sum()
    return result
