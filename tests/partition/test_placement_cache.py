"""The placement of a call serves later calls with the same arguments, and is freed in time."""

from __future__ import annotations

import gc
import threading
import weakref
from importlib import import_module

import numpy as np
import pytest

import evener as ev
from evener import elements
from evener.engine.layout import layout_of
from evener.partition import placement_cache
from evener.partition.partition import Partition
from evener.partition.placement import Placement
from evener.system import memory
from evener.testing.ranks import run_ranks
from support.fake_gpu import FakeGpu

TWO = "cpu:1,cpu:1"


@pytest.fixture
def graph():
    return ev.Graph.from_edges([0, 0, 1, 3, 4], [1, 2, 3, 4, 5])


@pytest.fixture
def gpus(monkeypatch):
    """Parse "cuda" names as fake GPUs."""
    real = elements.CpuElement

    def parse(on, *, gpu_memory=None):
        if isinstance(on, list) and not isinstance(on[0], str):
            return on
        names = on.split(",") if isinstance(on, str) else on
        return [
            FakeGpu(n, i, gpu_memory) if n.startswith("cuda") else real(n, 1) for i, n in enumerate(names)
        ]

    monkeypatch.setattr(import_module("evener.partition.placement"), "parse_elements", parse)


def partitions(result):
    return result.partitioned.partitions


def test_the_same_arguments_reuse_the_placement(graph):
    first = ev.bfs(graph, source=0, on=TWO, policy="high", alpha=0.5)
    second = ev.bfs(graph, source=1, on=["cpu:1", " cpu:1"], policy="high", alpha=0.5)
    assert partitions(second) is partitions(first)
    assert layout_of(second.partitioned) is layout_of(first.partitioned)
    assert second["distance"].tolist() == [-1, 0, -1, 1, 2, 3]


@pytest.mark.parametrize(
    "other", [{"on": "cpu:1"}, {"policy": "low"}, {"alpha": 0.4}, {"gpu_memory": "1GiB"}]
)
def test_other_arguments_build_a_new_placement(graph, other):
    first = ev.bfs(graph, source=0, on=TWO, policy="high", alpha=0.5)
    second = ev.bfs(graph, source=0, **{"on": TWO, "policy": "high", "alpha": 0.5, **other})
    assert partitions(second) is not partitions(first)


def test_a_placement_with_both_directions_serves_one_direction(graph):
    """BFS stores both directions, PageRank in-edges only."""
    both = ev.bfs(graph, source=0, on=TWO)
    assert partitions(ev.pagerank(graph, on=TWO)) is partitions(both)
    other = ev.Graph.from_edges([0, 0], [1, 2])
    in_edges = ev.pagerank(other, on=TWO)
    assert partitions(ev.bfs(other, source=0, on=TWO)) is not partitions(in_edges)


def test_edges_in_host_memory_are_not_shared_between_directions(graph, monkeypatch):
    monkeypatch.setattr(Partition, "host_edges", 1)
    both = ev.bfs(graph, source=0, on=TWO)
    assert partitions(ev.bfs(graph, source=0, on=TWO)) is partitions(both)
    assert partitions(ev.pagerank(graph, on=TWO)) is not partitions(both)


def test_an_error_in_the_arguments_is_still_an_error(graph):
    ev.bfs(graph, source=0, on=TWO)
    with pytest.raises(ev.ArgumentError, match="policy"):
        ev.bfs(graph, source=0, on=TWO, policy="best")


def test_a_kept_placement_does_not_keep_its_graph_alive():
    gc.disable()
    try:
        graph = ev.Graph.from_edges([0, 1], [1, 2])
        ev.bfs(graph, source=0, on=TWO)
        graph = weakref.ref(graph)
        freed = graph() is None
    finally:
        gc.enable()
    assert freed


def test_the_old_placement_is_freed_before_the_new_one_is_built(graph, monkeypatch):
    run = import_module("evener.spec.run")
    build, kept = run.place_graph, []
    monkeypatch.setattr(
        run, "place_graph", lambda *a: kept.append(graph in placement_cache._kept) or build(*a)
    )
    ev.bfs(graph, source=0, on=TWO)
    ev.bfs(graph, source=0, on="cpu:1")
    assert kept == [False, False]
    assert graph in placement_cache._kept


def test_a_shortage_of_memory_frees_the_placement(graph):
    first = partitions(ev.bfs(graph, source=0, on=TWO))
    with pytest.raises(ev.OutOfMemoryError):
        memory.require(1 << 62, "a test")
    assert partitions(ev.bfs(graph, source=0, on=TWO)) is not first


def test_a_placement_is_not_kept_if_it_would_leave_little_memory(graph, monkeypatch):
    pg = ev.partition(graph, TWO)
    monkeypatch.setattr(memory, "available", lambda: pg.statistics.nbytes - 1)
    placement_cache.keep(pg, Placement(), ("bfs", 1.0))
    assert graph not in placement_cache._kept


def test_another_thread_builds_its_own_placement(graph):
    first, found = ev.bfs(graph, source=0, on=TWO), []
    thread = threading.Thread(target=lambda: found.append(ev.bfs(graph, source=0, on=TWO)))
    thread.start()
    thread.join()
    assert partitions(found[0]) is not partitions(first)
    assert np.array_equal(found[0]["distance"], first["distance"])


def test_ranks_keep_no_placement(graph):
    """All ranks must call partition together."""

    def run(_):
        first, second = ev.bfs(graph, source=0, on="cpu:1"), ev.bfs(graph, source=0, on="cpu:1")
        return partitions(first) is partitions(second)

    assert run_ranks(2, run) == [False, False]
    assert graph not in placement_cache._kept


@pytest.mark.usefixtures("gpus")
def test_a_placement_on_a_gpu_frees_the_kept_ones_on_gpus(graph):
    on_cpu, other = (ev.Graph.from_edges([0, 1], [1, 2]) for _ in range(2))
    first, second = (
        ev.wcc(graph, on="cpu:1,cuda:0", policy="high", alpha=0.5),
        ev.bfs(on_cpu, source=0, on=TWO),
    )
    assert partitions(ev.wcc(graph, on="cpu:1,cuda:0", policy="high", alpha=0.5)) is partitions(first)
    ev.partition(other, on="cuda:0")
    assert partitions(ev.wcc(graph, on="cpu:1,cuda:0", policy="high", alpha=0.5)) is not partitions(first)
    assert partitions(ev.bfs(on_cpu, source=0, on=TWO)) is partitions(second)


@pytest.mark.usefixtures("gpus")
def test_a_shortage_on_a_gpu_frees_the_placements_there_once(graph):
    on_cpu = ev.Graph.from_edges([0, 1], [1, 2])
    ev.wcc(graph, on="cpu:1,cuda:0", policy="high", alpha=0.5)
    second = ev.bfs(on_cpu, source=0, on=TWO)
    assert memory.release_on_devices()
    assert not memory.release_on_devices()
    assert partitions(ev.bfs(on_cpu, source=0, on=TWO)) is partitions(second)
