"""The CUDA element: the contract of elements, transfers to other elements, and failures."""

from __future__ import annotations

import gc
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import evener.elements.cuda.gpu_memory as gpu_memory
import evener.elements.cuda.staging as staging
from contracts.elements import DTYPES, ElementContract, ThreadedElementContract, send
from evener.elements import CpuElement, parse_elements
from evener.elements.cuda.discovery import gpus
from evener.errors import ArgumentError, DeviceError, DeviceOutOfMemory
from evener.system.memory import format_bytes
from support.bitmaps import pack
from support.sanitizer_sizes import CLOCKS


class TestCudaElement(ElementContract):
    name = "cuda:0"
    clock_error = CLOCKS

    def make(self, name):
        return parse_elements([name])[0]


@pytest.mark.usefixtures("two_gpus")
class TestAnotherGpu(TestCudaElement):
    name = "cuda:1"


class TestPinnedCpuElement(ThreadedElementContract):
    """A CPU element with arrays in locked pages."""

    name = "cpu:1"
    clock_error = CLOCKS

    def make(self, name):
        return CpuElement(name, 1, pinned=True)


@pytest.fixture(scope="module")
def gpu():
    return parse_elements(["cuda:0"])[0]


# ---- names and memories ------------------------------------------------------------------------------


def test_elements_of_one_gpu_have_numbers_and_share_its_memory():
    cpu, one, two = parse_elements("cpu:1, cuda:0, cuda:0")
    assert [e.name for e in (cpu, one, two)] == ["cpu:1", "cuda:0#1", "cuda:0#2"]
    assert [e.deferred for e in (cpu, one, two)] == [False, True, True]
    assert one.memory == two.memory != cpu.memory


@pytest.mark.usefixtures("two_gpus")
def test_two_gpus_have_separate_memories():
    one, two = parse_elements("cuda:0,cuda:1")
    assert one.memory != two.memory


@pytest.mark.parametrize("number", [0, 99])
def test_a_missing_gpu_is_refused(number):
    name = f"cuda:{gpus() + number}"
    with pytest.raises(ArgumentError) as caught:
        parse_elements([name])
    message = str(caught.value)
    assert f'"{name}" does not exist' in message
    assert f"cuda:{gpus() - 1}" in message
    assert "\n" not in message


def test_an_unknown_name_is_refused_with_the_elements():
    with pytest.raises(ArgumentError, match=r"'gpu' is not an element.*\"cpu\".*\"cuda:0\""):
        parse_elements(["gpu"])


# ---- copies from the host -----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["uint32", "float64"])
def test_large_arrays_are_copied_in_pieces(monkeypatch, gpu, dtype):
    for module in (staging, gpu_memory):
        monkeypatch.setattr(module, "COPY_BYTES", 1 << 12)
    for length in (1023, 1024, 1025, 100_001):
        values = np.arange(length).astype(dtype)
        assert (gpu.download(gpu.upload(values)) == values).all()
        assert (gpu.download(gpu.upload(values[::-2])) == values[::-2]).all()
        pairs = np.stack([values, values + 1], axis=1)
        assert (gpu.download(gpu.upload(pairs)) == pairs).all()


@pytest.mark.parametrize("far", [0, 32, 9_984, 60_000])
def test_edges_are_copied_in_pieces(gpu, far):
    """Two arrays alternate, so pages are written again while others are in transfer."""
    targets, weights = np.arange(60_000, dtype=np.uint32), np.arange(60_000) / 2
    placed = [gpu.allocate_edges(60_000, a.dtype, far) for a in (targets, weights)]
    for begin in range(0, 60_000, 7_001):
        opened = [gpu.begin_write(edges, begin, min(begin + 7_001, 60_000)) for edges in placed]
        for values, pages in zip((targets, weights), opened, strict=True):
            pages[:] = values[begin : begin + 7_001]
        for edges, pages in zip(placed, opened, strict=True):
            gpu.end_write(edges, begin, pages)
    gpu.prepare_workspace(0)
    for values, edges in zip((targets, weights), placed, strict=True):
        assert (np.concatenate([edges.host_part, gpu.download(edges.device_part)]) == values).all()


# ---- between elements --------------------------------------------------------------------------------


def copy_late(element, first, last):
    """Copy `first` to `last` after other kernels that run for some milliseconds."""
    copy, between = element.kernel("bits.copy"), element.allocate(len(first), "uint64", 0)
    for _ in range(50):
        element.run(copy, first, between)
        element.run(copy, between, first)
    element.run(copy, first, last)


