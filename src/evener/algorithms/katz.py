"""Katz centrality: the number of walks that end at a vertex, where longer walks count less.

Each vertex has 1 plus the values of its in-neighbours times `attenuation`.

Katz: A new status index derived from sociometric analysis (1953).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Unpack, cast

import numpy as np

from evener.errors import ArgumentError
from evener.graph.checks import is_number
from evener.programs.arguments import stop_condition
from evener.programs.eigenvectors import check_entries, float32_above, unit_length
from evener.programs.vertex_program import VertexProgram, program_spec, result_of, run_program
from evener.spec.algorithm import WEIGHTS_OPTION, Column, Option
from evener.spec.answer_parts import parts_of
from evener.spec.arguments import weights_used
from evener.spec.run import begin
from evener.spec.run_options import driver
from evener.spec.strength import placed_strength
from evener.spec.verification import fail, finite_number, required_parameter

if TYPE_CHECKING:
    from evener.graph.graph import Graph
    from evener.partition.partition import Edges
    from evener.partition.partitioned import PartitionedGraph
    from evener.results.result import Result
    from evener.spec.answer import Answer
    from evener.spec.run_options import RunOptions

__all__ = ["SPEC", "check", "katz"]

SPEC = program_spec(
    "katz",
    "Katz centrality of every vertex.",
    [Column("centrality", real=True)],
    run="evener.algorithms.katz:katz",
    verify="evener.algorithms.katz:check",
    options=(
        Option(
            "attenuation",
            "float",
            "Factor for each edge of a walk (default: 1 / (1 + largest sum of a vertex's weights)).",
        ),
        Option("tol", "float", "Largest change of a value (default 1e-9).", changes_answer=False),
        Option("max_iter", "int", "Largest number of iterations (default 1000).", changes_answer=False),
        WEIGHTS_OPTION,
    ),
    former_name="katz_centrality",
    synonyms=("katz_index",),
)

# Largest error of a verified value, relative to the value.
_TOLERANCE = 1e-6


@driver(SPEC)
def katz(
    graph: Graph | PartitionedGraph | str,
    *,
    attenuation: float | None = None,
    tol: float = 1e-9,
    max_iter: int = 1000,
    weights: bool | None = None,
    **options: Unpack[RunOptions],
) -> Result:
    """Return the Katz centrality of every vertex.

    Parameters
    ----------
    graph : Graph, PartitionedGraph or str
    attenuation : float, optional
        The factor for each edge of a walk, below 1 over the largest eigenvalue. Default: 1 / (1 + the largest
        sum of the weights of a vertex's out-edges). Without weights, the sum is the out-degree.
    tol : float, default 1e-9
        A vertex is active if its value changes by more than this factor, or by 1 or more. If no value changes
        by 1, the sum over all walks has a limit.
    max_iter : int, default 1000
        The largest number of iterations.
    weights : bool, optional
        Whether a walk counts as often as the product of the weights of its edges. Default: if the graph has
        weights.

    Returns
    -------
    Result
        ``centrality``: float64, shape (n,); the sum of the squares is 1. `outcome` has ``iterations``
        and ``converged``.

    Warns
    -----
    ConvergenceWarning
        If values still change after `max_iter` iterations.

    Raises
    ------
    ArgumentError
        If `attenuation` or `tol` is not a finite number of at least 0. If a value is above the largest
        float64: the attenuation is too large. If `weights` is True and the graph has none. If weights are
        used and a weight is negative or infinite.

    Notes
    -----
    On GPUs and without weights, messages are float32 while the relative change is above 5e-7. Rounding to
    float32 changes a message by at most 6e-8 of its value. With a smaller `tol`, later messages are float64.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 1, 2], [2, 2, 3])
    >>> ev.katz(g).top(1)[0][0]
    2
    """
    for name, value in (("attenuation", 0 if attenuation is None else attenuation), ("tol", tol)):
        if not (is_number(value) and 0 <= value < math.inf):
            msg = f"{name}=: expected a finite number of at least 0, found {value!r}"
            raise ArgumentError(msg)
    condition = stop_condition(None, max_iter)._replace(
        text=f"relative changes of at most {tol:g}, and changes below 1",
        remedy="increase max_iter= or tol=, or give attenuation= below 1 / largest eigenvalue",
        overflow="the sum over all walks has no limit, or is too large; decrease attenuation=",
    )
    run = begin(SPEC, graph, options)
    weighted = weights_used(run.graph, weights, "Katz centrality")
    pg = run.place()
    factor = 1 / (1 + _largest_sum(pg, weighted=weighted)) if attenuation is None else float(attenuation)
    # Values settle at about the same time, so a vertex that waits for active neighbours saves nothing.
    program = _program(factor, float(tol), weighted=weighted, symmetric=not run.graph.directed)
    found = run_program(run, program, condition, all_work=True)
    columns = {"centrality": lambda: unit_length(pg, found.fields["value"])}
    parameters = {"attenuation": factor, "tol": tol, "max_iter": max_iter, "weights": weighted}
    return result_of(run, found, columns, parameters)


def _largest_sum(pg: PartitionedGraph, *, weighted: bool) -> float:
    """Return the largest sum of the weights of a vertex's out-edges, or their largest number.

    This is a collective operation; all ranks must call it. The placed graph keeps the number.
    """
    kind = "largest strength" if weighted else "largest degree"
    derived = cast("Edges", pg.partitions[0].in_).derived
    if kind not in derived:
        sums = placed_strength(pg) if weighted else [partition.out_degree for partition in pg.partitions]
        pairs = zip(pg.elements, sums, strict=True)
        own = [float(element.download(one).max(initial=0)) for element, one in pairs]
        derived[kind] = float(pg.world.allreduce(max(own, default=0.0), "max"))
    return float(derived[kind])


def _program(attenuation: float, tol: float, *, weighted: bool, symmetric: bool) -> VertexProgram:
    """Each vertex sends its value; it is active if its value has changed.

    Values begin at 1. If each value changes by less than 1 in an iteration, the matrix times these values is
    below them. Its largest eigenvalue is then below 1 (Collatz and Wielandt), so the sum has a limit. If
    vertices have as many in-edges as out-edges (`symmetric`), degrees give the values that follow from 1.
    """

    def send(state: Any, weight: Any) -> Any:  # noqa: ARG001 - the parameters of every `send`
        return state.value

    def send_symmetric(state: Any, weight: Any, degree: int, iteration: int) -> Any:  # noqa: ARG001 - as above
        return 1 + attenuation * degree if iteration == 1 else state.value

    def send_weighted(state: Any, weight: Any) -> Any:
        return weight * state.value

    def apply(state: Any, message: Any) -> Any:
        value = 1 + attenuation * message
        change = abs(value - state.value)
        return (value,), change > tol * value or change >= 1

    return VertexProgram(
        state={"value": 1.0},
        send=send_weighted if weighted else send_symmetric if symmetric else send,
        combine=lambda a, b: a + b,
        apply=apply,
        aggregate=lambda state: state.value,
        float32_above=float32_above(tol),
    )


def check(answer: Answer) -> None:
    """Raise VerificationError unless all values solve the linear equations, up to one factor."""
    parts, graph = parts_of(answer), answer.graph
    factor = float(finite_number(answer, "attenuation", required_parameter(answer, "attenuation")))
    value = parts.column("centrality").astype(np.float64)
    if graph.n == 0:
        return
    check_entries(parts, "centrality", value, float(np.linalg.norm(value)), "the length")
    weighted = weights_used(graph, answer.parameters.get("weights"), "Katz centrality")
    rest = value - factor * parts.row_sums(value, "in", weighted=weighted)
    equal = float(np.median(rest))
    if not equal > 0:
        detail = f"value - {factor:g} · (sum of in-neighbours) is {equal:g}; the sum over walks has no limit"
        fail(answer, "the rest of a value is above 0", detail)
    parts.require(
        np.abs(rest - equal) <= _TOLERANCE * value,
        "the equation of Katz holds at all vertices",
        lambda v: (
            f"value - {factor:g} · (sum of in-neighbours) is {rest[v]:g} at vertex {parts.id(v)}, and "
            f"{equal:g} at others"
        ),
    )
