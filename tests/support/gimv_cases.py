"""Runs of GIM-V with expected values from NetworkX, SciPy and loops over the edges."""

from __future__ import annotations

import networkx as nx
import numpy as np
import scipy.sparse.linalg

import evener as ev
from evener.programs import operator_sets


def weighted_graph():
    """Return an undirected weighted graph with hubs and several components, and the same NetworkX graph."""
    source = ev.read("rmat:7,edge_factor=4,seed=2")
    pairs = nx.Graph((int(u), int(v)) for u, v in zip(*_edges(source), strict=True) if u != v)
    pairs.add_nodes_from(range(source.n))
    for k, (u, v) in enumerate(sorted(pairs.edges)):
        pairs[u][v]["weight"] = 1 + k % 5
    return ev.Graph.from_networkx(pairs), pairs


def _edges(graph):
    return np.repeat(np.arange(graph.n), np.diff(graph.offsets.astype(np.int64))), graph.targets


def _by_vertex(values, graph, missing=None):
    return np.array([values.get(v, missing) for v in graph.ids.tolist()])


def _pagerank(graph, pairs):
    return _by_vertex(nx.pagerank(pairs, tol=1e-12, max_iter=1000, weight=None), graph)


def _walk(graph, pairs):
    jump = {0: 1.0}
    found = nx.pagerank(pairs, personalization=jump, tol=1e-12, max_iter=1000, weight=None)
    return _by_vertex(found, graph)


def _components(graph, pairs):
    found = {v: min(part) for part in nx.connected_components(pairs) for v in part}
    return _by_vertex(found, graph)


def _levels(graph, pairs):
    return _by_vertex(nx.single_source_shortest_path_length(pairs, 0), graph, graph.n)


def _lengths(graph, pairs):
    return _by_vertex(nx.single_source_dijkstra_path_length(pairs, 0), graph, np.inf)


def _eigenvector(graph, pairs):
    matrix = nx.to_scipy_sparse_array(pairs, nodelist=graph.ids.tolist(), dtype=float)
    ((value,), vectors) = scipy.sparse.linalg.eigsh(matrix, k=1, which="LA")
    vector = np.abs(vectors[:, 0])
    return value * vector / vector.sum()


PRIOR = np.resize([0.1, 0, 0, -0.1, 0], 128)


def _beliefs(graph, pairs):
    """Solve the linear system of Koutra et al."""
    matrix = nx.to_scipy_sparse_array(pairs, nodelist=graph.ids.tolist(), weight=None, dtype=float)
    degree = matrix.sum(axis=0)
    h = 1 / (2 + 2 * degree.max())
    own, others = 4 * h**2 / (1 - 4 * h**2), 2 * h / (1 - 4 * h**2)
    system = scipy.sparse.eye_array(graph.n) + own * scipy.sparse.diags_array(degree) - others * matrix
    return scipy.sparse.linalg.spsolve(system.tocsc(), PRIOR)


def _reached(graph, pairs):
    """Join the initial bit strings of all vertices of each component."""
    strings, found = operator_sets.hadi(graph)["v0"], {}
    position = {v: i for i, v in enumerate(graph.ids.tolist())}
    for part in nx.connected_components(pairs):
        joined = np.bitwise_or.reduce(strings[[position[v] for v in part]])
        found |= dict.fromkeys(part, joined)
    return _by_vertex(found, graph)


CASES = {
    "pagerank": (lambda g: operator_sets.pagerank(g, tol=1e-10), _pagerank, True),
    "random_walk": (lambda g: operator_sets.random_walk_with_restart(g, 0, tol=1e-12), _walk, True),
    "components": (operator_sets.connected_components, _components, False),
    "bfs_levels": (lambda g: operator_sets.bfs_levels(g, 0), _levels, False),
    "shortest_paths": (lambda g: operator_sets.shortest_paths(g, 0), _lengths, False),
    "beliefs": (lambda g: operator_sets.belief_propagation(g, PRIOR), _beliefs, False),
    "hadi": (operator_sets.hadi, _reached, False),
    "eigenvector": (lambda g: operator_sets.dominant_eigenvector(g, tol=1e-10), _eigenvector, False),
}


def check_known(case, graph, pairs, on):
    """A set of operators gives the answer of NetworkX or SciPy. Rank 0 checks the values of all ranks."""
    operators, expected, scaled = CASES[case]
    r = ev.gimv(graph, **operators(graph), on=on)
    assert r.outcome["converged"]
    whole = r.gather()  # None on ranks other than 0
    if whole is not None:
        value = whole["value"] / (whole["value"].sum() if scaled else 1)
        np.testing.assert_allclose(value, expected(graph, pairs), rtol=1e-6, atol=1e-9)


EVERY_PARAMETER = [("float32", False), ("int64", True)]