def check_that_arrays_are_kept(sender, receiver, length, *, copies):
    """Check that two arrays without references live until the element `copies` has copied them."""
    sender.begin_round()
    receiver.begin_round()
    source, target = (element.allocate(length, "uint32", 7, exchanged=True) for element in (sender, receiver))
    send(sender, receiver, source, target)
    forgotten = [weakref.ref(source), weakref.ref(target)]
    del source, target
    gc.collect()
    assert all(array() is not None for array in forgotten)
    copies.wait()
    assert all(array() is None for array in forgotten)


@pytest.mark.parametrize("there", [True, False], ids=["to the GPU", "from the GPU"])
def test_arrays_are_kept_while_they_are_copied(gpu, there):
    """An interrupted run drops its arrays; their memory must not be used again during a copy."""
    cpu = CpuElement("cpu:1", 1, pinned=True)
    check_that_arrays_are_kept(*((cpu, gpu) if there else (gpu, cpu)), 1 << 20, copies=gpu)


@pytest.mark.parametrize("pinned", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
def test_cpu_and_gpu_exchange_arrays(gpu, pinned, dtype):
    cpu = CpuElement("cpu:1", 1, pinned=pinned)
    values = np.arange(1, 5001).astype(dtype)
    here, there, back = (element.allocate(5000, dtype, 0, exchanged=True) for element in (cpu, gpu, cpu))
    here[:] = values
    gpu.begin_round()
    send(cpu, gpu, here, there).receive()
    assert (gpu.download(there) == values).all()
    send(gpu, cpu, there[100:1100], back[7:1007]).receive()
    expected = np.zeros(5000, dtype)
    expected[7:1007] = values[100:1100]
    assert (back == expected).all()


def test_a_transfer_waits_for_earlier_kernels(gpu):
    """Many kernels run before the transfer; later kernels do not change the array."""
    cpu = CpuElement("cpu:1", 1, pinned=True)
    words = pack(np.random.default_rng(8).random(1 << 24) < 0.5)
    arrays = [gpu.upload(words), gpu.allocate(len(words), "uint64", 0), gpu.allocate(len(words), "uint64", 0)]
    target = cpu.allocate(len(words), "uint64", 0, exchanged=True)
    copy_late(gpu, arrays[0], arrays[2])
    receiving = send(gpu, cpu, arrays[2], target)
    for _ in range(50):
        gpu.run(gpu.kernel("bits.copy"), arrays[0], arrays[1])
    receiving.receive()
    assert (target == words).all()


@pytest.mark.usefixtures("two_gpus")
def test_arrays_are_kept_while_another_gpu_copies_them():
    one, two = parse_elements("cuda:0,cuda:1")
    check_that_arrays_are_kept(one, two, 1 << 26, copies=two)


@pytest.mark.usefixtures("two_gpus")
@pytest.mark.parametrize("busy", ["sender", "receiver"])
def test_a_transfer_between_gpus_waits_for_earlier_work_of_both(busy):
    """The sender still has to write the source, or the receiver still has to read the target."""
    one, two = parse_elements("cuda:0,cuda:1")
    words = pack(np.random.default_rng(8).random(1 << 24) < 0.5)
    at_work, rest = (one, two) if busy == "sender" else (two, one)
    first, last = at_work.upload(words), at_work.allocate(len(words), "uint64", 0)
    other = rest.allocate(len(words), "uint64", 0)
    rest.wait()
    copy_late(at_work, first, last)
    two.begin_round()
    sent, target = (last, other) if busy == "sender" else (other, first)
    send(one, two, sent, target).receive()
    if busy == "sender":
        assert (two.download(target) == words).all()
    else:
        assert (two.download(last) == words).all()
        assert not two.download(target).any()


@pytest.mark.usefixtures("two_gpus")
def test_the_senders_later_work_follows_the_transfer():
    """After `receive`, a run may write to the source again."""
    one, two = parse_elements("cuda:0,cuda:1")
    source, target = one.allocate(1 << 26, "uint32", 7), two.allocate(1 << 26, "uint32", 0)
    for element in (one, two):
        element.begin_round()
        element.wait()
    send(one, two, source, target).receive()
    one.fill(source, 9)
    assert (two.download(target) == 7).all()


@pytest.mark.usefixtures("two_gpus")
@pytest.mark.parametrize("dtype", DTYPES)
def test_gpus_exchange_arrays(dtype):
    one, two = parse_elements("cuda:0,cuda:1")
    values = np.arange(1, 5001).astype(dtype)
    source, target = one.upload(values), two.allocate(5000, dtype, 0)
    two.begin_round()
    send(one, two, source[:1000], target[1000:2000]).receive()
    expected = np.zeros(5000, dtype)
    expected[1000:2000] = values[:1000]
    assert (two.download(target) == expected).all()


# ---- kernels and time --------------------------------------------------------------------------------


def test_a_wrong_array_argument_is_refused():
    element = parse_elements(["cuda:0"])[0]
    words, halves = element.allocate(2, "uint64", 0), element.allocate(4, "uint32", 0)
    refused = r"bits\.copy, argument out: expected an array of u64 on cuda:0, found ndarray of uint32"
    with pytest.raises(DeviceError, match=refused):
        element.kernel("bits.copy")(words, halves)
    check_it_still_works(element)


def test_the_clock_of_a_gpu_follows_the_clock_of_the_host():
    """The test lasts longer than the clocks need to drift apart."""
    element = parse_elements(["cuda:0"])[0]
    element.begin_timing(concurrent=True)
    for _ in range(4):
        time.sleep(0.6)
        began = time.perf_counter()
        (at,) = element.times([element.mark()])
        assert began - CLOCKS <= at <= time.perf_counter() + CLOCKS


def test_a_new_thread_begins_with_a_kernel_of_a_loaded_file():
    """CUDA counts the first GPU as current in a new thread, although the thread has no context."""
    element = parse_elements(["cuda:0"])[0]
    words, other = (element.allocate(4, "uint64", 1) for _ in range(2))
    element.run(element.kernel("bits.copy"), words, other)
    count = element.kernel("bits.count_range")
    with ThreadPoolExecutor(1) as thread:
        assert element.result(thread.submit(element.run, count, other, 0, 256).result()) == 4


def test_marks_measure_the_time_of_kernels():
    element = parse_elements(["cuda:0"])[0]
    words = [element.allocate(1 << 22, "uint64", 0) for _ in range(2)]
    copy = element.kernel("bits.copy")
    element.run(copy, *words)
    element.wait()
    element.begin_timing(concurrent=True)
    began = time.perf_counter()
    marks = [element.mark()]
    for _ in range(100):
        element.run(copy, *words)
    marks.append(element.mark())
    marks.append(element.mark())
    begin, end, after = element.times(marks)
    took = time.perf_counter() - began
    # 100 copies read and write 6.7 GB, at most at 10 TB/s.
    assert 0.0005 < end - begin <= took + CLOCKS
    assert 0 <= after - end < end - begin


# ---- failures ----------------------------------------------------------------------------------------


def check_it_still_works(element):
    assert element.download(element.allocate(3, "int32", 7)).tolist() == [7] * 3
    words = element.upload(pack(np.ones(100, bool)))
    assert element.result(element.run(element.kernel("bits.count_range"), words, 3, 90)) == 87


@pytest.mark.parametrize("fill", [None, 0, 1])
@pytest.mark.parametrize(("length", "dtype"), [(1 << 50, "uint8"), (1 << 47, "float64")])
def test_an_array_larger_than_the_gpu(gpu, length, dtype, fill):
    with pytest.raises(DeviceOutOfMemory) as caught:
        gpu.allocate(length, dtype, fill)
    error = caught.value
    assert isinstance(error, MemoryError)
    assert error.needed == 1 << 50
    assert 0 < error.available < 1 << 42
    message = str(error)
    assert message.startswith("cuda:0: allocating needs ")
    assert format_bytes(1 << 50) in message
    assert "\n" not in message
    check_it_still_works(gpu)


def test_an_array_larger_than_free_memory(gpu):
    free = gpu.free_bytes()
    with pytest.raises(DeviceOutOfMemory):
        gpu.allocate(free + (1 << 30), "uint8")
    check_it_still_works(gpu)
    assert gpu.free_bytes() > free // 2


def test_memory_is_freed(gpu):
    before = gpu.free_bytes()
    for _ in range(100):  # 100 GiB in sum
        array = gpu.allocate(1 << 30, "uint8", 0)
        del array
    assert gpu.free_bytes() > before - (4 << 30)
