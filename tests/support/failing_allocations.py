"""Let only the n-th allocation fail, or all from the n-th on, as in the tests of LAGraph."""

from __future__ import annotations

import gc
import sys
import threading
import tracemalloc
from contextlib import contextmanager

import numpy

from evener.elements import cpu
from evener.engine import executor
from evener.errors import OutOfMemoryError

# NumPy functions that allocate the returned array.
ALLOCATING = [
    *("empty", "zeros", "ones", "full", "empty_like", "zeros_like", "ones_like", "full_like", "arange"),
    *("array", "concatenate", "repeat", "cumsum", "diff", "flatnonzero", "unique", "argsort", "sort"),
]
# Allocations of at most this many bytes never fail: any Python object needs as much memory.
FEW_BYTES = 64


class FailingAllocations:
    """Count allocations and decide which of them fail. The caller's allocator must call `fails`."""

    def __init__(self):
        self._count = 0
        self._first = None
        self._lasting = True
        self._lock = threading.Lock()

    def fails(self, nbytes):
        """Count an allocation, and return whether it fails."""
        if nbytes <= FEW_BYTES:
            return False
        with self._lock:
            self._count += 1
            if self._first is None or self._count < self._first:
                return False
            return self._lasting or self._count == self._first

    @contextmanager
    def failing(self, first, *, lasting):
        """Let allocation `first` fail, and all later allocations if `lasting`."""
        self._count, self._first, self._lasting = 0, first, lasting
        try:
            yield
        finally:
            self._first = None

    def check_each(self, call, check, *, error=OutOfMemoryError, used=None):
        """Call with the first allocation failing, then with the second, and so on, until a call succeeds.

        A failed call raises `error`, leaves no thread busy, and does not increase the bytes that `used`
        returns. `check` accepts the answers of all other calls, including calls after a failed call.
        Returns the number of failed calls.
        """
        used = used or _bytes_of_arrays
        check(call())
        gc.collect()
        gc.freeze()  # later garbage collections are then fast
        tracemalloc.start()
        try:
            before = _after_workers(used)
            number, failed = 0, True
            while failed:
                number += 1
                for lasting in (False, True):
                    failed = self._call_failing(call, check, error, number, lasting=lasting)
                    assert _after_workers(used) <= before, f"allocation {number} failed and left bytes"
                check(call())
            return number - 1
        finally:
            tracemalloc.stop()
            gc.unfreeze()

    def _call_failing(self, call, check, error, number, *, lasting):
        try:
            with self.failing(number, lasting=lasting):
                answer = call()
        except MemoryError as raised:  # its traceback refers to the arrays of the call
            kind, message = type(raised), str(raised)
        else:
            check(answer)
            return False
        assert issubclass(kind, error), f"allocation {number} failed with {kind.__name__}: {message}"
        assert message
        assert "\n" not in message
        return True


def fail_numpy(monkeypatch):
    """Replace NumPy in the modules of Evener, except in kernels; return its `FailingAllocations`."""
    allocations = FailingAllocations()
    proxy = _NumPy(allocations)
    for name, module in list(sys.modules.items()):
        kernels = name.startswith("evener.kernels.cpu") or name.endswith("_cpu")
        if name.startswith("evener.") and vars(module).get("np") is numpy and not kernels:
            monkeypatch.setattr(module, "np", proxy)
    return allocations


class _NumPy:
    """The module `numpy` with allocations that can fail."""

    def __init__(self, allocations):
        for name in ALLOCATING:
            setattr(self, name, _fallible(allocations, getattr(numpy, name)))

    def __getattr__(self, name):
        return getattr(numpy, name)


def _fallible(allocations, function):
    def allocate(*args, **kwargs):
        made = function(*args, **kwargs)
        if isinstance(made, numpy.ndarray) and allocations.fails(made.nbytes):
            raise MemoryError(f"Unable to allocate {made.nbytes} bytes for an array with shape {made.shape}")
        return made

    return allocate


def _bytes_of_arrays():
    """Return the bytes of NumPy arrays allocated since tracing began."""
    arrays = tracemalloc.DomainFilter(inclusive=True, domain=numpy.lib.tracemalloc_domain)
    return sum(trace.size for trace in tracemalloc.take_snapshot().filter_traces([arrays]).traces)


def _after_workers(used):
    """Return the bytes in use when all workers are idle and the pools are empty."""
    count = executor.usable_cores()
    meeting = threading.Barrier(count)
    for future in [executor._threads().submit(meeting.wait, 60) for _ in range(count)]:
        future.result()
    gc.collect()
    for pool in (cpu._pool, cpu._locked_pool):
        pool.clear()
    return used()