def check_every_parameter(dtype, weighted, splits):
    """Two iterations with all parameters equal a loop over the edges, with self-loops and repeated edges."""
    random = np.random.default_rng(5)
    n, m = 40, 200
    src, dst, weights = random.integers(0, 30, m), random.integers(0, n, m), random.integers(-3, 9, m)
    graph = ev.Graph.from_edges(src, dst, weights=weights if weighted else None, n=n)
    v0 = random.integers(1, 9, n).astype(dtype)
    kind = np.float64 if dtype == "float32" else np.int64

    def message(m, v, degree, vertex, n):
        return m * v + degree + vertex % n

    def assign(old, new, degree, vertex, n, total, initial):
        return old + max(new, 0) + degree + vertex + n + int(total) + initial

    degrees, expected, total = np.bincount(src, minlength=n), v0.astype(kind), v0.sum()
    for _ in range(2):
        best = np.full(n, -np.inf if kind is np.float64 else np.iinfo(np.int64).min, dtype=kind)
        for u, v, w in zip(src, dst, weights if weighted else np.ones(m, int), strict=True):
            best[v] = max(best[v], message(kind(w), expected[u], degrees[u], u, n))
        old = expected.copy()
        for v in range(n):
            expected[v] = assign(old[v], best[v], degrees[v], v, n, total, v0[v])
        total = np.abs(expected).sum()
    for on in splits:
        r = ev.gimv(graph, message, max, assign, v0, until=2, on=on)
        assert r["value"].dtype == dtype
        assert (r["value"] == expected).all()
        assert r.outcome == {"iterations": 2, "converged": False}


def parents(graph):
    """Return the operators for shortest paths from vertex 0 with the parent of each vertex."""
    start = np.arange(graph.n) == 0
    return {
        "combine2": lambda m, v, vertex: (v[0] + m, vertex),
        "combine_all": min,
        "assign": min,
        "v0": {"distance": np.where(start, 0.0, np.inf), "parent": np.where(start, 0, graph.n)},
    }


def check_parents(graph, pairs, on, **options):
    """Shortest paths with parents: the distances of NetworkX, and the smallest parent of each vertex.

    A rank may have the whole graph or none.
    """
    r = ev.gimv(graph, **parents(graph), on=on, **options)
    assert r.outcome["converged"]
    whole = r.gather()
    if whole is not None:
        distance = _lengths(graph, pairs)
        sources, targets = _edges(graph)
        parent = np.where(np.arange(graph.n) == 0, 0, graph.n)
        on_path = (distance[sources] + graph.weights == distance[targets]) & np.isfinite(distance[targets])
        np.minimum.at(parent, targets[on_path], sources[on_path])
        np.testing.assert_array_equal(whole["distance"], distance)
        np.testing.assert_array_equal(whole["parent"], np.where(np.isfinite(distance), parent, graph.n))


def check_every_parameter_of_fields(splits, **options):
    """Two iterations with a message of two numbers and all parameters equal a loop over the edges.

    After one iteration, `old` differs from `initial`. A field may have any name.
    """
    random = np.random.default_rng(5)
    n, m = 40, 200
    src, dst = random.integers(0, 30, m), random.integers(0, n, m)
    graph, degrees, ids = ev.Graph.from_edges(src, dst, n=n), np.bincount(src, minlength=n), np.arange(n)
    v0 = {"x": random.integers(1, 9, n).astype("float32"), "x_initial": random.integers(-9, 9, n)}

    def message(m, v, degree, vertex, n):
        return m * v[0] + degree, v[1] + vertex % n

    def assign(old, new, degree, vertex, n, total, initial):
        return old[0] + new[0] + n + int(total) + initial[0], max(new[1], old[1]) + degree + vertex + initial[
            1
        ]

    x, k = v0["x"].astype(float), v0["x_initial"].copy()
    for _ in range(2):
        total, added, best = int(np.abs(x).sum() + np.abs(k).sum()), np.zeros(n), k.copy()
        np.add.at(added, dst, x[src] + degrees[src])
        np.maximum.at(best, dst, k[src] + src)
        x, k = x + added + n + total + v0["x"], best + degrees + ids + v0["x_initial"]
    for on in splits:
        r = ev.gimv(
            graph,
            message,
            lambda x, y: (x[0] + y[0], max(x[1], y[1])),
            assign,
            v0,
            until=lambda old, new, initial: old != initial,
            on=on,
            **options,
        )
        assert [r["x"].dtype, r["x_initial"].dtype] == ["float32", "int64"]
        np.testing.assert_allclose(r["x"], x, rtol=1e-6)
        np.testing.assert_array_equal(r["x_initial"], k)
        assert r.outcome == {"iterations": 2, "converged": True}


def check_number_messages(splits):
    """PageRank with the last change as a second field; messages are numbers, so GPUs run it too."""
    graph = ev.read("rmat:7")
    for on in splits:
        r = ev.gimv(
            graph,
            lambda m, v, degree: v[0] / degree,
            lambda x, y: x + y,
            lambda old, new, n: (0.15 / n + 0.85 * new, abs(0.15 / n + 0.85 * new - old[0])),
            {"rank": 1 / graph.n, "moved": np.inf},
            until=lambda old, new: new[1] < 1e-12,
            on=on,
        )
        rank = r["rank"] / r["rank"].sum()
        np.testing.assert_allclose(rank, ev.pagerank(graph, tol=1e-12)["rank"], rtol=1e-6)
        assert r.outcome["converged"]
        assert r["moved"].max() < 1e-12
