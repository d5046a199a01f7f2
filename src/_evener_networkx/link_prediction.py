"""Scores of pairs of nodes, computed in batches as the caller asks for them."""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice
from typing import TYPE_CHECKING, Any

import networkx as nx

import evener as ev
from _evener_networkx.table import dispatched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

# Pairs in a batch.
_BATCH = 1 << 16


def _pairs(_: Any, given: Mapping[str, Any]) -> str | None:
    """Refuse an iterator, which NetworkX exhausts when it checks the nodes."""
    pairs = given["ebunch"]
    return None if pairs is None or isinstance(pairs, Collection) else "ebunch= is an iterator"


def _scores(G: Any, ebunch: Any, run: Callable[..., Any], column: str) -> Iterator[tuple[Any, Any, Any]]:
    """Return an iterator over pairs and their scores; without pairs, of all nodes without an edge."""
    if G.loops.any():
        msg = "the graph has self-loops"
        raise NotImplementedError(msg)
    if ebunch is None:
        return _in_batches(G, nx.non_edges(G.source), run, column)
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


@dispatched(refuse=_pairs)
def jaccard_coefficient(G: Any, ebunch: Any = None) -> Iterator[tuple[Any, Any, float]]:
    return _scores(G, ebunch, ev.jaccard, "jaccard")


@dispatched(refuse=_pairs)
def resource_allocation_index(G: Any, ebunch: Any = None) -> Iterator[tuple[Any, Any, float]]:
    return _scores(G, ebunch, ev.resource_allocation, "resource_allocation")


@dispatched(refuse=_pairs)
def adamic_adar_index(G: Any, ebunch: Any = None) -> Iterator[tuple[Any, Any, float]]:
    return _scores(G, ebunch, ev.adamic_adar, "adamic_adar")


@dispatched(refuse=_pairs, work="degrees")
def preferential_attachment(G: Any, ebunch: Any = None) -> Iterator[tuple[Any, Any, int]]:
    degree = G.degree.tolist()
    if ebunch is not None:
        for u, v in ebunch:
            G.numbers((u, v))
    pairs = nx.non_edges(G.source) if ebunch is None else ebunch
    return ((u, v, degree[G.number(u)] * degree[G.number(v)]) for u, v in pairs)
