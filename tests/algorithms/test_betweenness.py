"""Betweenness agrees with NetworkX, the reference implementation and counts by hand, for any split."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evener.algorithms.betweenness import betweenness as module
from evener.algorithms.betweenness import search
from evener.algorithms.betweenness.betweenness import betweenness
from evener.errors import ArgumentError, UnknownVertexError
from evener.graph.formats import read
from evener.graph.graph import Graph
from evener.partition.build import partition
from evener.primitives import source_paths
from evener.spec.verify import verify
from support import graphs, reference
from support.pair_cover import pairwise_cover

splits = pytest.mark.parametrize(
    ("parts", "policy"),
    [(1, "random")] + [(parts, policy) for parts in (2, 4) for policy in ("random", "high", "low")],
)


# Choose the cheaper direction, push every step, pull every step.
pushes = st.sampled_from([module.PUSH_COST, 0, 1e9])
# No level is narrow, some levels are, all levels are.
narrows = st.sampled_from([-1, 0, 1, 3, 8, 10**9])


@st.composite
def edge_lists(draw):
    """Draw edges among up to 16 vertices, with self-loops, repeated edges and isolated vertices."""
    n = draw(st.integers(1, 16))
    ends = st.integers(0, n - 1)
    return n, draw(st.lists(st.tuples(ends, ends), max_size=40)), draw(st.booleans())


def graph_of(n, edges, directed, **options):
    src, dst = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    return Graph.from_edges(src, dst, directed=directed, n=n, **options)


def place(graph, parts, policy):
    return partition(graph, ["cpu:1"] * parts, policy=policy)


def run(graph, push_cost=module.PUSH_COST, narrow=-1, **options):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PUSH_COST", push_cost)
        patch.setattr(module, "NARROW", narrow)
        return betweenness(graph, **options)


# ---- against other implementations ------------------------------------------------------------------


@splits
@settings(max_examples=12, deadline=None)
@given(drawn=edge_lists(), push_cost=pushes, narrow=narrows, normalized=st.booleans())
def test_agrees_with_networkx(parts, policy, drawn, push_cost, narrow, normalized):
    n, edges, directed = drawn
    g = (nx.DiGraph if directed else nx.Graph)()
    g.add_nodes_from(range(n))
    g.add_edges_from(edges)
    wanted = list(nx.betweenness_centrality(g, normalized=normalized).values())
    graph = graph_of(n, edges, directed, duplicates="drop")
    result = run(place(graph, parts, policy), push_cost, narrow, normalized=normalized)
    assert result["centrality"].dtype == np.float64
    np.testing.assert_allclose(result["centrality"], wanted, rtol=1e-12, atol=1e-14)


@splits
@settings(max_examples=8, deadline=None)
@given(drawn=edge_lists(), push_cost=pushes, narrow=narrows, choice=st.data())
def test_some_sources_agree_with_the_reference(parts, policy, drawn, push_cost, narrow, choice):
    """Parallel edges are kept and count as separate paths; sources may repeat."""
    n, edges, directed = drawn
    graph = graph_of(n, edges, directed)
    sources = choice.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=6))
    total = reference.betweenness(graph, sources=sources)
    result = run(place(graph, parts, policy), push_cost, narrow, sources=sources, normalized=False)
    wanted = total * n / len(sources) / (1 if directed else 2)
    np.testing.assert_allclose(result["centrality"], wanted, rtol=1e-12, atol=1e-14)
    verify(result)


@pytest.mark.parametrize(
    ("parts", "policy", "directed", "push_cost"),
    pairwise_cover([1, 2, 4], ["random", "high", "low"], [True, False], [0, 1e9]),
)
def test_larger_graphs_on_many_threads(parts, policy, directed, push_cost):
    """Levels span several words, runs and blocks."""
    rng = np.random.default_rng(5)
    n = 12_000
    tails = (n * rng.random(60_000) ** 3).astype(np.int64)
    graph = Graph.from_edges(tails, rng.integers(0, n, 60_000), directed=directed, n=n)
    sources = [0, 17, 11_999]
    total = reference.betweenness(graph, sources=sources)
    wanted = total * n / 3 / ((n - 1) * (n - 2))
    threads = 2 if parts == 1 else 1
    placed = partition(graph, [f"cpu:{threads}"] * parts, policy=policy)
    result = run(placed, push_cost, sources=sources)
    np.testing.assert_allclose(result["centrality"], wanted, rtol=1e-12, atol=1e-18)


def test_the_sample_is_drawn_by_seed_and_named():
    graph = reference.random_graph(directed=True)
    first, again = betweenness(graph, k=7, seed=3), betweenness(graph, k=7, seed=3)
    sources = first.parameters["sources"]
    assert len(set(sources)) == 7
    assert sources == again.parameters["sources"] != betweenness(graph, k=7, seed=4).parameters["sources"]
    np.testing.assert_array_equal(first["centrality"], betweenness(graph, sources=sources)["centrality"])
    verify(first)


def test_a_sample_of_all_vertices_equals_networkx():
    g = nx.gnp_random_graph(30, 0.1, seed=4)
    wanted = list(nx.betweenness_centrality(g, k=30).values())
    graph = graph_of(30, list(g.edges()), directed=False)
    np.testing.assert_allclose(betweenness(graph, k=30)["centrality"], wanted, rtol=1e-12, atol=1e-15)


# ---- by hand ----------------------------------------------------------------------------------------


def test_parallel_edges_are_separate_paths():
    """Three paths lead from 0 to 3: two through the parallel edges to 1, and one through 2."""
    graph = Graph.from_edges([0, 0, 0, 1, 2], [1, 1, 2, 3, 3])
    result = betweenness(graph, sources=[0], normalized=False)
    np.testing.assert_allclose(result["centrality"], [0, 4 * 2 / 3, 4 * 1 / 3, 0], rtol=1e-15)
    single = Graph.from_edges([0, 0, 0, 1, 2], [1, 1, 2, 3, 3], duplicates="drop")
    np.testing.assert_allclose(betweenness(single, normalized=False)["centrality"], [0, 0.5, 0.5, 0])


def test_self_loops_lie_on_no_shortest_path():
    graph = Graph.from_edges([0, 1, 1, 2], [1, 1, 2, 2])
    assert betweenness(graph, normalized=False)["centrality"].tolist() == [0, 1, 0]


def test_ids_with_gaps_and_string_ids():
    graph = Graph.from_edges([10, 500], [500, 7])
    assert betweenness(graph, sources=[10], normalized=False)["centrality"].tolist() == [0, 0, 3]
    graph = Graph.from_edges(["x", "b"], ["b", "a"])
    result = betweenness(graph, sources=["x"], normalized=False)
    assert result.top(1) == [("b", 3.0)]
    assert result.parameters["sources"] == ["x"]


@splits
@pytest.mark.parametrize("n", [0, 1, 2])
def test_too_few_vertices_to_lie_between(parts, policy, n):
    graph = Graph.from_edges([0], [1], n=2) if n == 2 else graph_of(n, [], directed=True)
    assert betweenness(place(graph, parts, policy))["centrality"].tolist() == [0.0] * n


def test_no_sources_give_zeros():
    assert betweenness(reference.random_graph(directed=True), sources=[])["centrality"].sum() == 0


# ---- numbers of paths -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "push_cost", "narrow"),
    [(1, 0, -1), (1, 1e9, -1), (1, 0, 3), (1, 0, 100), (2, 0, -1), (2, 1e9, -1)],
)
def test_more_paths_than_float64_can_count(parts, push_cost, narrow):
    """There are 4^700 paths. All vertices behind a joint depend on it, and its middles share them evenly."""
    stages, width = 700, 4
    src, dst, joints, middles = graphs.diamonds(stages, width)
    graph = Graph.from_edges(src, dst)
    result = run(partition(graph, ["cpu:1"] * parts), push_cost, narrow, sources=[0], normalized=False)
    found = result["centrality"] / graph.n
    behind = (width + 1.0) * (stages - joints)
    np.testing.assert_allclose(found[joints[1:]], behind[1:], rtol=1e-12)
    np.testing.assert_allclose(found[middles], np.repeat((1 + behind[1:]) / width, width).reshape(-1, width))


@pytest.mark.parametrize("narrow", [-1, 4, 100])
def test_path_counts_too_far_apart_are_refused(narrow):
    """4^950 paths lead to one vertex at distance 1900, and one path leads to another."""
    src, dst, _, middles = graphs.diamonds(950, 4)
    path = 1 + middles.max() + np.arange(2 * 950)
    src = np.concatenate([src, [0], path[:-1]])
    dst = np.concatenate([dst, path])
    with pytest.raises(
        ArgumentError, match=r"at distance 1\d\d\d from source 0 differ by a factor of over 2\^1700"
    ):
        run(Graph.from_edges(src, dst), narrow=narrow, sources=[0])


# ---- narrow levels ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "narrow", "levels"),
    pairwise_cover(
        ["rmat:7", "rmat:7,directed", "grid:30x3", "uniform:7", "grid:70x1"], [1, 7, 40, 300], [1, 2, 1000]
    ),
)
def test_values_are_equal_for_any_narrow_limit(monkeypatch, spec, narrow, levels):
    monkeypatch.setattr(module, "NARROW_LEVELS", levels)
    graph = read(spec)
    sources = np.flatnonzero(graph.out_degree())[[0, 5, -1]]
    wanted = reference.betweenness(graph, sources=sources) * graph.n / 3 / (1 if graph.directed else 2)
    result = run(graph, narrow=narrow, sources=graph.ids[sources], normalized=False, on="cpu:2")
    np.testing.assert_allclose(result["centrality"], wanted, rtol=1e-12, atol=1e-14)


def test_many_narrow_levels_are_one_superstep(monkeypatch):
    """A path of 100 vertices has 99 levels forward, in 3 supersteps, and 100 levels back, in 4."""
    monkeypatch.setattr(module, "NARROW_LEVELS", 33)
    result = run(read("grid:100x1"), narrow=2, sources=[0], on="cpu:1")
    phases = [span.phase for span in result.timeline]
    assert phases == ["begin", *["paths of narrow levels"] * 3, *["dependencies of narrow levels"] * 4]
    # All but the first superstep start with 33 active vertices.
    assert [span.active for span in result.timeline][2:] == [33] * 6


@pytest.mark.parametrize("vertices", [100, 40])
def test_a_level_of_many_vertices_is_not_narrow(vertices):
    """The level has few edges, but the kernel has to read each of its vertices."""
    middle = 1 + np.arange(vertices)
    src = np.concatenate([np.zeros_like(middle), middle[:10]])
    graph = Graph.from_edges(src, np.concatenate([middle, middle[-1] + 1 + np.arange(10)]))
    result = run(graph, narrow=50, sources=[0], normalized=False, on="cpu:1")
    assert (result["centrality"] == [0, *[graph.n] * 10, *[0] * vertices]).all()
    narrow = ["narrow" in span.phase for span in result.timeline][1:]
    assert narrow == ([True, True] if vertices <= 50 else [False, False, True, False, True])


# ---- arguments, timeline, progress ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"sources": [1], "k": 2}, "exclude each other"),
        ({"k": 0}, "1 to 40, found 0"),
        ({"k": 41}, "from 1 to 40, found 41"),
        ({"k": 2.5}, "found 2.5"),
        ({"k": True}, "found True"),
        ({"k": 2, "seed": -1}, "seed=: expected an integer of at least 0, found -1"),
    ],
)
def test_refuses_arguments(options, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        betweenness(graph_of(40, [(0, 1)], directed=True), **options)


def test_refuses_an_unknown_source():
    with pytest.raises(UnknownVertexError, match="vertex 99 is not in the graph"):
        betweenness(graph_of(40, [(0, 1)], directed=True), sources=[1, 99])


def test_few_sources_have_one_superstep_per_level():
    """A path of four edges has a start, four steps forward, and three back: the source needs no step back."""
    graph = graph_of(5, [(0, 1), (1, 2), (2, 3), (3, 4)], directed=True)
    result = run(graph, sources=[0], on=["cpu:1"])
    kinds = [span.phase.split()[0] for span in result.timeline]
    assert kinds == ["begin"] + ["paths"] * 4 + ["dependencies"] * 3
    assert result.edges == 4


def test_many_sources_have_a_bounded_timeline(monkeypatch):
    monkeypatch.setattr(search, "RUNS_OF_SOURCES", 7)
    monkeypatch.setattr(source_paths, "FEW_EDGES", 0)
    graph = graph_of(40, [(v, v + 1) for v in range(39)], directed=False)
    seen = []
    result = betweenness(graph, on=["cpu:1"], progress=seen.append)
    assert [span.phase for span in result.timeline] == ["sources"] * 7
    assert [round(p.fraction * 40) for p in seen] == [0, 6, 12, 18, 24, 30, 36]
    assert result.edges == 40 * 39
