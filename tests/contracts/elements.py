"""The contract of an element: a class of tests for each element to inherit.

A subclass makes an element::

    class TestMyElement(ElementContract):
        name = "mine:0"

        def make(self, name):
            return MyElement(name)

Arrays are made by `upload` and read by `download`, because the host may not read an element's memory.
"""

from __future__ import annotations

import threading
import time
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from evener.engine.exchange.packet import Packet
from evener.engine.exchange.transport import connect
from evener.engine.executor import run_all
from evener.errors import ArgumentError
from support.bitmaps import pack

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.elements.protocols import Element
    from evener.engine.exchange.transport import Receiver

__all__ = ["DTYPES", "ElementContract", "ThreadedElementContract", "send"]

DTYPES = ("uint8", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")


def send(sender: Element, receiver: Element, source: NDArray[Any], target: NDArray[Any]) -> Receiver:
    """Begin to send one array to another element, and return the receiving end.

    Parameters
    ----------
    sender, receiver : Element
    source : ndarray
        An array of the sender.
    target : ndarray
        An array of the receiver, of the same length and type.
    """
    sending, receiving = connect(sender, receiver)
    receiving.expect({"values": target})
    sending.send(Packet({"values": source}, source.nbytes))
    return receiving


class ElementContract:
    """Tests that every element passes.

    Attributes
    ----------
    name : str
        The name of the element to test, as in ``on=``.
    clock_error : float
        Seconds by which the element's clock may differ from the host's.
    """

    name: str
    clock_error: float = 0.01

    def make(self, name: str) -> Element:
        """Return a new element of this name."""
        raise NotImplementedError

    @pytest.fixture
    def element(self) -> Element:
        """Return the element to test."""
        return self.make(self.name)

    def test_attributes(self, element: Element) -> None:
        """An element has a name, a kind, threads, a weight and a memory."""
        assert element.name == self.name
        assert element.kind == self.name.partition(":")[0]
        assert element.threads >= 1
        assert element.weight > 0
        hash(element.memory)

    # ---- memory ---------------------------------------------------------------------------------

    def test_allocate_fills_arrays(self, element: Element) -> None:
        """A new array has its type, its length and its fill value."""
        dtypes = ("uint8", "int32", "uint32", "uint64", "float32", "float64")
        for dtype, fill, length in product(dtypes, (0, 1), (0, 1, 65)):
            array = element.allocate(length, dtype, fill)
            assert array.dtype == dtype
            assert array.shape == (length,)
            assert (element.download(array) == fill).all()

    def test_allocate_fills_with_special_values(self, element: Element) -> None:
        """Infinity, -1 and 2^32 - 1 are fill values of Evener's algorithms."""
        fills = [("float64", np.inf), ("float64", 1.5), ("int32", -1), ("uint32", 2**32 - 1), ("uint32", 7)]
        for dtype, fill in fills:
            assert element.download(element.allocate(3, dtype, fill)).tolist() == [fill] * 3

    def test_allocate_without_fill(self, element: Element) -> None:
        """An undefined array has its type and length."""
        array = element.allocate(7, "uint32")
        assert array.dtype == np.uint32
        assert array.shape == (7,)
        element.run(array.fill, 5)
        assert element.download(array).tolist() == [5] * 7

    def test_allocate_several(self, element: Element) -> None:
        """Arrays of one block have their types, lengths and bytes, and do not overlap."""
        wanted: list[tuple[int, str]] = [(3, "uint8"), (0, "uint64"), (65, "uint32"), (1, "float64")]
        filled = element.allocate_several([(3, "int32", 255), (2, "uint16", 255), (9, "uint8", 0)])
        assert [element.download(array).tolist() for array in filled] == [[-1] * 3, [65535] * 2, [0] * 9]
        arrays = element.allocate_several([(*one, None) for one in wanted])
        assert [(len(array), str(array.dtype)) for array in arrays] == wanted
        for k, array in enumerate(arrays):
            element.run(array.__setitem__, slice(None), k)
        found = [element.download(array).tolist() for array in arrays]
        assert found == [[k] * length for k, (length, _) in enumerate(wanted)]

    def test_zeros(self, element: Element) -> None:
        """Arrays of one allocation do not overlap."""
        for length in (0, 1, 16, 65):
            arrays = element.zeros(3, length)
            assert [(str(array.dtype), array.shape) for array in arrays] == 3 * [("uint64", (length,))]
            assert not any(element.download(array).any() for array in arrays)
            for k, array in enumerate(arrays):
                element.run(array.__setitem__, slice(None), k + 1)
            assert [element.download(array).tolist() for array in arrays] == [[k] * length for k in (1, 2, 3)]

    def test_arrays_do_not_share_memory(self, element: Element) -> None:
        """A write to an array does not change another array."""
        first, second = element.allocate(4, "int32", 0), element.allocate(4, "int32", 0)
        element.run(first.fill, 1)
        assert element.download(first).tolist() == [1] * 4
        assert element.download(second).tolist() == [0] * 4

    def test_download_returns_uploaded_values(self, element: Element) -> None:
        """A download returns the uploaded values, for every type."""
        for dtype, length in product(DTYPES, (0, 1, 65, 100_000)):
            values = np.random.default_rng(length).integers(0, 100, length).astype(dtype)
            expected = values.copy()
            uploaded = element.upload(values)
            assert uploaded.dtype == dtype
            assert uploaded.shape == (length,)
            downloaded = element.download(uploaded)
            assert type(downloaded) is np.ndarray
            assert downloaded.dtype == dtype
            assert (downloaded == expected).all()

    def test_upload_accepts_readonly_and_strided_arrays(self, element: Element) -> None:
        """An uploaded array may be read-only or have gaps."""
        values = np.arange(20, dtype=np.uint32)
        values.flags.writeable = False
        assert element.download(element.upload(values)).tolist() == list(range(20))
        assert element.download(element.upload(values[1::3])).tolist() == [1, 4, 7, 10, 13, 16, 19]

    def test_edges_may_stay_on_the_host(self, element: Element) -> None:
        """Edges are written in pieces, and the first pieces may be in host memory."""
        for dtype, on_host in product(("uint8", "uint32", "float64"), (0, 32, 96)):
            values = np.arange(96).astype(dtype)
            edges = element.allocate_edges(96, values.dtype, on_host)
            for begin in range(0, 96, 20):
                written = element.begin_write(edges, begin, min(begin + 20, 96))
                written[:] = values[begin : begin + 20]
                element.end_write(edges, begin, written)
                del written
            assert len(edges) == 96
            assert edges.dtype == dtype
            assert edges.nbytes == values.nbytes
            parts = (
                [edges.host_part, element.download(edges.device_part)]
                if hasattr(edges, "host_part")
                else [element.download(edges)]
            )
            assert np.concatenate(parts).tolist() == values.tolist()
            view = edges.view(f"u{edges.itemsize}")
            assert len(view) == 96
            assert view.dtype == f"u{values.itemsize}"

    def test_arrays_can_be_reshaped(self, element: Element) -> None:
        """An array can have rows and columns."""
        for rows in (0, 3):
            pairs = element.allocate(2 * rows, "uint32", 4).reshape(-1, 2)
            assert element.download(pairs).tolist() == [[4, 4]] * rows

    def test_arrays_can_be_copied_and_sliced(self, element: Element) -> None:
        """A copy keeps its values when the original changes."""
        original = element.upload(np.arange(10, dtype=np.float64))
        copy = element.run(original.copy)
        element.run(original.fill, 0)
        assert element.download(copy).tolist() == list(range(10))
        assert element.download(copy[3:6]).tolist() == [3, 4, 5]

    def test_room(self, element: Element) -> None:
        """Both queries of free memory agree, and table columns are a multiple of 1024."""
        room, after = element.room(), element.room_after(1000)
        assert (room is None) == (after is None)
        assert room is None or (room > 0 and after is not None and after > 0)
        assert element.table_columns >= 0
        assert element.table_columns % 1024 == 0

    def test_copies_from_an_element_of_the_same_kind(self, element: Element) -> None:
        """An array of another element arrives unchanged."""
        other = self.make(self.name)
        for dtype in ("uint32", "uint64"):
            values = np.arange(1, 1001).astype(dtype)
            source, target = other.upload(values.copy()), element.allocate(1000, dtype, 0, exchanged=True)
            element.begin_round()
            if element.memory == other.memory:
                element.run(target.__setitem__, slice(None), source)
            else:
                send(other, element, source, target).receive()
            assert (element.download(target) == values).all()
            assert (other.download(source) == values).all()

    # ---- kernels --------------------------------------------------------------------------------

    def test_kernels_are_found_by_name(self, element: Element) -> None:
        """The same name gives the same kernel."""
        flags = element.upload(np.array([0, 0b101], np.uint64))
        result = element.run(element.kernel("bits.count_range"), flags, 0, 128)
        assert element.result(result) == 2
        assert element.kernel("bits.count_range") is element.kernel("bits.count_range")

    def test_unknown_kernels_are_errors(self, element: Element) -> None:
        """The error names the kernel."""
        for name in ("bits.no_such_kernel", "no_such_file.count_range"):
            with pytest.raises(ArgumentError, match=f'Evener has no kernel "{name}" for a '):
                element.kernel(name)

    def test_kernel_results(self, element: Element) -> None:
        """A kernel counts the flags of ranges that begin and end anywhere in a word."""
        bits = np.random.default_rng(4).random(1 << 20) < 0.3
        words = element.upload(pack(bits))
        kernel = element.kernel("bits.count_range")
        whole = 1 << 20
        ranges = [(0, whole), (1, whole - 1), (63, 65), (64, 64), (31, 33), (500_000, 700_001)]
        for begin, end in ranges:
            assert element.result(element.run(kernel, words, begin, end)) == bits[begin:end].sum()

    def test_results_belong_to_their_calls(self, element: Element) -> None:
        """Results can be read after later calls."""
        words = element.upload(pack(np.ones(640, bool)))
        kernel = element.kernel("bits.count_range")
        for _ in range(20):
            results = [element.run(kernel, words, 0, 64 * k) for k in range(1, 6)]
            assert [element.result(result) for result in results] == [64, 128, 192, 256, 320]
            assert int(element.run(kernel, words, 10, 20)) == 10

    def test_result_of_a_number(self, element: Element) -> None:
        """A plain value is returned unchanged."""
        assert element.result(5) == 5
        assert element.result((1, 2.5)) == (1, 2.5)
        assert element.result(None) is None

    def test_kernels_run_in_order(self, element: Element) -> None:
        """Each kernel sees the values that the kernel before it wrote."""
        words = pack(np.random.default_rng(6).random(10_000) < 0.5)
        arrays = [element.upload(words.copy())]
        arrays += [element.allocate(len(words), "uint64", 0) for _ in range(5)]
        for source, target in pairwise(arrays):
            element.run(element.kernel("bits.copy"), source, target)
        element.wait()
        assert (element.download(arrays[-1]) == words).all()

    def test_prepare_workspace_any_number_of_times(self, element: Element) -> None:
        """The workspace may grow, and it never shrinks."""
        for edges in (0, 10, 1 << 20, 10):
            element.prepare_workspace(edges)
        assert element.download(element.allocate(2, "uint8", 3)).tolist() == [3, 3]

    # ---- calls ----------------------------------------------------------------------------------

    def test_run_returns_the_value(self, element: Element) -> None:
        """A call gets its arguments, and its value is returned."""
        assert element.run(divmod, 17, 5) == (3, 2)

    def test_run_raises_errors(self, element: Element) -> None:
        """An element is usable after an error."""
        with pytest.raises(ZeroDivisionError):
            element.run(divmod, 1, 0)
        assert element.run(divmod, 7, 2) == (3, 1)

    # ---- time -----------------------------------------------------------------------------------

    @pytest.mark.parametrize("concurrent", [False, True])
    def test_marks_give_times_of_the_host_clock(self, element: Element, concurrent: bool) -> None:
        """Times of marks increase and are within the host's times of the calls."""
        words, copy = element.allocate(1000, "uint64", 0), element.allocate(1000, "uint64", 0)
        element.run(element.kernel("bits.copy"), words, copy)  # compiled before the clock runs
        element.wait()
        element.begin_timing(concurrent=concurrent)
        for _ in range(2):
            began = time.perf_counter()
            marks = [element.run(element.mark)]
            time.sleep(0.05)
            marks.append(element.run(element.mark))
            element.run(element.kernel("bits.copy"), words, copy)
            marks.append(element.run(element.mark))
            times = element.times(marks)
            ended = time.perf_counter()
            assert times == sorted(times)
            assert times[1] - times[0] >= 0.05 - self.clock_error
            assert began - self.clock_error <= times[0]
            assert times[-1] <= ended + self.clock_error


class ThreadedElementContract(ElementContract):
    """Tests of elements whose calls block until the work is done, each on its own thread."""

    def test_runs_concurrently_with_another_element(self, element: Element) -> None:
        """Two elements run their calls at the same time."""
        assert not element.deferred
        meeting = threading.Barrier(2)
        calls = [(one, meeting.wait, (60,)) for one in (element, self.make(self.name))]
        assert sorted(run_all(calls, workers=1)) == [0, 1]
