"""Operators of known algorithms for `evener.gimv`.

Each function returns the arguments of `evener.gimv` by name, for ``ev.gimv(graph, **pagerank(graph))``. Copy
a function to change an algorithm.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError
from evener.spec.arguments import number_of_vertex

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.graph.graph import Graph

__all__ = [
    "belief_propagation",
    "bfs_levels",
    "connected_components",
    "dominant_eigenvector",
    "hadi",
    "neighborhood_size",
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
        "v0": 1 / max(graph.n, 1),
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
    _require_undirected(graph, "connected_components", "use evener.wcc")
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
        "v0": 1 / max(graph.n, 1),
        # The sum of the values has the unit of the weights.
        "until": lambda old, new, n, total: abs(new - old) * n <= tol * total,
    }


def belief_propagation(
    graph: Graph, prior: Any, *, homophily: float | None = None, tol: float = 1e-9
) -> dict[str, Any]:
    """Return operators for linearized belief propagation with two classes (FaBP).

    A value above 0 means the first class, a value below 0 the second class.

    Parameters
    ----------
    graph : Graph
        Undirected.
    prior : array of shape (n,)
        The known belief in the first class minus 1/2; 0 where nothing is known.
    homophily : float, optional
        How much more likely than 1/2 neighbors are of one class. Default: 1 / (2 + 2 · largest degree), for
        which the iteration converges.
    tol : float

    Raises
    ------
    ArgumentError
        If the graph is directed.

    Notes
    -----
    Koutra et al.: Unifying guilt-by-association approaches (2011).

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 1, 2], [1, 2, 3], directed=False)
    >>> r = ev.gimv(g, **belief_propagation(g, [0.1, 0, 0, -0.1]))
    >>> (r["value"] > 0).tolist()
    [True, True, False, False]
    """
    _require_undirected(graph, "belief_propagation", "read it with directed=False")
    largest = int(graph.out_degree().max(initial=1))
    h = 1 / (2 + 2 * largest) if homophily is None else homophily
    own, others = 4 * h * h / (1 - 4 * h * h), 2 * h / (1 - 4 * h * h)
    return {
        "combine2": lambda m, v: v,
        "combine_all": lambda x, y: x + y,
        "assign": lambda old, new, degree, initial: initial - own * degree * old + others * new,
        "v0": np.asarray(prior, np.float64),
        "until": float(tol),
    }


# Bits of a bit string of HADI, and the constant of Flajolet and Martin with its bias for two strings.
_BITS, _FACTOR = 31, 0.77351 * (1 + 0.31 / 2)


def hadi(graph: Graph, *, seed: int = 0) -> dict[str, Any]:
    """Return operators that estimate how many vertices reach each vertex in so many iterations.

    A value holds two bit strings of 31 bits. `neighborhood_size` estimates the number of vertices from them.
    The iterations until no value changes are a lower bound of the longest shortest path, plus 1.

    Notes
    -----
    Kang et al.: HADI, mining radii of large graphs (2011); Flajolet and Martin (1985).

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.read("grid:30x30")
    >>> r = ev.gimv(g, **hadi(g))
    >>> 40 < r.outcome["iterations"] - 1 <= 58
    True
    """
    random = np.random.default_rng(seed)
    bit = np.minimum(random.geometric(0.5, (2, graph.n)) - 1, _BITS - 1)
    return {
        "combine2": lambda m, v: v,
        "combine_all": operator.or_,
        "assign": operator.or_,
        "v0": (np.int64(1) << bit[0]) | (np.int64(1) << (bit[1] + _BITS)),
        "max_iter": max(graph.n, 1),
    }


def neighborhood_size(value: NDArray[np.int64]) -> float:
    """Return the estimated number of pairs of vertices within reach, from values of `hadi`.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.read("rmat:10")
    >>> v0 = hadi(g)["v0"]
    >>> 0.5 < neighborhood_size(v0) / g.n < 3  # without iterations, a vertex reaches itself
    True
    """
    lowest = np.zeros(len(value))
    for string in (value, value >> _BITS):
        zeros = ~string & ((1 << _BITS) - 1)
        lowest += np.log2((zeros & -zeros).clip(1))
    return float((2 ** (lowest / 2) / _FACTOR).sum())


def _at_source(graph: Graph, source: Any, value: float, others: float) -> Any:
    """Return `value` at the source, and `others` at all other vertices."""
    values = np.full(graph.n, others)
    values[number_of_vertex(graph, source, "source")] = value
    return values


def _require_undirected(graph: Graph, name: str, remedy: str) -> None:
    if graph.directed:
        msg = f"{name}: expected an undirected graph, found a directed graph; {remedy}"
        raise ArgumentError(msg)
