"""Reference implementations of the algorithms in NumPy, after their textbook definitions.

They take a Graph and vertex numbers 0..n-1, and return arrays in id order that contain vertex numbers.
"""

from __future__ import annotations

import networkx as nx
import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from evener.graph.graph import Graph


def random_graph(*, directed, n=24, edges=44, seed=6, integer=False):
    """Return a sparse random graph with isolated vertices, a self-loop and a repeated edge."""
    rng = np.random.default_rng(seed)
    src, dst = rng.integers(0, n - 4, (2, edges))
    src, dst = np.append(src, [5, src[0]]), np.append(dst, [5, dst[0]])
    weights = rng.integers(1, 9, edges + 2) if integer else rng.uniform(0.1, 2.0, edges + 2)
    return Graph.from_edges(src, dst, weights, directed=directed, n=n)


def as_networkx(graph):
    """Return the same graph in NetworkX, with one edge per stored edge."""
    tails, heads = edges(graph)
    g = nx.MultiDiGraph()
    g.add_nodes_from(range(graph.n))
    weights = np.ones(graph.m) if graph.weights is None else graph.weights
    g.add_weighted_edges_from(zip(tails.tolist(), heads.tolist(), weights.tolist(), strict=True))
    return g


def edges(graph):
    """Return the tail and the head of every stored edge."""
    tails = np.repeat(np.arange(graph.n), np.diff(graph.offsets.astype(np.int64)))
    return tails, graph.targets.astype(np.int64)


def adjacency(graph):
    """Return the adjacency matrix; an edge that is stored k times counts k."""
    shape = (graph.n, graph.n)
    return csr_array((np.ones(graph.m), edges(graph)), shape=shape)


def bfs(graph, source):
    """Return distances in edges (-1 if unreached) and parents: the smallest neighbour one level up."""
    tails, heads = edges(graph)
    distance = np.full(graph.n, -1, dtype=np.int32)
    parent = np.full(graph.n, -1, dtype=np.int64)
    distance[source], parent[source] = 0, source
    level = 0
    while True:
        found = (distance[tails] == level) & (distance[heads] == -1)
        if not found.any():
            return distance, parent
        level += 1
        distance[heads[found]] = level
        # Later writes win, so the smallest tail is written last.
        parent[heads[found][::-1]] = tails[found][::-1]


def pagerank(graph, *, damping=0.85, iterations=None, tol=1e-10, personalization=None, weights=True):
    """Return ranks in float64 after `iterations`, or when their total change is less than `tol`.

    The ranks use the graph's weights if `weights` is true.
    """
    if graph.n == 0:
        return np.empty(0)
    teleport = np.full(graph.n, 1 / graph.n)
    if personalization is not None:
        teleport = np.asarray(personalization, dtype=np.float64) / np.sum(personalization)
    forward = adjacency(graph)
    if weights and graph.weights is not None:
        forward = csr_array((graph.weights.astype(np.float64), edges(graph)), shape=forward.shape)
    backward = forward.T.tocsr()
    degree = forward.sum(axis=1)
    share = 1 / np.where(degree == 0, 1, degree)
    rank = np.full(graph.n, 1 / graph.n)
    for _ in range(iterations if iterations is not None else 10_000):
        lost = rank[degree == 0].sum()
        after = damping * (backward @ (rank * share) + lost * teleport) + (1 - damping) * teleport
        moved = np.abs(after - rank).sum()
        rank = after
        if iterations is None and moved < tol:
            break
    return rank


def wcc(graph):
    """Return the smallest vertex of each vertex's component."""
    count, group = connected_components(adjacency(graph), directed=True, connection="weak")
    smallest = np.full(count, graph.n, dtype=np.int64)
    np.minimum.at(smallest, group, np.arange(graph.n))
    return smallest[group]


def sssp(graph, source):
    """Return distances in float64 (infinite if unreached) and parents, by Bellman-Ford."""
    tails, heads = edges(graph)
    weights = np.ones(graph.m) if graph.weights is None else graph.weights.astype(np.float64)
    distance = np.full(graph.n, np.inf)
    parent = np.full(graph.n, -1, dtype=np.int64)
    distance[source], parent[source] = 0.0, source
    while True:
        through = distance[tails] + weights
        nearest = distance.copy()
        np.minimum.at(nearest, heads, through)
        better = (through == nearest[heads]) & (nearest[heads] < distance[heads])
        if not better.any():
            return distance, parent
        parent[heads[better]] = tails[better]
        distance = nearest


def betweenness(graph, *, sources=None):
    """Return each vertex's sum of dependencies on `sources` (all if None), not scaled."""
    tails, heads = edges(graph)
    total = np.zeros(graph.n)
    for source in range(graph.n) if sources is None else sources:
        distance, _ = bfs(graph, source)
        down = (distance[tails] >= 0) & (distance[heads] == distance[tails] + 1)
        above, below = tails[down], heads[down]
        paths = np.zeros(graph.n)
        paths[source] = 1
        for level in range(distance.max(initial=0)):
            now = distance[above] == level
            np.add.at(paths, below[now], paths[above[now]])
        dependency = np.zeros(graph.n)
        for level in range(distance.max(initial=0) - 1, -1, -1):
            now = distance[above] == level
            share = paths[above[now]] / paths[below[now]] * (1 + dependency[below[now]])
            np.add.at(dependency, above[now], share)
        dependency[source] = 0
        total += dependency
    return total
