"""GIM-V's MapReduce stages for GPUs, with Python kernels instead of programs/stages.cu."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

import evener as ev
from evener.elements import CpuElement
from evener.engine.exchange.network import VARIABLE
from evener.errors import DeviceOutOfMemory
from evener.programs import operator_sets
from evener.programs.compilation import Operators
from evener.programs.mapreduce import gimv_gpu
from evener.programs.operators import read_operator
from evener.system.world import current_world
from evener.testing.ranks import run_ranks
from support.fake_elements import PeerElement
from support.fake_rank_gpus import FakeNccl, RankGpu
from support.python_functions import uncompiled

placement, gimv = import_module("evener.partition.placement"), import_module("evener.programs.gimv")
NCCL = import_module("evener.engine.exchange.transports.nccl")


class Kernels:
    """Python versions of the kernels of stages.cu, with loops over records."""

    def __init__(self, functions):
        self.combine2, self.combine_all, self.assign, self.until = (
            uncompiled(one.python) for one in functions
        )

    def _messages(self, begin, end, offsets, weights, degree, vertices, n, value, wide):
        rows = np.searchsorted(offsets, np.arange(begin, end), side="right") - 1
        for e, u in zip(range(begin, end), rows, strict=True):
            weight = 1 if weights is None else weights[e]
            yield self.combine2(wide(weight), wide(value[u]), int(degree[u]), int(vertices[u]), n)

    def map_apart(self, begin, end, offsets, targets, identity, *given, weights=None):
        *given, keys, messages = given
        keys[:] = targets[begin:end]
        messages[:] = [*self._messages(begin, end, offsets, weights, *given, identity.dtype.type)]

    def map_weighted_apart(self, begin, end, offsets, targets, weights, *given):
        self.map_apart(begin, end, offsets, targets, *given, weights=weights)

    def map_packed(self, begin, end, *given, weights=None):
        *given, records = given
        keys, messages = np.empty(end - begin, np.uint32), np.empty(end - begin, np.float32)
        self.map_apart(begin, end, *given, keys, messages, weights=weights)
        records[:] = keys.astype(np.uint64) << np.uint64(32) | messages.view(np.uint32)

    def map_weighted_packed(self, begin, end, offsets, targets, weights, *given):
        self.map_packed(begin, end, offsets, targets, *given, weights=weights)

    def reduce_packed(self, records, combined):
        assert (np.diff((records >> np.uint64(32)).astype(np.int64)) >= 0).all()
        pairs = records.view(np.uint32).reshape(-1, 2)
        self.merge_mirrors(pairs[:, 1], pairs[:, 0].copy().view(np.float32), combined)

    def reduce_apart(self, keys, order, messages, combined):
        assert (np.diff(keys[order].astype(np.int64)) >= 0).all()
        self.merge_mirrors(keys[order], messages[order], combined)

    def merge_mirrors(self, index, messages, combined):
        for key, message in zip(index, messages, strict=True):
            combined[key] = self.combine_all(combined[key], combined.dtype.type(message))

    def assign_values(self, combined, degree, vertices, n, total, initial, value):
        ready, change = 0, 0.0
        for v, old in enumerate(value.tolist()):
            more = (int(degree[v]), int(vertices[v]), n, total, initial[v])
            value[v] = self.assign(old, combined[v], *more)
            change += abs(float(value[v]) - old) if value[v] != old else 0.0
            ready += bool(self.until(old, value[v], *more))
        return ready, change, float(np.abs(value.astype(float)).sum())


class RunsKernels:
    """Makes an element with a separate memory run `Kernels`."""

    def kernel(self, name):
        if getattr(name, "cuda", None) is None:
            return super().kernel(name)
        function = getattr(Kernels(name.cuda.functions), name.name)

        def on_own_arrays(*args):
            return function(*(self._seen(arg) if isinstance(arg, np.ndarray) else arg for arg in args))

        return on_own_arrays

    def room_after(self, taken):
        return 10_000 if self.kind == "cuda" else None

    def sort(self, keys):
        self._seen(keys).sort()

    def argsort(self, keys):
        return self._held(np.argsort(self._seen(keys), kind="stable").astype(np.uint64))


class StagesGpu(RunsKernels, PeerElement):
    """A GPU of a process."""


class StagesRankGpu(RunsKernels, RankGpu):
    """A GPU of a rank, in the memory of which other ranks can read."""


def element_of(name):
    """Return a CPU, or a GPU with its place in the machine."""
    return CpuElement(name, 1) if name == "cpu:1" else StagesRankGpu(*name.split(":"))


@pytest.fixture(scope="module")
def graph():
    source = ev.read("rmat:8,edge_factor=8,seed=2")
    ends = np.repeat(np.arange(source.n), np.diff(source.offsets.astype(np.int64))), source.targets
    once = ends[0] < ends[1]
    weights = ((ends[0] + ends[1]) % 5 + 1.0)[once]
    return ev.Graph.from_edges(*(own[once] for own in ends), weights=weights, n=source.n, directed=False)


def reference(graph, combine2, combine_all, assign, v0, iterations):
    """Compute the values after some iterations with a loop over the edges."""
    value, degree = np.broadcast_to(v0, graph.n).copy(), np.diff(graph.offsets.astype(np.int64))
    identity = 0 if v0.dtype == np.float32 else np.iinfo(np.int64).max if v0.dtype == np.int64 else np.inf
    for _ in range(iterations):
        messages = np.full(graph.n, identity, v0.dtype)
        for u in range(graph.n):
            for e in range(int(graph.offsets[u]), int(graph.offsets[u + 1])):
                message = combine2(graph.weights[e], value[u], *([degree[u]] * (v0.dtype == np.float32)))
                v = graph.targets[e]
                messages[v] = combine_all(messages[v], v0.dtype.type(message))
        more = [graph.n] if v0.dtype == np.float32 else []
        value = np.array([assign(*pair, *more) for pair in zip(value, messages, strict=True)], v0.dtype)
    return value


@pytest.mark.parametrize(
    ("case", "dtype"),
    [("pagerank", np.float32), ("shortest_paths", np.float64), ("connected_components", np.int64)],
)
@pytest.mark.parametrize("gpus", [1, 3])
def test_stages(graph, case, dtype, gpus, monkeypatch):
    """The stages work in several chunks. Several GPUs copy messages of mirrors to the owners."""
    monkeypatch.setattr(gimv_gpu, "_MIN_CHUNK", 1)
    operators = getattr(operator_sets, case)(graph, *([0] if case == "shortest_paths" else []))
    operators |= {"v0": np.asarray(operators["v0"], dtype)}
    functions = [operators[name] for name in ("combine2", "combine_all", "assign")]
    expected = reference(graph, *functions, operators["v0"], 2)
    monkeypatch.setattr(gimv, "check_operators", lambda *_, **__: None)  # it would compile the operators
    elements = [StagesGpu(f"cuda:{i}", i) for i in range(gpus)]
    monkeypatch.setattr(placement, "parse_elements", lambda *_, **__: elements)
    pg = ev.partition(graph, [element.name for element in elements], directions="out")
    for element in elements:
        element.kind = "cuda"
    result = ev.gimv(pg, **operators | {"until": 2}, engine="mapreduce")
    np.testing.assert_allclose(result["value"], expected, rtol=1e-5)
    maps = [span for span in result.timeline if span.phase == "map" and span.element == "cuda:0"]
    assert len(maps) > 3
    assert ("transfer" in {span.phase for span in result.timeline}) == (gpus > 1)


@pytest.mark.parametrize(("transport", "second"), [("ipc", "c:3"), ("nccl", "c:3"), ("mpi", "cpu:1")])
def test_ranks(graph, transport, second, monkeypatch):
    """Rank 0 has one GPU. Rank 1 has two GPUs, or a GPU and a CPU. Their numbers of chunks differ."""
    library = FakeNccl()
    monkeypatch.setenv(VARIABLE, transport)
    monkeypatch.setattr(NCCL, "_library", lambda: library)
    monkeypatch.setattr(NCCL, "_address", lambda array: array)
    monkeypatch.setattr(gimv_gpu, "_MIN_CHUNK", 1)
    monkeypatch.setattr(gimv, "check_operators", lambda *_, **__: None)
    monkeypatch.setattr(placement, "parse_elements", lambda on, **_: [element_of(name) for name in on])
    cases = []
    for case, dtype in (("pagerank", np.float32), ("connected_components", np.int64)):
        operators = getattr(operator_sets, case)(graph)
        operators |= {"v0": np.asarray(operators["v0"], dtype), "until": 2}
        functions = [operators[name] for name in ("combine2", "combine_all", "assign")]
        cases.append((operators, reference(graph, *functions, operators["v0"], 2)))

    def run(world):
        pg = ev.partition(graph, ["b:2", second] if world.rank else ["a:1"], directions="out")
        for element in pg.elements:
            if isinstance(element, StagesRankGpu):
                element.kind = "cuda"
        return [ev.gimv(pg, **operators, engine="mapreduce").gather() for operators, _ in cases]

    for result, (_, expected) in zip(run_ranks(2, run)[0], cases, strict=True):
        np.testing.assert_allclose(result["value"], expected, rtol=1e-5)


def test_all_ranks_get_the_error_of_a_full_gpu(graph, monkeypatch):
    """The GPU of rank 1 has no memory to sort."""

    def refuse(_):
        if current_world().rank == 1:
            raise DeviceOutOfMemory("cuda:0 is full", needed=1, available=0)

    monkeypatch.setattr(gimv, "check_operators", lambda *_, **__: None)
    monkeypatch.setattr(placement, "parse_elements", lambda on, **_: [element_of(name) for name in on])
    operators = operator_sets.pagerank(graph) | {"v0": np.float32(0.5)}

    def run(world):
        pg = ev.partition(graph, [f"gpu:{world.rank}"], directions="out")
        pg.elements[0].kind, pg.elements[0].sort = "cuda", refuse
        with pytest.raises(DeviceOutOfMemory, match="cuda:0 is full"):
            ev.gimv(pg, **operators, engine="mapreduce")

    run_ranks(2, run)


def test_operators_of_floats_and_integers_are_other_files():
    """The code of an operator does not show its types. An element keeps the kernels of a file."""
    operators = Operators(*(read_operator(name, min, ()) for name in Operators._fields))
    assert gimv_gpu.linked_stages(operators, real=True) != gimv_gpu.linked_stages(operators, real=False)
