"""Programs of users and graphs in parts give the expected answers while one rank is late at every exchange.

`AlgorithmContract` tests this for each registered algorithm.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import evener as ev
from evener.testing.ranks import run_ranks
from support import gimv_cases, graphs, kcore_example, reference, vertex_cases
from support.expected_results import truth_of
from support.mapreduce_cases import check_combined, join, pair, pairs_of

pytestmark = pytest.mark.slow


def run_late(function, size=2):
    """Run a function on ranks, with large and with eager messages, and with each rank as the late one."""
    for late, eager in product(range(size), (False, True)):
        run_ranks(size, lambda _: function(), late=late, eager=eager)


@pytest.mark.parametrize(("on", "policy"), [("cpu:1", "high"), ("cpu:1,cpu:1", "random")])
def test_weighted_graphs(on, policy):
    truth = truth_of(graphs.SMALL["rmat"](), directed=True)
    run_late(lambda: truth.check(on=on, policy=policy, alpha=0.4))


def test_graphs_in_parts():
    """No rank has the whole graph."""
    graph = ev.read("rmat:6")
    distance, _ = reference.bfs(graph, 0)

    def check():
        result = ev.bfs("rmat:6", source=0, on="cpu:1")
        assert (result["distance"] == distance[result.block.start : result.block.stop]).all()

    run_late(check)


@pytest.mark.parametrize("case", ["pagerank", "components", "shortest_paths"])
def test_gimv(case):
    graph, pairs = gimv_cases.weighted_graph()
    run_late(lambda: gimv_cases.check_known(case, graph, pairs, "cpu:1"))


@pytest.mark.parametrize("engine", ["fused", "mapreduce"])
def test_gimv_with_fields(engine):
    graph, pairs = gimv_cases.weighted_graph()
    run_late(lambda: gimv_cases.check_parents(graph, pairs, "cpu:1", engine=engine))


def test_vertex_programs():
    graph = ev.read("rmat:7,directed,weights=1..255")
    expected = ev.sssp(graph, source=0)["distance"]
    run_late(lambda: vertex_cases.check_few_vertices_work(graph, expected, "cpu:1"))


def test_mapreduce():
    graph = ev.read("rmat:8,seed=3")
    groups = pairs_of(graph, np.zeros(graph.n))

    def check():
        rows = ev.mapreduce(graph, pair, combine=join, values=0.0, on="cpu:1,cpu:1").gather()
        if rows is not None:
            check_combined(rows, groups)

    run_late(check)


def test_a_driver_of_another_package(monkeypatch):
    module = kcore_example.load()
    kcore_example.register(monkeypatch, {"kcore": "evener_kcore:SPEC"})
    graph, cores = kcore_example.simple(graphs.SMALL["rmat"]())

    def check():
        result = module.kcore(graph, on="cpu:1,cpu:1")
        assert result["core"].tolist() == cores[result.block.start : result.block.stop]

    run_late(check, size=3)
