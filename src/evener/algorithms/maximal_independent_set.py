"""A maximal independent set: its vertices are not neighbours, and all others have a neighbour in it.

Each vertex has a random priority. A vertex joins when its priority is above those of all undecided
neighbours, and drops out when a neighbour has joined. The set is that of a greedy algorithm in the order of
the priorities. In a directed graph, the direction of edges is ignored.

Luby: A simple parallel algorithm for the maximal independent set problem (1986).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from evener.graph.checks import check_seed
from evener.programs.arguments import stop_condition
from evener.programs.vertex_program import VertexProgram, program_spec, result_of, run_program
from evener.spec.algorithm import Column, Option
from evener.spec.answer_parts import parts_of
from evener.spec.run import begin
from evener.spec.run_options import driver

if TYPE_CHECKING:
    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph
    from evener.results.result import Result
    from evener.spec.answer import Answer
    from evener.spec.run_options import RunOptions

__all__ = ["SPEC", "check", "maximal_independent_set"]

SPEC = program_spec(
    "maximal_independent_set",
    "A maximal set of vertices without an edge between them.",
    [Column("member")],
    fields=2,
    run="evener.algorithms.maximal_independent_set:maximal_independent_set",
    verify="evener.algorithms.maximal_independent_set:check",
    options=(Option("seed", "int", "Seed of the random priorities (default 1).", changes_answer=False),),
    synonyms=("independent_vertex_set", "independent_set"),
)

_UNDECIDED, _MEMBER, _OUT = 0, 1, 2


@driver(SPEC)
def maximal_independent_set(
    graph: Graph | PartitionedGraph | str,
    *,
    seed: int = 1,
    **options: Unpack[RunOptions],
) -> Result:
    """Return a maximal independent set.

    Parameters
    ----------
    graph : Graph, PartitionedGraph or str
        Weights do not count.
    seed : int, default 1
        The seed of the random priorities.

    Returns
    -------
    Result
        ``member``: int64, shape (n,), 1 for vertices of the set and 0 for others.

    Raises
    ------
    ArgumentError
        If `seed` is not an integer of at least 0.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 0, 0], [1, 2, 3])
    >>> ev.maximal_independent_set(g)["member"].tolist()
    [0, 1, 1, 1]
    """
    seed = check_seed(seed)
    run = begin(SPEC, graph, options)
    program = _program(np.random.default_rng(seed).permutation(run.graph.n))
    found = run_program(run, program, stop_condition(None, 1 << 32))  # a vertex decides at most once
    columns = {"member": lambda: (found.pg.gather(found.fields["status"]) == _MEMBER).astype(np.int64)}
    return result_of(run, found, columns, {"seed": seed})


def _program(priority: Any) -> VertexProgram:
    """A member sends more than any priority, and a vertex that is out sends less. Changes make it active."""

    def send(state: Any, weight: Any, n: int) -> Any:  # noqa: ARG001 - the parameters of every `send`
        if state.status == _MEMBER:
            return n
        return state.priority if state.status == _UNDECIDED else -1

    def apply(state: Any, message: Any, n: int) -> Any:
        status = state.status
        if status == _UNDECIDED and message == n:
            status = _OUT
        elif status == _UNDECIDED and state.priority >= message:  # equal for a self-loop
            status = _MEMBER
        return (state.priority, status), status != state.status

    return VertexProgram(
        state={"priority": priority, "status": _UNDECIDED}, send=send, combine=max, apply=apply, along="both"
    )


def check(answer: Answer) -> None:
    """Raise VerificationError unless the set is independent and maximal."""
    parts = parts_of(answer)
    member = parts.column("member")
    parts.require(
        (member == 0) | (member == 1),
        "member is 0 or 1",
        lambda v: f"vertex {parts.id(v)} has {member[v]}",
    )
    inside, joined = member == 1, np.zeros(len(member), np.bool_)
    for rows in parts.rows("out"):
        for tails, heads in rows.pieces():
            joined[tails[inside[tails] & inside[heads] & (tails != heads)]] = True
    parts.require(
        ~joined,
        "members are not neighbours",
        lambda v: f"vertex {parts.id(v)} and a neighbour are members",
    )
    parts.require(
        inside | (parts.neighbour_sums(inside.astype(np.float64)) > 0),
        "other vertices have a neighbour that is a member",
        lambda v: f"vertex {parts.id(v)} has member {member[v]}, and no neighbour is a member",
    )
