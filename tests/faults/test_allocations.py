"""Each place that allocates fails: one error is raised, no memory leaks, and the next run is correct."""

from __future__ import annotations

import numpy as np
import pytest

import evener as ev
from evener.elements import cpu
from evener.elements.page_pool import PagePool
from evener.errors import DeviceOutOfMemory
from evener.graph.formats.registry import all_formats
from evener.spec.registry import find, names_with_kernels
from evener.testing.graphs import SHAPES, build
from support.failing_allocations import FailingAllocations, fail_numpy
from support.fake_gpu import FakeGpu
from support.kernel_inventory import find_kernels_of_gpus

ARGUMENTS = {
    "pagerank": {"tol": 0, "max_iter": 3},
    "betweenness": {"sources": [1, 2]},
    "edge_betweenness": {"sources": [1, 2]},
    "bfs": {"source": 0},
    "sssp": {"source": 0},
}
ELEMENTS = [["cpu:1"], ["cpu:1", "cpu:1"]]
# The everyday command tests a text format, a table, and the own format.
SUFFIXES = [
    pytest.param(suffix, marks=[pytest.mark.slow] * (suffix not in (".txt", ".parquet", ".evg")))
    for suffix in sorted(one.suffixes[0] for one in all_formats())
]


@pytest.fixture(scope="module")
def graph():
    return build(SHAPES["rmat"](), directed=True)


@pytest.fixture(scope="module")
def modules():
    """Import the modules of all algorithms, which runs import."""
    for name in names_with_kernels():
        find(name).function()(ev.read("grid:3x3"), **ARGUMENTS.get(name, {}), on=["cpu:1", "cpu:1"])


@pytest.fixture
def allocations(modules, monkeypatch):  # noqa: ARG001 - runs find the modules with NumPy replaced
    return fail_numpy(monkeypatch)


@pytest.fixture
def pooled(monkeypatch):
    """Allocate small arrays from the page pool, as large ones are."""
    monkeypatch.setattr(cpu, "MIN_POOLED_BYTES", 256)
    monkeypatch.setattr(cpu, "_pool", PagePool(lambda length: cpu.np.empty(length, np.uint64)))


def communities_of_triangles():
    """Return six triangles in a chain, which Leiden contracts twice."""
    first = np.arange(0, 18, 3)
    src = np.concatenate([first, first + 1, first + 2, first[:-1] + 2])
    dst = np.concatenate([first + 1, first + 2, first, first[1:]])
    return ev.Graph.from_edges(src, dst, directed=True)


def graph_for(suffix):
    """Return a simple graph with integer weights, or without weights for formats that store none."""
    src, dst, n = SHAPES["rmat"]()
    weights = None if suffix == ".sg" else np.random.default_rng(1).integers(1, 9, len(src), dtype=np.int32)
    return ev.Graph.from_edges(src, dst, weights, directed=False, n=n, self_loops="drop", duplicates="drop")


def is_graph(expected):
    def check(found):
        assert np.array_equal(found.offsets, expected.offsets)
        assert np.array_equal(found.targets, expected.targets)

    return check


def values_of(result):
    return {name: np.array(values) for name, values in result.items()}


def has_values(expected):
    def check(found):
        for name in expected.keys() - {"parent"}:  # several parents are correct
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-6)

    return check


# The everyday command tests Leiden on one element: on two, each run takes 70 ms and allocates at 60 places.
RUNS = [
    pytest.param(name, on, id=case, marks=[pytest.mark.slow] * (case == "leiden-2"))
    for name in names_with_kernels()
    for on in ELEMENTS
    for case in [f"{name}-{len(on)}"]
]


@pytest.mark.parametrize(("name", "on"), RUNS)
@pytest.mark.usefixtures("pooled")
def test_a_run(allocations, graph, name, on):
    function, arguments = find(name).function(), ARGUMENTS.get(name, {})
    if name == "leiden":  # its levels allocate hundreds of arrays on the larger graph
        graph = communities_of_triangles()
    placed = ev.partition(graph, on)
    result = function(placed, **arguments)
    ev.verify(result)
    expected = values_of(result)
    failed = allocations.check_each(lambda: values_of(function(placed, **arguments)), has_values(expected))
    assert failed > 3


@pytest.mark.parametrize("on", ELEMENTS, ids=len)
def test_a_placement(allocations, graph, on):
    expected = values_of(ev.bfs(graph, source=1, on="cpu:1"))["distance"]

    def check(placed):
        assert np.array_equal(ev.bfs(placed, source=1)["distance"], expected)

    assert allocations.check_each(lambda: ev.partition(graph, on), check) > 3


