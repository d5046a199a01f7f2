"""Let one allocation fail, or it and all later ones, as in the tests of LAGraph."""

from __future__ import annotations

import gc
import sys
import threading
import tracemalloc
from collections import Counter
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
    """Count allocations and decide which of them fail. The caller's allocator must call `fails`.

    A place is a stack of lines of Evener. Loops allocate at the same place many times.
    """

    def __init__(self):
        self._counts = Counter()
        self._chosen = None
        self._lasting = False
        self._failed = False
        self._lock = threading.Lock()

    def fails(self, nbytes):
        """Count an allocation, and return whether it fails."""
        if nbytes <= FEW_BYTES:
            return False
        place = _place_of(sys._getframe(1))
        with self._lock:
            self._counts[place] += 1
            chosen = (place, self._counts[place]) == self._chosen
            fails = chosen or (self._failed and self._lasting)
            self._failed |= chosen
            return fails

    @contextmanager
    def failing(self, chosen, *, lasting):
        """Let the allocation `chosen`, a place and a count, fail, and all later ones if `lasting`."""
        self._counts.clear()
        self._chosen, self._lasting, self._failed = chosen, lasting, False
        try:
            yield
        finally:
            self._chosen, self._failed = None, False

    def check_each(self, call, check, *, error=OutOfMemoryError, used=None):
        """Call with the first allocation at each place failing, and with the last.

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
            with self.failing(None, lasting=False):
                check(call())
                counts = dict(self._counts)
            failed = 0
            for place, count in counts.items():
                for number, lasting in [(1, False), (1, True), *([(count, False)] if count > 1 else [])]:
                    failed += self._call_failing(call, check, error, (place, number), lasting=lasting)
                    assert _after_workers(used) <= before, (
                        f"allocation {number} at {place} failed and left bytes"
                    )
                check(call())
            return failed
        finally:
            tracemalloc.stop()
            gc.unfreeze()

    def _call_failing(self, call, check, error, chosen, *, lasting):
        try:
            with self.failing(chosen, lasting=lasting):
                answer = call()
        except MemoryError as raised:  # its traceback refers to the arrays of the call
            kind, message = type(raised), str(raised)
        else:
            check(answer)
            return False
        assert issubclass(kind, error), f"allocation {chosen} failed with {kind.__name__}: {message}"
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


def _place_of(frame):
    """Return the lines of Evener that a frame was called from, as text."""
    lines = []
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith("evener."):
            lines.append(f"{module}:{frame.f_lineno}")
        frame = frame.f_back
    return " ".join(lines)


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
