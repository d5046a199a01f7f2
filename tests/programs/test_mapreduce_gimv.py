"""GIM-V as two MapReduce stages gives the answers of the fused engine."""

from __future__ import annotations

import numpy as np
import pytest

import evener as ev
from evener.programs import operator_sets
from evener.programs.mapreduce import gimv as two_stages
from evener.testing.ranks import run_ranks
from support import gimv_cases

SEVERAL = "cpu:1,cpu:1,cpu:1"
slow = pytest.mark.slow

CASES = [
    "pagerank",
    pytest.param("shortest_paths", marks=slow),
    pytest.param("random_walk_with_restart", marks=slow),
    pytest.param("connected_components", marks=slow),
    pytest.param("bfs_levels", marks=slow),
    pytest.param("dominant_eigenvector", marks=slow),
]


@pytest.fixture(scope="module")
def graph():
    """Return an undirected weighted graph with hubs, vertices without edges and more than one chunk."""
    source = ev.read("rmat:9,edge_factor=8,seed=2")
    ends = np.repeat(np.arange(source.n), np.diff(source.offsets.astype(np.int64))), source.targets
    weights = (ends[0] + ends[1]) % 5 + 1.0
    once = ends[0] < ends[1]
    return ev.Graph.from_edges(
        *(own[once] for own in ends), weights=weights[once], n=source.n, directed=False
    )


@pytest.mark.parametrize("case", CASES)
def test_operator_sets(graph, case, monkeypatch):
    """Operator sets run on one element, on three elements in chunks, and on two and three ranks."""
    sources = [] if case in ("pagerank", "connected_components", "dominant_eigenvector") else [0]
    operators = getattr(operator_sets, case)(graph, *sources)
    fused = ev.gimv(graph, **operators)

    def check(on):
        result = ev.gimv(graph, **operators, engine="mapreduce", on=on)
        assert result.outcome["converged"]
        assert (
            abs(result.outcome["iterations"] - fused.outcome["iterations"]) <= 1
        )  # the order of sums differs
        whole = result.gather()
        if whole is not None:
            np.testing.assert_allclose(whole["value"], fused["value"], rtol=1e-6, atol=1e-12)

    check("cpu")
    monkeypatch.setattr(two_stages, "memory_limit", lambda *_: 100_000)
    check(SEVERAL)
    for size in (2, 3):
        run_ranks(size, lambda _: check("cpu:1"))


def test_fields(monkeypatch):
    """Values and messages with fields, on one element and in chunks on ranks."""
    pair = gimv_cases.weighted_graph()
    gimv_cases.check_parents(*pair, "cpu:1", engine="mapreduce")
    monkeypatch.setattr(two_stages, "memory_limit", lambda *_: 100_000)
    run_ranks(2, lambda _: gimv_cases.check_parents(*pair, "cpu:1,cpu:1", engine="mapreduce"))


@slow
def test_every_parameter():
    """All operator parameters, fields of two types, and repeated directed edges."""
    gimv_cases.check_every_parameter_of_fields(["cpu:1", SEVERAL], engine="mapreduce")


def test_stages_in_the_timeline(graph):
    operators = operator_sets.pagerank(graph) | {"until": 1}
    result = ev.gimv(graph, **operators, engine="mapreduce", on="cpu:1,cpu:1")
    phases = [phase for phase, _ in result.timeline.by_phase()]
    assert list(dict.fromkeys(phases)) == ["map", "sort", "reduce", "transfer", "assign"]


def test_a_graph_without_vertices():
    empty = ev.Graph.from_edges([], [], n=0)
    result = ev.gimv(empty, **operator_sets.pagerank(empty), engine="mapreduce")
    assert result["value"].tolist() == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"engine": "mapreduce", "checkpoint": ev.Checkpoint("run")}, "checkpoint=: MapReduce writes no"),
        ({"engine": "hadoop"}, 'engine=: expected "fused" or "mapreduce", found \'hadoop\''),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(ev.ArgumentError, match=message):
        ev.gimv(ev.Graph.from_edges([0], [1]), max, max, max, 1.0, **arguments)
