"""The contract of each element, and the parser of element names."""

from __future__ import annotations

import threading

import numba
import numpy as np
import pytest

import evener as ev
from contracts.elements import ElementContract, ThreadedElementContract
from evener import ArgumentError
from evener.elements import CpuElement, parse_elements, usable_cores
from evener.elements import cpu as cpu_module
from evener.elements.cuda import discovery
from evener.elements.cuda import element as cuda
from evener.kernels.cpu import jit
from support.fake_elements import ApartElement

CORES = usable_cores()


class TestCpuElement(ThreadedElementContract):
    name = "cpu:1"

    def make(self, name):
        return parse_elements([name])[0]


class TestCpuElementWithAllCores(ThreadedElementContract):
    name = "cpu"

    def make(self, name):
        return parse_elements([name])[0]


class TestCpuElementWithWorkQueue(TestCpuElement):
    """If Numba's threading layer is not thread-safe, elements take turns."""

    @pytest.fixture(autouse=True)
    def one_at_a_time(self, monkeypatch):
        monkeypatch.setattr(jit, "THREAD_SAFE", False)

    def test_runs_concurrently_with_another_element(self, element):
        done = threading.Event()
        with jit.PARALLEL_LOCK:
            other = threading.Thread(target=element.run, args=(done.set,))
            other.start()
            assert element.run(divmod, 9, 4) == (2, 1)  # the lock is reentrant
            assert not done.wait(0.1)
        other.join(60)
        assert done.is_set()


class TestApartElement(ElementContract):
    """The fake element keeps the contract, so tests on it also apply to GPUs."""

    name = "cpu:1"

    def make(self, name):
        return ApartElement(name, memory=7)


class TestDeferredApartElement(ElementContract):
    name = "cpu:1"

    def make(self, name):
        return ApartElement(name, memory=7, deferred=True)


def test_kernels_use_the_elements_threads():
    before = numba.get_num_threads()
    for threads in range(1, CORES + 1):
        assert CpuElement("cpu", threads).run(numba.get_num_threads) == threads
    assert numba.get_num_threads() == before


def test_threads_are_restored_after_an_error():
    before = numba.get_num_threads()
    with pytest.raises(ZeroDivisionError):
        CpuElement("cpu:1", 1).run(divmod, 1, 0)
    assert numba.get_num_threads() == before


def test_threads_are_restored_after_an_interrupt(monkeypatch):
    """Ctrl-C comes right after the element has set the number of threads."""
    before, set_threads = numba.get_num_threads(), numba.set_num_threads

    def interrupted(threads):
        set_threads(threads)
        monkeypatch.setattr(numba, "set_num_threads", set_threads)
        raise KeyboardInterrupt

    monkeypatch.setattr(numba, "set_num_threads", interrupted)
    with pytest.raises(KeyboardInterrupt):
        CpuElement("cpu", before + 1 if before < CORES else before - 1 or 1).run(print)
    assert numba.get_num_threads() == before


def test_negative_zero_is_filled():
    assert np.signbit(CpuElement("cpu:1", 1).allocate(2, "float64", -0.0)).all()


@pytest.mark.parametrize("length", [3, 1 << 18])
def test_values_of_two_words_are_filled(length):
    array = CpuElement("cpu:1", 1).allocate(length, "complex128", 2j)
    assert array.dtype == "complex128"
    assert len(array) == length
    assert (array == 2j).all()


@pytest.mark.parametrize(
    ("on", "names"),
    [
        (None, ["cpu"]),
        ("cpu", ["cpu"]),
        ("cpu:1", ["cpu:1"]),
        (["cpu:1"], ["cpu:1"]),
        ("cpu:1,cpu", ["cpu:1", "cpu"]),
        (" cpu:1 , cpu:1", ["cpu:1#0", "cpu:1#1"]),
        (["cpu", "cpu", "cpu"], ["cpu#0", "cpu#1", "cpu#2"]),
        (("cpu:1", " cpu:1 "), ["cpu:1#0", "cpu:1#1"]),
    ],
)
def test_names(on, names):
    assert [element.name for element in parse_elements(on)] == names


def test_cores_are_divided_among_cpus_without_a_thread_count():
    def threads(*on):
        return [element.threads for element in parse_elements(on)]

    assert threads("cpu") == [CORES]
    assert threads("cpu:1") == [1]
    assert threads("cpu:1", "cpu") == [1, max(1, CORES - 1)]
    halves = threads("cpu", "cpu")
    assert sum(halves) == max(2, CORES)
    assert max(halves) - min(halves) <= 1
    assert threads(*["cpu"] * (CORES + 3)) == [1] * (CORES + 3)


@pytest.mark.parametrize(
    "name", ["gpu", "cpu:", "cpu:0", "cpu:-1", "cpu:1.5", "CPU", "", "cpu:1:1", "cpu:x", 3, None]
)
def test_unknown_names_are_refused(name):
    with pytest.raises(ArgumentError, match=rf"element.*(cpu|{CORES})"):
        parse_elements([name])


