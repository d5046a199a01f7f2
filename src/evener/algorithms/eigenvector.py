"""Eigenvector centrality: the eigenvector of the largest eigenvalue, over in-edges.

Idea: power iteration on the adjacency matrix, whose entries are weights. A multiple of the identity is added,
so that bipartite graphs converge too. The growth in the last superstep, an estimate of the largest
eigenvalue, gives the multiple. So another unit of the weights gives the same values. Each superstep divides
by the sum of the values. Without edges, all vertices are equal.

Bonacich: Power and centrality (1987).
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
    equal_length,
    factors_used,
    float32_above,
    unit_length,
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

__all__ = ["SPEC", "check", "eigenvector"]

SPEC = program_spec(
    "eigenvector",
    "Eigenvector centrality of every vertex.",
    [Column("centrality", real=True)],
    run="evener.algorithms.eigenvector:eigenvector",
    verify="evener.algorithms.eigenvector:check",
    options=(
        Option("tol", "float", "Relative change that ends the run (default 1e-9).", changes_answer=False),
        Option("max_iter", "int", "Largest number of iterations (default 1000).", changes_answer=False),
        WEIGHTS_OPTION,
    ),
    former_name="eigenvector_centrality",
    synonyms=("eigen_centrality", "eigenvector_centrality_numpy"),
)

# Multiple of the identity over the sum of the eigenvalue and this multiple: an eighth of the eigenvalue.
_SHIFT = 1 / 9


@driver(SPEC)
def eigenvector(
    graph: Graph | PartitionedGraph | str,
    *,
    tol: float = 1e-9,
    max_iter: int = 1000,
    weights: bool | None = None,
    **options: Unpack[RunOptions],
) -> Result:
    """Return the eigenvector centrality of every vertex.

    Parameters
    ----------
    graph : Graph, PartitionedGraph or str
    tol : float, default 1e-9
        The run ends if the sum of all changes of an iteration, over the sum of the values, is below it.
    max_iter : int, default 1000
        The largest number of iterations.
    weights : bool, optional
        Whether an edge adds the value of its tail times its weight. Default: if the graph has weights.

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
        If `tol` is not a finite number above 0. If `weights` is True and the graph has none. If
        weights are used, and a weight is negative or infinite, or the largest weight is above 0 and not from
        1e-140 to 1e140. If all values vanish, because a directed graph has edges and no cycle: its largest
        eigenvalue is 0.

    Notes
    -----
    On GPUs and without weights, messages are float32 while the relative change is above 5e-7. Rounding to
    float32 changes a message by at most 6e-8 of its value. With a smaller `tol`, later messages are float64.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 0, 0], [1, 2, 3], directed=False)
    >>> ev.eigenvector(g)["centrality"].round(4).tolist()
    [0.7071, 0.4082, 0.4082, 0.4082]
    """
    condition = relative_change(tol, max_iter)
    run = begin(SPEC, graph, options)
    weighted = factors_used(run.graph, weights, "eigenvector centrality")
    found = run_program(run, _program(run.graph.n, tol, weighted=weighted), condition)
    norm = equal_length if vanishes(found, "eigenvector", weighted=weighted) else unit_length
    columns = {"centrality": lambda: norm(found.pg, found.fields["value"])}
    parameters = {"tol": tol, "max_iter": max_iter, "weights": weighted}
    return result_of(run, found, columns, parameters)


def _program(n: int, tol: float, *, weighted: bool) -> VertexProgram:
    """Each vertex sends its value; all vertices stay active.

    The first values are degrees. In an undirected graph, equal values would give them.
    """

    def send(state: Any, weight: Any, degree: int, iteration: int) -> Any:  # noqa: ARG001 - own parameters
        return 1.0 * degree if iteration == 1 else state.value

    def send_weighted(state: Any, weight: Any, degree: int, iteration: int) -> Any:
        return weight * (1.0 * degree if iteration == 1 else state.value)

    def apply(state: Any, message: Any, iteration: int, total: float) -> Any:
        # The sum of the values before is not yet an eigenvalue in the first superstep.
        kept = _SHIFT * state.value if iteration > 1 else 0.0
        return ((message / total if total > 0 else 0.0) + kept,), True

    return VertexProgram(
        state={"value": 1 / max(n, 1)},
        send=send_weighted if weighted else send,
        combine=lambda a, b: a + b,
        apply=apply,
        aggregate=lambda state, degree, iteration: state.value if iteration > 0 else 1.0 * degree,
        float32_above=float32_above(tol),
    )


def check(answer: Answer) -> None:
    """Raise VerificationError unless the values are an eigenvector of the largest eigenvalue."""
    parts, graph = parts_of(answer), answer.graph
    value = parts.column("centrality").astype(np.float64)
    if graph.n == 0:
        return
    check_entries(parts, "centrality", value, float(np.linalg.norm(value)), "the length")
    weighted = weights_used(graph, answer.parameters.get("weights"), "eigenvector centrality")
    product = partial(parts.row_sums, direction="in", weighted=weighted)
    image = product(value)
    eigenvalue = float(image.sum() / value.sum())
    if product(np.ones(graph.n)).sum() == 0:
        expected = np.full(graph.n, 1 / np.sqrt(graph.n))
    elif eigenvalue > 0:
        expected = image / eigenvalue
    else:
        fail(answer, "the values are an eigenvector of an eigenvalue above 0", "the eigenvalue is 0")
    error = np.abs(value - expected)
    parts.require(
        error <= allowed_error(value),
        "the values are an eigenvector",
        lambda v: f"vertex {parts.id(v)} has {value[v]}, and its in-neighbours give {expected[v]}",
    )
    if eigenvalue > 0:
        check_largest(answer, product, value, error, eigenvalue)