def test_a_graph_from_edges(allocations):
    src, dst, n = SHAPES["gaps"]()
    expected = ev.Graph.from_edges(src, dst, directed=False, n=n)
    failed = allocations.check_each(
        lambda: ev.Graph.from_edges(src, dst, directed=False, n=n), is_graph(expected)
    )
    assert failed > 3


@pytest.mark.parametrize("spec", ["rmat:5", "kronecker:11/10,power=5"])
def test_a_generated_graph(allocations, spec):
    assert allocations.check_each(lambda: ev.read(spec), is_graph(ev.read(spec))) > 1


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_reading_a_file(allocations, tmp_path, suffix):
    file = tmp_path / f"g{suffix}"
    ev.write(graph_for(suffix), file)
    allocations.check_each(lambda: ev.read(file), is_graph(ev.read(file)))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_writing_a_file(allocations, tmp_path, suffix):
    """A failed write leaves the old file and no other."""
    file = tmp_path / f"g{suffix}"
    graph = graph_for(suffix)
    ev.write(graph, file)
    before = names_and_bytes(tmp_path)

    def write():
        try:
            ev.write(graph, file)
        finally:
            assert names_and_bytes(tmp_path) == before

    allocations.check_each(write, lambda _: None)


def names_and_bytes(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_a_command(allocations, evener, tmp_path):
    """The command ends with status 2 and one sentence, and leaves no temporary file."""
    table = tmp_path / "t.csv"

    def run():
        done = evener("run", "wcc", "grid:8x8", "--on", "cpu:1", "-o", table)
        assert set(tmp_path.iterdir()) <= {table}
        assert "Traceback" not in done.err
        assert "bug" not in done.err
        if done.status == 2:
            assert done.err.count("\n") == 1
            raise MemoryError(done.err.strip())
        return done.status

    def check(status):
        assert status == 0

    assert allocations.check_each(run, check, error=MemoryError) > 3


# ---- devices -------------------------------------------------------------------------------------------


@pytest.fixture
def device_allocations(monkeypatch):
    """Make one of the allocations on fake GPUs fail."""
    allocations = FailingAllocations()
    find_kernels_of_gpus(monkeypatch)
    monkeypatch.setattr(cpu, "locked_array", lambda length, dtype: np.empty(length, dtype))

    def fallible(allocate):
        def call(element, *args, **kwargs):
            array = allocate(element, *args, **kwargs)
            if allocations.fails(array.nbytes):
                raise DeviceOutOfMemory("cuda:0 is full", needed=array.nbytes, available=0)
            return array

        return call

    for name in ("allocate", "upload"):
        monkeypatch.setattr(FakeGpu, name, fallible(getattr(FakeGpu, name)))
    return allocations


def devices(mixed):
    gpu = FakeGpu("cuda:0", 0)
    return [cpu.CpuElement("cpu:1", 1, pinned=True), gpu] if mixed else [gpu]


# As in RUNS, the everyday command tests Leiden on one element.
DEVICE_RUNS = [
    pytest.param(name, mixed, id=case, marks=[pytest.mark.slow] * (case == "leiden-cpu and gpu"))
    for name in names_with_kernels()
    for mixed in (False, True)
    for case in [f"{name}-{'cpu and gpu' if mixed else 'gpu'}"]
]


@pytest.mark.parametrize(("name", "mixed"), DEVICE_RUNS)
def test_a_run_on_a_device(device_allocations, graph, name, mixed):
    function, arguments = find(name).function(), ARGUMENTS.get(name, {})
    if name == "leiden":
        graph = communities_of_triangles()
    expected = values_of(function(graph, **arguments, on="cpu:1"))
    placed = ev.partition(graph, devices(mixed), alpha=0.5 if mixed else None)

    def run():
        try:
            return values_of(function(placed, **arguments))
        finally:
            for element in placed.elements:
                element.wait()  # its last copies refer to arrays

    failed = device_allocations.check_each(run, has_values(expected), error=DeviceOutOfMemory)
    assert failed > 1


@pytest.mark.parametrize("mixed", [False, True], ids=["gpu", "cpu and gpu"])
def test_a_placement_on_a_device(device_allocations, graph, mixed):
    expected = values_of(ev.bfs(graph, source=1, on="cpu:1"))["distance"]

    def check(placed):
        assert np.array_equal(ev.bfs(placed, source=1)["distance"], expected)

    def place():
        return ev.partition(graph, devices(mixed), alpha=0.5 if mixed else None)

    assert device_allocations.check_each(place, check, error=DeviceOutOfMemory) > 3
