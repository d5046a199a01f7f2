"""Is this answer right? One verifier an algorithm, that checks the rules which define it.

Searches and components take a pass or two over the edges. Ranks and centralities are defined by how they are
computed: those of a run of so many iterations are iterated again, and Brandes' algorithm is done again.
"""

from __future__ import annotations

from collections.abc import Mapping

from evener.algorithms.graphalytics_output import (
    against,
    match_epsilon,
    match_equivalent,
    match_exact,
    read_expected,
)
from evener.algorithms.registry import find
from evener.algorithms.verification import Answer, Claim
from evener.errors import ArgumentError
from evener.graph.checks import type_name

__all__ = [
    "Answer",
    "Claim",
    "against",
    "match_epsilon",
    "match_equivalent",
    "match_exact",
    "read_expected",
    "verify",
]


def verify(result: Answer) -> None:
    """Check an answer against the rules that define it.

    Parameters
    ----------
    result : Result or Claim
        What an algorithm returned, or an answer from anywhere put in the same form.

    Raises
    ------
    VerificationError
        Naming the rule that is broken, the vertex where, and the two values that disagree.
    ArgumentError
        If `result` is no answer, or comes from an algorithm that has no verifier.

    Notes
    -----
    BFS and SSSP follow the Graph500 specification's validation (section 8), PageRank and betweenness the
    GAP Benchmark Suite's verifiers, WCC an independent union-find. See `against` for LDBC Graphalytics.

    Examples
    --------
    >>> import evener as ev
    >>> ev.verify(ev.bfs(ev.read("grid:10x10"), source=0))
    """
    if not hasattr(result, "algorithm"):
        msg = f"verify takes what an algorithm returned, or a Claim, not {type(result).__name__}"
        raise ArgumentError(msg)
    verifier = find(result.algorithm).verifier()
    for name in ("parameters", "outcome"):
        if not isinstance(told := getattr(result, name), Mapping):
            msg = f"what an answer tells of its {name} is by name, in a mapping, not {type_name(told)}"
            raise ArgumentError(msg)
    verifier(result)
