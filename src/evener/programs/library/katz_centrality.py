"""Katz centrality: the number of walks that end at a vertex, where longer walks count less.

Each vertex has 1 plus the values of its in-neighbours times `attenuation`.

Katz: A new status index derived from sociometric analysis (1953).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.algorithms.arguments import ensure_placed, opened
from evener.algorithms.spec import Column, Option
from evener.algorithms.verification import column, fail, required_parameter
from evener.errors import ArgumentError
from evener.graph.checks import is_number
from evener.programs.adjacency import adjacency
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

__all__ = ["SPEC", "check", "katz_centrality"]

SPEC = program_spec(
    "katz_centrality",
    "Katz centrality of every vertex.",
    [Column("centrality", real=True)],
    run="evener.programs.library.katz_centrality:katz_centrality",
    verify="evener.programs.library.katz_centrality:check",
    options=(
        Option("attenuation", "float", "Factor for each edge of a walk (default: 1 / (1 + largest degree))."),
        Option("tol", "float", "Largest change of a value (default 1e-9).", changes_answer=False),
        Option("max_iter", "int", "Largest number of iterations (default 1000).", changes_answer=False),
    ),
)

# Largest relative error of a verified answer.
_TOLERANCE = 1e-6


@collective()
def katz_centrality(
    graph: Graph | PartitionedGraph | str,
    *,
    attenuation: float | None = None,
    tol: float = 1e-9,
    max_iter: int = 1000,
    on: str | Sequence[str] | None = None,
    policy: str = "auto",
    alpha: float | Literal["auto"] | None = None,
    gpu_memory: str | int | None = None,
    progress: Callable[[Progress], None] | None = None,
    checkpoint: Checkpoint | None = None,
) -> Result:
    """Return the Katz centrality of every vertex.

    This is a collective operation; all ranks must call it.

    Parameters
    ----------
    graph : Graph, PartitionedGraph or str
        A path or a generator spec is read; with several ranks, each rank reads its own part.
    attenuation : float, optional
        The factor for each edge of a walk, below 1 over the largest eigenvalue. Default: 1 / (1 + the largest
        out-degree).
    tol : float, default 1e-9
        A vertex is active if its value changes by more than this factor.
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
        If `attenuation` or `tol` is not a number of at least 0.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 1, 2], [2, 2, 3])
    >>> ev.katz_centrality(g).top(1)[0][0]
    2
    """
    for name, value in (("attenuation", 0 if attenuation is None else attenuation), ("tol", tol)):
        if not (is_number(value) and value >= 0):
            msg = f"{name}=: expected a number of at least 0, found {value!r}"
            raise ArgumentError(msg)
    pg = ensure_placed(
        opened(graph, SPEC), SPEC, on=on, policy=policy, alpha=alpha, gpu_memory=gpu_memory
    )  # fmt: skip
    factor = 1 / (1 + _largest_degree(pg)) if attenuation is None else float(attenuation)
    run = run_program(
        pg, _program(factor, float(tol)), SPEC, max_iter=max_iter, progress=progress, checkpoint=checkpoint
    )
    columns = {"centrality": lambda: unit_length(run.pg, run.fields["value"])}
    return result_of(
        run, "katz_centrality", SPEC.columns, columns,
        {"attenuation": factor, "tol": tol, "max_iter": max_iter},
    )  # fmt: skip


def _largest_degree(pg: PartitionedGraph) -> int:
    """Return the most out-edges of a vertex. All ranks must call it."""
    pairs = zip(pg.elements, pg.partitions, strict=True)
    own = [int(element.download(one.out_degree).max(initial=0)) for element, one in pairs]
    return int(pg.world.allreduce(max(own, default=0), "max"))


def _program(attenuation: float, tol: float) -> VertexProgram:
    """Each vertex sends its value; it is active if its value has changed."""

    def apply(state: Any, message: Any) -> Any:
        value = 1 + attenuation * message
        return (value,), abs(value - state.value) > tol * value

    return VertexProgram(
        state={"value": 1.0},
        send=lambda state, weight: state.value,  # noqa: ARG005 - the parameters of every `send`
        combine=lambda a, b: a + b,
        apply=apply,
    )


def check(answer: Answer) -> None:
    """Raise VerificationError unless all values solve the linear equations, up to one factor."""
    graph, factor = answer.graph, required_parameter(answer, "attenuation")
    value = column(answer, "centrality")
    if graph.n == 0:
        return
    rest = value - factor * (adjacency(graph).T @ value)
    error = np.abs(rest / rest.mean() - 1).max() if rest.mean() > 0 else np.inf
    if not error <= _TOLERANCE * max(1.0, value.max() / rest.mean()):
        detail = (
            f"value - {factor} · (sum of in-neighbours) differs from its mean by a factor of {1 + error:g}"
        )
        fail(answer, "the equation of Katz holds at all vertices", detail)
