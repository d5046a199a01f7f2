"""CPU elements with separate memories, as GPUs have, to test GPU paths without a GPU."""

from __future__ import annotations

from functools import partial
from inspect import signature
from threading import Lock

import numpy as np

from evener.elements import CpuElement

# Files of kernels whose arguments may be None on a CPU and are empty arrays on a GPU, and their names.
_WITH_OPTIONAL_ARGUMENTS = (
    "label_rounds_cpu",
    "label_sums_cpu",
    "label_totals_cpu",
    "contract_cpu",
    "spanning_forest.kernels_cpu",
)
_OPTIONAL_ARGUMENTS = ("weights", "far_weights", "within")


class Held(np.ndarray):
    """An array in an element's memory. The host may slice and fill the array, but not compute with it."""

    memory = None
    exchanged = False

    def __array_finalize__(self, source):
        self.memory = getattr(source, "memory", None)
        self.exchanged = getattr(source, "exchanged", False)

    def __array_ufunc__(self, *_, **__):
        raise TypeError("the host computes with an array that it has not downloaded")

    def __array_function__(self, *_):
        raise TypeError("the host computes with an array that it has not downloaded")


class Late:
    """A kernel's return value, which becomes a number when it is read."""

    def __init__(self, value):
        self.value = value

    def __int__(self):
        return int(self.value)


class Copy:
    """A copy that happens when it must: when `wait` is called first."""

    def __init__(self, source, target, after=()):
        self._arrays = _bytes_of(source), _bytes_of(target)
        self._after = after
        self._lock = Lock()

    def wait(self):
        with self._lock:
            if self._arrays is not None:
                for other in self._after:
                    other.wait()
                source, target = self._arrays
                np.copyto(target, source)
                self._arrays = None


class Event(list):
    """The copies that have happened when the event occurs."""

    recorded = True


class ApartElement(CpuElement):
    """A CPU element that shares its memory only with elements of the same memory number.

    The calling thread drives a deferred element. Kernels of a deferred element return `Late` values. Its
    copies happen as late as on a GPU: before the next work of an element that waits for them, or when the
    host waits. Copies of other elements happen at once.
    """

    def __init__(self, name, memory, *, deferred=False):
        super().__init__(name, 1)
        self.memory = memory
        self.deferred = deferred
        self._kernels_on_held = {}
        self._rounds = 0
        self._copies = []  # that may not have happened
        self._waited = []  # that happen before later work of this element
        self._plain = CpuElement(name, 1)

    def allocate(self, length, dtype, fill=None, *, exchanged=False):
        array = self._held(self._plain.allocate(length, dtype, fill))
        array.exchanged = exchanged
        return array

    def upload(self, array):
        assert not isinstance(array, Held)
        held = self._held(np.array(array))
        held.exchanged = True  # arrays that tests make
        if isinstance(array, np.ndarray) and not array.flags.writeable:
            held.flags.writeable = False  # kernels of a CPU have the same types, and are compiled already
        return held

    def allocate_edges(self, length, dtype, on_host):
        assert 0 <= on_host <= length
        return self.allocate(length, dtype)

    def begin_write(self, edges, begin, end):
        assert 0 <= begin <= end <= len(edges)
        return np.empty(end - begin, edges.dtype)

    def end_write(self, edges, begin, written):
        self._seen(edges)[begin : begin + len(written)] = written

    def download(self, array):
        return self._seen(array).copy()

    def begin_round(self):
        self._rounds += 1

    def copy_in(self, source, target):
        assert self._rounds
        assert target.memory == self.memory
        _check_exchanged(source, target)
        return self._copy(source, target)

    def copy_out(self, source, target):
        assert source.memory == self.memory
        _check_exchanged(source, target)
        self._catch_up()
        return self._copy(source, target)

    def _copy(self, source, target, after=()):
        assert (source.dtype, source.shape) == (target.dtype, target.shape)
        copy = Copy(source, target, after)
        if not self.deferred:
            copy.wait()
            return None
        self._copies.append(copy)
        return copy

    def wait_for(self, done):
        if done is not None:
            self._waited.append(done)
        if not self.deferred:
            self._catch_up()

    def record(self):
        return Event(self._waited) if self.deferred else None

    def wait_for_peer(self, event):
        for copy in event or ():
            copy.wait()

    def run(self, function, *args):
        """Call a kernel, or a function that computes with arrays in the memory of this element."""
        self._catch_up()
        if function in self._kernels_on_held.values():
            return super().run(function, *args)
        owner = getattr(function, "__self__", None)
        if isinstance(owner, Held):
            function = getattr(self._seen(owner), function.__name__)
        answer = super().run(function, *(self._seen(arg) if isinstance(arg, Held) else arg for arg in args))
        return self._held(answer) if isinstance(answer, np.ndarray) else answer

    def wait(self):
        self._waited += self._copies
        self._copies = []
        self._catch_up()

    def times(self, marks):
        self._catch_up()
        return super().times(marks)

    def _catch_up(self):
        """Make the copies that this element waits for."""
        waited, self._waited = self._waited, []
        for copy in waited:
            copy.wait()

    def kernel(self, name):
        if name not in self._kernels_on_held:
            kernel = super().kernel(name)
            optional = _optional_arguments(kernel)

            def on_own_arrays(*args):
                given = [self._seen(arg) if isinstance(arg, np.ndarray) else arg for arg in args]
                for i in optional:
                    given[i] = given[i] if given[i] is None or len(given[i]) else None
                answer = kernel(*given)
                return Late(answer) if self.deferred and answer is not None else answer

            self._kernels_on_held[name] = on_own_arrays
        return self._kernels_on_held[name]

    def result(self, value):
        self._catch_up()
        return value.value if isinstance(value, Late) else value

    def _held(self, array):
        held = array.view(Held)
        held.memory = self.memory
        return held

    def _seen(self, array):
        """Return the plain array for the next work of this element; the array must be in this memory."""
        self._catch_up()
        assert isinstance(array, Held)
        assert array.memory == self.memory
        return array.view(np.ndarray)


