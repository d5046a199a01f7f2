"""HITS, Katz and eigenvector centrality use weights as NetworkX and NumPy do, on unusual graphs too."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import evener as ev
from evener.testing.ranks import run_ranks

# Compiling a program needs seconds.
slow = pytest.mark.slow
ATTENUATION = 0.01
TIGHT = {"tol": 1e-12, "max_iter": 20000}
ALGORITHMS = {
    "eigenvector": TIGHT,
    "hits": TIGHT,
    "katz": {"attenuation": ATTENUATION},
}
EACH = pytest.mark.parametrize(
    "name", [name if name == "hits" else pytest.param(name, marks=slow) for name in ALGORITHMS]
)
POWER = pytest.mark.parametrize("name", [pytest.param("eigenvector", marks=slow), "hits"])


def random_graph(*, directed, dtype="float64", seed=1):
    """Return a strongly connected graph with self-loops, repeated edges and weights of 0; and its edges."""
    random = np.random.default_rng(seed)
    n, m = 40, 160
    src = np.concatenate([random.integers(0, n, m), np.arange(n)])
    dst = np.concatenate([random.integers(0, n, m), np.roll(np.arange(n), 1)])
    weights = np.concatenate([random.integers(0, 5, m), np.full(n, 2)]).astype(dtype)
    return ev.Graph.from_edges(src, dst, weights=weights, n=n, directed=directed), (src, dst, weights)


def in_networkx(edges, n, *, directed):
    graph = (nx.MultiDiGraph if directed else nx.MultiGraph)()
    graph.add_nodes_from(range(n))
    graph.add_weighted_edges_from(zip(*(one.tolist() for one in edges), strict=True))
    return graph


def expected(name, graph, weight):
    """Return the columns by NetworkX and NumPy. `weight` is the attribute of edges, or None."""
    matrix = nx.to_numpy_array(graph, nodelist=range(len(graph)), weight=weight)
    if name == "hits":
        left, _, right = np.linalg.svd(matrix)
        hub, authority = np.abs(left[:, 0]), np.abs(right[0])
        return {"hub": hub / hub.sum(), "authority": authority / authority.sum()}
    simple = nx.from_numpy_array(matrix, create_using=nx.DiGraph)
    if name == "katz":
        found = nx.katz_centrality_numpy(simple, alpha=ATTENUATION, weight="weight")
    else:
        found = nx.eigenvector_centrality(simple, weight="weight", max_iter=100000, tol=1e-14)
    return {"centrality": np.array([found[v] for v in range(len(graph))])}


def check(result, right):
    for column, values in right.items():
        np.testing.assert_allclose(result[column], values, rtol=1e-6, atol=1e-9)


@pytest.mark.filterwarnings("error")
@EACH
def test_weights_are_those_of_networkx(name):
    for directed in (True, False):
        graph, edges = random_graph(directed=directed)
        known = in_networkx(edges, graph.n, directed=directed)
        run = getattr(ev, name)
        for on in ("cpu:1", "cpu:1,cpu:1"):
            found = run(graph, **ALGORITHMS[name], on=on)
            assert found.parameters["weights"] is True
            assert found.outcome["converged"]
            check(found, expected(name, known, "weight"))
        ev.verify(found)
    unweighted = run(graph, **ALGORITHMS[name], weights=False)
    assert unweighted.parameters["weights"] is False
    check(unweighted, expected(name, known, None))
    ev.verify(unweighted)


@slow
@pytest.mark.parametrize(
    ("name", "dtype"), [("eigenvector", "int8"), ("hits", "uint64"), ("katz", "float32")]
)
def test_weights_of_any_type(name, dtype):
    graph, edges = random_graph(directed=True, dtype=dtype)
    found = getattr(ev, name)(graph, **ALGORITHMS[name])
    check(found, expected(name, in_networkx(edges, graph.n, directed=True), "weight"))


@slow
@pytest.mark.parametrize("name", ALGORITHMS)
def test_weights_on_ranks(name):
    graph, edges = random_graph(directed=True)
    right = expected(name, in_networkx(edges, graph.n, directed=True), "weight")

    def on_rank(_):
        r = getattr(ev, name)(graph, **ALGORITHMS[name], on="cpu:1")
        for column, values in right.items():
            np.testing.assert_allclose(r[column], values[r.block.start : r.block.stop], rtol=1e-6, atol=1e-9)

    run_ranks(2, on_rank)


@EACH
def test_weights_that_cannot_be_used(name):
    for bad in (-1.0, np.inf):
        graph = ev.Graph.from_edges([7, 8], [8, 7], weights=[1.0, bad])
        with pytest.raises(ev.ArgumentError, match=r"^the edge from 8 to 7 weighs .* needs finite"):
            getattr(ev, name)(graph)
    plain = ev.Graph.from_edges([0], [1])
    with pytest.raises(ev.ArgumentError, match=r"^weights=: expected a graph with weights, found none"):
        getattr(ev, name)(plain, weights=True)
    with pytest.raises(ev.ArgumentError, match=r"^weights=: expected True, False or None, found 2"):
        getattr(ev, name)(plain, weights=2)


@POWER
def test_the_unit_of_weights_does_not_matter(name):
    graph, (src, dst, weights) = random_graph(directed=True)
    right = getattr(ev, name)(graph)
    for unit in (1e-140, 1e-12, 1e12, 1e139):
        scaled = ev.Graph.from_edges(src, dst, weights=weights * unit, n=graph.n)
        found = getattr(ev, name)(scaled)
        assert found.outcome["converged"]
        for column in right:
            np.testing.assert_allclose(found[column], right[column], atol=1e-8)


@POWER
def test_weights_beyond_the_range_of_products(name):
    for huge in (1e-300, 1e200):
        graph = ev.Graph.from_edges([0, 1], [1, 0], weights=[huge, huge])
        with pytest.raises(ev.ArgumentError, match=r"largest weight is .*; scale the weights"):
            getattr(ev, name)(graph)


@slow
def test_default_attenuation_depends_on_weights():
    graph, _ = random_graph(directed=True)
    strength = graph.to_scipy().sum(axis=1).max()
    r = ev.katz(graph)
    assert r.parameters["attenuation"] == pytest.approx(1 / (1 + strength))
    ev.verify(r)


# ---- graphs without edges, without cycles, with equal eigenvalues --------------------------------------


def undirected(*edges, n):
    src, dst = np.array(edges, int).reshape(-1, 2).T
    return ev.Graph.from_edges(src, dst, n=n, directed=False)


# How to build a graph; its hubs or authorities, and its eigenvector centralities, by hand.
UNUSUAL = {
    "one vertex": (lambda: undirected(n=1), [1.0], [1.0]),
    "no edges": (lambda: undirected(n=4), [0.25] * 4, [0.5] * 4),
    "a self-loop": (lambda: undirected((0, 0), n=2), [1.0, 0.0], [1.0, 0.0]),
    "equal self-loops": (lambda: undirected((0, 0), (1, 1), n=2), [0.5, 0.5], [0.5**0.5] * 2),
    "an edge and an isolated vertex": (
        lambda: undirected((0, 1), n=3),
        [0.5, 0.5, 0.0],
        [0.5**0.5, 0.5**0.5, 0.0],
    ),
    "two edges": (lambda: undirected((0, 1), (2, 3), n=4), [0.25] * 4, [0.5] * 4),
    "a star": (lambda: undirected((0, 1), (0, 2), (0, 3), n=4), None, [0.5**0.5, *[6**-0.5] * 3]),
    "a triangle and an edge": (
        lambda: undirected((0, 1), (1, 2), (2, 0), (3, 4), n=5),
        [1 / 3] * 3 + [0.0] * 2,
        [3**-0.5] * 3 + [0.0] * 2,
    ),
    "a cycle": (lambda: ev.Graph.from_edges([0, 1, 2], [1, 2, 0]), [1 / 3] * 3, [3**-0.5] * 3),
    "weights of 0": (
        lambda: ev.Graph.from_edges([0, 1], [1, 2], weights=[0.0, 0.0]),
        [1 / 3] * 3,
        [3**-0.5] * 3,
    ),
}


@pytest.mark.parametrize("shape", UNUSUAL)
def test_hits_of_unusual_graphs(shape):
    build, value, _ = UNUSUAL[shape]
    r = ev.hits(build())
    assert r.outcome["converged"]
    assert r["hub"].sum() == pytest.approx(1)
    assert r["authority"].sum() == pytest.approx(1)
    if value is not None:
        np.testing.assert_allclose(r["hub"], value, atol=1e-8)
        np.testing.assert_allclose(r["authority"], value, atol=1e-8)
    ev.verify(r)


@slow
@pytest.mark.parametrize("shape", UNUSUAL)
def test_eigenvector_centrality_of_unusual_graphs(shape):
    build, _, value = UNUSUAL[shape]
    r = ev.eigenvector(build())
    assert r.outcome["converged"]
    np.testing.assert_allclose(r["centrality"], value, atol=1e-8)
    ev.verify(r)


@slow
@pytest.mark.parametrize("shape", UNUSUAL)
def test_katz_centrality_of_unusual_graphs(shape):
    graph = UNUSUAL[shape][0]()
    r = ev.katz(graph, attenuation=0.2)
    matrix = graph.to_scipy().toarray()
    value = np.linalg.solve(np.eye(graph.n) - 0.2 * matrix.T, np.ones(graph.n))
    np.testing.assert_allclose(r["centrality"], value / np.linalg.norm(value), rtol=1e-7)
    ev.verify(r)


@POWER
def test_graphs_without_vertices(name):
    r = getattr(ev, name)(ev.Graph.from_edges([], [], n=0))
    assert all(len(r[column]) == 0 for column in r)
    assert r.outcome["converged"]


@slow
def test_a_graph_without_cycles_has_no_eigenvector_centrality():
    graph = ev.Graph.from_edges([0, 0, 1], [1, 2, 2])
    with pytest.raises(ev.ArgumentError, match="expected a cycle of edges with weights above 0"):
        ev.eigenvector(graph)
    assert ev.hits(graph)["hub"].sum() == pytest.approx(1)
