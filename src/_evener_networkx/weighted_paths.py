"""Shortest paths by weights of at least 0. Parallel edges count as their lightest edge, as in NetworkX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from _evener_networkx.conversion import LeaveToNetworkXError
from _evener_networkx.searches import Search, search, searches, weighted_rows
from _evener_networkx.table import dispatched

if TYPE_CHECKING:
    from collections.abc import Iterator


def _cutoff(cutoff: Any) -> float | None:
    """Return a largest distance; raise `LeaveToNetworkXError` if it is no number of at least 0."""
    if cutoff is not None and not (isinstance(cutoff, int | float) and cutoff >= 0):
        raise LeaveToNetworkXError
    return cutoff


def _search(G: Any, sources: Any, weight: Any, *, target: Any = None, cutoff: Any = None) -> Search:
    """Return the search from nodes, by the weights of an edge attribute."""
    numbers = G.numbers(sources)
    if not numbers:
        raise LeaveToNetworkXError
    return search(G, numbers, rows=weighted_rows(G, weight), target=target, cutoff=_cutoff(cutoff))


def _each(G: Any, weight: Any, cutoff: Any = None) -> Iterator[tuple[Any, Search]]:
    """Return each node with the search from it."""
    each = searches(G, range(G.n), rows=weighted_rows(G, weight), cutoff=_cutoff(cutoff))
    return zip(G.nodes, each, strict=True)


def _length_and_path(G: Any, sources: Any, target: Any, cutoff: Any, weight: Any) -> tuple[Any, Any]:
    """Return lengths and paths of all reached nodes, or length and path of the target."""
    if target is None:
        found = _search(G, sources, weight, cutoff=cutoff)
        return found.lengths(), found.paths()
    G.numbers(sources)  # NetworkX checks the sources first
    if target in sources:
        return 0, [target]
    end = G.number(target)
    found = _search(G, sources, weight, target=end, cutoff=cutoff)
    return found.length_to(end), found.path_to(end)


def _length_and_path_to(G: Any, source: Any, target: Any, weight: Any) -> tuple[Any, Any]:
    """Return length and path of one target; NetworkX raises an error for None."""
    if target is None:
        raise LeaveToNetworkXError
    return _length_and_path(G, [source], target, None, weight)


@dispatched(weight="weight")
def dijkstra_path(G: Any, source: Any, target: Any, weight: Any = "weight") -> list[Any]:
    return _length_and_path_to(G, source, target, weight)[1]  # type: ignore[no-any-return]


@dispatched(weight="weight")
def dijkstra_path_length(G: Any, source: Any, target: Any, weight: Any = "weight") -> Any:
    return _length_and_path_to(G, source, target, weight)[0]


@dispatched(weight="weight")
def bidirectional_dijkstra(G: Any, source: Any, target: Any, weight: Any = "weight") -> tuple[Any, list[Any]]:
    return _length_and_path_to(G, source, target, weight)


@dispatched(weight="weight")
def single_source_dijkstra_path(G: Any, source: Any, cutoff: Any = None, weight: Any = "weight") -> Any:
    return _search(G, [source], weight, cutoff=cutoff).paths()


@dispatched(weight="weight")
def single_source_dijkstra_path_length(
    G: Any, source: Any, cutoff: Any = None, weight: Any = "weight"
) -> Any:
    return _search(G, [source], weight, cutoff=cutoff).lengths()


@dispatched(weight="weight")
def single_source_dijkstra(
    G: Any, source: Any, target: Any = None, cutoff: Any = None, weight: Any = "weight"
) -> tuple[Any, Any]:
    return _length_and_path(G, [source], target, cutoff, weight)


@dispatched(weight="weight")
def multi_source_dijkstra_path(G: Any, sources: Any, cutoff: Any = None, weight: Any = "weight") -> Any:
    return _search(G, sources, weight, cutoff=cutoff).paths()


@dispatched(weight="weight")
def multi_source_dijkstra_path_length(
    G: Any, sources: Any, cutoff: Any = None, weight: Any = "weight"
) -> Any:
    return _search(G, sources, weight, cutoff=cutoff).lengths()


@dispatched(weight="weight")
def multi_source_dijkstra(
    G: Any, sources: Any, target: Any = None, cutoff: Any = None, weight: Any = "weight"
) -> tuple[Any, Any]:
    return _length_and_path(G, sources, target, cutoff, weight)


@dispatched(weight="weight", work="pairs")
def all_pairs_dijkstra(G: Any, cutoff: Any = None, weight: Any = "weight") -> Iterator[tuple[Any, Any]]:
    each = _each(G, weight, cutoff)
    return ((node, (found.lengths(), found.paths())) for node, found in each)


@dispatched(weight="weight", work="pairs")
def all_pairs_dijkstra_path_length(
    G: Any, cutoff: Any = None, weight: Any = "weight"
) -> Iterator[tuple[Any, Any]]:
    each = _each(G, weight, cutoff)
    return ((node, found.lengths()) for node, found in each)


@dispatched(weight="weight", work="pairs")
def all_pairs_dijkstra_path(G: Any, cutoff: Any = None, weight: Any = "weight") -> Iterator[tuple[Any, Any]]:
    each = _each(G, weight, cutoff)
    return ((node, found.paths()) for node, found in each)


@dispatched(weight="weight")
def bellman_ford_path(G: Any, source: Any, target: Any, weight: Any = "weight") -> list[Any]:
    return _length_and_path_to(G, source, target, weight)[1]  # type: ignore[no-any-return]


@dispatched(weight="weight")
def bellman_ford_path_length(G: Any, source: Any, target: Any, weight: Any = "weight") -> Any:
    return _length_and_path_to(G, source, target, weight)[0]


@dispatched(weight="weight")
def single_source_bellman_ford_path(G: Any, source: Any, weight: Any = "weight") -> Any:
    return _search(G, [source], weight).paths()


@dispatched(weight="weight")
def single_source_bellman_ford_path_length(G: Any, source: Any, weight: Any = "weight") -> Any:
    return _search(G, [source], weight).lengths()


@dispatched(weight="weight")
def single_source_bellman_ford(
    G: Any, source: Any, target: Any = None, weight: Any = "weight"
) -> tuple[Any, Any]:
    return _length_and_path(G, [source], target, None, weight)


@dispatched(weight="weight", work="pairs")
def all_pairs_bellman_ford_path_length(G: Any, weight: Any = "weight") -> Iterator[tuple[Any, Any]]:
    each = _each(G, weight)
    return ((node, found.lengths()) for node, found in each)


@dispatched(weight="weight", work="pairs")
def all_pairs_bellman_ford_path(G: Any, weight: Any = "weight") -> Iterator[tuple[Any, Any]]:
    each = _each(G, weight)
    return ((node, found.paths()) for node, found in each)


@dispatched(weight="weight", work="pairs")
def johnson(G: Any, weight: Any = "weight") -> dict[Any, Any]:
    return {node: found.paths() for node, found in _each(G, weight)}


@dispatched(weight="weight")
def goldberg_radzik(G: Any, source: Any, weight: Any = "weight") -> tuple[Any, Any]:
    found = _search(G, [source], weight)
    parents = G.named(found.parent[found.order])
    before = dict(zip(G.named(found.order), parents, strict=True))
    before[source] = None
    return before, found.lengths()
