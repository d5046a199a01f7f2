"""The scope of a verification of PageRank, and the parameters by which a saved answer is verified."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evener.algorithms.pagerank.pagerank import rank_dtype, tolerance_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evener.algorithms.verification import Answer
    from evener.graph.graph import Graph

__all__ = ["claimed", "verified_scope"]


def verified_scope(answer: Answer) -> str:
    """Return how many iterations, or which tolerance, the verification of an answer covers."""
    if not answer.parameters.get("tol") or answer.parameters.get("semantics") == "graphalytics":
        return ""
    tol = f"--tol {answer.parameters['tol']:g}"
    if answer.parameters.get("stop") == "networkx":
        tol += " --stop networkx"
    iterations = answer.outcome.get("iterations")
    if iterations is None:
        # A run of max_iter iterations may have ended before the tolerance was met.
        most = answer.parameters.get("max_iter")
        return f", within {tol}" + ("" if most is None else f" or as the ranks of {_iterations(most)}")
    met = f", within {tol}" if answer.outcome.get("converged", True) else f"; {tol} was not met"
    return f": the ranks of {_iterations(iterations)}{met}"


def claimed(
    parameters: Mapping[str, Any], *, graph: Graph, given: Mapping[str, Any], recorded: bool
) -> dict[str, Any]:
    """Return the parameters by which a saved answer is verified.

    The default of ``max_iter`` does not mean that the run had that many iterations. If the file records no
    parameters, only the user's ``max_iter`` counts. The default dtype is the one that a run would choose.
    """
    found = dict(parameters)
    if not recorded and found.get("tol") and found.get("semantics") != "graphalytics":
        found["max_iter"] = given.get("max_iter")
    rule = {name: found[name] for name in ("tol", "stop", "semantics") if name in found}
    if found.get("dtype") is None and len(rule) == len(("tol", "stop", "semantics")):
        found["dtype"] = rank_dtype(tolerance_of(graph.n, **rule))
    return found


def _iterations(count: int) -> str:
    return "1 iteration" if count == 1 else f"{count:,} iterations"
