"""Every built-in algorithm passes `AlgorithmContract`, the test class that other packages inherit."""

from __future__ import annotations

import numpy as np

from evener.spec.registry import names_with_kernels
from evener.testing.algorithms import AlgorithmContract
from support import reference


def hub(graph):
    """Return the number of the vertex with the most out-edges."""
    return int(graph.out_degree().argmax())


class _FromSource(AlgorithmContract):
    any_right = ("parent",)

    def arguments(self, graph):
        return {"source": graph.ids[hub(graph)]}


class TestBfs(_FromSource):
    name = "bfs"

    def expected(self, graph, arguments):
        return {"distance": reference.bfs(graph, hub(graph))[0]}


class TestSssp(_FromSource):
    name = "sssp"

    def expected(self, graph, arguments):
        return {"distance": reference.sssp(graph, hub(graph))[0]}


class TestWcc(AlgorithmContract):
    name = "wcc"

    def expected(self, graph, arguments):
        return {"component": graph.ids[reference.wcc(graph)]}


class TestPageRank(AlgorithmContract):
    name = "pagerank"

    def arguments(self, graph):
        return {"tol": 0, "max_iter": 15}

    def expected(self, graph, arguments):
        return {"rank": reference.pagerank(graph, iterations=arguments["max_iter"])}


class TestBetweenness(AlgorithmContract):
    name = "betweenness"

    def arguments(self, graph):
        return {"sources": graph.ids[:3], "normalized": False}

    def expected(self, graph, arguments):
        sources = np.arange(len(arguments["sources"]))
        scale = (1 if graph.directed else 0.5) * graph.n / len(sources)
        return {"centrality": reference.betweenness(graph, sources=sources) * scale}


# In files of their own.
ELSEWHERE = {"coloring", "core_number", "edge_betweenness", "leiden", "scc", "spanning_forest"}


def test_every_algorithm_has_a_contract():
    here = {one.name for one in (TestBfs, TestSssp, TestWcc, TestPageRank, TestBetweenness)}
    assert here | ELSEWHERE == set(names_with_kernels())