def test_more_threads_than_cores_are_refused():
    with pytest.raises(
        ArgumentError, match=f"expected 1 to {CORES} threads on this machine, found {CORES + 1}"
    ):
        parse_elements([f"cpu:{CORES + 1}"])


@pytest.mark.parametrize("on", [b"cpu", bytearray(b"cpu"), 7])
def test_values_without_names_are_refused(on):
    with pytest.raises(ArgumentError, match=r"^on=: expected names of elements, such as .*, found "):
        parse_elements(on)


def test_names_may_come_from_an_iterator():
    graph = ev.read("grid:3x3")
    result = ev.bfs(graph, source=0, on=(name for name in ["cpu:1", "cpu:1"]))
    assert list(result.timeline.elements) == ["cpu:1#0", "cpu:1#1"]
    assert ev.partition(graph, on=iter(["cpu:1"])).elements[0].threads == 1


@pytest.mark.parametrize("on", [[], ()])
def test_no_element_at_all_is_refused(on):
    with pytest.raises(ArgumentError, match="expected the name of at least one element"):
        parse_elements(on)


# ---- elements of GPUs, without a GPU -----------------------------------------------------------------


class Gpu:
    """A fake CUDA element that stores its arguments."""

    def __init__(self, name, index, *_, **__):
        self.name = name
        self.index = index


@pytest.fixture(params=[1, 3], ids="gpus={}".format)
def gpus(request, monkeypatch):
    """The number of fake GPUs."""
    for module in (cuda, discovery):
        monkeypatch.setattr(module, "missing", lambda: None)
        monkeypatch.setattr(module, "gpus", lambda: request.param)
    return request.param


@pytest.mark.parametrize(
    "name", ["gpu", "cuda", "cuda:", "cuda:x", "cuda:-1", "cuda:0:1", "CUDA:0", "cuda:1.5"]
)
def test_an_unknown_gpu_name_is_refused_with_the_list_of_gpus(gpus, name):
    with pytest.raises(ArgumentError, match="is not an element") as caught:
        parse_elements([name])
    assert str(caught.value).startswith(repr(name))
    there = {1: 'and one GPU, "cuda:0"', 3: 'and 3 GPUs, "cuda:0" to "cuda:2"'}
    assert str(caught.value).endswith(there[gpus])


@pytest.mark.parametrize(
    ("on", "made"),
    [
        ("cuda:0", [("cuda:0", 0)]),
        (" cuda:0 ", [("cuda:0", 0)]),
        ("cuda:2,cuda:0", [("cuda:2", 2), ("cuda:0", 0)]),
        (["cuda:0", "cuda:0"], [("cuda:0#0", 0), ("cuda:0#1", 0)]),
        ("cuda:0, cpu:1 ,cuda:0", [("cuda:0#0", 0), ("cpu:1", None), ("cuda:0#2", 0)]),
    ],
)
def test_names_of_gpus(monkeypatch, on, made):
    monkeypatch.setattr(cuda, "CudaElement", Gpu)
    assert [(e.name, getattr(e, "index", None)) for e in parse_elements(on)] == made


def test_a_gpu_takes_a_core_from_cpus_without_a_thread_count(monkeypatch):
    monkeypatch.setattr(cuda, "CudaElement", Gpu)

    def threads(*on):
        return [element.threads for element in parse_elements(on) if isinstance(element, CpuElement)]

    assert threads("cpu", "cuda:0") == [max(1, CORES - 1)]
    assert threads("cuda:0", "cuda:1", "cpu") == [max(1, CORES - 2)]
    assert threads("cpu:1", "cuda:0", "cpu") == [1, max(1, CORES - 2)]
    assert threads(*["cuda:0"] * (CORES + 2), "cpu") == [1]


def test_exchanged_arrays_of_a_pinned_element_are_in_locked_pages(monkeypatch):
    made = []
    monkeypatch.setattr(
        cpu_module, "locked_array", lambda length, dtype: made.append(length) or np.empty(length, dtype)
    )
    monkeypatch.setattr(
        cpu_module._locked_pool, "take", lambda nbytes: made.append(nbytes) or np.empty(nbytes // 8, "u8")
    )
    for pinned in (True, False):
        for exchanged in (True, False):
            element = CpuElement("cpu:1", 1, pinned=pinned)
            assert len(element.allocate(10, "uint32", exchanged=exchanged)) == 10
            assert len(element.allocate(1 << 20, "uint32", exchanged=exchanged)) == 1 << 20
    assert made == [10, 4 << 20]


def test_cpus_are_pinned_if_a_gpu_is_used(monkeypatch):
    monkeypatch.setattr(cuda, "CudaElement", Gpu)
    assert [e._pinned for e in parse_elements("cpu:1,cpu:1")] == [False, False]
    assert [e._pinned for e in parse_elements("cpu:1,cuda:0,cpu")[::2]] == [True, True]
