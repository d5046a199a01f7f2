"""A CPU element that imitates a GPU: it has a separate memory with limited room."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from types import SimpleNamespace

import numpy as np

from support.fake_elements import ApartElement

# Bytes of a memory that holds every graph of the tests.
PLENTY = 1 << 40


class FakeGpu(ApartElement):
    """A fake GPU that runs kernels on the CPU and holds whole partitions in its own memory."""

    kind = "cuda"
    broken = None  # the error when cuda:0 starts
    free = 1 << 36

    def __init__(self, name, index, limit=None):
        if index == 0 and self.broken:
            raise self.broken
        super().__init__(name, ("cuda", index), deferred=True)
        self.weight = 800.0
        self._room = self.free if limit is None else min(limit, self.free)

    def room(self):
        return self._room

    def room_after(self, taken):
        return self._room - taken

    def adopt(self, given):
        if not hasattr(given, "__cuda_array_interface__"):
            return self._held(np.from_dlpack(given.values))
        interface = {k: v for k, v in given.__cuda_array_interface__.items() if k != "stream"}
        return self._held(np.asarray(SimpleNamespace(__array_interface__=interface)))

    def positions(self, flags):
        return self._held(np.flatnonzero(self._seen(flags)).view(np.uint64))

    def running_sum(self, values):
        return self._held(np.cumsum(self._seen(values), dtype=values.dtype))

    def fill(self, array, value):
        self._seen(array).fill(value)

    def sort(self, keys):
        self.run(np.ndarray.sort, keys)

    def argsort(self, keys):
        return self.run(partial(np.argsort, kind="stable"), keys).view(np.uint64)


class Sorting(FakeGpu):
    """A fake GPU that sorts, and stores ascending rows."""

    table_columns = 1024
    free = PLENTY
    sorts = 0

    def sort(self, keys):
        self.sorts += 1
        self._seen(keys).sort()

    def argsort(self, keys):
        self.sorts += 1
        return self._held(np.argsort(self._seen(keys), kind="stable").view(np.uint64))


class Reading(Sorting):
    """A fake GPU whose kernels read and write the memories of the other GPUs, as GPUs with NVLink do."""

    def reads(self, _):
        return True

    def copy_from(self, source, target, memory, after):
        assert (source.memory, target.memory) == (memory, self.memory)
        return self._copy(source, target, after)

    def _seen(self, array):
        self._catch_up()
        return array.view(np.ndarray)


class SizedGpu:
    """A fake GPU with a name and room that runs no kernels."""

    kind = "cuda"
    threads = 1
    weight = 800.0

    def __init__(self, name, room):
        self.name, self._room = name, room
        self.memory = name.partition("#")[0]

    def room(self):
        return self._room

    def room_after(self, taken):
        return self._room - taken


class ArrayOnGpu:
    """An array of another library on a fake GPU; host memory holds the values."""

    def __init__(self, values, **changes):
        self.values, self._changes = np.asarray(values), changes

    @property
    def dtype(self):
        return self.values.dtype

    @property
    def __cuda_array_interface__(self):
        interface = {**self.values.__array_interface__, "version": 3, **self._changes}
        del interface["descr"]
        return interface


class TensorOnGpu:
    """An array of another library that only ``__dlpack__`` shows; `kind` is its type of device."""

    def __init__(self, values, gpu=0, kind=2):
        self.values, self._device = np.asarray(values), (kind, gpu)

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._device


def show_gpus(monkeypatch, kind=FakeGpu):
    """Let elements named "cuda:0" be fake GPUs, which hold arrays of `ArrayOnGpu`."""
    monkeypatch.setattr(import_module("evener.elements.cuda.element"), "CudaElement", kind)
    discovery = import_module("evener.elements.cuda.discovery")
    monkeypatch.setattr(discovery, "missing", lambda: None)
    monkeypatch.setattr(discovery, "gpu_of_pointer", lambda _: 0)
