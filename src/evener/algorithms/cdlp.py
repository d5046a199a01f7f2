"""Community detection by label propagation, as LDBC Graphalytics defines it.

In each iteration, a vertex takes the label that most of its neighbours have, and the smallest of several. In
a directed graph, an edge counts at both ends.

Raghavan, Albert, Kumara (2007); Iosup et al.: LDBC Graphalytics (2016).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from evener.programs.arguments import fixed_iterations
from evener.programs.vertex_kernels_gpu import TABLE_BYTES
from evener.programs.vertex_program import VertexProgram, program_spec, result_of, run_program
from evener.spec.algorithm import Column, Option
from evener.spec.run import begin
from evener.spec.run_options import driver
from evener.spec.verification import count_parameter, fail, first_true, vertex_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph
    from evener.results.result import Result
    from evener.spec.answer import Answer
    from evener.spec.run_options import RunOptions

__all__ = ["SPEC", "cdlp", "check"]

SPEC = program_spec(
    "cdlp",
    "Communities by label propagation.",
    [Column("label", "group")],
    tables=TABLE_BYTES,
    run="evener.algorithms.cdlp:cdlp",
    verify="evener.algorithms.cdlp:check",
    options=(Option("max_iter", "int", "Number of iterations (default 10)."),),
    graphalytics=("label", "exact"),
)


@driver(SPEC)
def cdlp(
    graph: Graph | PartitionedGraph | str,
    *,
    max_iter: int = 10,
    **options: Unpack[RunOptions],
) -> Result:
    """Return the community of every vertex, by label propagation.

    Parameters
    ----------
    graph : Graph, PartitionedGraph or str
        Weights do not count.
    max_iter : int, default 10
        The number of iterations.

    Returns
    -------
    Result
        ``label``: shape (n,), the id of a vertex. `outcome` has ``iterations`` and ``converged``, which is
        false if labels still change after the last iteration.

    Raises
    ------
    ArgumentError
        If `max_iter` is not an integer of at least 0.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 0, 1, 2, 3, 3, 4], [1, 2, 2, 3, 4, 5, 5], directed=False)
    >>> ev.cdlp(g)["label"].tolist()
    [0, 0, 0, 2, 2, 2]
    """
    condition = fixed_iterations(max_iter)
    run = begin(SPEC, graph, options)
    found = run_program(run, _program(run.graph.n), condition)

    def labels() -> NDArray[np.int64]:
        pairs = zip(found.pg.elements, found.fields["label"], strict=True)
        return found.pg.gather_numbers([element.run(own.astype, np.uint32) for element, own in pairs])

    return result_of(run, found, {"label": labels}, {"max_iter": int(max_iter)})


def _program(n: int) -> VertexProgram:
    """Each vertex sends its label; it is active if its label changed."""

    def apply(state: Any, message: Any) -> Any:
        label = state.label if message < 0 else message
        return (label,), label != state.label

    return VertexProgram(
        state={"label": np.arange(n)},
        send=lambda state, weight: state.label,  # noqa: ARG005 - the parameters of every `send`
        combine="most_frequent",
        apply=apply,
        along="both",
    )


def check(answer: Answer) -> None:
    """Raise VerificationError unless the labels are those of the same iterations with sorted edges."""
    graph, iterations = answer.graph, count_parameter(answer, "max_iter")
    found = vertex_numbers(answer, "label")
    sources = np.repeat(np.arange(graph.n), graph.out_degree().astype(np.int64))
    targets = graph.targets.astype(np.int64)
    if graph.directed:
        sources, targets = np.concatenate([sources, targets]), np.concatenate([targets, sources])
    label = np.arange(graph.n)
    for _ in range(iterations):
        following = _next_labels(sources, label[targets], label)
        if np.array_equal(following, label):
            break
        label = following
    if (wrong := label != found).any():
        v = first_true(wrong)
        detail = f"vertex {graph.ids[v]} has label {answer['label'][v]}, expected {graph.ids[label[v]]}"
        fail(answer, f"labels after {iterations} iterations", detail)


def _next_labels(
    vertex: NDArray[np.int64], heard: NDArray[np.int64], label: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the most frequent label that each vertex hears."""
    order = np.lexsort((heard, vertex))
    vertex, heard = vertex[order], heard[order]
    begins = np.flatnonzero(np.r_[True, (np.diff(vertex) != 0) | (np.diff(heard) != 0)][: len(vertex)])
    count = np.diff(np.r_[begins, len(vertex)])
    # The winner of a vertex comes first: the largest count, then the smallest label.
    order = np.lexsort((heard[begins], -count, vertex[begins]))
    winners, place = np.unique(vertex[begins][order], return_index=True)
    label = label.copy()
    label[winners] = heard[begins][order][place]
    return label
