"""GIM-V: known algorithms against NetworkX, SciPy and NumPy, on any split."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse.linalg

import evener as ev
from evener.programs import operator_sets
from evener.testing.ranks import run_ranks


@pytest.fixture(scope="module")
def graph():
    """An undirected graph with weights, hubs, vertices without edges, and several components."""
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


CASES = {
    "pagerank": (lambda g: operator_sets.pagerank(g, tol=1e-10), _pagerank, True),
    "random_walk": (lambda g: operator_sets.random_walk_with_restart(g, 0, tol=1e-12), _walk, True),
    "components": (operator_sets.connected_components, _components, False),
    "bfs_levels": (lambda g: operator_sets.bfs_levels(g, 0), _levels, False),
    "shortest_paths": (lambda g: operator_sets.shortest_paths(g, 0), _lengths, False),
    "eigenvector": (lambda g: operator_sets.dominant_eigenvector(g, tol=1e-10), _eigenvector, False),
}


@pytest.mark.parametrize("case", CASES)
def test_known_algorithms(graph, case):
    """Each set gives the answer of NetworkX or SciPy, on one element, on three, and on two ranks."""
    own, pairs = graph
    operators, expected, scaled = CASES[case]
    expected = expected(own, pairs)

    def check(on):
        r = ev.gimv(own, **operators(own), on=on)
        assert r.outcome["converged"]
        whole = r.gather()  # None on other ranks than 0
        if whole is not None:
            value = whole["value"] / (whole["value"].sum() if scaled else 1)
            np.testing.assert_allclose(value, expected, rtol=1e-6, atol=1e-9)

    for on in ("cpu:1", "cpu:1,cpu:1,cpu:1"):
        check(on)
    run_ranks(2, lambda _: check("cpu:1"))


@pytest.mark.parametrize(("dtype", "weighted"), [("float32", False), ("int64", True)])
def test_every_parameter(dtype, weighted):
    """One iteration with all parameters equals a loop over the edges, with self-loops and repeated edges."""
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
    for on in ("cpu:1", "cpu:1,cpu:1,cpu:1"):
        r = ev.gimv(graph, message, max, assign, v0, until=2, on=on)
        assert r["value"].dtype == dtype
        assert (r["value"] == expected).all()
        assert r.outcome == {"iterations": 2, "converged": None}


def _half(old, new):
    return old / 2


def _add(x, y):
    return x + y


@pytest.fixture(scope="module")
def pair():
    return ev.Graph.from_edges([0], [1])


@pytest.mark.parametrize(
    ("until", "iterations"),
    [
        (3, 3),
        (0, 0),
        (0.3, 3),  # the changes are 1, 0.5 and 0.25
        (lambda old, new: new < 0.3, 2),
    ],
    ids=["iterations", "none", "tolerance", "predicate"],
)
def test_until(pair, until, iterations):
    for on in ("cpu:1", "cpu:1,cpu:1"):
        r = ev.gimv(pair, lambda m, v: v, _add, _half, 1.0, until=until, on=on)
        assert r.outcome == {"iterations": iterations, "converged": None if isinstance(until, int) else True}
        assert r["value"].tolist() == [0.5**iterations] * 2


def test_a_run_ends_at_max_iter(pair):
    with pytest.warns(ev.ConvergenceWarning, match="did not converge in 5 iterations: expected no value to"):
        r = ev.gimv(pair, lambda m, v: v, _add, _half, 1.0, max_iter=5)
    assert r.outcome == {"iterations": 5, "converged": False}


def test_a_graph_without_vertices():
    graph = ev.Graph.from_edges([], [], n=0)
    r = ev.gimv(graph, lambda m, v: v, _add, _half, 1.0)
    assert r["value"].tolist() == []


def test_nan_names_the_vertex_on_all_ranks(pair):
    with pytest.raises(
        ev.ArgumentError, match="the value of vertex 0 is NaN after iteration 1; the operators"
    ):
        run_ranks(2, lambda _: ev.gimv(pair, lambda m, v: v, _add, lambda old, new: new / new, 1.0))


def test_ranks_with_other_operators(pair):
    with pytest.raises(ev.MpiError, match=r"expected the same operators, .* found others on rank 1 than on"):
        run_ranks(2, lambda world: ev.gimv(pair, min, max, max, 1.0, until=world.rank))


def test_ranks_may_read_their_own_parts():
    """With a generator spec, no rank holds the whole graph; the components are those of the built-in."""
    expected = ev.wcc(ev.read("rmat:6"))["component"]

    def check(_):
        r = ev.gimv("rmat:6", lambda m, v: v, min, min, np.arange(64))
        assert (r["value"] == expected[r.block.start : r.block.stop]).all()

    run_ranks(2, check)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"v0": [1.0]}, r"v0=: expected a number, or an array of shape \(2,\), found shape \(1,\)"),
        ({"v0": [1.0, np.nan]}, "v0=: expected numbers, found NaN for vertex 1"),
        ({"v0": [object(), 1]}, "v0=: expected integers, float32 or float64, found object in list"),
        ({"v0": 2**63}, "v0=: expected integers below 2"),
        ({"until": -1}, "until=: expected a number of iterations .* found -1"),
        ({"until": True}, "until=: expected a number of iterations .* found True"),
        ({"max_iter": -1}, "max_iter=: expected an integer of at least 0, found -1"),
        ({"on": "cuda:0"}, "operators run on CPUs today, and the graph is on a GPU"),
        ({"graph": 3}, "gimv: expected a Graph or a PartitionedGraph, found int"),
    ],
)
def test_wrong_arguments(pair, arguments, message):
    given = {"graph": pair, "combine2": max, "combine_all": max, "assign": max, "v0": 1.0} | arguments
    with pytest.raises(ev.ArgumentError, match=message):
        ev.gimv(**given)


def test_components_need_an_undirected_graph(pair):
    with pytest.raises(ev.ArgumentError, match="expected an undirected graph"):
        operator_sets.connected_components(pair)
