"""Searches from one vertex or from many, as arrays of distances and as paths of nodes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import evener as ev
from _evener_networkx.conversion import LeaveToNetworkXError, collector_paused

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from numpy.typing import NDArray

    from _evener_networkx.conversion import ConvertedGraph
    from evener.graph.graph import Graph

__all__ = ["Search", "hops", "search", "searches", "weighted_rows"]

# Sources of one call, which keeps their distances in memory.
_BATCH = 64


class Search(NamedTuple):
    """The reached vertices of one search by ascending distance, their distances, and the tree of paths."""

    graph: ConvertedGraph
    order: NDArray[np.int64]
    distance: NDArray[Any]
    parent: NDArray[np.int64]

    def lengths(self) -> dict[Any, Any]:
        """Return the distance of each reached node."""
        return dict(zip(self.graph.named(self.order), self.distance[self.order].tolist(), strict=True))

    def paths(self, *, reverse: bool = False) -> dict[Any, list[Any]]:
        """Return a shortest path to each reached node, or from each with `reverse`."""
        nodes = self.graph.nodes
        order, parents = self.order.tolist(), self.parent[self.order].tolist()
        found: dict[int, list[Any]] = {}
        with collector_paused():
            for vertex, parent in zip(order, parents, strict=True):
                before = [] if parent == vertex else found.get(parent) or self._later_path(parent, found)
                found[vertex] = [*before, nodes[vertex]]
            if reverse:
                for path in found.values():
                    path.reverse()
            return {nodes[vertex]: found[vertex] for vertex in order}

    def _later_path(self, vertex: int, found: dict[int, list[Any]]) -> list[Any]:
        """Return the path to a vertex at the distance of its child, which edges of weight 0 lead to."""
        missing = []
        while vertex not in found:
            missing.append(vertex)
            if (parent := int(self.parent[vertex])) == vertex:
                break
            vertex = parent
        nodes = self.graph.nodes
        return [*found.get(vertex, []), *(nodes[later] for later in reversed(missing))]

    def path_to(self, vertex: int) -> list[Any]:
        """Return a shortest path to a vertex; raise `LeaveToNetworkXError` if it is not reached."""
        if self.parent[vertex] < 0:
            raise LeaveToNetworkXError
        numbers = [vertex]
        while self.parent[numbers[-1]] != numbers[-1]:
            numbers.append(int(self.parent[numbers[-1]]))
        return [self.graph.nodes[number] for number in reversed(numbers)]

    def length_to(self, vertex: int) -> Any:
        """Return the distance of a vertex; raise `LeaveToNetworkXError` if it is not reached."""
        if self.parent[vertex] < 0:
            raise LeaveToNetworkXError
        return self.distance[vertex].item()


def hops(cutoff: Any) -> int | None:
    """Return the largest number of edges of a cutoff; `LeaveToNetworkXError` for one that is no number."""
    if cutoff is None or cutoff == math.inf:
        return None
    if not isinstance(cutoff, int | float) or not cutoff >= 0:
        raise LeaveToNetworkXError
    return math.ceil(cutoff)


def weighted_rows(graph: ConvertedGraph, weight: Hashable | None) -> Graph:
    """Return the rows with weights; raise NotImplementedError if a weight is negative or infinite."""
    rows = graph.weighted(weight)
    if rows.weights is not None and not ((rows.weights >= 0) & np.isfinite(rows.weights)).all():
        msg = f"the edge attribute {weight!r} has negative or infinite weights"
        raise NotImplementedError(msg)
    return rows


def search(
    graph: ConvertedGraph,
    sources: Sequence[int],
    *,
    rows: Graph | None = None,
    target: int | None = None,
    cutoff: float | None = None,
) -> Search:
    """Return the search from several sources together; `rows` may have weights or be reversed."""
    rows = graph.graph if rows is None else rows
    run = ev.bfs if rows.weights is None else ev.sssp
    result = run(rows, sources=list(sources), target=target, cutoff=cutoff)
    return _as_search(graph, rows, result)


def searches(
    graph: ConvertedGraph, sources: Sequence[int], *, rows: Graph | None = None, cutoff: float | None = None
) -> Iterator[Search]:
    """Yield a search from each source."""
    rows = graph.graph if rows is None else rows
    run = ev.bfs if rows.weights is None else ev.sssp
    for start in range(0, len(sources), _BATCH):
        batch = list(sources[start : start + _BATCH])
        each: Any = run(rows, sources=batch, each=True, cutoff=cutoff)
        for result in each.rows:
            yield _as_search(graph, rows, result)


def _as_search(graph: ConvertedGraph, rows: Graph, result: Any) -> Search:
    distance, parent = result["distance"], result["parent"]
    reached = np.flatnonzero(parent >= 0)
    order = reached[np.argsort(distance[reached], kind="stable")]
    if rows.weights is not None and rows.weights.dtype.kind in "iu":
        distance = np.where(parent >= 0, distance, -1).astype(np.int64)
    return Search(graph, order, distance, parent)
