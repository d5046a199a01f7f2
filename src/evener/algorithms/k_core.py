"""The k-core: the largest part of a graph in which each vertex has at least k edges to the part.

Vertices with fewer than k edges to remaining vertices leave, until no vertex leaves. Only neighbours of
vertices that have just left work. In a directed graph, an edge counts at both ends.

Seidman: Network structure and minimum degree (1983).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from evener.errors import ArgumentError
from evener.graph.checks import is_integral
from evener.programs.arguments import stop_condition
from evener.programs.vertex_program import VertexProgram, program_spec, result_of, run_program
from evener.spec.algorithm import Column, Option
from evener.spec.answer_parts import parts_of
from evener.spec.run import begin
from evener.spec.run_options import driver
from evener.spec.verification import count_parameter

if TYPE_CHECKING:
    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph
    from evener.results.result import Result
    from evener.spec.answer import Answer
    from evener.spec.run_options import RunOptions

__all__ = ["SPEC", "check", "k_core"]

SPEC = program_spec(
    "k_core",
    "Vertices of the k-core.",
    [Column("member")],
    run="evener.algorithms.k_core:k_core",
    verify="evener.algorithms.k_core:check",
    options=(Option("k", "int", "Smallest number of edges of a vertex (default 2)."),),
    synonyms=("kcore",),
)


@driver(SPEC)
def k_core(
    graph: Graph | PartitionedGraph | str,
    *,
    k: int = 2,
    **options: Unpack[RunOptions],
) -> Result:
    """Return the vertices of the k-core.

    Parameters
    ----------
    graph : Graph, PartitionedGraph or str
        Weights do not count.
    k : int, default 2
        The smallest number of edges of a vertex in the core. Repeated edges and self-loops count.

    Returns
    -------
    Result
        ``member``: int64, shape (n,), 1 for vertices of the core and 0 for others.

    Raises
    ------
    ArgumentError
        If `k` is not an integer of at least 0.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 0, 1, 2], [1, 2, 2, 3])
    >>> ev.k_core(g)["member"].tolist()
    [1, 1, 1, 0]
    """
    if not is_integral(k) or k < 0:
        msg = f"k=: expected an integer of at least 0, found {k!r}"
        raise ArgumentError(msg)
    run = begin(SPEC, graph, options)
    found = run_program(run, _program(int(k)), stop_condition(None, 1 << 32))  # a vertex leaves at most once
    return result_of(run, found, found.fields, {"k": int(k)})


def _program(k: int) -> VertexProgram:
    """Each vertex counts its neighbours in the core; it is active when it leaves."""

    def apply(state: Any, message: Any) -> Any:
        stays = state.member == 1 and message >= k
        return (int(stays),), state.member != int(stays)

    return VertexProgram(
        state={"member": 1},
        send=lambda state, weight: state.member,  # noqa: ARG005 - the parameters of every `send`
        combine=lambda a, b: a + b,
        apply=apply,
        along="both",
    )


def check(answer: Answer) -> None:
    """Raise VerificationError unless repeated removal of vertices with few edges gives the same core."""
    parts, k = parts_of(answer), count_parameter(answer, "k")
    member = parts.column("member")
    core = np.ones(len(member))
    while not np.array_equal(core, stays := core * (parts.neighbour_sums(core) >= k)):
        core = stays
    parts.require(
        core == member,
        f"the core has the vertices with {k} edges to it",
        lambda v: f"vertex {parts.id(v)} has member {member[v]}, expected {int(core[v])}",
    )
