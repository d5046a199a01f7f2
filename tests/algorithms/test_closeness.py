"""Closeness and harmonic centrality: their contracts, samples of sources, and the scope of a verification."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import evener as ev
from evener.primitives import distance_verification
from evener.testing.algorithms import AlgorithmContract
from support.reference import edges


def as_networkx(graph):
    made = nx.DiGraph() if graph.directed else nx.Graph()
    made.add_nodes_from(range(graph.n))
    made.add_edges_from(zip(*(one.tolist() for one in edges(graph)), strict=True))
    return made


def by_number(values, graph):
    return np.array([values[v] for v in range(graph.n)])


class TestCloseness(AlgorithmContract):
    name = "closeness"

    def expected(self, graph, arguments):
        return {"closeness": by_number(nx.closeness_centrality(as_networkx(graph)), graph)}


@pytest.mark.slow  # one option differs from the contract above
class TestClosenessWithoutFactor(AlgorithmContract):
    name = "closeness"

    def arguments(self, graph):
        return {"wf_improved": False}

    def expected(self, graph, arguments):
        values = nx.closeness_centrality(as_networkx(graph), wf_improved=False)
        return {"closeness": by_number(values, graph)}


class TestHarmonic(AlgorithmContract):
    name = "harmonic"

    def expected(self, graph, arguments):
        return {"harmonic": by_number(nx.harmonic_centrality(as_networkx(graph)), graph)}


@pytest.mark.parametrize("k", [1, 64, 65])
def test_a_sample_averages_the_distances_from_its_sources(k):
    graph = ev.read("rmat:7,directed")
    sources = np.random.default_rng(3).choice(graph.n, k, replace=False)
    away = dict(nx.all_pairs_shortest_path_length(as_networkx(graph)))
    closeness = ev.closeness(graph, k=k, seed=3)
    harmonic = ev.harmonic(graph, k=k, seed=3)["harmonic"]
    for v in range(graph.n):
        found = [away[s][v] for s in sources.tolist() if s != v and v in away[s]]
        others = max(k - (v in sources), 1)
        expected = len(found) / sum(found) * len(found) / others if found else 0
        assert closeness["closeness"][v] == pytest.approx(expected)
        assert harmonic[v] == pytest.approx(sum(1 / d for d in found) * (graph.n - 1) / others)
    assert closeness.outcome["error"] == pytest.approx(np.sqrt(np.log(graph.n) / k))
    ev.verify(closeness)


@pytest.mark.parametrize("name", ["closeness", "harmonic"])
def test_a_sample_has_1_to_n_sources(name):
    graph = ev.read("grid:3x3")
    for k in (0, 10, 2.5):
        with pytest.raises(ev.ArgumentError, match="from 1 to 9"):
            getattr(ev, name)(graph, k=k)


def test_some_vertices_of_a_large_graph_are_verified(monkeypatch):
    graph = ev.read("rmat:9")
    monkeypatch.setattr(distance_verification, "_MOST_EDGES", 20 * (graph.n + graph.m))
    result = ev.harmonic(graph, k=8)
    assert distance_verification.verified_scope(result) == " for 20 of 512 vertices"
    values = result["harmonic"].copy()
    values *= 1.001
    with pytest.raises(ev.VerificationError, match="recomputed"):
        ev.verify(ev.Claim("harmonic", graph, {"harmonic": values}, {"k": 8}))


def test_continues_from_a_checkpoint(tmp_path):
    graph = ev.read("rmat:9")
    whole = ev.closeness(graph)["closeness"]
    ev.closeness(graph, checkpoint=ev.Checkpoint(tmp_path / "run", every="2steps"))
    again = ev.closeness(graph, checkpoint=ev.Checkpoint(tmp_path / "run", resume=True))
    np.testing.assert_array_equal(again["closeness"], whole)
