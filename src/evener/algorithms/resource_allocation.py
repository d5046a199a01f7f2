"""Resource allocation index of pairs of vertices: a sum over common neighbours, hubs count less.

Idea and encoding: see `evener.primitives.pair_scores` and `evener.primitives.best_pairs`.

Zhou, Lü, Zhang: Predicting missing links via local information (2009).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from evener.primitives.pair_results import check_pairs, pair_spec, run_on_pairs
from evener.primitives.pair_scores import Measure
from evener.spec.run_options import driver

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph
    from evener.results.result import Result
    from evener.spec.answer import Answer
    from evener.spec.run_options import RunOptions

__all__ = ["SPEC", "check", "resource_allocation"]

SPEC = pair_spec(
    "resource_allocation", "Resource allocation index of pairs of vertices.",
    synonyms=("resource_allocation_index",),
)  # fmt: skip
_MEASURE = Measure("sum", "inverse")


@driver(SPEC)
def resource_allocation(
    graph: Graph | PartitionedGraph | str,
    *,
    pairs: ArrayLike | None = None,
    k: int = 100,
    **options: Unpack[RunOptions],
) -> Result:
    """Return the resource allocation index of pairs of vertices.

    Parameters
    ----------
    graph : Graph, PartitionedGraph or str
        A path or a generator spec is read; with several ranks, each rank reads its own part. Directions,
        weights, self-loops and repeated edges do not count.
    pairs : array-like of shape (pairs, 2), optional
        The ids of the vertices of each pair. Default: of all pairs of vertices with a common neighbour and
        without an edge, the pairs with the highest scores. All these pairs are found on CPUs only.
    k : int, default 100
        The number of the best pairs, if no pairs are given.

    Returns
    -------
    TableResult
        A row for each pair: ``first`` and ``second``, the ids of its vertices, and ``resource_allocation``,
        the sum of 1 / d over the common neighbours, which have d neighbours.

    Raises
    ------
    ArgumentError
        If `k` is not an integer of at least 1, or `pairs` has another shape.
    UnknownVertexError
        If a vertex of `pairs` is not in the graph.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 0, 0, 1, 2], [1, 2, 3, 4, 4], directed=False)
    >>> ev.resource_allocation(g, pairs=[(1, 2), (1, 3)])["resource_allocation"].round(2).tolist()
    [0.83, 0.33]
    """
    return run_on_pairs(SPEC, _MEASURE, graph, pairs, k, options)


def check(answer: Answer) -> None:
    """Raise VerificationError unless each pair has its score."""
    check_pairs(answer, _MEASURE)
