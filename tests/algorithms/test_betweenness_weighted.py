"""Betweenness by weights agrees with NetworkX, and refuses weights that it cannot add up exactly."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evener as ev
from evener.algorithms.betweenness import betweenness, weighted
from evener.algorithms.edge_betweenness import edge_betweenness
from evener.errors import ArgumentError, VerificationError
from evener.primitives import source_paths
from evener.spec.answer import Claim
from evener.testing.graphs import SHAPES
from evener.testing.ranks import run_ranks
from evener.testing.splits import placements
from support.weighted_paths import centralities, drawn, weighted_graphs


@st.composite
def weighted_edges(draw):
    """Draw edges among up to 14 vertices, with weights that make many paths equally long."""
    n = draw(st.integers(3, 14))
    ends = st.integers(0, n - 1)
    weights = draw(st.sampled_from([st.integers(1, 4), st.sampled_from([0.1, 0.2, 0.3, 0.5])]))
    return n, draw(st.lists(st.tuples(ends, ends, weights), min_size=1, max_size=40)), draw(st.booleans())


@settings(max_examples=40, deadline=None)
@given(edges=weighted_edges())
def test_agrees_with_networkx(edges):
    n, rows, directed = edges
    g = (nx.DiGraph if directed else nx.Graph)()
    g.add_nodes_from(range(n))
    g.add_weighted_edges_from(rows)
    src, dst, weights = map(np.array, zip(*g.edges(data="weight"), strict=True))
    graph = ev.Graph.from_edges(src, dst, weights, directed=directed, n=n)
    for normalized in (False, True):
        wanted = list(nx.betweenness_centrality(g, weight="weight", normalized=normalized).values())
        result = ev.betweenness(graph, weights=True, normalized=normalized, on="cpu:1")
        np.testing.assert_allclose(result["centrality"], wanted, rtol=1e-12, atol=1e-14)
        ev.verify(result)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64, np.float32, np.float64])
def test_weights_of_any_type(dtype):
    g, graph = drawn()
    src, dst, weights = np.array(list(g.edges(data="weight"))).T
    graph = ev.Graph.from_edges(src, dst, weights.astype(dtype), directed=False, n=graph.n)
    result = ev.betweenness(graph, weights=True)
    wanted = list(nx.betweenness_centrality(g, weight="weight").values())
    np.testing.assert_allclose(result["centrality"], wanted, rtol=1e-12)
    assert result.parameters["weights"] is True
    assert result.edges == graph.m // 2 * graph.n


def test_many_sources_are_several_calls(monkeypatch):
    monkeypatch.setattr(source_paths, "EDGES_PER_CALL", 1)
    monkeypatch.setattr(source_paths, "SEARCHES", 7)
    g, graph = drawn()
    result = ev.betweenness(graph, weights=True, on="cpu:2")
    wanted = list(nx.betweenness_centrality(g, weight="weight").values())
    np.testing.assert_allclose(result["centrality"], wanted, rtol=1e-12)
    assert result.timeline.supersteps == -(-60 // 7)
    ev.verify(ev.betweenness(graph, sources=[3, 3, 8], weights=True))


@pytest.mark.parametrize("weights", [True, False])
def test_a_run_continues_from_a_checkpoint(monkeypatch, tmp_path, weights):
    monkeypatch.setattr(source_paths, "EDGES_PER_CALL", 1)
    monkeypatch.setattr(source_paths, "SEARCHES", 7)
    graph = drawn()[1]

    def stop(progress):
        if progress.superstep == 6:
            raise KeyboardInterrupt

    written, again = ev.Checkpoint(tmp_path, every="1step"), ev.Checkpoint(tmp_path, resume=True)
    with pytest.raises(KeyboardInterrupt):
        ev.betweenness(graph, weights=weights, progress=stop, checkpoint=written)
    result = ev.betweenness(graph, weights=weights, checkpoint=again)
    assert (result["centrality"] == ev.betweenness(graph, weights=weights)["centrality"]).all()
    with pytest.raises(ArgumentError):
        ev.betweenness(graph, weights=not weights, checkpoint=again)


def check_both(placed, sources, wanted):
    """Compare betweenness of vertices and of edges from some sources with sums of dependencies."""
    graph = placed.graph
    scale = graph.n / len(sources) / (1 if graph.directed else 2)
    for search, sums in zip((ev.betweenness, ev.edge_betweenness), wanted, strict=True):
        ids = graph.ids_of(np.array(sources))
        result = search(placed, sources=ids, weights=True, normalized=False)
        np.testing.assert_allclose(result["centrality"], sums * scale, rtol=1e-9, atol=1e-12)
        ev.verify(result)


class TestSplits:
    """Any split gives the sums of NetworkX."""

    kind = "cpu:1"

    def test_answers_do_not_depend_on_the_split(self):
        for number, graph in enumerate(weighted_graphs()):
            sources = list(range(0, graph.n, max(graph.n // 3, 1)))
            wanted = centralities(graph, sources)
            for placed in placements(graph, self.kind, number):
                check_both(placed, sources, wanted)

    def test_a_single_element_searches_from_one_source_at_a_time(self, monkeypatch):
        """As on a GPU: many levels in one call, and distances of 32 bits, then of 64."""
        for module in (betweenness, edge_betweenness):
            monkeypatch.setattr(module, "is_one_cpu", lambda _: False)
        monkeypatch.setattr(weighted, "LEVELS", 3)
        sources, n = [0, 5, 80], 81
        src, dst, _ = SHAPES["grid"]()
        heavy = np.random.default_rng(1).integers(1, 3, len(src)) << 28
        for weights in (heavy, heavy / 2**28, np.ones(len(src), np.int8)):
            graph = ev.Graph.from_edges(src, dst, weights, directed=False, n=n)
            check_both(ev.partition(graph, self.kind), sources, centralities(graph, sources))

    @pytest.mark.parametrize("name", ["betweenness", "edge_betweenness"])
    def test_refuses_what_float64_does_not_hold(self, name):
        cases = [
            (chain([1e20, 1.0]), "a weight is too small"),
            (chain([1e308, 1e308]), "a sum of weights is infinite"),
            (chain([1, 2**53]), r"a sum of integer weights is 2\^53 or more"),
            (ev.Graph.from_edges(*joints(1000), np.ones(2000)), r"more than 2\^960 shortest paths lead from"),
        ]
        for graph, sentence in cases:
            with pytest.raises(ArgumentError, match=sentence):
                getattr(ev, name)(graph, weights=True, sources=[0], on=[self.kind] * 2)


def test_ranks_give_the_rows_of_one_process():
    """Each rank has its vertices or edges, and verifies them."""
    for graph in weighted_graphs()[:3]:
        sources = [0, 7, 20]

        def run(world, graph=graph, sources=sources):
            placed = ev.partition(graph, ["cpu:1"] * (1 + world.rank % 2), policy="random")
            found = []
            for search in (ev.betweenness, ev.edge_betweenness):
                result = search(placed, sources=sources, weights=True, normalized=False)
                found.append(result["centrality"])
                ev.verify(result)
            return found

        scale = graph.n / len(sources) / (1 if graph.directed else 2)
        wanted = centralities(graph, sources)
        for ranks in (2, 3):
            for found, sums in zip(zip(*run_ranks(ranks, run), strict=True), wanted, strict=True):
                np.testing.assert_allclose(np.concatenate(found), sums * scale, rtol=1e-9, atol=1e-12)


def test_a_run_on_two_elements_continues_on_one(tmp_path):
    graph, sources = drawn()[1], list(range(20))

    def stop(progress):
        if progress.superstep == 12:
            raise KeyboardInterrupt

    def run(on, **options):
        return ev.betweenness(graph, sources=sources, weights=True, on=on, **options)["centrality"]

    with pytest.raises(KeyboardInterrupt):
        run(["cpu:1"] * 2, progress=stop, checkpoint=ev.Checkpoint(tmp_path, every="1step"))
    found = run("cpu:1", checkpoint=ev.Checkpoint(tmp_path, resume=True))
    np.testing.assert_allclose(found, run("cpu:1"), rtol=1e-12)


def joints(count):
    """Return a chain with two parallel edges at each joint."""
    tails = np.repeat(np.arange(count), 2)
    return tails, tails + 1


def test_the_lightest_parallel_edge_counts_and_equal_edges_are_separate_paths():
    graph = ev.Graph.from_edges([0, 0, 0, 1, 2], [1, 1, 2, 3, 3], [1.0, 1.0, 1.0, 1.0, 1.0])
    result = ev.betweenness(graph, sources=[0], weights=True, normalized=False)
    np.testing.assert_allclose(result["centrality"], [0, 4 * 2 / 3, 4 * 1 / 3, 0], rtol=1e-15)
    graph = ev.Graph.from_edges([0, 0, 0, 1, 2], [1, 1, 2, 3, 3], [1.0, 2.0, 1.0, 1.0, 1.0])
    result = ev.betweenness(graph, sources=[0], weights=True, normalized=False)
    np.testing.assert_allclose(result["centrality"], [0, 2, 2, 0], rtol=1e-15)


def chain(weights):
    n = len(weights)
    return ev.Graph.from_edges(np.arange(n), np.arange(1, n + 1), np.array(weights), directed=False)


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        ([1.0, 0.0], "needs finite weights above 0 on every edge, because .*; found a weight of 0"),
        ([1, 0], "found a weight of 0"),
        ([1.0, -1.0], "needs finite weights above 0"),
        ([1.0, np.inf], "needs finite weights"),
        ([1e20, 1.0], "float64 does not hold the distances from source 0: a weight is too small"),
        ([1e308, 1e308], "a sum of weights is infinite"),
        ([2**52, 2**52], r"a sum of integer weights is 2\^53 or more"),
        ([1, 2**53], r"a sum of integer weights is 2\^53 or more"),
    ],
)
@pytest.mark.parametrize("name", ["betweenness", "edge_betweenness"])
def test_refuses_weights(name, weights, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        getattr(ev, name)(chain(weights), weights=True)


def test_refuses_a_graph_without_weights():
    with pytest.raises(ArgumentError, match="expected a graph with weights"):
        ev.betweenness(ev.read("rmat:4"), weights=True)


def test_refuses_more_paths_than_float64_can_count():
    """There are 2^1000 paths: at each of 1000 joints, two parallel edges."""
    graph = ev.Graph.from_edges(*joints(1000), np.ones(2000))
    with pytest.raises(ArgumentError, match=r"more than 2\^960 shortest paths lead from source 0"):
        ev.betweenness(graph, weights=True)


@pytest.mark.parametrize("change", [lambda own: own[::-1], lambda own: own * (1 + 1e-6)])
def test_the_verifier_finds_wrong_values(change):
    graph = drawn()[1]
    result = ev.betweenness(graph, weights=True)
    arrays = {"centrality": change(result["centrality"])}
    with pytest.raises(VerificationError, match="centralities are the dependencies"):
        ev.verify(Claim("betweenness", graph, arrays, result.parameters))
    with pytest.raises(VerificationError):
        ev.verify(Claim("betweenness", graph, {"centrality": result["centrality"]}, {"weights": False}))
    ev.verify(Claim("betweenness", graph, {"centrality": result["centrality"]}, {"weights": None}))
