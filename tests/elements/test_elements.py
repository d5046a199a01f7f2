"""Elements: what any of them does, and how their names are read."""

from __future__ import annotations

import threading

import numba
import numpy as np
import pytest

import evener as ev
from evener import ArgumentError
from evener.elements import CpuElement, parse_elements, usable_cores
from evener.elements import cpu as cpu_module
from evener.elements.cuda import discovery
from evener.elements.cuda import element as cuda
from evener.kernels.cpu import jit
from evener.testing.elements import ElementContract, ThreadedElementContract
from fake_elements import ApartElement

CORES = usable_cores()


class TestCpuElement(ThreadedElementContract):
    name = "cpu:1"

    def make(self, name):
        return parse_elements([name])[0]


class TestCpuElementWithAllCores(ThreadedElementContract):
    name = "cpu"

    def make(self, name):
        return parse_elements([name])[0]


class TestCpuElementBehindAWorkQueue(TestCpuElement):
    """Where threads may not enter Numba together, elements take turns."""

    @pytest.fixture(autouse=True)
    def one_at_a_time(self, monkeypatch):
        monkeypatch.setattr(jit, "THREAD_SAFE", False)

    def test_runs_concurrently_with_another_element(self, element):
        done = threading.Event()
        with jit.PARALLEL_LOCK:
            other = threading.Thread(target=element.run, args=(done.set,))
            other.start()
            assert element.run(divmod, 9, 4) == (2, 1)  # the thread that holds the turn may enter again
            assert not done.wait(0.1)
        other.join(60)
        assert done.is_set()


class TestElementApart(ElementContract):
    """The tests' own element behaves as one, so what passes on it says something of GPUs."""

    name = "cpu:1"

    def make(self, name):
        return ApartElement(name, memory=7)


class TestElementApartThatIsLate(ElementContract):
    name = "cpu:1"

    def make(self, name):
        return ApartElement(name, memory=7, deferred=True)


def test_kernels_use_the_elements_threads():
    before = numba.get_num_threads()
    for threads in range(1, CORES + 1):
        assert CpuElement("cpu", threads).run(numba.get_num_threads) == threads
    assert numba.get_num_threads() == before


def test_threads_are_given_back_after_an_error():
    before = numba.get_num_threads()
    with pytest.raises(ZeroDivisionError):
        CpuElement("cpu:1", 1).run(divmod, 1, 0)
    assert numba.get_num_threads() == before


def test_threads_are_given_back_if_they_were_just_told(monkeypatch):
    """As Ctrl-C comes."""
    before, tell = numba.get_num_threads(), numba.set_num_threads

    def interrupted(threads):
        tell(threads)
        monkeypatch.setattr(numba, "set_num_threads", tell)
        raise KeyboardInterrupt

    monkeypatch.setattr(numba, "set_num_threads", interrupted)
    with pytest.raises(KeyboardInterrupt):
        CpuElement("cpu", before + 1 if before < CORES else before - 1 or 1).run(print)
    assert numba.get_num_threads() == before


def test_zero_of_a_float_is_not_taken_for_a_fresh_page():
    assert np.signbit(CpuElement("cpu:1", 1).allocate(2, "float64", -0.0)).all()


@pytest.mark.parametrize("length", [3, 1 << 18])
def test_values_of_two_words_are_filled_too(length):
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


def test_cores_are_shared_out_among_those_that_name_none():
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
def test_unknown_names_are_refused_with_what_there_is(name):
    with pytest.raises(ArgumentError, match=rf"element.*(cpu|{CORES})"):
        parse_elements([name])


def test_more_threads_than_cores_are_refused():
    with pytest.raises(
        ArgumentError, match=f"expected 1 to {CORES} threads on this machine, found {CORES + 1}"
    ):
        parse_elements([f"cpu:{CORES + 1}"])


@pytest.mark.parametrize("on", [b"cpu", bytearray(b"cpu"), 7])
def test_what_holds_no_names_is_refused(on):
    with pytest.raises(ArgumentError, match=r"^on=: expected names of elements, such as .*, found "):
        parse_elements(on)


def test_names_that_are_given_once_are_enough():
    graph = ev.read("grid:3x3")
    result = ev.bfs(graph, source=0, on=(name for name in ["cpu:1", "cpu:1"]))
    assert list(result.timeline.elements) == ["cpu:1#0", "cpu:1#1"]
    assert ev.partition(graph, on=iter(["cpu:1"])).elements[0].threads == 1


@pytest.mark.parametrize("on", [[], ()])
def test_no_element_at_all_is_refused(on):
    with pytest.raises(ArgumentError, match="expected the name of at least one element"):
        parse_elements(on)


# ---- beside GPUs, which need not be there for this ---------------------------------------------------


class Gpu:
    """In the place of the CUDA element: what it was made with."""

    def __init__(self, name, index, *_, **__):
        self.name = name
        self.index = index


@pytest.fixture(params=[1, 3], ids="gpus={}".format)
def gpus(request, monkeypatch):
    """How many there are."""
    for module in (cuda, discovery):
        monkeypatch.setattr(module, "missing", lambda: None)
        monkeypatch.setattr(module, "gpus", lambda: request.param)
    return request.param


@pytest.mark.parametrize(
    "name", ["gpu", "cuda", "cuda:", "cuda:x", "cuda:-1", "cuda:0:1", "CUDA:0", "cuda:1.5"]
)
def test_what_is_no_gpus_name_is_refused_with_those_there_are(gpus, name):
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


def test_a_gpu_takes_a_core_from_those_that_name_none(monkeypatch):
    monkeypatch.setattr(cuda, "CudaElement", Gpu)

    def threads(*on):
        return [element.threads for element in parse_elements(on) if isinstance(element, CpuElement)]

    assert threads("cpu", "cuda:0") == [max(1, CORES - 1)]
    assert threads("cuda:0", "cuda:1", "cpu") == [max(1, CORES - 2)]
    assert threads("cpu:1", "cuda:0", "cpu") == [1, max(1, CORES - 2)]
    assert threads(*["cuda:0"] * (CORES + 2), "cpu") == [1]


def test_arrays_that_travel_beside_a_gpu_are_made_where_it_can_copy_them_by_itself(monkeypatch):
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


def test_a_cpu_beside_a_gpu_makes_such_arrays(monkeypatch):
    monkeypatch.setattr(cuda, "CudaElement", Gpu)
    assert [e._pinned for e in parse_elements("cpu:1,cpu:1")] == [False, False]
    assert [e._pinned for e in parse_elements("cpu:1,cuda:0,cpu")[::2]] == [True, True]
