"""Scores of pairs of nodes, computed in batches as the caller asks for them."""

from __future__ import annotations

from itertools import islice, repeat
from typing import TYPE_CHECKING, Any

from _evener_networkx.lazy import ev, np
from _evener_networkx.table import dispatched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Pairs in a batch.
_BATCH = 1 << 16


def _non_edges(G: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the pairs without an edge of the converted graph, in the order of NetworkX's `non_edges`."""
    offsets, targets = G.graph.offsets.astype(np.int64), G.graph.targets
    nodes = set(G.nodes)
    while nodes:
        u = nodes.pop()
        number = G.number(u)
        yield from zip(repeat(u), nodes - set(G.named(targets[offsets[number] : offsets[number + 1]])))


def _scores(G: Any, ebunch: Any, run: Callable[..., Any], column: str) -> Iterator[tuple[Any, Any, Any]]:
    """Return an iterator over pairs and their scores; without pairs, of all nodes without an edge."""
    if G.loops.any():
        msg = "the graph has self-loops"
        raise NotImplementedError(msg)
    if ebunch is None:
        return _in_batches(G, _non_edges(G), run, column)
    for u, v in ebunch:
        if G.number(u) == G.number(v):
            msg = "a node is paired with itself"
            raise NotImplementedError(msg)
    return _in_batches(G, iter(ebunch), run, column)


def _in_batches(
    G: Any, pairs: Iterator[tuple[Any, Any]], run: Callable[..., Any], column: str
) -> Iterator[tuple[Any, Any, Any]]:
    while batch := list(islice(pairs, _BATCH)):
        scores = run(G.graph, pairs=[(G.number(u), G.number(v)) for u, v in batch])[column]
        for (u, v), score in zip(batch, scores.tolist(), strict=True):
            yield u, v, score


@dispatched()
def jaccard_coefficient(G: Any, ebunch: Any = None) -> Iterator[tuple[Any, Any, float]]:
    return _scores(G, ebunch, ev.jaccard, "jaccard")


@dispatched()
def resource_allocation_index(G: Any, ebunch: Any = None) -> Iterator[tuple[Any, Any, float]]:
    return _scores(G, ebunch, ev.resource_allocation, "resource_allocation")


@dispatched()
def adamic_adar_index(G: Any, ebunch: Any = None) -> Iterator[tuple[Any, Any, float]]:
    return _scores(G, ebunch, ev.adamic_adar, "adamic_adar")


@dispatched(work="degrees")
def preferential_attachment(G: Any, ebunch: Any = None) -> Iterator[tuple[Any, Any, int]]:
    degree = G.degree.tolist()
    if ebunch is not None:
        for u, v in ebunch:
            G.numbers((u, v))
    pairs = _non_edges(G) if ebunch is None else ebunch
    return ((u, v, degree[G.number(u)] * degree[G.number(v)]) for u, v in pairs)
