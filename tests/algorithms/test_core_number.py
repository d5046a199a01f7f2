"""Core numbers: their contract, and the k-cores of graphs with self-loops and repeated edges."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import evener as ev
from evener.testing.algorithms import AlgorithmContract
from support.reference import edges


def _core_numbers(graph):
    """Return the core numbers by removing a vertex of lowest degree at a time."""
    src, dst = edges(graph)
    alive = np.ones(graph.n, np.bool_)
    core, level = np.zeros(graph.n, np.int64), 0
    for _ in range(graph.n):
        kept = alive[src] & alive[dst]
        degree = np.bincount(src[kept], minlength=graph.n)
        if graph.directed:
            degree += np.bincount(dst[kept], minlength=graph.n)
        v = np.flatnonzero(alive)[degree[alive].argmin()]
        level = core[v] = max(level, degree[v])
        alive[v] = False
    return core


class TestCoreNumber(AlgorithmContract):
    name = "core_number"

    def expected(self, graph, arguments):
        return {"core": _core_numbers(graph)}


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("on", [["cpu:2"], ["cpu:1"] * 3], ids=",".join)
def test_simple_graphs_equal_networkx(directed, on):
    made = nx.gnm_random_graph(300, 2000, seed=1, directed=directed)
    graph = ev.Graph.from_networkx(made)
    result = ev.core_number(graph, on=on)
    expected = nx.core_number(made)
    assert result["core"].tolist() == [expected[v] for v in range(300)]
    assert result.outcome["degeneracy"] == max(expected.values())


@pytest.mark.parametrize("directed", [False, True])
def test_a_core_has_the_vertices_with_at_least_its_number(directed):
    rng = np.random.default_rng(2)
    graph = ev.Graph.from_edges(*rng.integers(0, 40, (2, 150)), n=40, directed=directed)
    core = ev.core_number(graph)["core"]
    for k in range(int(core.max()) + 2):
        assert (ev.k_core(graph, k=k)["member"] == (core >= k)).all()
