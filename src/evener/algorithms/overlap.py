"""Overlap coefficient of pairs of vertices: common neighbours over the neighbours of the end with fewer.

Idea and encoding: see `evener.primitives.pair_scores` and `evener.primitives.best_pairs`.

Vijaymeena, Kavitha: A survey on similarity measures in text mining (2016).
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

__all__ = ["SPEC", "check", "overlap"]

SPEC = pair_spec(
    "overlap", "Overlap coefficient of pairs of vertices.",
    synonyms=("overlap_coefficient", "all_pairs_overlap"),
)  # fmt: skip
_MEASURE = Measure("overlap")


@driver(SPEC)
def overlap(
    graph: Graph | PartitionedGraph | str,
    *,
    pairs: ArrayLike | None = None,
    k: int = 100,
    **options: Unpack[RunOptions],
) -> Result:
    """Return the overlap coefficient of pairs of vertices.

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
        A row for each pair: ``first`` and ``second``, the ids of its vertices, and ``overlap``,
        the common neighbours over the neighbours of the vertex with fewer; 0 if it has none.

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
    >>> ev.overlap(g, pairs=[(1, 2), (1, 3)])["overlap"].round(2).tolist()
    [1.0, 1.0]
    """
    return run_on_pairs(SPEC, _MEASURE, graph, pairs, k, options)


def check(answer: Answer) -> None:
    """Raise VerificationError unless each pair has its score."""
    check_pairs(answer, _MEASURE)
