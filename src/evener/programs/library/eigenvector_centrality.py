"""Eigenvector centrality: the eigenvector of the largest eigenvalue, over in-edges.

Power iteration on the adjacency matrix plus the identity, so that bipartite graphs converge too. Each
superstep divides by the sum of the values.

Bonacich: Power and centrality (1987).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evener.algorithms.spec import Column, Option
from evener.algorithms.verification import column, fail
from evener.programs.adjacency import adjacency
from evener.programs.arguments import check_tolerance
from evener.programs.norms import unit_length
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

__all__ = ["SPEC", "check", "eigenvector_centrality"]

SPEC = program_spec(
    "eigenvector_centrality",
    "Eigenvector centrality of every vertex.",
    [Column("centrality", real=True)],
    run="evener.programs.library.eigenvector_centrality:eigenvector_centrality",
    verify="evener.programs.library.eigenvector_centrality:check",
    options=(
        Option("tol", "float", "Sum of all changes that ends the run (default 1e-9).", changes_answer=False),
        Option("max_iter", "int", "Largest number of iterations (default 1000).", changes_answer=False),
    ),
)

# Largest error of a verified answer, whose length is 1.
_TOLERANCE = 1e-6


@collective()
def eigenvector_centrality(
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
    """Return the eigenvector centrality of every vertex.

    This is a collective operation; all ranks must call it.

    Parameters
    ----------
    graph : Graph, PartitionedGraph or str
        A path or a generator spec is read; with several ranks, each rank reads its own part.
    tol : float, default 1e-9
        The run ends if the sum of all changes of an iteration is below it.
    max_iter : int, default 1000
        The largest number of iterations.
    on, policy, alpha, gpu_memory
        Where to run a graph that is not placed: see `plan`.
    progress : callable, optional
        Called with a `Progress` as each superstep begins.
    checkpoint : Checkpoint, optional
        Where to write checkpoints, and whether to continue from one.

    Returns
    -------
    Result
        ``centrality``: float64, shape (n,); the sum of the squares is 1.

    Warns
    -----
    ConvergenceWarning
        If values still change after `max_iter` iterations.

    Raises
    ------
    ArgumentError
        If `tol` is not a finite number above 0.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 0, 0], [1, 2, 3], directed=False)
    >>> ev.eigenvector_centrality(g)["centrality"].round(4).tolist()
    [0.7071, 0.4082, 0.4082, 0.4082]
    """
    run = run_program(
        graph, _program, SPEC, until=check_tolerance(tol), max_iter=max_iter, on=on, policy=policy,
        alpha=alpha, gpu_memory=gpu_memory, progress=progress, checkpoint=checkpoint,
    )  # fmt: skip
    columns = {"centrality": lambda: unit_length(run.pg, run.fields["value"])}
    return result_of(run, "eigenvector_centrality", SPEC.columns, columns, {"tol": tol, "max_iter": max_iter})


def _program(graph: Graph) -> VertexProgram:
    """Each vertex sends its value; all vertices stay active."""
    return VertexProgram(
        state={"value": 1 / max(graph.n, 1)},
        send=lambda state, weight: state.value,  # noqa: ARG005 - the parameters of every `send`
        combine=lambda a, b: a + b,
        apply=lambda state, message, total: (((state.value + message) / total,), True),
        aggregate=lambda state: state.value,
    )


def check(answer: Answer) -> None:
    """Raise VerificationError unless the values are an eigenvector of length 1 without negative values."""
    graph, value = answer.graph, column(answer, "centrality")
    if graph.n == 0:
        return
    product = adjacency(graph).T @ value
    error = np.abs(product - (value @ product) * value).max() / max(1.0, value @ product)
    if not (error <= _TOLERANCE and abs(value @ value - 1) <= _TOLERANCE and value.min() >= 0):
        fail(answer, "the values are an eigenvector of length 1", f"the largest error is {error:g}")
