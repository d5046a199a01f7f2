"""Betweenness of edges agrees with NetworkX, for any split."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import evener as ev
from evener.algorithms.edge_betweenness import edge_betweenness as module
from evener.errors import ArgumentError, VerificationError
from evener.spec.answer import Claim
from evener.testing.algorithms import AlgorithmContract
from support import graphs
from support.weighted_paths import drawn, rows_of, vertices_in_edges


def columns(graph, rows, values):
    u, v = np.array(rows, np.int64).reshape(-1, 2).T
    return {"u": graph.ids[u], "v": graph.ids[v], "centrality": values}


class TestEdgeBetweenness(AlgorithmContract):
    name = "edge_betweenness"

    def arguments(self, graph):
        return {"sources": graph.ids[::9].tolist()}

    def expected(self, graph, arguments):
        """Parallel edges are separate paths."""
        g, middles = vertices_in_edges(graph)
        vertices = list(range(graph.n))
        found = nx.betweenness_centrality_subset(g, vertices[::9], vertices)
        pairs = len(vertices[::9]) * (graph.n - 1) / (1 if graph.directed else 2)
        values = np.array([found.get(middle, 0.0) for middle in middles]) / max(pairs, 1)
        return columns(graph, rows_of(graph), values)


def compare(result, wanted, directed):
    ends = zip(result["u"].tolist(), result["v"].tolist(), strict=True)
    found = dict(zip(ends, result["centrality"], strict=True))
    assert len(found) == len(wanted)
    for (u, v), value in wanted.items():
        own = found[(u, v) if directed or u <= v else (v, u)]
        assert own == pytest.approx(value, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weight", [None, "weight"])
def test_agrees_with_networkx(weight, directed, normalized):
    g, graph = drawn(directed=directed)
    result = ev.edge_betweenness(graph, weights=weight is not None, normalized=normalized, on="cpu:2")
    compare(result, nx.edge_betweenness_centrality(g, weight=weight, normalized=normalized), directed)
    ev.verify(result)


@pytest.mark.parametrize("on", [["cpu:2"], ["cpu:1"] * 3])
def test_some_sources_estimate_all(on):
    g, graph = drawn()
    wanted = nx.edge_betweenness_centrality_subset(g, [3, 4, 5], list(g))
    result = ev.edge_betweenness(graph, sources=[3, 4, 5], normalized=False, on=on)
    compare(result, {ends: value * graph.n / 3 for ends, value in wanted.items()}, directed=False)
    again = ev.edge_betweenness(graph, k=7, seed=3, on=on)
    sources = again.parameters["sources"]
    assert len(set(sources)) == 7
    assert (again["centrality"] == ev.edge_betweenness(graph, sources=sources, on=on)["centrality"]).all()
    ev.verify(again)


def test_parallel_edges_ascend_by_weight():
    """The lightest of three parallel edges has all paths; equal edges share them."""
    graph = ev.Graph.from_edges([0, 1, 0, 1], [1, 0, 1, 2], [3.0, 1.0, 2.0, 1.0], directed=False)
    result = ev.edge_betweenness(graph, weights=True, normalized=False)
    assert result["centrality"].tolist() == [2.0, 0.0, 0.0, 2.0]
    equal = ev.Graph.from_edges([0, 0, 1], [1, 1, 2], [1.0, 1.0, 1.0], directed=False)
    assert ev.edge_betweenness(equal, weights=True, normalized=False)["centrality"].tolist() == [1, 1, 2]


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_vertices(n):
    graph = ev.Graph.from_edges([0][: n // 2], [1][: n // 2], directed=False, n=n)
    assert ev.edge_betweenness(graph)["centrality"].tolist() == [1.0][: n // 2]


def test_no_sources_give_zeros():
    assert ev.edge_betweenness(drawn()[1], sources=[])["centrality"].sum() == 0


@pytest.mark.parametrize("on", [["cpu:1"], ["cpu:1"] * 2])
def test_more_paths_than_float64_can_count(on):
    """There are 4^700 paths. The first edges share the vertices behind them evenly."""
    stages, width = 700, 4
    src, dst, _, _ = graphs.diamonds(stages, width)
    graph = ev.Graph.from_edges(src, dst)
    result = ev.edge_betweenness(graph, sources=[0], normalized=False, on=on)
    first = result["centrality"][result["u"] == 0] / graph.n
    np.testing.assert_allclose(first, np.full(width, (graph.n - 1) / width), rtol=1e-12)
    assert (result.timeline.supersteps == 1) == (len(on) == 1)
    ev.verify(result)


@pytest.mark.parametrize("on", [["cpu:1"], ["cpu:1"] * 2])
def test_path_counts_too_far_apart_are_refused(on):
    """4^950 paths lead to one vertex at distance 1900, and one path leads to another."""
    src, dst, _, middles = graphs.diamonds(950, 4)
    path = 1 + middles.max() + np.arange(2 * 950)
    graph = ev.Graph.from_edges(np.concatenate([src, [0], path[:-1]]), np.concatenate([dst, path]))
    with pytest.raises(ArgumentError, match=r"from source 0 differ by a factor of over 2\^1700"):
        ev.edge_betweenness(graph, sources=[0], on=on)


def test_the_verifier_counts_paths_up_to_the_largest_float64():
    """2^1024 paths lead to the last of the vertices, and float64 counts those to all others."""
    joints = np.repeat(np.arange(1024), 2)
    result = ev.edge_betweenness(ev.Graph.from_edges(joints, joints + 1), sources=[0], normalized=False)
    ev.verify(result)
    np.testing.assert_allclose(result["centrality"][:2], [1025 * 1024 / 2] * 2, rtol=1e-12)


def test_many_sources_count_more_paths_than_float64():
    src, dst, joints, _ = graphs.diamonds(700, 4)
    graph = ev.Graph.from_edges(src, dst)
    by_source = ev.betweenness(graph, sources=[0] * 17, on="cpu:2")
    by_level = ev.betweenness(graph, sources=[0], on="cpu:2")
    np.testing.assert_allclose(by_source["centrality"], by_level["centrality"], rtol=1e-12)
    assert by_source["centrality"][joints[1]] > 0
    assert by_source.timeline.supersteps == 1 < by_level.timeline.supersteps


def test_the_sums_do_not_depend_on_the_threads():
    graph = drawn(n=300, m=2000)[1]
    first, second = (ev.edge_betweenness(graph, on=on)["centrality"] for on in ("cpu:1", "cpu:2"))
    assert (first == second).all()


def test_a_search_from_each_source_or_by_level(monkeypatch):
    graph = drawn(n=200, m=700)[1]
    by_source = ev.edge_betweenness(graph, on="cpu:2")
    for name in ("is_one_cpu", "searches_are_faster"):
        monkeypatch.setattr(module, name, lambda _: False)
    by_level = ev.edge_betweenness(graph, on="cpu:2")
    np.testing.assert_allclose(by_level["centrality"], by_source["centrality"], rtol=1e-12)
    assert by_level.edges == by_source.edges


@pytest.mark.parametrize(
    ("column", "change", "rule"),
    [
        ("centrality", lambda own: own[::-1], "are the dependencies"),
        ("centrality", lambda own: own * (1 + 1e-6), "are the dependencies"),
        ("centrality", lambda own: own.astype(int), "float32 or float64"),
        ("u", lambda own: own[::-1], "rows are the edges"),
        ("v", lambda own: own[::-1], "rows are the edges"),
        (None, lambda own: own[:-1], "a row for each edge"),
    ],
)
@pytest.mark.parametrize("weights", [False, True])
def test_the_verifier_finds_wrong_rows(column, change, rule, weights):
    graph = drawn(directed=True)[1]
    result = ev.edge_betweenness(graph, weights=weights)
    arrays = {name: change(result[name]) if column in (None, name) else result[name] for name in result}
    with pytest.raises(VerificationError, match=rule):
        ev.verify(Claim("edge_betweenness", graph, arrays, result.parameters, result.outcome))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"sources": [1], "k": 2}, "exclude each other"),
        ({"k": 0}, "1 to 60, found 0"),
        ({"normalized": "no"}, "normalized"),
        ({"weights": "no"}, "weights=: expected True"),
    ],
)
@pytest.mark.parametrize("name", ["betweenness", "edge_betweenness"])
def test_refuses_arguments(name, options, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        getattr(ev, name)(drawn()[1], **options)
