"""PageRank: ranks sum to one, and one more iteration in float64 moves them less than the tolerance.

This is GAP's check. If the number of iterations is known (from the outcome, or because it is fixed), the
verifier also repeats the iterations in float64 and compares the ranks vertex by vertex. If it is unknown, as
for a text table, ranks that miss the tolerance may still be those of `max_iter` iterations. If the tolerance
is so large that wrong ranks meet it, as ``n * tol`` can be, the verifier refuses to decide.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.algorithms.pagerank import verify_cpu as kernels
from evener.algorithms.pagerank.pagerank import jumps_of, tolerance_of
from evener.algorithms.pagerank.strength import out_strength, uses_weights
from evener.algorithms.verification import (
    PIECE,
    column,
    edge_blocks,
    fail,
    finite_number,
    first_true,
    required_parameter,
)
from evener.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from evener.algorithms.verification import Answer

    _Step = Callable[[NDArray[np.float64]], NDArray[np.float64]]

__all__ = ["check"]

# Ranks sum to one, so rounding each of them, and each share of them, to the answer's type moves them in all
# by about the type's precision. Besides, each addition of a row's shares, in float64, may round by a part in
# 2^53 of what the row has: see `_slack`.
_ROUNDINGS = 8
_ADDITION = 2.0**-53

# What a run may have where neither the answer nor its parameters say: `pagerank`'s own default.
_ITERATIONS = 100

# Even ranks move by 0.12 on uniform 16, 0.93 on R-MAT 16, those drawn at random by 0.52 and 1.05.
_DECIDES = 0.1

# How far apart the ranks of two fixed-length runs may lie, relative: 1e-6 for float32 answers, as for two
# splits of a graph. One that came a long way was rounded at each step, up or down: so more for more steps.
_RELATIVE = {"float32": 1e-6, "float64": 1e-10}


def check(answer: Answer) -> None:
    """Raise VerificationError unless `rank` is the PageRank that the answer's parameters ask for.

    Raises ArgumentError where these would let nearly any ranks pass.
    """
    graph, parameters = answer.graph, answer.parameters
    stored = column(answer, "rank")
    if graph.n == 0:
        return
    if stored.dtype.name not in _RELATIVE:
        fail(answer, "ranks are float32 or float64", f"they are {stored.dtype}")
    proper = np.isfinite(stored) & (stored >= 0)
    if not proper.all():
        v = first_true(~proper)
        fail(answer, "a rank is a non-negative number", f"vertex {graph.ids[v]} has {stored[v]}, not >= 0")
    slack = _slack(answer, stored.dtype)
    total = float(stored.sum(dtype=np.float64))
    if abs(total - 1.0) > slack:
        v = int(stored.argmax())
        detail = f"they sum to {total} and not 1.0; the largest is {stored[v]} at vertex {graph.ids[v]}"
        fail(answer, "ranks sum to one", detail)

    step = _iteration(answer)
    tol = float(finite_number(answer, "tol", parameters.get("tol") or 0.0))
    stop, semantics = parameters.get("stop", "l1"), parameters.get("semantics", "networkx")
    if stop not in ("l1", "networkx"):
        msg = f'to verify pagerank its \'stop\' must be "l1" or "networkx", not {stop!r}'
        raise ArgumentError(msg)
    tolerance = tolerance_of(graph.n, tol=tol, stop=stop, semantics=semantics)
    fixed = tolerance == 0.0
    iterations = answer.outcome.get("iterations")
    if iterations is None and fixed:
        iterations = required_parameter(answer, "max_iter")
    if iterations is not None or fixed:
        iterations = int(finite_number(answer, "iterations", iterations))
        if difference := _difference(answer, stored, step, iterations):
            fail(answer, f"ranks are those of {iterations} iterations", difference)
    if fixed:
        return
    if not answer.outcome.get("converged", True):
        most = finite_number(answer, "max_iter", required_parameter(answer, "max_iter"))
        if iterations is not None and iterations < most:
            fail(answer, "a run ends when it converges, or after max_iter", f"it took {iterations} of {most}")
        return
    if iterations is None and tolerance > _DECIDES:
        if _took_the_most(answer, stored, step, tolerance):
            return
        enough = 10.0 ** math.floor(math.log10(_DECIDES * tol / tolerance))
        msg = (
            f"with tol={tol:g} and stop={stop} one more iteration may change the {graph.n:,} ranks by "
            f"{tolerance:.3g} in all, and so wrong ranks would pass; verify a run with tol={enough:g} or "
            "less, or its .parquet table, which records the iterations"
        )
        raise ArgumentError(msg)
    moved = step(stored.astype(np.float64))
    moved -= stored
    np.abs(moved, out=moved)
    by, v = float(moved.sum()), int(moved.argmax())
    del moved  # before there are others
    if by > tolerance + slack:
        if iterations is None and _took_the_most(answer, stored, step, tolerance):
            return
        after = step(stored.astype(np.float64))[v]
        detail = (
            f"one more moves them by {by:.3g} in all, allowed are {tolerance + slack:.3g}; "
            f"most at vertex {graph.ids[v]}, from {float(stored[v])} to {after}"
        )
        fail(answer, "another iteration leaves the ranks in place", detail)


def _slack(answer: Answer, dtype: np.dtype[Any]) -> float:
    """How far the sum of ranks may be from one, by rounding alone.

    Of what an iteration is off, the next one passes on a part: the damping factor.
    """
    graph, parameters = answer.graph, answer.parameters
    longest = int(graph.in_degree().max(initial=0))
    left = 1.0 - float(finite_number(answer, "damping", parameters.get("damping", 0.85)))
    told = (answer.outcome.get("iterations"), parameters.get("max_iter"), _ITERATIONS)
    iterations = next(one for one in told if one is not None)
    passed_on = min(
        float(finite_number(answer, "iterations", iterations)), 1.0 / left if left > 0 else math.inf
    )
    return _ROUNDINGS * float(np.finfo(dtype).eps) + _ADDITION * longest * max(1.0, passed_on)


def _took_the_most(answer: Answer, stored: NDArray[Any], step: _Step, tolerance: float) -> bool:
    """Whether it is told how many iterations a run may have, and these are the ranks of as many.

    The first moves them by 2 in all, at most, and each by `damping` of what the one before did: a run that
    had met its tolerance by then was over before.
    """
    most = answer.parameters.get("max_iter")
    if most is None:
        return False
    most = int(finite_number(answer, "max_iter", most))
    damping = min(abs(float(finite_number(answer, "damping", answer.parameters.get("damping", 0.85)))), 1.0)
    before_last = 2.0 * damping ** max(most - 2, 0)
    return before_last >= tolerance and _difference(answer, stored, step, most) is None


def _difference(answer: Answer, stored: NDArray[Any], step: _Step, iterations: int) -> str | None:
    """Where the ranks are not those of so many iterations; None if they are."""
    precision = np.finfo(stored.dtype)
    relative = _RELATIVE[stored.dtype.name] + float(precision.eps) * math.sqrt(max(iterations, 0))
    expected = np.full(len(stored), 1.0 / len(stored))
    for _ in range(iterations):
        expected = step(expected)
    for begin in range(0, len(stored), PIECE):
        found, wanted = stored[begin : begin + PIECE].astype(np.float64), expected[begin : begin + PIECE]
        # What is below the least normal number has fewer digits, or none.
        off = np.abs(found - wanted) > relative * wanted + float(precision.tiny)
        if off.any():
            v = first_true(off)
            return f"vertex {answer.graph.ids[begin + v]} has {found[v]}, recomputed {wanted[v]}"
    return None


def _iteration(answer: Answer) -> _Step:
    """One iteration in float64: rank' = damping (shares of in-neighbours + dangling mass) + teleport.

    It turns the ranks it is given into shares: with a large graph, an array more may be one too many.
    """
    graph, parameters = answer.graph, answer.parameters
    damping = float(finite_number(answer, "damping", parameters.get("damping", 0.85)))
    jumps = jumps_of(graph, parameters.get("personalization"))
    teleport = 1.0 / graph.n if jumps is None else jumps
    weighted = uses_weights(graph, parameters.get("weights"), parameters.get("semantics", "networkx"))
    divisor = out_strength(graph) if weighted else graph.out_degree().astype(np.uint32)
    dangling = divisor == 0
    divisor[dangling] = 1
    backward = graph.reverse
    blocks = edge_blocks(backward.offsets)

    def step(rank: NDArray[np.float64]) -> NDArray[np.float64]:
        spread = damping * rank.sum(where=dangling) + (1.0 - damping)
        np.divide(rank, divisor, out=rank)
        arriving = np.empty(graph.n)
        if weighted:
            kernels.weighted_sums(
                backward.offsets, backward.targets, backward.weights, rank, arriving, blocks
            )
        else:
            kernels.sums(backward.offsets, backward.targets, rank, arriving, blocks)
        arriving *= damping
        arriving += spread * teleport
        return arriving

    return step
