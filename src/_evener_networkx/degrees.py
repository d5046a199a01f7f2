"""Functions of the degrees and of the rows; they need no algorithm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from _evener_networkx.conversion import LeaveToNetworkXError
from _evener_networkx.lazy import np
from _evener_networkx.table import dispatched

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


def _shares(G: Any, degree: NDArray[np.int64]) -> dict[Any, float]:
    if G.n <= 1:
        return dict.fromkeys(G.nodes, 1)
    return G.by_node(degree * (1.0 / (G.n - 1.0)))  # type: ignore[no-any-return]


@dispatched(work="degrees")
def degree_centrality(G: Any) -> dict[Any, float]:
    return _shares(G, G.degree)


@dispatched(work="degrees")
def in_degree_centrality(G: Any) -> dict[Any, float]:
    return _shares(G, G.in_degree)


@dispatched(work="degrees")
def out_degree_centrality(G: Any) -> dict[Any, float]:
    return _shares(G, G.out_degree)


@dispatched(work="degrees")
def is_isolate(G: Any, n: Any) -> bool:
    return bool(G.degree[G.number(n)] == 0)


@dispatched(work="degrees")
def isolates(G: Any) -> Iterator[Any]:
    return iter(G.named(np.flatnonzero(G.degree == 0)))


@dispatched(work="degrees")
def number_of_isolates(G: Any) -> int:
    return int(np.count_nonzero(G.degree == 0))


def _mutual(G: Any) -> NDArray[np.bool_]:
    """Return whether each edge has a reverse edge; a self-loop has."""
    tails = np.repeat(np.arange(G.n, dtype=np.uint64), G.out_degree)
    heads = G.graph.targets.astype(np.uint64)
    keys, reverse = tails * np.uint64(G.n) + heads, heads * np.uint64(G.n) + tails
    mutual: NDArray[np.bool_] = np.isin(reverse, keys, kind="sort")
    return mutual


@dispatched(kind="directed simple")
def overall_reciprocity(G: Any) -> float:
    if G.edges == 0 or G.loops.any():
        raise LeaveToNetworkXError
    return int(np.count_nonzero(_mutual(G))) / G.edges  # type: ignore[no-any-return]


@dispatched(kind="directed simple", only={"nodes": None})
def reciprocity(G: Any, nodes: Any = None) -> float:
    return overall_reciprocity(G)  # type: ignore[no-any-return]
