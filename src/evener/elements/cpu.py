"""The CPU element: cores of this process that run Numba kernels."""

from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

import numba
import numpy as np

from evener.elements.page_pool import MIN_POOLED_BYTES, PagePool
from evener.elements.pinned import locked_array, locked_words
from evener.elements.protocols import padded_words
from evener.kernels.compile_clock import compiling
from evener.kernels.cpu import jit
from evener.kernels.kernel import Kernel, no_such_kernel
from evener.system.memory import allocation_error, on_shortage
from evener.system.mpi import mpi_world

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import DTypeLike, NDArray

__all__ = ["CpuElement", "usable_cores"]

# Pages that the runs of this process reuse: pageable ones, and page-locked ones that GPUs copy from and to.
_pool = PagePool(lambda length: np.empty(length, np.uint64))
_locked_pool = PagePool(locked_words)
on_shortage(_pool.clear, kept=lambda: _pool.nbytes)
on_shortage(_locked_pool.clear, kept=lambda: _locked_pool.nbytes)


def usable_cores() -> int:
    """Return the number of cores that this process and Numba's settings allow.

    The ranks of a machine divide the cores that several of them may use.
    """
    world = mpi_world()
    if world is not None:
        cores = world.cores
    else:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, int(numba.config.NUMBA_NUM_THREADS)))


def _module_of(name: str) -> tuple[str, str]:
    """Return module and function of a kernel name: "file.function" or "package:file.function"."""
    place, _, function = name.rpartition(".")
    package, _, file = place.rpartition(":")
    return (f"{package}.{file}_cpu" if package else f"evener.kernels.cpu.{file}"), function


def _empty(length: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return an undefined array from NumPy's allocator."""
    try:
        return np.empty(length, dtype)
    except MemoryError as error:
        raise allocation_error(length * dtype.itemsize) from error


class CpuElement:
    """Cores of this process, with their name in ``on=`` and the threads that kernels use.

    With `pinned`, exchanged arrays are in page-locked memory, which GPUs copy asynchronously.
    """

    kind = "cpu"
    deferred = False
    memory = "host"
    addressable = True
    peers = None
    table_columns = 0

    def __init__(self, name: str, threads: int, *, pinned: bool = False) -> None:
        self.name = name
        self.threads = threads
        self.weight = float(threads)
        self._pinned = pinned
        self._kernels: dict[str, Callable[..., Any]] = {}

    # ---- memory ---------------------------------------------------------------------------------

    def allocate(
        self, length: int, dtype: DTypeLike, fill: object | None = None, *, exchanged: bool = False
    ) -> NDArray[Any]:
        """Return a NumPy array, filled or undefined; raise OutOfMemoryError if the system has no memory."""
        dtype = np.dtype(dtype)
        nbytes = length * dtype.itemsize
        locked = self._pinned and exchanged
        if nbytes < MIN_POOLED_BYTES:
            array = locked_array(length, dtype) if locked and length else _empty(length, dtype)
            if fill is not None:
                array[:] = fill
            return array
        pages = (_locked_pool if locked else _pool).take(nbytes)
        array = pages.view(np.uint8)[:nbytes].view(dtype)
        if fill is not None and 8 % dtype.itemsize:
            array[:] = fill  # the values do not fit words of 64 bits
        elif fill is not None:
            word = np.full(8 // dtype.itemsize, fill, dtype).view(np.uint64)[0]
            self.run(self.kernel("fill.fill"), pages[: -(-nbytes // 8)], word)
        return array

    def allocate_several(self, wanted: Sequence[tuple[int, DTypeLike, int | None]]) -> list[NDArray[Any]]:
        """Return NumPy arrays, which may be exchanged."""
        arrays = [self.allocate(length, dtype, exchanged=True) for length, dtype, _ in wanted]
        self.fill_several(arrays, [byte for _, _, byte in wanted])
        return arrays

    def fill_several(self, arrays: Sequence[NDArray[Any]], values: Sequence[int | None]) -> None:
        """Set each byte of arrays."""
        for array, value in zip(arrays, values, strict=True):
            if value is not None:
                array.view(np.uint8)[:] = value

    def zeros(self, count: int, length: int) -> list[NDArray[Any]]:
        """Return `count` views of one array of zeros."""
        step = padded_words(length)
        whole = self.allocate(count * step, np.uint64, 0)
        return [whole[k * step : k * step + length] for k in range(count)]

    def allocate_staging(self, nbytes: int) -> NDArray[np.uint8]:
        """Return a NumPy array."""
        return _empty(nbytes, np.dtype(np.uint8))

    def allocate_edges(self, length: int, dtype: np.dtype[Any], on_host: int) -> NDArray[Any]:  # noqa: ARG002 - the host has one memory
        """Return a NumPy array."""
        return _empty(length, dtype)

    def begin_write(self, edges: NDArray[Any], begin: int, end: int) -> NDArray[Any]:
        """Return a view of the edges."""
        return edges[begin:end]

    # ---- queue ----------------------------------------------------------------------------------

    def kernel(self, name: str | Kernel) -> Callable[..., Any]:
        """Return the Numba kernel ``"file.function"``, or the CPU side of a `Kernel`."""
        if isinstance(name, Kernel):
            return cast("Callable[..., Any]", name.side(self.kind, self.name))
        if name not in self._kernels:
            module, function = _module_of(name)
            with compiling():
                found = getattr(import_module(module), function, None) if find_spec(module) else None
            if found is None:
                raise no_such_kernel(name, "a CPU")
            self._kernels[name] = found
        return self._kernels[name]

    def run(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call `function` on this thread, with its parallel loops on this element's threads."""
        before = numba.get_num_threads()
        try:
            # Reading the number of threads is cheaper than setting it.
            if before != self.threads:
                numba.set_num_threads(self.threads)
            if jit.THREAD_SAFE:
                return function(*args)
            with jit.PARALLEL_LOCK:
                return function(*args)
        finally:
            # The function may also have set the number of threads.
            if before != self.threads or numba.get_num_threads() != before:
                numba.set_num_threads(before)

    def copy_in(self, source: NDArray[Any], target: NDArray[Any]) -> None:
        """Copy an array of the host."""
        np.copyto(target, source)

    copy_out = copy_in

    def copy_from(self, source: NDArray[Any], target: NDArray[Any], memory: object, after: Any) -> Any:
        """Raise NotImplementedError: a CPU has no peers."""
        raise NotImplementedError

    def reads(self, other: Any) -> bool:
        """Return whether the other element's arrays are in the memory of this process."""
        return bool(other.memory == self.memory)

    def wait_for(self, done: Any) -> None:
        """Wait on the host for a GPU's copy."""
        if done is not None:
            done.wait()

    # ---- clock ----------------------------------------------------------------------------------

    def mark(self) -> float:
        """Return the host's time in seconds."""
        return perf_counter()

    def times(self, marks: Sequence[float]) -> list[float]:
        """Return the marks, which are times."""
        return list(marks)

    # ---- nothing to do --------------------------------------------------------------------------

    def _itself(self, value: Any) -> Any:
        """Return a value that is in the host's memory already."""
        return value

    upload = download = result = _itself

    def _nothing(self, *_: Any, **__: Any) -> None:
        """Do nothing: a call returns when its work is done. Only the host limits memory, and None says so."""

    room = room_after = end_write = prepare_workspace = _nothing
    group_with = wait = begin_round = record = wait_for_peer = begin_timing = _nothing
