"""Operators of known algorithms for `evener.gimv`.

Each function returns the arguments of `evener.gimv` by name, for ``ev.gimv(graph, **pagerank(graph))``. Copy
a function to change an algorithm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.algorithms.arguments import number_of_source
from evener.errors import ArgumentError

if TYPE_CHECKING:
    from evener.graph.graph import Graph

__all__ = [
    "bfs_levels",
    "connected_components",
    "dominant_eigenvector",
    "pagerank",
    "random_walk_with_restart",
    "shortest_paths",
]


def pagerank(graph: Graph, *, damping: float = 0.85, tol: float = 1e-6) -> dict[str, Any]:
    """Return operators for PageRank, without weights.

    Divide the values by their sum: the rank of vertices without out-edges is lost in each iteration.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 1])
    >>> ev.gimv(g, **pagerank(g)).top(1)[0][0]
    1
    """
    return {
        "combine2": lambda m, v, degree: v / degree,
        "combine_all": lambda x, y: x + y,
        "assign": lambda old, new, n: (1 - damping) / n + damping * new,
        "v0": np.full(graph.n, 1 / max(graph.n, 1)),
        "until": float(tol),
    }


def random_walk_with_restart(
    graph: Graph, source: Any, *, restart: float = 0.15, tol: float = 1e-9
) -> dict[str, Any]:
    """Return operators for the probability that a random walk is at each vertex.

    The walk begins at `source` and returns there with the probability `restart` in each step. Divide the
    values by their sum, as for `pagerank`.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 1, 2], [1, 2, 3], directed=False)
    >>> ev.gimv(g, **random_walk_with_restart(g, 0))["value"].argmax().item()
    1
    """
    return {
        "combine2": lambda m, v, degree: v / degree,
        "combine_all": lambda x, y: x + y,
        "assign": lambda old, new, initial: (1 - restart) * new + restart * initial,
        "v0": _at_source(graph, source, 1.0, 0.0),
        "until": float(tol),
    }


def connected_components(graph: Graph) -> dict[str, Any]:
    """Return operators for the smallest vertex number in each component of an undirected graph.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 3], [1, 4], n=5, directed=False)
    >>> ev.gimv(g, **connected_components(g))["value"].tolist()
    [0, 0, 2, 3, 3]
    """
    if graph.directed:
        msg = "connected_components: expected an undirected graph, found a directed graph; use evener.wcc"
        raise ArgumentError(msg)
    return {
        "combine2": lambda m, v: v,
        "combine_all": min,
        "assign": min,
        "v0": np.arange(graph.n),
        "max_iter": max(graph.n, 1),
    }


def bfs_levels(graph: Graph, source: Any) -> dict[str, Any]:
    """Return operators for the number of edges on the shortest path from `source`; n if there is none.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 1], [1, 2], n=4)
    >>> ev.gimv(g, **bfs_levels(g, 0))["value"].tolist()
    [0, 1, 2, 4]
    """
    return {
        "combine2": lambda m, v: v + 1,
        "combine_all": min,
        "assign": min,
        "v0": _at_source(graph, source, 0, graph.n),
        "max_iter": max(graph.n, 1),
    }


def shortest_paths(graph: Graph, source: Any) -> dict[str, Any]:
    """Return operators for the length of the shortest path from `source`; inf if there is none.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 1, 0], [1, 2, 2], weights=[2, 3, 9], n=4)
    >>> ev.gimv(g, **shortest_paths(g, 0))["value"].tolist()
    [0.0, 2.0, 5.0, inf]
    """
    return {
        "combine2": lambda m, v: m + v,
        "combine_all": min,
        "assign": min,
        "v0": _at_source(graph, source, 0.0, np.inf),
        "max_iter": max(graph.n, 1),
    }


def dominant_eigenvector(graph: Graph, *, tol: float = 1e-9) -> dict[str, Any]:
    """Return operators for the eigenvector of the adjacency matrix with the largest eigenvalue.

    The sum of the values is the eigenvalue. A bipartite graph does not converge.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 0, 1, 2], [1, 2, 2, 3], directed=False)
    >>> print(f"{ev.gimv(g, **dominant_eigenvector(g))['value'].sum():.4f}")
    2.1701
    """
    return {
        "combine2": lambda m, v: m * v,
        "combine_all": lambda x, y: x + y,
        "assign": lambda old, new, total: new / total,
        "v0": np.full(graph.n, 1 / max(graph.n, 1)),
        "until": float(tol),
    }


def _at_source(graph: Graph, source: Any, value: float, others: float) -> Any:
    """Return `value` at the source, and `others` at all other vertices."""
    values = np.full(graph.n, others)
    values[number_of_source(graph, source)] = value
    return values
