"""Graphs for betweenness by weights, and of edges."""

from __future__ import annotations

import networkx as nx
import numpy as np

import evener as ev


def drawn(seed=0, n=60, m=200, directed=False):
    """Return a NetworkX graph with small integer weights, and the same graph of Evener."""
    rng = np.random.default_rng(seed)
    g = nx.gnm_random_graph(n, m, seed=seed, directed=directed)
    for _, _, attributes in g.edges(data=True):
        attributes["weight"] = int(rng.integers(1, 6))
    src, dst, weights = np.array(list(g.edges(data="weight"))).T
    return g, ev.Graph.from_edges(src, dst, weights, directed=directed, n=n)


def rows_of(graph):
    """Return the ends of each edge as numbers, in ascending order; an undirected edge once."""
    tails = np.repeat(np.arange(graph.n), np.diff(graph.offsets).astype(np.int64))
    heads = graph.targets.astype(np.int64)
    kept = np.ones(graph.m, bool) if graph.directed else tails <= heads
    return sorted(zip(tails[kept].tolist(), heads[kept].tolist(), strict=True))


def vertices_in_edges(graph):
    """Return a NetworkX graph with a vertex in the middle of each edge, and these vertices.

    Parallel edges are separate paths there, although NetworkX counts them once. Self-loops have no vertex.
    """
    g = (nx.DiGraph if graph.directed else nx.Graph)()
    g.add_nodes_from(range(graph.n))
    middles = [("edge", i) for i in range(len(rows_of(graph)))]
    for (u, v), middle in zip(rows_of(graph), middles, strict=True):
        if u != v:
            nx.add_path(g, [u, middle, v])
    return g, middles
