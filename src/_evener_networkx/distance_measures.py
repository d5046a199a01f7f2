"""Measures of the distances of all pairs."""

from __future__ import annotations

import math
from typing import Any

from _evener_networkx.components import is_connected, is_strongly_connected
from _evener_networkx.conversion import LeaveToNetworkXError
from _evener_networkx.lazy import ev
from _evener_networkx.searches import searches, weighted_rows
from _evener_networkx.table import dispatched, on_networkx


@dispatched(work="pairs", weight="weight", only={"sp": None})
def eccentricity(G: Any, v: Any = None, sp: Any = None, weight: Any = None) -> dict[Any, Any] | Any:
    if G.n == 0:
        raise LeaveToNetworkXError
    rows = weighted_rows(G, weight)
    single = v is not None and v in G.source
    nodes = [v] if single else G.nodes if v is None else list(G.source.nbunch_iter(v))
    found = {}
    for node, reached in zip(nodes, searches(G, G.numbers(nodes), rows=rows), strict=True):
        if len(reached.order) < G.n:
            raise LeaveToNetworkXError
        found[node] = reached.distance.max().item()
    return found[v] if single else found


def _given(G: Any, e: Any, usebounds: Any, weight: Any) -> dict[Any, Any]:
    """Return the eccentricities of the caller or of the graph; bounds are NetworkX's own method."""
    if e is not None or G.n == 0:
        raise LeaveToNetworkXError
    return eccentricity(G, weight=weight)  # type: ignore[no-any-return]


def _no_bounds(_: Any, given: Any) -> str | None:
    return "e= is given" if given["e"] is not None else "usebounds= is true" if given["usebounds"] else None


@dispatched(work="pairs", weight="weight", refuse=_no_bounds)
def diameter(G: Any, e: Any = None, usebounds: Any = False, weight: Any = None) -> Any:
    return max(_given(G, e, usebounds, weight).values())


@dispatched(work="pairs", weight="weight", refuse=_no_bounds)
def radius(G: Any, e: Any = None, usebounds: Any = False, weight: Any = None) -> Any:
    return min(_given(G, e, usebounds, weight).values())


@dispatched(work="pairs", weight="weight", refuse=_no_bounds)
def periphery(G: Any, e: Any = None, usebounds: Any = False, weight: Any = None) -> list[Any]:
    found = _given(G, e, usebounds, weight)
    largest = max(found.values())
    return [node for node, value in found.items() if value == largest]


@dispatched(work="pairs", weight="weight", refuse=_no_bounds)
def center(G: Any, e: Any = None, usebounds: Any = False, weight: Any = None) -> list[Any]:
    if G.edges == G.n - 1:  # NetworkX is fast for a tree
        raise LeaveToNetworkXError
    found = _given(G, e, usebounds, weight)
    least = min(found.values())
    return [node for node, value in found.items() if value == least]


def _distance_sums(G: Any, weight: Any) -> list[Any]:
    """Return the sum of the distances from each vertex; leave a graph that is not connected to NetworkX."""
    sums = []
    for found in searches(G, range(G.n), rows=weighted_rows(G, weight)):
        if len(found.order) < G.n:
            raise LeaveToNetworkXError
        sums.append(found.distance.sum().item())
    return sums


def _nodes_of_least_sum(G: Any, weight: Any) -> list[Any]:
    if G.n == 0 or G.edges == G.n - 1:  # NetworkX is fast for a tree
        raise LeaveToNetworkXError
    sums = _distance_sums(G, weight)
    least = min(sums)
    return [node for node, total in zip(G.nodes, sums, strict=True) if total == least]


@dispatched(work="pairs", weight="weight", only={"attr": None, "sp": None}, since=(3, 7))
def centroid(G: Any, weight: Any = None, attr: Any = None, sp: Any = None) -> list[Any]:
    return _nodes_of_least_sum(G, weight)


@dispatched(work="pairs", weight="weight", only={"attr": None, "sp": None}, before=(3, 7))
def barycenter(G: Any, weight: Any = None, attr: Any = None, sp: Any = None) -> list[Any]:
    return _nodes_of_least_sum(G, weight)


@dispatched(work="pairs", weight="weight")
def average_shortest_path_length(G: Any, weight: Any = None, method: Any = None) -> float:
    if method not in (None, "unweighted", "dijkstra", "bellman-ford") or G.n < 2:
        raise LeaveToNetworkXError
    counted = None if method == "unweighted" else weight
    return sum(_distance_sums(G, counted)) / (G.n * (G.n - 1))  # type: ignore[no-any-return]


@dispatched(work="pairs", weight="weight")
def wiener_index(G: Any, weight: Any = None) -> float:
    if not (is_strongly_connected(G) if G.is_directed() else is_connected(G)):
        return math.inf
    total = sum(_distance_sums(G, weight))
    return total if G.is_directed() else total / 2  # type: ignore[no-any-return]


def _inverse_distances(G: Any, weight: Any = None) -> float:
    """Return the sum of one over each distance above 0."""
    rows = weighted_rows(G, weight)
    if rows.weights is None:
        return float(ev.harmonic(rows)["harmonic"].sum())
    total = 0.0
    for found in searches(G, range(G.n), rows=rows):
        distances = found.distance[found.order]
        total += float((1 / distances[distances != 0]).sum())
    return total


@dispatched(work="pairs", kind="undirected")
def global_efficiency(G: Any) -> float:
    return _inverse_distances(G) / (G.n * (G.n - 1)) if G.n > 1 else 0


@dispatched(work="pairs", weight="weight", only={"sp": None}, since=(3, 5))
def harmonic_diameter(G: Any, sp: Any = None, *, weight: Any = None) -> float:
    if G.n < 2:
        return on_networkx("harmonic_diameter", G, weight=weight)  # type: ignore[no-any-return]
    total = _inverse_distances(G, weight)
    return G.n * (G.n - 1) / total if total else math.inf
