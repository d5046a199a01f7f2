"""What the command line says about a PageRank run, and by which parameters a saved answer is verified."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evener.algorithms.verification import Answer
    from evener.results.result import Result

__all__ = ["claimed", "notes", "verified_scope"]

# Rounding to float32 changes all ranks together by about this much in an iteration.
_FLOAT32_CHANGE = 1e-7


def notes(result: Result, arguments: Mapping[str, Any]) -> Iterator[str]:  # noqa: ARG001 - the spec's signature
    """Yield a sentence for a run that did not converge."""
    if result.outcome.get("converged") is not False or not result.parameters.get("tol"):
        return
    beyond = result.parameters["tol"] * result.graph.n < _FLOAT32_CHANGE
    finer = result.parameters.get("dtype") == "float32" and beyond
    remedy = "use --dtype float64 or raise" if finer else "raise --max-iter or"
    yield f"pagerank did not converge in {_iterations(result.outcome['iterations'])}; {remedy} --tol"


def verified_scope(answer: Answer) -> str:
    """Return how many iterations, or which tolerance, the verification of an answer covers."""
    if not answer.parameters.get("tol") or answer.parameters.get("semantics") == "graphalytics":
        return ""
    tol = f"--tol {answer.parameters['tol']:g}"
    iterations = answer.outcome.get("iterations")
    if iterations is None:
        # A run of max_iter iterations may have ended before the tolerance was met.
        most = answer.parameters.get("max_iter")
        return f", within {tol}" + ("" if most is None else f" or as the ranks of {_iterations(most)}")
    met = f", within {tol}" if answer.outcome.get("converged", True) else f"; {tol} was not met"
    return f": the ranks of {_iterations(iterations)}{met}"


def claimed(parameters: Mapping[str, Any], *, given: Mapping[str, Any], recorded: bool) -> dict[str, Any]:
    """Return the parameters by which a saved answer is verified.

    The default of ``max_iter`` does not say that the run had that many iterations. Where the file records no
    parameters, only the user's ``max_iter`` counts.
    """
    found = dict(parameters)
    if not recorded and found.get("tol") and found.get("semantics") != "graphalytics":
        found["max_iter"] = given.get("max_iter")
    return found


def _iterations(count: int) -> str:
    return "1 iteration" if count == 1 else f"{count:,} iterations"
