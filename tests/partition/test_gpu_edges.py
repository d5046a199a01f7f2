"""Graphs of arrays on a GPU: their partitions and results equal those of the same arrays on the host."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import evener as ev
from evener.graph import csr, gpu_edges
from evener.partition import gpu_build, gpu_edges_build
from support.fake_gpu import ArrayOnGpu, FakeGpu, show_gpus
from support.gpu_build_cases import EDGES, WEIGHTS, check_same
from support.kernel_inventory import find_kernels_of_gpus
from support.pair_cover import pairwise_cover


class Sorting(FakeGpu):
    """A fake GPU that sorts, and stores ascending rows."""

    table_columns = 1024

    def sort(self, keys):
        self._seen(keys).sort()

    def argsort(self, keys):
        return self._held(np.argsort(self._seen(keys), kind="stable").view(np.uint64))


@pytest.fixture(autouse=True)
def gpus(monkeypatch):
    find_kernels_of_gpus(monkeypatch)
    show_gpus(monkeypatch, Sorting)
    monkeypatch.setattr(gpu_build, "EDGES_PER_BLOCK", 64)
    monkeypatch.setattr(gpu_edges_build, "EDGES_PER_BLOCK", 64)


@pytest.fixture
def no_host_rows(monkeypatch):
    """Fail if the host builds rows, or reads edges of a GPU."""
    refuse = lambda *_, **__: pytest.fail("the host builds rows")  # noqa: E731
    monkeypatch.setattr(csr, "_build", refuse)
    monkeypatch.setattr(gpu_edges.GpuEdges, "host_rows", refuse)


def arrays_of(name, weights=None, dtype=np.int64):
    tails, heads, n = EDGES[name]()
    ends = [np.asarray(end).astype(dtype) for end in (tails, heads)]
    if weights is None:
        return ends, None, n
    values = np.random.default_rng(1).integers(0, 100, len(ends[0])).astype(weights)
    return ends, values, n


def both_graphs(name, weights=None, dtype=np.int64, *, directed=True, given=True):
    """Return a graph of arrays on a GPU, and the graph of the same arrays on the host."""
    ends, values, n = arrays_of(name, weights, dtype)
    how = {"directed": directed, "n": n if given else None}
    on_gpu = [ArrayOnGpu(end) for end in ends]
    there = ev.Graph.from_edges(*on_gpu, None if values is None else ArrayOnGpu(values), **how)
    assert there.gpu_edges is not None
    return there, ev.Graph.from_edges(*ends, values, **how)


@pytest.mark.parametrize(
    ("name", "directed", "directions", "weights", "dtype", "given", "most"),
    pairwise_cover(
        list(EDGES),
        [True, False],
        ["both", "out", "in"],
        [None, *WEIGHTS],
        [np.int64, np.int32, np.uint32, np.uint64, np.int16],
        [True, False],
        [300, 1 << 30],
    ),
)
def test_a_gpu_builds_the_partition_of_the_host(
    monkeypatch, name, directed, directions, weights, dtype, given, most
):
    there, here = both_graphs(name, weights, dtype, directed=directed, given=given)
    assert (there.n, there.m, there.directed, there.weight_dtype) == (here.n, here.m, directed, here.weight_dtype)
    assert there.weight_range == here.weight_range
    longest = int(max(here.out_degree().max(), here.in_degree().max()))
    monkeypatch.setattr(gpu_edges_build, "_MOST_SORTED", longest + most)
    one = ev.partition(there, directions=directions)
    assert [element.name for element in one.elements] == ["cuda:0"]
    assert "offsets" not in vars(there)  # the host has no rows
    check_same(one, ev.partition(here, [Sorting("cuda:0", 0)], directions=directions))
    np.testing.assert_array_equal(there.ids, here.ids)
    for turned in (lambda graph: graph, lambda graph: graph.reverse):
        for array in ("offsets", "targets", "weights"):
            np.testing.assert_array_equal(getattr(turned(there), array), getattr(turned(here), array))
