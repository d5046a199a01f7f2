"""Graphs of arrays on a GPU: their partitions and results equal those of the same arrays on the host."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import evener as ev
from evener.elements import CpuElement
from evener.graph import csr
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


def forbid_host_rows(monkeypatch):
    """Fail if the host builds rows."""
    monkeypatch.setattr(csr, "_build", lambda *_, **__: pytest.fail("the host builds rows"))


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
    assert (there.n, there.m, there.directed, there.weight_dtype) == (
        here.n,
        here.m,
        directed,
        here.weight_dtype,
    )
    assert there.weight_range == here.weight_range
    longest = int(max(here.out_degree().max(), here.in_degree().max()))
    monkeypatch.setattr(gpu_edges_build, "_MOST_SORTED", longest + most)
    monkeypatch.setattr(gpu_edges_build, "_MOST_PASSES", 1 << 20)
    one = ev.partition(there, directions=directions)
    assert [element.name for element in one.elements] == ["cuda:0"]
    assert "offsets" not in vars(there)  # the host has no rows
    check_same(one, ev.partition(here, [Sorting("cuda:0", 0)], directions=directions))
    np.testing.assert_array_equal(there.ids, here.ids)
    for turned in (lambda graph: graph, lambda graph: graph.reverse):
        for array in ("offsets", "targets", "weights"):
            np.testing.assert_array_equal(getattr(turned(there), array), getattr(turned(here), array))


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("name", ["pagerank", "wcc", "bfs", "sssp", "louvain"])
def test_a_run_stays_on_the_gpu(monkeypatch, name, directed):
    ends, _, _ = arrays_of("uniform")
    forbid_host_rows(monkeypatch)
    there = ev.Graph.from_edges(*(ArrayOnGpu(3 * end) for end in ends), directed=directed)
    more = {"source": int(3 * ends[0][0])} if name in ("bfs", "sssp") else {}
    found = getattr(ev, name)(there, **more)
    (element,) = found.partitioned.elements
    assert element.name == "cuda:0"
    for column in found:
        on_gpu = found.device(column)
        assert on_gpu.memory == element.memory
        on_host = found[column]
        assert on_gpu.dtype == on_host.dtype
        np.testing.assert_array_equal(element.download(on_gpu), on_host)
        np.testing.assert_array_equal(element.download(found.device(column)), on_host)  # copied back


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weights", ["uint8", "int64", "float32"])
def test_weights_stay_on_the_gpu(monkeypatch, weights, directed):
    there, here = both_graphs("parallel", weights, directed=directed)
    expected = ev.pagerank(here, on="cpu:1")["rank"]
    with monkeypatch.context() as patch:
        forbid_host_rows(patch)
        found = ev.pagerank(there)
        ev.sssp(there, source=0)
    np.testing.assert_allclose(found["rank"], expected, rtol=1e-6)


def test_without_memory_the_host_adds_up_weights(monkeypatch):
    there, here = both_graphs("parallel", "float32")
    placed = ev.partition(there, directions="in")

    def refuse(*_):
        raise ev.DeviceOutOfMemory("no memory", needed=2, available=1)

    monkeypatch.setattr(type(there.gpu_edges), "sorted_keys", refuse)
    found = ev.pagerank(placed)["rank"]
    np.testing.assert_allclose(found, ev.pagerank(here, on="cpu:1")["rank"], rtol=1e-6)


def test_ids_of_results_are_those_of_the_arrays():
    there, here = both_graphs("uniform")
    np.testing.assert_allclose(ev.pagerank(there)["rank"], ev.pagerank(here, on="cpu:1")["rank"], rtol=1e-6)
    tails, heads = ArrayOnGpu([7, 7, 9]), ArrayOnGpu([9, 12, 12])
    graph = ev.Graph.from_edges(tails, heads, directed=False)
    assert (graph.n, graph.m, graph.has_custom_ids, graph.has_integer_ids) == (3, 6, True, True)
    assert repr(graph) == "<Graph: undirected, 3 vertices, 3 edges (6 stored)>"
    result = ev.wcc(graph)
    assert result.device("component").view(np.ndarray).tolist() == [7, 7, 7]
    assert result.device("vertex").view(np.ndarray).tolist() == [7, 9, 12]
    numbered = ev.wcc(ev.Graph.from_edges(tails, heads, n=13))
    assert numbered.device("vertex").view(np.ndarray).tolist() == list(range(13))
    assert graph.ids.tolist() == [7, 9, 12]
    assert graph.neighbors(7).tolist() == [9, 12]
    assert graph.degree(9) == 2
    assert graph.subgraph([7, 9]).ids.tolist() == [7, 9]


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda graph: pickle.loads(pickle.dumps(graph))]
)
def test_a_copy_is_on_the_host(copied):
    there, here = both_graphs("parallel", "float32", given=False)
    twin = copied(there)
    assert twin.gpu_edges is None
    for array in ("ids", "offsets", "targets", "weights"):
        np.testing.assert_array_equal(getattr(twin, array), getattr(here, array))
    assert (twin.m, twin.directed) == (here.m, here.directed)


def test_the_edges_are_copies():
    tails, heads = np.array([0, 1], np.uint32), np.array([1, 2], np.uint32)
    for n in (3, None):
        graph = ev.Graph.from_edges(ArrayOnGpu(tails), ArrayOnGpu(heads), n=n)
        tails[:], before = 2, tails.copy()
        assert ev.partition(graph).partitions[0].out.count == 2
        assert graph.offsets.tolist() == [0, 1, 2, 2]
        tails[:] = before


def test_without_memory_for_the_edges_the_host_has_the_graph(monkeypatch):
    ends, _, n = arrays_of("uniform")

    def refuse(*_):
        raise ev.DeviceOutOfMemory("no memory", needed=2, available=1)

    monkeypatch.setattr("evener.graph.gpu_edges._ids", refuse)
    graph = ev.Graph.from_edges(*map(ArrayOnGpu, ends), n=n)
    assert graph.gpu_edges is None
    assert graph.m == len(ends[0])


def test_without_room_the_host_builds_the_rows(monkeypatch):
    there, here = both_graphs("rmat", "float64")
    monkeypatch.setattr(gpu_edges_build, "_MOST_SORTED", 1)
    one = ev.partition(there)
    assert "offsets" in vars(there)
    check_same(one, ev.partition(here, [Sorting("cuda:0", 0)]))


@pytest.mark.parametrize("on", [["cpu:1"], ["cpu:1", "cuda:0"], ["cuda:0", "cuda:1"]])
def test_other_elements_get_the_edges_from_the_host(on):
    there, here = both_graphs("uniform")
    elements = [Sorting(name, int(name[-1])) if "cuda" in name else CpuElement(name, 1) for name in on]
    how = {"on": elements, "policy": "random"}
    found, expected = ev.wcc(there, **how), ev.wcc(here, **how)
    np.testing.assert_array_equal(found["component"], expected["component"])
    if "cuda:0" not in on:
        with pytest.raises(ev.ArgumentError, match=r"device: expected .* a run on cpu:1; run with on="):
            found.device("component")
        return
    of_gpu = found.device("component")
    assert of_gpu.memory == ("cuda", 0)
    np.testing.assert_array_equal(of_gpu.view(np.ndarray), expected["component"])


def test_a_column_without_numbers_stays_on_the_host():
    found = ev.wcc(ev.Graph.from_edges(["a", "b"], ["b", "c"]), on="cuda:0")
    with pytest.raises(ev.ArgumentError, match="component has ids that are not integers"):
        found.device("component")
    with pytest.raises(ev.ArgumentError, match="the graph has ids that are not integers"):
        found.device("vertex")
    with pytest.raises(KeyError, match="expected one of the arrays 'component'"):
        found.device("rank")
    with pytest.raises(ev.ArgumentError, match="because it is a copy"):
        pickle.loads(pickle.dumps(found)).device("component")


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weights", [None, "int8", "float64"])
@pytest.mark.parametrize("options", [("duplicates",), ("self_loops",), ("duplicates", "self_loops")])
@pytest.mark.parametrize("name", ["parallel", "loops"])
def test_loops_and_repeated_edges_are_dropped_on_the_gpu(name, options, weights, directed):
    ends, values, _ = arrays_of("parallel", weights)
    if name == "loops":
        ends[1] = np.where(np.arange(len(ends[0])) % 3, ends[1], ends[0])
    given = [None if array is None else ArrayOnGpu(array) for array in (*ends, values)]
    how = dict.fromkeys(options, "drop") | {"directed": directed}
    found, expected = ev.Graph.from_edges(*given, **how), ev.Graph.from_edges(*ends, values, **how)
    assert found.gpu_edges is not None
    assert (found.n, found.m, found.nbytes > 0) == (expected.n, expected.m, True)
    check_same(ev.partition(found), ev.partition(expected, [Sorting("cuda:0", 0)]))
    for array in ("ids", "offsets", "targets", "weights"):
        np.testing.assert_array_equal(getattr(found, array), getattr(expected, array))


def test_ids_with_wide_gaps_are_numbered_on_the_host():
    found = ev.Graph.from_edges(ArrayOnGpu([1 << 40]), ArrayOnGpu([3]))
    assert found.gpu_edges is None
    assert found.ids.tolist() == [3, 1 << 40]


@pytest.mark.parametrize("n", [None, 0, 4])
def test_a_graph_without_edges(n):
    graph = ev.Graph.from_edges(ArrayOnGpu(np.empty(0, int)), ArrayOnGpu(np.empty(0, int)), n=n)
    assert (graph.n, graph.m) == (n or 0, 0)
    assert len(ev.pagerank(graph).device("rank")) == graph.n
