"""Staging of large arrays: pages are written again once their copies are complete."""

from __future__ import annotations

import ctypes
import gc
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

from evener.elements.cuda import staging
from evener.elements.cuda.staging import Staging


class FakeEvent:
    """An event that records whether a caller waited for it."""

    def __init__(self):
        self.waited = False

    def synchronize(self):
        self.waited = True


class Data:
    """The memory pointer of a CuPy array, which here copies nothing."""

    def __init__(self, array):
        self.array = array

    def copy_from_host_async(self, _, nbytes):
        self.copied = nbytes


class Target(np.ndarray):
    """The attributes of a CuPy array that staging reads."""

    @property
    def data(self):
        return Data(self)


@pytest.fixture
def locked(monkeypatch):
    """The lengths in bytes of all locked pages."""
    lengths = []

    def locked_array(length, dtype):
        lengths.append(length * dtype.itemsize)
        return np.empty(length, dtype)

    monkeypatch.setattr(staging, "locked_array", locked_array)
    return lengths


@pytest.mark.parametrize("weights", ["float32", "float64"])
def test_few_pages_are_locked_for_many_arrays(locked, weights):
    """Targets and weights alternate, so three sets of pages are enough: two in transfer and one open."""
    events = []

    def record():
        events.append(FakeEvent())
        return events[-1]

    pages = Staging(record)
    held = np.empty(1000, weights).view(Target)
    for _ in range(20):
        opened = [pages.open(1000, np.dtype(dtype)) for dtype in ("uint32", weights)]
        assert not np.shares_memory(*opened)
        for array in opened:
            pages.send(array, 0, held, 0)
    # Pages for the shorter dtype are too short for the longer dtype.
    assert len(locked) <= (3 if weights == "float32" else 6)
    assert sum(event.waited for event in events) >= 36
    pages.release()


class Transfers:
    """Copies that run as late as possible: when the caller waits for a later event."""

    def __init__(self):
        self.begun = []

    def copy_from_host_async(self, address, nbytes):
        assert nbytes == self.target.nbytes
        self.begun.append((self.target.ctypes.data, address, nbytes))

    def copy_to_host_async(self, address, nbytes):
        assert nbytes == self.target.nbytes
        self.begun.append((address, self.target.ctypes.data, nbytes))

    def record(self):
        return SimpleNamespace(synchronize=self.finish)

    def finish(self):
        for copied in self.begun:
            ctypes.memmove(*copied)
        self.begun.clear()

    def array(self, length, dtype):
        """Return an array of -1 whose copies are deferred."""
        transfers = self

        class Far(np.ndarray):
            @property
            def data(self):
                transfers.target = self
                return transfers

        return np.full(length, -1, dtype).view(Far)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "float64"])
@pytest.mark.parametrize("length", [1, 511, 512, 513, 4096, 10_001])
def test_a_large_array_arrives_in_pieces(monkeypatch, locked, dtype, length):
    monkeypatch.setattr(staging, "COPY_BYTES", 1 << 12)
    transfers = Transfers()
    pages = Staging(transfers.record)
    for values in (np.arange(length).astype(dtype), np.arange(2 * length).astype(dtype)[::-2]):
        held = transfers.array(length, np.int64).astype(dtype)
        pages.send_all(values, held)
        transfers.finish()
        assert held.tolist() == values.tolist()
    assert max(locked) == min(1 << 12, values.nbytes)


@pytest.mark.parametrize("dtype", ["uint8", "float64"])
@pytest.mark.parametrize("length", [1, 511, 512, 513, 10_001])
def test_a_large_array_is_received_in_pieces(monkeypatch, locked, dtype, length):
    monkeypatch.setattr(staging, "COPY_BYTES", 1 << 12)
    transfers = Transfers()
    pages = Staging(transfers.record)
    for values in (np.arange(length).astype(dtype), np.arange(length)[::-1].astype(dtype)):
        held = transfers.array(length, np.int64).astype(dtype)
        held[:] = values
        received = np.empty(length, dtype)
        pages.receive_all(held, received)
        assert received.tolist() == values.tolist()
    assert max(locked) == min(1 << 12, values.nbytes)
    assert len(locked) <= 4


@pytest.mark.usefixtures("locked")
def test_values_of_the_host_part_are_not_sent():
    transfers = Transfers()
    pages = Staging(transfers.record)
    held = transfers.array(100, np.int64)
    for skipped, begin in ((3, 10), (10, 60)):
        opened = pages.open(10, held.dtype)
        opened[:] = np.arange(10)
        pages.send(opened, skipped, held, begin)
    transfers.finish()
    assert held.tolist() == [-1] * 10 + list(range(3, 10)) + [-1] * 83


@pytest.mark.usefixtures("locked")
def test_release_frees_the_pages():
    pages = Staging(FakeEvent)
    opened = pages.open(10, np.dtype(np.int64))
    kept = weakref.ref(opened.base)
    pages.send(opened, 0, np.empty(10).view(Target), 0)
    del opened
    gc.collect()
    assert kept() is not None
    pages.release()
    gc.collect()
    assert kept() is None