class PeerElement(ApartElement):
    """A deferred element that copies from the memories of its peers, as GPUs do."""

    peers = "fake"

    def __init__(self, name, memory):
        super().__init__(name, memory, deferred=True)

    def copy_from(self, source, target, memory, after):
        assert self._rounds
        assert (source.memory, target.memory) == (memory, self.memory)
        return self._copy(source, target, after)


class ReadingElement(PeerElement):
    """A deferred element whose kernels read the memories of its peers in place, as GPUs with NVLink do."""

    peers = "reading"

    def reads(self, other):
        return isinstance(other, ReadingElement)

    def _seen(self, array):
        self._catch_up()
        assert isinstance(array, Held)
        return array.view(np.ndarray)


def _optional_arguments(kernel):
    """Return the places of arguments that are None on a CPU where a GPU has an empty array."""
    function = getattr(kernel, "py_func", kernel)
    if not function.__module__.endswith(_WITH_OPTIONAL_ARGUMENTS):
        return []
    return [i for i, name in enumerate(signature(function).parameters) if name in _OPTIONAL_ARGUMENTS]


def _check_exchanged(*arrays):
    assert all(array.exchanged for array in arrays if isinstance(array, Held))


def _bytes_of(array):
    return array.view(np.ndarray).reshape(-1).view(np.uint8)


_KINDS = {
    "cpu": CpuElement,
    "apart": ApartElement,
    "late": partial(ApartElement, deferred=True),
    "peer": PeerElement,
    "reads": ReadingElement,
}


def parse_apart(on, **_):
    """Return elements by name: "apart:0", the deferred "late:0", "peer:0" and "reads:0"; also "cpu:1"."""
    words = [name.split(":") for name in on]
    return [_KINDS[kind](f"{kind}:{number}#{i}", int(number)) for i, (kind, number) in enumerate(words)]
