"""PageRank: ranks sum to one, and one more iteration in float64 moves them less than the tolerance.

This is GAP's check. If the number of iterations is known, the verifier also repeats the iterations in float64
and compares the ranks vertex by vertex. A text table does not record the number. Its ranks may miss the
tolerance if `max_iter` iterations give the same ranks. If the tolerance is so large that
wrong ranks meet it, as ``n * tol`` can be, the verifier raises an error.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.algorithms.pagerank import verify_cpu as kernels
from evener.algorithms.pagerank.pagerank import rank_dtype, tolerance_of
from evener.algorithms.pagerank.personalization import jumps_of
from evener.algorithms.pagerank.weights import uses_weights
from evener.errors import ArgumentError, ConvergenceWarning
from evener.graph.checks import is_number
from evener.spec.strength import out_strength
from evener.spec.verification import (
    PIECE,
    checked_count,
    column,
    count_parameter,
    edge_blocks,
    fail,
    finite_number,
    first_true,
    required_parameter,
)
from evener.system.caller import warn_caller

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from evener.graph.graph import Graph
    from evener.spec.answer import Answer

    _Step = Callable[[NDArray[np.float64]], NDArray[np.float64]]

__all__ = ["agree", "check", "claim_parameters", "slack_of", "verified_scope", "warn_not_converged"]

# Roundings to the answer's type per rank, and the relative error of an addition in float64: see `slack_of`.
_ROUNDINGS = 8
_ADDITION = 2.0**-53

# Largest number of iterations if neither the answer nor its parameters give it: the default of `pagerank`.
_ITERATIONS = 100

# Largest tolerance that wrong ranks do not meet by chance.
_DECIDES = 0.1

# Largest relative difference of ranks after a fixed number of iterations; rounding adds to it per iteration.
_RELATIVE = {"float32": 1e-6, "float64": 1e-10}


def check(answer: Answer) -> None:
    """Raise VerificationError unless `rank` is the PageRank that the answer's parameters ask for.

    Raise ArgumentError if the parameters would let nearly any ranks pass.
    """
    graph, parameters = answer.graph, answer.parameters
    stored = column(answer, "rank")
    if graph.n == 0:
        return
    if stored.dtype.name not in _RELATIVE:
        fail(answer, "ranks are float32 or float64", f"found {stored.dtype}")
    slack = _check_distribution(answer, stored)
    step = _iteration(answer)
    tol = float(finite_number(answer, "tol", parameters.get("tol") or 0.0))
    stop, semantics = parameters.get("stop", "l1"), parameters.get("semantics", "networkx")
    tolerance = tolerance_of(graph.n, tol=tol, stop=stop, semantics=semantics)
    fixed = tolerance == 0.0
    iterations = answer.outcome.get("iterations")
    if iterations is None and fixed:
        iterations = required_parameter(answer, "max_iter")
    if iterations is not None or fixed:
        iterations = _checked_iterations(answer, iterations)
        if difference := _difference(answer, stored, step, iterations):
            fail(answer, f"ranks are those of {iterations} iterations", difference)
    if not (fixed or _has_converged(answer, stored, step, iterations, tolerance, slack)):
        warn_not_converged(answer)


def _damping(answer: Answer) -> float:
    """Return the damping factor of the run."""
    damping = answer.parameters.get("damping", 0.85)
    if not is_number(damping) or not 0 <= damping <= 1:
        msg = (
            f"cannot verify {answer.algorithm}: expected a number from 0 to 1 as 'damping', found {damping!r}"
        )
        raise ArgumentError(msg)
    return float(damping)


def _checked_iterations(answer: Answer, given: Any) -> int:
    """Return the number of iterations of the run, after a check that a run may have so many."""
    iterations = checked_count(answer, "iterations", given)
    most = answer.parameters.get("max_iter")
    if most is not None and iterations > checked_count(answer, "max_iter", most):
        fail(answer, "a run has at most max_iter iterations", f"it took {iterations} of {most}")
    return iterations


def _check_distribution(answer: Answer, stored: NDArray[Any]) -> float:
    """Check that ranks are non-negative numbers whose sum is one; return the rounding error of the sum."""
    graph = answer.graph
    proper = np.isfinite(stored) & (stored >= 0)
    if not proper.all():
        v = first_true(~proper)
        fail(answer, "a rank is a non-negative number", f"vertex {graph.ids[v]} has {stored[v]}")
    slack = slack_of(answer, stored.dtype, int(graph.in_degree().max(initial=0)))
    total = float(stored.sum(dtype=np.float64))
    if abs(total - 1.0) > slack:
        v = int(stored.argmax())
        detail = f"expected the sum 1.0, found {total}; the largest is {stored[v]} at vertex {graph.ids[v]}"
        fail(answer, "ranks sum to one", detail)
    return slack


def _has_converged(
    answer: Answer,
    stored: NDArray[Any],
    step: _Step,
    iterations: int | None,
    tolerance: float,
    slack: float,
) -> bool:
    """Return whether the ranks meet the tolerance; false for the ranks of `max_iter` iterations.

    Raises
    ------
    VerificationError
        If the ranks are neither converged nor those of `max_iter` iterations.
    ArgumentError
        If wrong ranks would meet the tolerance.
    """
    if not answer.outcome.get("converged", True):
        max_iter = count_parameter(answer, "max_iter")
        if iterations is not None and iterations < max_iter:
            rule = "a run ends when it converges, or after max_iter"
            fail(answer, rule, f"it took {iterations} of {max_iter}")
        return False
    if iterations is None and tolerance > _DECIDES:
        if _is_cut_off(answer, stored, step, tolerance):
            return False
        tol, stop = answer.parameters["tol"], answer.parameters.get("stop", "l1")
        enough = 10.0 ** math.floor(math.log10(_DECIDES * tol / tolerance))
        msg = (
            f"with tol={tol:g} and stop={stop}, one more iteration may change the {answer.graph.n:,} ranks "
            f"by {tolerance:.3g} in total, so wrong ranks would pass; verify a run with tol={enough:g} or "
            "less, or its .parquet table, which records the iterations"
        )
        raise ArgumentError(msg)
    by, v = _change(stored, step)
    if by > tolerance + slack:
        if iterations is None and _is_cut_off(answer, stored, step, tolerance):
            return False
        after = step(stored.astype(np.float64))[v]
        detail = (
            f"expected a change of at most {tolerance + slack:.3g} in total, found {by:.3g}; "
            f"the largest is at vertex {answer.graph.ids[v]}, from {float(stored[v])} to {after}"
        )
        fail(answer, "another iteration does not change the ranks", detail)
    return True


def _change(stored: NDArray[Any], step: _Step) -> tuple[float, int]:
    """Return the total change of the ranks in another iteration, and the vertex that changes most."""
    moved = step(stored.astype(np.float64))
    moved -= stored
    np.abs(moved, out=moved)
    return float(moved.sum()), int(moved.argmax())


def warn_not_converged(answer: Answer) -> None:
    """Warn that the ranks are those of `max_iter` iterations, which do not meet the tolerance."""
    msg = (
        f"the ranks are correct for {_count_of_iterations(_iterations_of(answer))}, and have not converged: "
        f"tol={answer.parameters['tol']:g} was not met; increase max_iter"
    )
    warn_caller(msg, ConvergenceWarning)


def _iterations_of(answer: Answer) -> int:
    iterations = answer.outcome.get("iterations")
    return int(answer.parameters["max_iter"] if iterations is None else iterations)


def slack_of(answer: Answer, dtype: np.dtype[Any], longest: int) -> float:
    """Return the largest difference between the sum of ranks and 1.0 that rounding can cause.

    `longest` is the largest in-degree. An iteration multiplies the error of the previous iteration by the
    damping factor. Rounding to the answer's type and each addition of a row contribute to the error.
    """
    parameters = answer.parameters
    left = 1.0 - _damping(answer)
    counts = (answer.outcome.get("iterations"), parameters.get("max_iter"), _ITERATIONS)
    iterations = next(one for one in counts if one is not None)
    passed_on = min(
        float(checked_count(answer, "iterations", iterations)), 1.0 / left if left > 0 else math.inf
    )
    return _ROUNDINGS * float(np.finfo(dtype).eps) + _ADDITION * longest * max(1.0, passed_on)


def _is_cut_off(answer: Answer, stored: NDArray[Any], step: _Step, tolerance: float) -> bool:
    """Return whether `max_iter` iterations give these ranks without meeting the tolerance.

    The first iteration changes the ranks by at most 2 in total, and each later iteration by `damping`
    times the previous change. A run that met its tolerance earlier would have ended earlier.
    """
    max_iter = answer.parameters.get("max_iter")
    if max_iter is None:
        return False
    max_iter = checked_count(answer, "max_iter", max_iter)
    before_last = 2.0 * _damping(answer) ** max(max_iter - 2, 0)
    return before_last >= tolerance and _difference(answer, stored, step, max_iter) is None


def _difference(answer: Answer, stored: NDArray[Any], step: _Step, iterations: int) -> str | None:
    """Return the first difference to the ranks of this number of iterations; None if all agree."""
    expected = np.full(len(stored), 1.0 / len(stored))
    for _ in range(iterations):
        expected = step(expected)
    for begin in range(0, len(stored), PIECE):
        piece = slice(begin, begin + PIECE)
        right = agree(stored[piece], expected[piece], iterations)
        if not right.all():
            v = begin + first_true(~right)
            return f"vertex {answer.graph.ids[v]} has {float(stored[v])}, recomputed {expected[v]}"
    return None


def agree(stored: NDArray[Any], expected: NDArray[np.float64], iterations: int) -> NDArray[np.bool_]:
    """Return whether each rank is the expected rank after some iterations, but for rounding."""
    precision = np.finfo(stored.dtype)
    relative = _RELATIVE[stored.dtype.name] + float(precision.eps) * math.sqrt(max(iterations, 0))
    # Subnormal numbers have fewer digits.
    off = np.abs(stored.astype(np.float64) - expected) > relative * expected + float(precision.tiny)
    return np.asarray(~off)


def _iteration(answer: Answer) -> _Step:
    """Return a function for one iteration in float64.

    It computes rank' = damping (shares of in-neighbours + dangling mass) + teleport. It overwrites its
    argument, to save the memory of an array.
    """
    graph, parameters = answer.graph, answer.parameters
    damping = _damping(answer)
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


def verified_scope(answer: Answer) -> str:
    """Return how many iterations, or which tolerance, the verification of an answer covers."""
    if not answer.parameters.get("tol") or answer.parameters.get("semantics") == "graphalytics":
        return ""
    tol = f"--tol {answer.parameters['tol']:g}"
    if answer.parameters.get("stop") == "networkx":
        tol += " --stop networkx"
    if answer.outcome.get("iterations") is None and _meets_tolerance(answer):
        return f", within {tol}"
    converged = answer.outcome.get("iterations") is not None and answer.outcome.get("converged", True)
    met = f", within {tol}" if converged else f"; they have not converged, because {tol} was not met"
    return f": the ranks of {_count_of_iterations(_iterations_of(answer))}{met}"


def _meets_tolerance(answer: Answer) -> bool:
    """Return whether ranks of an unknown number of iterations meet the tolerance."""
    if answer.parameters.get("max_iter") is None or answer.graph.n == 0:
        return True  # else the verification had failed
    stored = column(answer, "rank")
    rule = {
        name: answer.parameters[name] for name in ("tol", "stop", "semantics") if name in answer.parameters
    }
    tolerance = tolerance_of(answer.graph.n, **{"stop": "l1", "semantics": "networkx", **rule})
    return _change(stored, _iteration(answer))[0] <= tolerance + slack_of(
        answer, stored.dtype, int(answer.graph.in_degree().max(initial=0))
    )


def claim_parameters(
    parameters: Mapping[str, Any], *, graph: Graph, given: Mapping[str, Any], recorded: bool
) -> dict[str, Any]:
    """Return the parameters for verifying a saved answer.

    The default of ``max_iter`` does not mean that the run had that many iterations. If the file records no
    parameters, only the user's ``max_iter`` counts. The default dtype is the dtype that a run would choose.
    """
    found = dict(parameters)
    if not recorded and found.get("tol") and found.get("semantics") != "graphalytics":
        found["max_iter"] = given.get("max_iter")
    rule = {name: found[name] for name in ("tol", "stop", "semantics") if name in found}
    if found.get("dtype") is None and len(rule) == len(("tol", "stop", "semantics")):
        found["dtype"] = rank_dtype(tolerance_of(graph.n, **rule))
    return found


def _count_of_iterations(count: int) -> str:
    return "1 iteration" if count == 1 else f"{count:,} iterations"
