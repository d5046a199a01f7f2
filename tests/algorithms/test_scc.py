"""Strongly connected components: their contract, and graphs whose components are known."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import evener as ev
from evener.testing.algorithms import AlgorithmContract
from support.reference import as_networkx, random_graph


def _components(graph):
    """Return the id of the first vertex of the component of each vertex, from NetworkX."""
    component = np.empty(graph.n, np.int64)
    for members in nx.strongly_connected_components(as_networkx(graph)):
        component[list(members)] = min(members)
    return graph.ids[component]


class TestScc(AlgorithmContract):
    name = "scc"

    def expected(self, graph, arguments):
        return {"component": _components(graph)}


@pytest.mark.parametrize("on", [["cpu:2"], ["cpu:1"] * 3], ids=",".join)
def test_random_graphs_equal_networkx(on):
    for seed in range(12):
        graph = random_graph(directed=True, n=60, edges=60 + 10 * seed, seed=seed)
        result = ev.scc(graph, on=on)
        expected = _components(graph)
        assert result["component"].tolist() == expected.tolist()
        assert result.outcome["components"] == len(set(expected.tolist()))


@pytest.mark.parametrize("on", [["cpu:2"], ["cpu:1"] * 3], ids=",".join)
def test_cycles_that_one_edge_joins(on):
    ring = np.arange(100)
    src = np.concatenate([ring, ring + 100, [5]])
    dst = np.concatenate([(ring + 1) % 100, (ring + 1) % 100 + 100, [150]])
    component = ev.scc(ev.Graph.from_edges(src, dst, n=200), on=on)["component"]
    assert component.tolist() == [0] * 100 + [100] * 100
