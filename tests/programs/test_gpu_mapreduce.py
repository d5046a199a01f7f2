"""Jobs of MapReduce on GPUs, without a GPU: the kernels link, and Python kernels give the rows of pandas."""

from __future__ import annotations

import math
from importlib import import_module
from types import FunctionType

import numpy as np
import pytest

import evener as ev
from evener.elements import CpuElement
from evener.elements.cuda.compile import compiled
from evener.elements.cuda.source import declarations
from evener.kernels.cpu.mixing import mix
from evener.kernels.kernel import Kernel
from evener.programs.mapreduce import compilation, reducer, worker
from evener.programs.operators import read_operator
from evener.testing.ranks import run_ranks
from support.fake_elements import PeerElement
from support.mapreduce_cases import SKEWED, check_combined, check_reduced, join, pair, pairs_of, spread
from support.python_functions import uncompiled

placement = import_module("evener.partition.placement")


def plain(function):
    """Return a linked function that Python runs, without the intrinsics of Numba."""
    python = uncompiled(function.python)
    patched = {"without_none": lambda pair: pair, "array_of": lambda column, begin, end: column[begin:end]}
    return FunctionType(python.__code__, {**python.__globals__, **patched})


class Kernels:
    """Python versions of the kernels of ``mapreduce_*.cu``, with loops over edges, records and keys."""

    def __init__(self, function=None):
        self.function = function and plain(function)

    def map_weighted_edges(self, begin, end, offsets, targets, weights, vertices, degree, values, n, *given):
        keys, columns, found = given
        for e in range(begin, end):
            u, v = int(np.searchsorted(offsets, e, side="right")) - 1, int(targets[e])
            found[e - begin] = self.function(
                int(vertices[u]), int(vertices[v]), float(weights[e]), int(weights[e]),
                values.view(np.float64), values.view(np.int64), u, v, int(degree[u]), n, keys, columns,
                columns, e - begin,
            )  # fmt: skip
        return int(found.sum())

    def map_edges(self, begin, end, offsets, targets, *given):
        return self.map_weighted_edges(begin, end, offsets, targets, np.ones(end), *given)

    def combine_segments(self, bounds, rows, length, order, ordered, columns, out):
        for k in range(len(rows) - 1):
            for row in range(int(rows[k]), int(rows[k + 1])):
                begin = int(bounds[k]) + (row - int(rows[k])) * length
                end = min(begin + length, int(bounds[k + 1]))
                self.function(order, ordered, columns, columns, begin, end, out, out, row)

    def reduce_rows(self, keys, bounds, columns, out):
        for row, key in enumerate(keys.tolist()):
            begin, end = int(bounds[row]), int(bounds[row + 1])
            self.function(key, columns, columns, begin, end, out, out, row)

    def choose_by_hash(self, keys, found, elements, chosen):
        chosen[:] = np.where(found, mix(keys.view(np.uint64)) % np.uint64(elements), elements)

    def choose_by_block(self, keys, found, bounds, chosen):
        places = np.searchsorted(bounds, keys.view(np.uint64), side="right") - 1
        chosen[:] = np.where(found, places, len(bounds) - 1)
        return int((chosen[found != 0] == len(bounds) - 1).sum())

    def find_bounds(self, order, chosen, bounds):
        bounds[:] = np.searchsorted(chosen[order], np.arange(len(bounds)))

    def gather_words(self, words, order, out):
        out[:] = words[order[: len(out)]]

    def mark_heads(self, keys, heads):
        heads[:] = 1
        heads[1:-1] = keys[1:] != keys[:-1]

    def count_segments(self, bounds, length, segments):
        segments[:1] = 0
        segments[1:] = -(-np.diff(bounds.astype(np.int64)) // length)


class JobGpu(PeerElement):
    """An element with a separate memory that runs `Kernels`."""

    def kernel(self, name):
        if isinstance(name, Kernel):
            function = getattr(Kernels(name.cuda.functions[0]), name.name)
        elif "mapreduce" in name:
            function = getattr(Kernels(), name.rpartition(".")[2])
        else:
            return super().kernel(name)

        def on_own_arrays(*args):
            return function(*(self._seen(arg) if isinstance(arg, np.ndarray) else arg for arg in args))

        return on_own_arrays

    def wait_for(self, done):
        """Copy now, because the host assigns parts of arrays, which this element does not see."""
        super().wait_for(done)
        self._catch_up()

    def room_after(self, taken):
        return 1 << 17

    def argsort(self, keys):
        return self._held(np.argsort(self._seen(keys), kind="stable").astype(np.uint64))

    def positions(self, flags):
        return self._held(np.flatnonzero(self._seen(flags)).astype(np.uint64))

    def running_sum(self, values):
        return self._held(np.cumsum(self._seen(values)))


@pytest.fixture(scope="module")
def graph():
    return ev.read("rmat:6,edge_factor=8,seed=3")


@pytest.fixture
def placed(monkeypatch):
    """Return a function that places a graph on fake GPUs and on CPUs; jobs run in chunks of few edges."""

    def views(element, columns):
        return tuple(element._seen(column) for column in columns)

    def elements_of(names, **_):
        return [
            JobGpu(f"cuda:{i}", i) if name == "cuda" else CpuElement(f"cpu:1#{i}", 1)
            for i, name in enumerate(names)
        ]

    def place(graph, kinds):
        pg = ev.partition(graph, kinds, directions="out")
        for element in pg.elements:
            if isinstance(element, JobGpu):
                element.kind, element.addressable = "cuda", False
        return pg

    monkeypatch.setattr(worker, "addresses", views)
    monkeypatch.setattr(reducer, "addresses", views)
    monkeypatch.setattr(worker, "_MIN_CHUNK", 1)
    monkeypatch.setattr(placement, "parse_elements", elements_of)
    return place


@pytest.fixture(scope="module")
def values(graph):
    """Return a value for each vertex. The edges of vertices with negative values give no pair."""
    return np.random.default_rng(4).integers(-20, 50, graph.n) / 8


@pytest.mark.parametrize(
    ("kinds", "more"),
    [(["cuda"], 0), (["cuda", "cpu", "cuda"], SKEWED)],
    ids=["one, spread", "mixed, skewed"],
)
def test_jobs_equal_group_by(graph, values, placed, kinds, more):
    """In the skewed job, one key has most of the records. The last jobs run in several chunks."""
    values = np.where(values < 0, values, values + more)
    groups = pairs_of(graph, values)
    pg = placed(graph, kinds)
    for memory in (None, "20KB"):
        check_combined(ev.mapreduce(pg, pair, combine=join, values=values, memory=memory), groups)
        rows = ev.mapreduce(pg, pair, reduce=spread, values=values, memory=memory)
        check_reduced(rows, groups)
    assert {span.phase for span in rows.timeline} == {"map", "hash", "transfer", "sort", "reduce", "merge"}


def test_ranks(graph, values, placed):
    """Rank 0 has a GPU, and rank 1 has a GPU and a CPU."""
    groups = pairs_of(graph, values)

    def count(world):
        pg = placed(graph, ["cuda", "cpu"] if world.rank else ["cuda"])
        return ev.mapreduce(pg, pair, combine=join, values=values).gather()

    check_combined(run_ranks(2, count)[0], groups)


def test_gpus_and_cpus_choose_the_same_block(graph, placed):
    """Rank 0 has one element, and rank 1 has three. Each target has one row with all of its edges."""

    def count(world):
        pg = placed(graph, ["cuda", "cpu", "cpu"] if world.rank else ["cuda"])
        return ev.mapreduce(pg, lambda s, t: (t, 1), combine=lambda x, y: x + y, owner="block").gather()

    rows = run_ranks(2, count)[0]
    expected = np.bincount(graph.targets, minlength=graph.n)
    np.testing.assert_array_equal(rows.keys, np.flatnonzero(expected))
    np.testing.assert_array_equal(rows.values, expected[rows.keys])


def test_wrong_keys_of_blocks(graph, placed):
    """The message names a key that is no vertex number. Other keys go to the blocks of their vertices."""
    pg = placed(graph, ["cuda", "cuda"])
    with pytest.raises(ev.ArgumentError, match=r"expected vertex numbers from 0 to 63 .* found 98; use"):
        ev.mapreduce(pg, pair, combine=join, values=0.0, owner="block")
    rows = ev.mapreduce(pg, pair, combine=join, values=float(SKEWED), owner="block")
    check_combined(rows, pairs_of(graph, np.full(graph.n, float(SKEWED))))


# ---- kernels ------------------------------------------------------------------------------------------


def _inner(x):
    return math.sqrt(x) if x > 2 else x


def _every_parameter(source, target, weight, source_value, target_value, degree, n):
    return (
        None if source == target else (source % 7, (weight, degree, _inner(source_value) + target_value, n))
    )


def _join(x, y):
    return min(x[0], y[0]), x[1] + y[1], max(x[2], y[2]), x[3] | y[3]


def _summary(key, values):
    total = 0.0
    for value in values[0]:
        total += value
    return total / (key + 1), max(values[1]), len(values[2]), values[3].sum()


OTHERS = [pytest.param(arch, marks=pytest.mark.slow) for arch in ("sm_80", "sm_100")]


@pytest.mark.parametrize("arch", ["sm_90", *OTHERS])
def test_functions_link_into_their_kernels(arch):
    """The linker inlines the functions, and each kernel can be loaded by its name."""
    mapped = read_operator("map", _every_parameter, compilation.MAP_PARAMETERS)
    stage = compilation.map_kernel(mapped, weight=np.float64, value=np.float64)
    combine = compilation.combine_kernel(read_operator("combine", _join, (), reorder=True), stage.payload)
    reduce = compilation.reduce_kernel(read_operator("reduce", _summary, ()), stage.payload)
    for file in (stage.file, combine.file, reduce.file):
        for types in {one.types for one in declarations(file.file).values()}:
            binary = compiled(file, dict.fromkeys(types, "u8"), arch)
            assert binary.code.startswith(b"\x7fELF")
            assert not any(name in binary.code for name in (b"emit", b"fold", b"reduce_key"))
            for name in binary.names.values():
                assert name.encode() + b"\0" in binary.code
    assert compiled("evener.programs:mapreduce_shuffle", {}, arch).code


def test_a_reduction_that_makes_arrays_is_an_error_on_a_gpu():
    """Threads of a GPU cannot allocate. The message has the line, and what works instead."""
    mapped = read_operator("map", lambda source, target: (target, 1.0), compilation.MAP_PARAMETERS)
    payload = compilation.map_kernel(mapped, weight=None, value=np.float64).payload
    reduce = read_operator("reduce", lambda key, values: (values * 2)[0], ())
    with pytest.raises(ev.ArgumentError, match=r"reduce: .* \(values \* 2\)\[0\].*so use loops, len, sum"):
        compiled(compilation.reduce_kernel(reduce, payload).file, {}, "sm_90")
