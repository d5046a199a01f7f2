"""Verify an answer. Each algorithm has a verifier that checks the rules that define its answer.

The verifiers of searches and components read the edges once or twice. Ranks and centralities are defined by
their computation, so their verifiers repeat the computation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from evener.errors import ArgumentError
from evener.graph.checks import type_name
from evener.graph.graph import Graph
from evener.partition.distributed.graph import DistributedGraph
from evener.results.result import Result
from evener.results.rows import ResultRows
from evener.spec.answer import Answer, Claim
from evener.spec.graphalytics_output import (
    against,
    match_epsilon,
    match_equivalent,
    match_exact,
    read_expected,
)
from evener.spec.registry import find
from evener.spec.verification import check_parameters
from evener.system.agreement import collective, on_all_ranks

if TYPE_CHECKING:
    from evener.spec.algorithm import AlgorithmSpec

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


@collective(subject="result")
def verify(result: Answer) -> None:
    """Verify an answer.

    With the result of several ranks, this is a collective operation; all ranks must call it. If no
    rank holds the whole graph, each rank checks its own edges. Otherwise rank 0 gathers and verifies the
    answer.

    Parameters
    ----------
    result : Result or Claim
        The result of an algorithm, or an answer from another source in the same form.

    Raises
    ------
    VerificationError
        If the answer is wrong. The error names the rule, a vertex, and the two values that disagree.
    ArgumentError
        If `result` is not an answer, or its algorithm has no verifier.

    Notes
    -----
    BFS and SSSP follow the validation of the Graph500 specification (section 8). PageRank and betweenness
    follow the verifiers of the GAP Benchmark Suite. WCC uses an independent union-find. The function
    `evener.spec.graphalytics_output.against` compares an answer with a file of LDBC Graphalytics.

    Examples
    --------
    >>> import evener as ev
    >>> ev.verify(ev.bfs(ev.read("grid:10x10"), source=0))
    """
    if not hasattr(result, "algorithm"):
        msg = f"verify: expected a Result or a Claim, found {type(result).__name__}"
        raise ArgumentError(msg)
    spec = find(result.algorithm)
    _check_form(result, spec)
    with np.errstate(all="ignore"):  # verifiers compare wrong answers too, which may be infinite
        _verify(result, spec)


def _verify(result: Answer, spec: AlgorithmSpec) -> None:
    verifier = spec.verifier()
    if isinstance(result, ResultRows):
        for row in result.rows:
            verify(row)
    elif isinstance(result, Result) and isinstance(result.graph, DistributedGraph):
        if result.world.size == 1:
            msg = (
                "verify: expected the values that each rank has, found gathered values of a graph in parts; "
                "verify the result on all ranks before gather()"
            )
            raise ArgumentError(msg)
        if not spec.verifies_parts:
            msg = (
                f"verify: expected a graph that rank 0 holds, because the verifier of {result.algorithm} "
                f"reads whole graphs, found a graph in parts on {result.world.size} ranks; read it on "
                "every rank with evener.read"
            )
            raise ArgumentError(msg)
        verifier(result)
    elif isinstance(result, Result) and result.world.size > 1:
        whole = result.gather()
        on_all_ranks(result.world, lambda: None if whole is None else verifier(whole))
    else:
        verifier(result)


def _check_form(answer: Answer, spec: AlgorithmSpec) -> None:
    """Raise ArgumentError unless the answer has a graph, mappings, and arguments of the algorithm."""
    graph = answer.graph
    if not isinstance(graph, Graph) and not (
        isinstance(answer, Result) and isinstance(graph, DistributedGraph)
    ):
        msg = f"verify: expected a Graph as the answer's graph, found {type_name(graph)}"
        raise ArgumentError(msg)
    mappings = {"parameters": answer.parameters, "outcome": answer.outcome}
    if isinstance(answer, Claim):
        mappings["arrays"] = answer.arrays
    for name, found in mappings.items():
        if not isinstance(found, Mapping):
            msg = f"verify: expected a mapping as the answer's {name}, found {type_name(found)}"
            raise ArgumentError(msg)
    check_parameters(spec, answer.parameters)
