"""Jaccard's coefficient of pairs of vertices: the share of the neighbours of either vertex that both have.

Idea and encoding: see `evener.primitives.pair_scores` and `evener.primitives.best_pairs`.

Jaccard: The distribution of the flora in the alpine zone (1912).
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

__all__ = ["SPEC", "check", "jaccard"]

SPEC = pair_spec(
    "jaccard", "Jaccard's coefficient of pairs of vertices.",
    synonyms=("jaccard_coefficient", "jaccard_index", "all_pairs_jaccard", "jaccard_similarity"),
)  # fmt: skip
_MEASURE = Measure("jaccard")


@driver(SPEC)
def jaccard(
    graph: Graph | PartitionedGraph | str,
    *,
    pairs: ArrayLike | None = None,
    k: int = 100,
    **options: Unpack[RunOptions],
) -> Result:
    """Return the Jaccard's coefficient of pairs of vertices.

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
        A row for each pair: ``first`` and ``second``, the ids of its vertices, and ``jaccard``,
        the common neighbours over the neighbours of either vertex; 0 if there are none.

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
    >>> ev.jaccard(g, pairs=[(1, 2), (1, 3)])["jaccard"].round(2).tolist()
    [1.0, 0.5]
    """
    return run_on_pairs(SPEC, _MEASURE, graph, pairs, k, options)


def check(answer: Answer) -> None:
    """Raise VerificationError unless each pair has its score."""
    check_pairs(answer, _MEASURE)
