"""HITS: a good hub has edges to good authorities, and a good authority has edges from good hubs.

Supersteps alternate: authorities add the values of hubs along edges, and hubs add the values of authorities
against edges. Each superstep divides by the sum of the values that it reads.

Kleinberg: Authoritative sources in a hyperlinked environment (1999).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.algorithms.spec import Column, Option
from evener.algorithms.verification import column, fail
from evener.programs.adjacency import adjacency
from evener.programs.arguments import check_tolerance
from evener.programs.norms import unit_sum
from evener.programs.vertex_program import VertexProgram, program_spec, result_of, run_program
from evener.system.agreement import collective

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Literal

    from evener.algorithms.verification import Answer
    from evener.engine.checkpoints.request import Checkpoint
    from evener.engine.timeline import Progress
    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph
    from evener.results.result import Result

__all__ = ["SPEC", "check", "hits"]

SPEC = program_spec(
    "hits",
    "Hubs and authorities.",
    [Column("hub", real=True), Column("authority", real=True)],
    fields=2,
    run="evener.programs.library.hits:hits",
    verify="evener.programs.library.hits:check",
    options=(
        Option("tol", "float", "Sum of all changes that ends the run (default 1e-9).", changes_answer=False),
        Option("max_iter", "int", "Largest number of supersteps (default 1000).", changes_answer=False),
    ),
)

# Largest error of a verified answer, whose sums are 1.
_TOLERANCE = 1e-6


@collective()
def hits(
    graph: Graph | PartitionedGraph | str,
    *,
    tol: float = 1e-9,
    max_iter: int = 1000,
    on: str | Sequence[str] | None = None,
    policy: str = "auto",
    alpha: float | Literal["auto"] | None = None,
    gpu_memory: str | int | None = None,
    progress: Callable[[Progress], None] | None = None,
    checkpoint: Checkpoint | None = None,
) -> Result:
    """Return how good a hub and an authority every vertex is.

    This is a collective operation; all ranks must call it.

    Parameters
    ----------
    graph : Graph, PartitionedGraph or str
        A path or a generator spec is read; with several ranks, each rank reads its own part.
    tol : float, default 1e-9
        The run ends if the sum of all changes of a superstep is below it.
    max_iter : int, default 1000
        The largest number of supersteps, two for each iteration.
    on, policy, alpha, gpu_memory
        Where to run a graph that is not placed: see `plan`.
    progress : callable, optional
        Called with a `Progress` as each superstep begins.
    checkpoint : Checkpoint, optional
        Where to write checkpoints, and whether to continue from one.

    Returns
    -------
    Result
        ``hub`` and ``authority``: float64, shape (n,); each sums to 1.

    Warns
    -----
    ConvergenceWarning
        If values still change after `max_iter` supersteps.

    Raises
    ------
    ArgumentError
        If `tol` is not a finite number above 0.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 0, 1], [2, 3, 2])
    >>> r = ev.hits(g)
    >>> r["hub"].round(3).tolist(), r["authority"].round(3).tolist()
    ([0.618, 0.382, 0.0, 0.0], [0.0, 0.0, 0.618, 0.382])
    """
    run = run_program(
        graph, _program, SPEC, until=check_tolerance(tol), max_iter=max_iter, on=on, policy=policy,
        alpha=alpha, gpu_memory=gpu_memory, progress=progress, checkpoint=checkpoint,
    )  # fmt: skip
    columns = {name: (lambda name=name: unit_sum(run.pg, run.fields[name])) for name in run.fields}
    return result_of(run, "hits", SPEC.columns, columns, {"tol": tol, "max_iter": max_iter})


def _program(graph: Graph) -> VertexProgram:
    """Odd supersteps compute authorities, even supersteps compute hubs. All vertices stay active."""

    def apply(state: Any, message: Any, iteration: int, total: float) -> Any:
        value = message / total if total > 0 else 0.0
        return ((state.hub, value) if iteration % 2 else (value, state.authority)), True

    return VertexProgram(
        state={"hub": 1 / max(graph.n, 1), "authority": 0.0},
        send=lambda state, weight, iteration: state.hub if iteration % 2 else state.authority,  # noqa: ARG005
        combine=lambda a, b: a + b,
        apply=apply,
        along=("out", "in"),
        # The next superstep reads hubs if it is odd.
        aggregate=lambda state, iteration: state.authority if iteration % 2 else state.hub,
    )


def check(answer: Answer) -> None:
    """Raise VerificationError unless hubs and authorities follow from each other, up to a factor."""
    graph, hub, authority = answer.graph, column(answer, "hub"), column(answer, "authority")
    if graph.m == 0:
        return
    edges = adjacency(graph)
    for name, value, follows in (("hub", hub, edges @ authority), ("authority", authority, edges.T @ hub)):
        error = np.abs(value - follows / max(follows.sum(), np.finfo(float).tiny)).sum()
        if not error <= _TOLERANCE:
            fail(answer, f"{name} follows from the other value", f"the sum of all errors is {error:g}")
