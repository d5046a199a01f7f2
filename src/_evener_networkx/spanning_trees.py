"""Spanning trees of least and of greatest weight."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from _evener_networkx.lazy import ev, np
from _evener_networkx.table import dispatched

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def _by_kruskal(_: Any, given: Mapping[str, Any]) -> str | None:
    return None if given["algorithm"] == "kruskal" else "algorithm= is supported only as 'kruskal'"


def _forest(G: Any, weight: Any, sign: int) -> Iterator[tuple[Any, Any]]:
    """Return the ends of the edges of the forest; edges of the least or greatest weight come first."""
    if G.n == 0 or G.graph.m == 0:
        return iter(())
    rows = G.weighted(weight)
    if rows.weights is not None:
        # The ranks of the weights give the same forest, also for weights below 0.
        ranks = np.unique(sign * rows.weights, return_inverse=True)[1].reshape(-1)
        rows = ev.Graph(rows.offsets, rows.targets, weights=ranks, directed=False, validate=False)
    result = ev.spanning_forest(rows)
    order = np.argsort(result["weight"], kind="stable")
    return zip(G.named(result["u"][order]), G.named(result["v"][order]), strict=True)


def _edges(G: Any, weight: Any, sign: int, data: Any) -> Iterator[Any]:
    ends = _forest(G, weight, sign)
    return ((u, v, G.source[u][v]) for u, v in ends) if data else ends


def _tree(G: Any, weight: Any, sign: int) -> Any:
    """Return the forest as a NetworkX graph with the attributes of the source."""
    tree = G.source.__class__()
    tree.graph.update(G.source.graph)
    tree.add_nodes_from(G.source.nodes.items())
    tree.add_edges_from(_edges(G, weight, sign, data=True))
    return tree


@dispatched(passes=4, weight="weight", kind="undirected simple", refuse=_by_kruskal)
def minimum_spanning_edges(
    G: Any,
    algorithm: Any = "kruskal",
    weight: Any = "weight",
    keys: Any = True,
    data: Any = True,
    ignore_nan: Any = False,
) -> Iterator[Any]:
    return _edges(G, weight, 1, data)


@dispatched(passes=4, weight="weight", kind="undirected simple", refuse=_by_kruskal)
def maximum_spanning_edges(
    G: Any,
    algorithm: Any = "kruskal",
    weight: Any = "weight",
    keys: Any = True,
    data: Any = True,
    ignore_nan: Any = False,
) -> Iterator[Any]:
    return _edges(G, weight, -1, data)


@dispatched(passes=4, weight="weight", kind="undirected simple", refuse=_by_kruskal)
def minimum_spanning_tree(
    G: Any, weight: Any = "weight", algorithm: Any = "kruskal", ignore_nan: Any = False
) -> Any:
    return _tree(G, weight, 1)


@dispatched(passes=4, weight="weight", kind="undirected simple", refuse=_by_kruskal)
def maximum_spanning_tree(
    G: Any, weight: Any = "weight", algorithm: Any = "kruskal", ignore_nan: Any = False
) -> Any:
    return _tree(G, weight, -1)
