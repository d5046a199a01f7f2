"""Each allocation on a GPU fails once: one error is raised, no memory leaks, and the next run is correct."""

from __future__ import annotations

import cupy
import numpy as np
import pytest

import evener as ev
from evener.elements.cuda.streams import CopyStreams
from evener.errors import DeviceOutOfMemory
from evener.spec.registry import find, names_with_kernels
from evener.testing.graphs import SHAPES, build
from support.failing_allocations import FailingAllocations

ARGUMENTS = {
    "pagerank": {"tol": 0, "max_iter": 3},
    "betweenness": {"sources": [1, 2]},
    "edge_betweenness": {"sources": [1, 2]},
    "bfs": {"source": 0},
    "sssp": {"source": 0},
}
SPLITS = [["cuda:0"], ["cpu:1", "cuda:0"]]


@pytest.fixture(scope="module")
def graph():
    return build(SHAPES["rmat"](), directed=True)


@pytest.fixture
def allocations():
    """Make one of CuPy's allocations fail."""
    pool, failing = cupy.get_default_memory_pool(), FailingAllocations()

    def allocate(nbytes):
        if failing.fails(nbytes):
            raise cupy.cuda.memory.OutOfMemoryError(nbytes, pool.used_bytes(), 0)
        return pool.malloc(nbytes)

    cupy.cuda.set_allocator(allocate)
    yield failing
    cupy.cuda.set_allocator(pool.malloc)


def used():
    with cupy.cuda.Device(0) as device:
        device.synchronize()
        CopyStreams(0).release_copied()  # frees arrays of completed copies
        return cupy.get_default_memory_pool().used_bytes()


@pytest.mark.parametrize("on", SPLITS, ids=len)
@pytest.mark.parametrize("name", names_with_kernels())
def test_a_run(allocations, graph, name, on):
    function, arguments = find(name).function(), ARGUMENTS.get(name, {})
    placed = ev.partition(graph, on, alpha=0.5 if len(on) > 1 else None)

    def run():
        result = function(placed, **arguments)
        rows = graph.n if find(name).row == "vertex" else len(next(iter(result.values())))
        assert all(len(values) == rows > 0 for values in result.values())
        return result

    assert allocations.check_each(run, ev.verify, error=DeviceOutOfMemory, used=used) > 1


@pytest.mark.parametrize("on", SPLITS, ids=len)
def test_a_placement(allocations, graph, on):
    expected = ev.bfs(graph, source=1, on="cpu:1")["distance"]

    def place():
        return ev.partition(graph, on, alpha=0.5 if len(on) > 1 else None)

    def check(placed):
        assert np.array_equal(ev.bfs(placed, source=1)["distance"], expected)

    assert allocations.check_each(place, check, error=DeviceOutOfMemory, used=used) > 3
