"""Triangles, clustering coefficients and transitivity."""

from __future__ import annotations

from typing import Any

from _evener_networkx.conversion import LeaveToNetworkXError
from _evener_networkx.lazy import ev, np
from _evener_networkx.table import dispatched


@dispatched(passes=6, only={"nodes": None})
def triangles(G: Any, nodes: Any = None) -> dict[Any, int]:
    return G.by_node(ev.triangles(G.graph)["triangles"]) if G.n else {}


@dispatched(passes=20, kind="simple", only={"nodes": None, "weight": None})
def clustering(G: Any, nodes: Any = None, weight: Any = None) -> dict[Any, float]:
    return G.by_node(ev.clustering(G.graph)["clustering"]) if G.n else {}


@dispatched(passes=20, kind="simple", only={"nodes": None, "weight": None})
def average_clustering(G: Any, nodes: Any = None, weight: Any = None, count_zeros: Any = True) -> float:
    values = ev.clustering(G.graph)["clustering"] if G.n else np.empty(0)
    values = values if count_zeros else values[values != 0]
    if len(values) == 0:
        raise LeaveToNetworkXError
    return float(values.sum() / len(values))


@dispatched(passes=15, kind="undirected simple")
def transitivity(G: Any) -> float:
    if G.n == 0:
        return 0
    result: Any = ev.transitivity(G.graph)
    return float(result)
