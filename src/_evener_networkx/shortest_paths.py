"""Shortest paths that count edges, and the functions that choose a method by `weight`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from _evener_networkx import weighted_paths as weighted
from _evener_networkx.conversion import LeaveToNetworkXError
from _evener_networkx.searches import hops, search, searches, weighted_rows
from _evener_networkx.table import VERSION, dispatched, on_networkx

if TYPE_CHECKING:
    from collections.abc import Iterator


@dispatched()
def single_source_shortest_path_length(G: Any, source: Any, cutoff: Any = None) -> dict[Any, int]:
    return search(G, [G.number(source)], cutoff=hops(cutoff)).lengths()


@dispatched(since=(3, 5))
def single_target_shortest_path_length(G: Any, target: Any, cutoff: Any = None) -> dict[Any, int]:
    return search(G, [G.number(target)], rows=G.graph.reverse, cutoff=hops(cutoff)).lengths()


@dispatched(work="pairs")
def all_pairs_shortest_path_length(G: Any, cutoff: Any = None) -> Iterator[tuple[Any, dict[Any, int]]]:
    each = searches(G, range(G.n), cutoff=hops(cutoff))
    return ((node, found.lengths()) for node, found in zip(G.nodes, each, strict=True))


@dispatched()
def single_source_shortest_path(G: Any, source: Any, cutoff: Any = None) -> dict[Any, list[Any]]:
    return search(G, [G.number(source)], cutoff=hops(cutoff)).paths()


@dispatched()
def single_target_shortest_path(G: Any, target: Any, cutoff: Any = None) -> dict[Any, list[Any]]:
    return search(G, [G.number(target)], rows=G.graph.reverse, cutoff=hops(cutoff)).paths(reverse=True)


@dispatched(work="pairs")
def all_pairs_shortest_path(G: Any, cutoff: Any = None) -> Iterator[tuple[Any, dict[Any, list[Any]]]]:
    each = searches(G, range(G.n), cutoff=hops(cutoff))
    return ((node, found.paths()) for node, found in zip(G.nodes, each, strict=True))


@dispatched()
def bidirectional_shortest_path(G: Any, source: Any, target: Any) -> list[Any]:
    end = G.number(target)
    return search(G, [G.number(source)], target=end).path_to(end)


@dispatched()
def has_path(G: Any, source: Any, target: Any) -> bool:
    end = G.number(target)
    return bool(search(G, [G.number(source)], target=end).parent[end] >= 0)


@dispatched(weight="weight")
def shortest_path(
    G: Any, source: Any = None, target: Any = None, weight: Any = None, method: Any = "dijkstra"
) -> Any:
    if method not in ("dijkstra", "bellman-ford"):
        raise LeaveToNetworkXError
    rows = weighted_rows(G, weight)
    if source is None and target is None:
        each = searches(G, range(G.n), rows=rows)
        paths = ((node, found.paths()) for node, found in zip(G.nodes, each, strict=True))
        return paths if VERSION >= (3, 5) else dict(paths)
    if source is None:
        return search(G, [G.number(target)], rows=rows.reverse).paths(reverse=True)
    if target is None:
        return search(G, [G.number(source)], rows=rows).paths()
    end = G.number(target)
    return search(G, [G.number(source)], rows=rows, target=end).path_to(end)


@dispatched(weight="weight")
def shortest_path_length(
    G: Any, source: Any = None, target: Any = None, weight: Any = None, method: Any = "dijkstra"
) -> Any:
    if method not in ("dijkstra", "bellman-ford"):
        raise LeaveToNetworkXError
    if source is None and target is None:
        if weight is None:
            return all_pairs_shortest_path_length(G)
        return weighted.all_pairs_dijkstra_path_length(G, weight=weight)
    rows = weighted_rows(G, weight)
    if source is None:
        return search(G, [G.number(target)], rows=rows.reverse).lengths()
    if target is None:
        return search(G, [G.number(source)], rows=rows).lengths()
    end = G.number(target)
    return search(G, [G.number(source)], rows=rows, target=end).length_to(end)


@dispatched(kind="undirected")
def efficiency(G: Any, u: Any, v: Any) -> float:
    end = G.number(v)
    found = search(G, [G.number(u)], target=end)
    if found.parent[end] < 0:
        return 0
    if end == G.number(u):
        return on_networkx("efficiency", G, u, v)  # type: ignore[no-any-return]
    return 1 / found.length_to(end)  # type: ignore[no-any-return]


@dispatched()
def descendants(G: Any, source: Any) -> set[Any]:
    found = search(G, [G.number(source)])
    return set(G.named(found.order)) - {source}


@dispatched()
def ancestors(G: Any, source: Any) -> set[Any]:
    found = search(G, [G.number(source)], rows=G.graph.reverse)
    return set(G.named(found.order)) - {source}


@dispatched()
def descendants_at_distance(G: Any, source: Any, distance: Any) -> set[Any]:
    if not isinstance(distance, int) or distance < 0:
        raise LeaveToNetworkXError
    found = search(G, [G.number(source)], cutoff=distance)
    return set(G.named(found.order[found.distance[found.order] == distance]))
