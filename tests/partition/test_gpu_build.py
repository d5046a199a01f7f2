"""Partitions built by a GPU equal partitions built by the host. CPU twins run the GPU kernels."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

import evener as ev
from evener.partition import gpu_build
from support.fake_elements import ApartElement
from support.fake_gpu import FakeGpu
from support.gpu_build_cases import EDGES, POLICIES, WEIGHTS, check_same, graph_of
from support.kernel_inventory import find_kernels_of_gpus
from support.pair_cover import pairwise_cover

HOME = import_module("evener.partition.partition")
PLENTY = 1 << 40


class Sorting(FakeGpu):
    """A fake GPU that sorts, and stores ascending rows."""

    table_columns = 1024
    free = PLENTY
    sorts = 0

    def sort(self, keys):
        self.sorts += 1
        self._seen(keys).sort()

    def argsort(self, keys):
        self.sorts += 1
        return self._held(np.argsort(self._seen(keys), kind="stable").view(np.uint64))


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


@pytest.mark.parametrize(
    ("name", "count", "directed", "directions", "policy", "weights"),
    pairwise_cover(list(EDGES), [1, 2, 3], [True, False], ["both", "out", "in"], POLICIES, [None, *WEIGHTS]),
)
def test_a_gpu_builds_the_partitions_of_the_host(name, count, directed, directions, policy, weights):
    graph = graph_of(name, directed=directed, weights=weights)
    how = {"policy": policy, "directions": directions}
    gpus = [Sorting(f"cuda:{p}", p) for p in range(count)]
    placed = ev.partition(graph, gpus, **how)
    assert any(gpu.sorts for gpu in gpus)
    check_same(placed, ev.partition(graph, [Ascending(f"apart:{p}", p) for p in range(count)], **how))


@pytest.mark.parametrize("directions", ["both", "out", "in"])
def test_a_graph_may_store_only_its_in_edges(directions):
    def graph():
        return ev.Graph.from_in_edges(graph_of("rmat", directed=True))

    (gpu,) = gpus = [Sorting("cuda:0", 0)]
    placed = ev.partition(graph(), gpus, directions=directions)
    assert gpu.sorts
    check_same(placed, ev.partition(graph(), [Ascending("apart:0", 0)], directions=directions))


@pytest.mark.parametrize("count", [1, 2])
def test_a_gpu_without_room_to_build_gets_its_partition_from_the_host(monkeypatch, count):
    monkeypatch.setattr(gpu_build, "_PIECE_BYTES", PLENTY)
    graph = graph_of("rmat", directed=False)
    gpus = [Sorting(f"cuda:{p}", p) for p in range(count)]
    placed = ev.partition(graph, gpus)
    assert not any(gpu.sorts > 1 for gpu in gpus)  # the first sort orders the vertices
    check_same(placed, ev.partition(graph, [Ascending(f"apart:{p}", p) for p in range(count)]))
