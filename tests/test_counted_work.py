"""The work that benchmarks count from the rows of a graph and from the arguments of kernels."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

import evener as ev


@pytest.fixture(scope="module")
def counted_work():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parent.parent / "benchmarks"))
        yield importlib.import_module("counted_work")


def work_on(counted_work, graph):
    return counted_work.Work(ev.partition(graph, on=["cpu:1"]), np.empty((0, 2), np.int64))


def seen_in(counted_work, work, run):
    with counted_work.observed(work):
        result = run(work.placed)
    return result, work.seen


def test_entries_that_may_complete_a_triangle(counted_work):
    tails, heads = np.triu_indices(5, 1)
    work = work_on(counted_work, ev.Graph.from_edges(tails, heads, directed=False))
    # The edge from u to v < u has v entries in either row: 0, 0 + 1, 0 + 1 + 2, 0 + 1 + 2 + 3.
    assert work.oriented == (10, 10)


def test_self_loops_and_repeated_edges_have_no_entries(counted_work):
    graph = ev.Graph.from_edges([0, 0, 0, 1, 2], [1, 1, 2, 2, 2], directed=False)
    assert work_on(counted_work, graph).oriented == (3, 1)


def test_rounds_of_labels(counted_work):
    work = work_on(counted_work, ev.read("rmat:7"))
    result, seen = seen_in(counted_work, work, ev.label_propagation)
    assert seen["rounds"] == result.outcome["iterations"]
    assert work.m <= seen["edges"] < seen["rounds"] * work.m
    assert seen["contracted"] == seen["weighted"] == 0
    np.testing.assert_array_equal(result["community"], ev.label_propagation(work.placed)["community"])


@pytest.mark.parametrize("name", ["louvain", "leiden"])
def test_contractions(counted_work, name):
    work, run = work_on(counted_work, ev.read("rmat:7")), getattr(ev, name)
    result, seen = seen_in(counted_work, work, run)
    assert seen["contracted"] >= work.m
    assert 0 < seen["written"] < seen["contracted"]
    assert 0 < seen["weighted"] < seen["edges"] + seen["contracted"]
    np.testing.assert_array_equal(result["community"], run(work.placed)["community"])


def test_levels_of_searches(counted_work):
    work = work_on(counted_work, ev.Graph.from_edges([0, 1, 2], [1, 2, 3], directed=False))
    _, seen = seen_in(counted_work, work, lambda placed: ev.closeness(placed, k=1, seed=0))
    source = int(np.random.default_rng(0).choice(4, size=1, replace=False)[0])
    # The last level reaches no vertex.
    assert seen["rounds"] == max(source, 3 - source) + 1
    assert 0 < seen["edges"] <= seen["rounds"] * work.m


def test_rounds_of_a_forest(counted_work):
    work = work_on(counted_work, ev.Graph.from_edges([0, 2, 1], [1, 3, 2], directed=False))
    result, seen = seen_in(counted_work, work, ev.spanning_forest)
    joins = result.timeline.by_phase()["join", result.timeline.elements[0]].superstep
    assert seen["rounds"] == joins
    assert seen["edges"] <= joins * work.m


def test_kernels_are_not_observed_afterwards(counted_work):
    work = work_on(counted_work, ev.read("rmat:5"))
    seen_in(counted_work, work, ev.spanning_forest)
    before = dict(work.seen)
    ev.spanning_forest(work.placed)
    assert work.seen == before
