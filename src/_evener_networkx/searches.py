"""Searches from one vertex or from many, as arrays of distances and as paths of nodes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from _evener_networkx.conversion import LeaveToNetworkXError, collector_paused, stable_order
from _evener_networkx.lazy import ev, np

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from numpy.typing import NDArray

    from _evener_networkx.conversion import ConvertedGraph
    from evener.graph.graph import Graph

__all__ = ["Search", "hops", "search", "searches", "weighted_rows"]

# Sources of one call, which keeps their distances in memory.
_BATCH = 64


@dataclass(frozen=True)
class Search:
    """The reached vertices of one search by ascending distance, their distances, and the tree of paths."""

    graph: ConvertedGraph
    order: NDArray[np.int64]
    distance: NDArray[Any]
    parent: NDArray[np.int64]

    @cached_property
    def nodes(self) -> list[Any]:
        """The reached nodes by ascending distance."""
        return self.graph.named(self.order)

    def lengths(self) -> dict[Any, Any]:
        """Return the distance of each reached node."""
        return dict(zip(self.nodes, self.distance[self.order].tolist(), strict=True))

    def paths(self, *, reverse: bool = False) -> dict[Any, list[Any]]:
        """Return a shortest path to each reached node, or from each with `reverse`."""
        nodes, before = self.nodes, self._places(self.order)
        late = bool((before > np.arange(len(before))).any())
        if late:  # an edge of weight 0 leads from a later vertex of the same distance
            order = self.order[np.argsort(self._depths(before), kind="stable")]
            nodes, before = self.graph.named(order), self._places(order)
        before[before == np.arange(len(before))] = -1
        with collector_paused():
            paths: list[list[Any]] = [[]]
            append = paths.append
            for place, node in zip((before + 1).tolist(), nodes, strict=True):
                append([*paths[place], node])
            if reverse:
                for path in paths:
                    path.reverse()
            found = dict(zip(nodes, paths[1:], strict=True))
            return {node: found[node] for node in self.nodes} if late else found

    def _places(self, order: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the position in `order` of the parent of each vertex of `order`."""
        place = np.empty(self.graph.n, np.int64)
        place[order] = np.arange(len(order))
        places: NDArray[np.int64] = place[self.parent[order]]
        return places

    @staticmethod
    def _depths(before: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of edges of each path, given the positions of parents."""
        depth = (before != np.arange(len(before))).astype(np.int64)
        while (further := depth[before]).any():
            depth += further
            before = before[before]
        return np.asarray(depth)

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
    order = reached[stable_order(distance[reached])]
    if rows.weights is not None and rows.weights.dtype.kind in "iu":
        distance = np.where(parent >= 0, distance, -1).astype(np.int64)
    return Search(graph, order, distance, parent)
