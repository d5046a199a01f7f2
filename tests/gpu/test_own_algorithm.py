"""An algorithm from outside the package on GPUs: the worked example, and errors of faulty kernels."""

from __future__ import annotations

from itertools import cycle, product

import numpy as np
import pytest

import evener as ev
from evener.errors import DeviceError
from support import graphs
from support.kcore_example import FOLDER, load, simple
from support.parity_cases import ALPHAS, POLICIES

SPLITS = [["cuda:0"], ["cuda:0", "cuda:0"], ["cpu:1", "cuda:0"], ["cpu:1", "cuda:0", "cuda:0", "cpu:1"]]


@pytest.fixture(scope="module")
def kcore():
    return load().kcore


# ---- k-core ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in graphs.SMALL if name != "empty"])
def test_core_numbers_equal_networkx_for_any_split(kcore, name):
    graph, expected = simple(graphs.SMALL[name]())
    alone = kcore(ev.partition(graph, ["cpu:1"])).timeline.supersteps
    turn = cycle(ALPHAS)
    for on, policy in product(SPLITS, POLICIES):
        found = kcore(ev.partition(graph, on, policy=policy, alpha=next(turn)))
        assert found["core"].tolist() == expected
        assert found.timeline.supersteps == alone


@pytest.mark.parametrize("on", SPLITS, ids=",".join)
@pytest.mark.parametrize("name", ["rmat", "uniform", "star"])
def test_large_graphs(kcore, name, on):
    """Some hubs have edges in several pieces."""
    graph, expected = simple(graphs.LARGE[name]())
    assert kcore(ev.partition(graph, on, policy="low", alpha=0.3))["core"].tolist() == expected


# ---- kernels -----------------------------------------------------------------------------------------


@pytest.fixture
def engines():
    """An engine on a GPU, and one on a CPU and a GPU, each in its first superstep."""
    graph = ev.Graph.from_edges([0, 1, 2], [1, 2, 3])
    made = [ev.Engine(ev.partition(graph, on, alpha=0.5), "test") for on in SPLITS[::2]]
    for engine in made:
        engine.superstep("only")
    return made


def filled(array, value):
    array[:] = value
    return len(array)


FILLED = """#include "common.cuh"

template <typename Value>
__global__ void PARALLEL(256) filled(Array<Value> array, Value value, Results<u64> results) {
    for (u64 i = thread_of_grid(); i < array.length; i += threads_of_grid()) array[i] = value;
    results.sum(%s);
}
"""


def test_a_template_accepts_any_dtype(engines, tmp_path):
    (tmp_path / "own.cu").write_text(FILLED % "first_of_grid() ? array.length : 0")
    kernel = ev.Kernel(cpu=filled, cuda=tmp_path / "own.cu")
    for engine, (dtype, value) in product(engines, [("float32", 0.5), ("uint32", 2**32 - 1), ("int32", -3)]):
        array = engine.owned_array(dtype)
        assert engine.compute(kernel, array, value) == 4
        assert all((part == np.array(value, dtype)).all() for part in engine.download(array))


def test_compiler_errors_are_shown(engines, tmp_path):
    (tmp_path / "own.cu").write_text(FILLED % "array.size")
    for engine in engines:
        with pytest.raises(DeviceError, match=r'(?s)own\.cu does not compile.*own\.cu\(6\): error.*"size"'):
            engine.compute(ev.Kernel(cpu=filled, cuda=tmp_path / "own.cu"), engine.owned_array("int32"), 1)


def test_a_missing_side_or_kernel(engines):
    alone, both = engines
    array = alone.owned_array("int32", 7)
    with pytest.raises(
        ev.ArgumentError, match=r'"filled" has no side for the element "cuda:0".*give.* cuda='
    ):
        alone.compute(ev.Kernel(cpu=filled), array, 1)
    with pytest.raises(ev.ArgumentError, match=r'"peel" has no side for the element "cpu:1".*give.* cpu='):
        both.compute(ev.Kernel(cuda=FOLDER / "kernels.cu", name="peel"))
    with pytest.raises(
        ev.ArgumentError, match=r'kernels\.cu: expected a kernel "filled", found .*peel, decrement'
    ):
        alone.compute(ev.Kernel(cpu=filled, cuda=FOLDER / "kernels.cu"), array, 1)
    with pytest.raises(
        ev.ArgumentError, match=r"kernels\.decrement: expected 5 arguments \(offsets, .*\), found 1"
    ):
        alone.compute(ev.Kernel(cuda=FOLDER / "kernels.cu", name="decrement"), array)
    assert [part.tolist() for part in alone.download(array)] == [[7] * 4]
