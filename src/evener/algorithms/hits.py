"""HITS: a good hub has edges to good authorities, and a good authority has edges from good hubs.

Supersteps alternate: authorities add the values of hubs along edges, and hubs add the values of authorities
against edges, each times the weight of the edge. Each superstep divides by the sum of the values that it
reads. Without edges, all vertices are equal.

Kleinberg: Authoritative sources in a hyperlinked environment (1999).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from evener.programs.arguments import relative_change
from evener.programs.eigenvectors import (
    allowed_error,
    check_entries,
    check_largest,
    equal_sum,
    factors_used,
    float32_above,
    unit_sum,
    vanishes,
)
from evener.programs.vertex_program import VertexProgram, program_spec, result_of, run_program
from evener.spec.algorithm import WEIGHTS_OPTION, Column, Option
from evener.spec.answer_parts import parts_of
from evener.spec.arguments import weights_used
from evener.spec.run import begin
from evener.spec.run_options import driver
from evener.spec.verification import fail

if TYPE_CHECKING:
    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph
    from evener.results.result import Result
    from evener.spec.answer import Answer
    from evener.spec.run_options import RunOptions

__all__ = ["SPEC", "check", "hits"]

SPEC = program_spec(
    "hits",
    "Hubs and authorities.",
    [Column("hub", real=True), Column("authority", real=True)],
    fields=2,
    run="evener.algorithms.hits:hits",
    verify="evener.algorithms.hits:check",
    options=(
        Option("tol", "float", "Relative change that ends the run (default 1e-9).", changes_answer=False),
        Option("max_iter", "int", "Largest number of supersteps (default 1000).", changes_answer=False),
        WEIGHTS_OPTION,
    ),
    synonyms=("hub_score", "authority_score", "hubs_and_authorities"),
)


@driver(SPEC)
def hits(
    graph: Graph | PartitionedGraph | str,
    *,
    tol: float = 1e-9,
    max_iter: int = 1000,
    weights: bool | None = None,
    **options: Unpack[RunOptions],
) -> Result:
    """Return how good a hub and an authority every vertex is.

    Parameters
    ----------
    graph : Graph, PartitionedGraph or str
    tol : float, default 1e-9
        The run ends if the sum of all changes of a superstep, over the sum of the values, is below it.
    max_iter : int, default 1000
        The largest number of supersteps, two for each iteration.
    weights : bool, optional
        Whether an edge adds the value of its other end times its weight. Default: if the graph has weights.

    Returns
    -------
    Result
        ``hub`` and ``authority``: float64, shape (n,); each sums to 1. `outcome` has ``iterations``
        and ``converged``.

    Warns
    -----
    ConvergenceWarning
        If values still change after `max_iter` supersteps.

    Raises
    ------
    ArgumentError
        If `tol` is not a finite number above 0. If `weights` is True and the graph has none. If
        weights are used, and a weight is negative or infinite, or the largest weight is above 0 and not from
        1e-140 to 1e140.

    Notes
    -----
    On GPUs and without weights, messages are float32 while the relative change is above 5e-7. Rounding to
    float32 changes a message by at most 6e-8 of its value. With a smaller `tol`, later messages are float64.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 0, 1], [2, 3, 2])
    >>> r = ev.hits(g)
    >>> r["hub"].round(3).tolist(), r["authority"].round(3).tolist()
    ([0.618, 0.382, 0.0, 0.0], [0.0, 0.0, 0.618, 0.382])
    """
    condition = relative_change(tol, max_iter)
    run = begin(SPEC, graph, options)
    weighted = factors_used(run.graph, weights, "HITS")
    found = run_program(run, _program(run.graph.n, tol, weighted=weighted), condition)
    norm = equal_sum if vanishes(found, "hits", weighted=weighted) else unit_sum
    columns = {name: (lambda name=name: norm(found.pg, found.fields[name])) for name in found.fields}
    parameters = {"tol": tol, "max_iter": max_iter, "weights": weighted}
    return result_of(run, found, columns, parameters)


def _program(n: int, tol: float, *, weighted: bool) -> VertexProgram:
    """Odd supersteps compute authorities, even supersteps compute hubs. All vertices stay active.

    The first hubs are degrees, which equal authorities would give.
    """

    def send(state: Any, weight: Any, degree: int, iteration: int) -> Any:  # noqa: ARG001 - own parameters
        if iteration == 1:
            return 1.0 * degree
        return state.hub if iteration % 2 else state.authority

    def send_weighted(state: Any, weight: Any, degree: int, iteration: int) -> Any:
        if iteration == 1:
            return weight * 1.0 * degree
        return weight * (state.hub if iteration % 2 else state.authority)

    def aggregate(state: Any, degree: int, iteration: int) -> Any:
        if iteration == 0:
            return 1.0 * degree
        return state.authority if iteration % 2 else state.hub  # an odd superstep has computed authorities

    def apply(state: Any, message: Any, iteration: int, total: float) -> Any:
        value = message / total if total > 0 else 0.0
        return ((state.hub, value) if iteration % 2 else (value, state.authority)), True

    return VertexProgram(
        state={"hub": 1 / max(n, 1), "authority": 0.0},
        send=send_weighted if weighted else send,
        combine=lambda a, b: a + b,
        apply=apply,
        along=("out", "in"),
        aggregate=aggregate,
        float32_above=float32_above(tol),
    )


def check(answer: Answer) -> None:
    """Raise VerificationError unless hubs and authorities are the largest singular vectors."""
    parts, graph = parts_of(answer), answer.graph
    hub, authority = (parts.column(name).astype(np.float64) for name in ("hub", "authority"))
    if graph.n == 0:
        return
    for name, value in (("hub", hub), ("authority", authority)):
        check_entries(parts, name, value, float(value.sum()), "the sum")
    weighted = weights_used(graph, answer.parameters.get("weights"), "HITS")
    against = partial(parts.row_sums, direction="out", weighted=weighted)
    along = partial(parts.row_sums, direction="in", weighted=weighted)
    to_hub, to_authority = against(authority), along(hub)
    scales = to_hub.sum(), to_authority.sum()
    if along(np.ones(graph.n)).sum() == 0:
        to_hub = to_authority = np.ones(graph.n)
    elif min(scales) <= 0:
        fail(answer, "hubs have edges to authorities", "no edge joins vertices with values above 0")
    errors = []
    for name, value, follows in (("hub", hub, to_hub), ("authority", authority, to_authority)):
        expected = follows / follows.sum()
        errors.append(np.abs(value - expected))
        if (v := parts.first(~(errors[-1] <= allowed_error(value)))) is not None:
            detail = f"vertex {parts.id(v)} has {value[v]}, expected {expected[v]}"
            fail(answer, f"{name} follows from the other value", detail)
    if min(scales) > 0:
        # [0 A; Aᵀ 0] times (hub, authority), each of the same length, is the singular value times them.
        singular = float(np.sqrt(scales[0] * scales[1]))
        check_largest(
            answer,
            lambda y: np.concatenate([against(y[graph.n :]), along(y[: graph.n])]),
            np.concatenate([hub, authority]),
            np.concatenate(errors),
            singular,
        )
