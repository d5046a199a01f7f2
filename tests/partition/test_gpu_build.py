"""Partitions built by a GPU equal partitions built by the host. CPU twins run the GPU kernels."""

from __future__ import annotations

from importlib import import_module

import pytest

import evener as ev
from evener.partition import gpu_build
from support.fake_elements import ApartElement
from support.fake_gpu import PLENTY, Reading, Sorting
from support.gpu_build_cases import EDGES, POLICIES, WEIGHTS, check_same, graph_of
from support.kernel_inventory import find_kernels_of_gpus
from support.pair_cover import pairwise_cover

HOME = import_module("evener.partition.partition")


class Ascending(ApartElement):
    """An element that stores ascending rows, with partitions built by the host."""

    table_columns = 1024
    weight = 800.0

    def __init__(self, name, number):
        super().__init__(name, number)


@pytest.fixture(autouse=True)
def twins(monkeypatch):
    """Let CPU elements run the twins of GPU-only kernels, in small pieces."""
    find_kernels_of_gpus(monkeypatch)
    monkeypatch.setattr(gpu_build, "_PIECE_BYTES", 1 << 9)
    monkeypatch.setattr(gpu_build, "_EDGES_SORTED", 300)
    monkeypatch.setattr(gpu_build, "EDGES_PER_BLOCK", 64)
    monkeypatch.setattr(HOME, "EDGES_PER_BLOCK", 64)


@pytest.fixture
def built(monkeypatch):
    """Return a list of the partitions that GPUs finish."""
    finished, finish = [], gpu_build.RowsBuild.finish
    monkeypatch.setattr(
        gpu_build.RowsBuild, "finish", lambda self, *args: finished.append(self) or finish(self, *args)
    )
    return finished


@pytest.mark.parametrize(
    ("name", "count", "kind", "directed", "directions", "policy", "weights"),
    pairwise_cover(
        list(EDGES),
        [1, 2, 3],
        [Sorting, Reading],
        [True, False],
        ["both", "out", "in"],
        [*POLICIES, "C-PG"],
        [None, *WEIGHTS],
    ),
)
def test_a_gpu_builds_the_partitions_of_the_host(
    built, name, count, kind, directed, directions, policy, weights
):
    graph = graph_of(name, directed=directed, weights=weights)
    how = {"policy": policy, "directions": directions}
    gpus = [kind(f"cuda:{p}", p) for p in range(count)]
    placed = ev.partition(graph, gpus, **how)
    assert len(built) == sum(p.owned > 0 for p in placed.partitions)
    check_same(placed, ev.partition(graph, [Ascending(f"apart:{p}", p) for p in range(count)], **how))


@pytest.mark.parametrize("directions", ["both", "out", "in"])
def test_a_graph_may_store_only_its_in_edges(directions):
    def graph():
        return ev.Graph.from_in_edges(graph_of("rmat", directed=True))

    (gpu,) = gpus = [Sorting("cuda:0", 0)]
    placed = ev.partition(graph(), gpus, directions=directions)
    assert gpu.sorts
    check_same(placed, ev.partition(graph(), [Ascending("apart:0", 0)], directions=directions))


def test_a_nearly_full_run_of_vertices_gets_mirrors_for_all(monkeypatch):
    monkeypatch.setattr(HOME, "LONG_RUN", 64)
    graph = graph_of("rmat", directed=False)
    placed = ev.partition(graph, [Reading(f"cuda:{p}", p) for p in range(2)])
    check_same(placed, ev.partition(graph, [Ascending(f"apart:{p}", p) for p in range(2)]))


def test_a_gpu_next_to_a_cpu(monkeypatch):
    graph = graph_of("rmat", directed=False)
    on = [Ascending("apart:0", 0), Sorting("cuda:1", 1)]
    placed = ev.partition(graph, on, alpha=0.4)
    assert on[1].sorts
    monkeypatch.setattr(gpu_build.RowsBuild, "numbers_fit", lambda *_: False)
    check_same(placed, ev.partition(graph, on, alpha=0.4))


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("directed", [True, False])
def test_the_host_numbers_vertices_with_too_many_edges_for_a_gpu(monkeypatch, built, count, directed):
    monkeypatch.setattr(gpu_build, "MAX_DEGREE", 699)  # the hub has 700
    graph = graph_of("star", directed=directed)
    placed = ev.partition(graph, [Sorting(f"cuda:{p}", p) for p in range(count)])
    check_same(placed, ev.partition(graph, [Ascending(f"apart:{p}", p) for p in range(count)]))
    # The host numbers the vertices, and GPUs build rows of any length.
    assert len(built) == sum(p.owned > 0 for p in placed.partitions)


@pytest.mark.parametrize("refused", range(3))
def test_the_host_builds_what_a_gpu_cannot(monkeypatch, refused):
    graph = graph_of("rmat", directed=True)
    fits = gpu_build.RowsBuild.edges_fit
    on = [Reading("cuda:0", 0), Reading("cuda:1", 1), Reading("cuda:1", 1)]
    with monkeypatch.context() as refusing:
        refusing.setattr(
            gpu_build.RowsBuild, "edges_fit", lambda self, *args: self.p != refused and fits(self, *args)
        )
        placed = ev.partition(graph, on)
    check_same(placed, ev.partition(graph, [Ascending(f"apart:{p}", at) for p, at in enumerate((0, 1, 1))]))


@pytest.mark.parametrize("count", [1, 2])
def test_a_gpu_without_room_to_build_gets_its_partition_from_the_host(monkeypatch, built, count):
    monkeypatch.setattr(gpu_build, "_PIECE_BYTES", PLENTY)
    graph = graph_of("rmat", directed=False)
    gpus = [Sorting(f"cuda:{p}", p) for p in range(count)]
    placed = ev.partition(graph, gpus)
    assert not built
    check_same(placed, ev.partition(graph, [Ascending(f"apart:{p}", p) for p in range(count)]))
