"""The CPU element: some of the cores of this process, running Numba kernels."""

from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

import numba
import numpy as np

from evener.elements.base import words_apart
from evener.elements.page_pool import LEAST, Pool
from evener.elements.pinned import locked_array, locked_words
from evener.kernels.compile_clock import making_ready
from evener.kernels.cpu import jit
from evener.kernels.kernel import Kernel, no_such_kernel
from evener.system.memory import allocation_error, on_shortage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import DTypeLike, NDArray

    from evener.elements.base import Element

__all__ = ["CpuElement", "usable_cores"]

# What the runs of this process leave to one another: memory of its own, and such that GPUs copy from and to.
_pool = Pool(lambda length: np.empty(length, np.uint64))
_locked_pool = Pool(locked_words)
on_shortage(_pool.clear, kept=lambda: _pool.nbytes)
on_shortage(_locked_pool.clear, kept=lambda: _locked_pool.nbytes)


def usable_cores() -> int:
    """Cores this process may run on, as far as Numba was told to use them."""
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(affinity, int(numba.config.NUMBA_NUM_THREADS)))


def _module_of(name: str) -> tuple[str, str]:
    """The module and the function of a kernel name: "file.function" or "package:file.function"."""
    place, _, function = name.rpartition(".")
    package, _, file = place.rpartition(":")
    return (f"{package}.{file}_cpu" if package else f"evener.kernels.cpu.{file}"), function


def _empty(length: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """An undefined array of the allocator's."""
    try:
        return np.empty(length, dtype)
    except MemoryError as error:
        raise allocation_error(length * dtype.itemsize) from error


class CpuElement:
    """Some of this process's cores.

    Parameters
    ----------
    name : str
        As the user wrote it.
    threads : int
        How many threads kernels use.
    pinned : bool
        Whether to lock the pages of arrays that travel, so that a GPU can copy from and to them beside its
        kernels.
    """

    kind = "cpu"
    deferred = False
    memory = "host"
    table_columns = 0

    def __init__(self, name: str, threads: int, *, pinned: bool = False) -> None:
        self.name = name
        self.threads = threads
        self.weight = float(threads)
        self._pinned = pinned
        self._kernels: dict[str, Callable[..., Any]] = {}

    def kernel(self, name: str | Kernel) -> Callable[..., Any]:
        """The Numba kernel ``"file.function"``, or that of a `Kernel`."""
        if isinstance(name, Kernel):
            return cast("Callable[..., Any]", name.side(self))
        if name not in self._kernels:
            module, function = _module_of(name)
            with making_ready():
                found = getattr(import_module(module), function, None) if find_spec(module) else None
            if found is None:
                raise no_such_kernel(name, "a CPU")
            self._kernels[name] = found
        return self._kernels[name]

    def room(self) -> None:
        """None: what fits is asked of the host before anything is placed."""
        return

    def room_beside(self, taken: int) -> None:  # noqa: ARG002 - nor is there a limit beside anything
        """None, as for `room`."""
        return

    def array(
        self, length: int, dtype: DTypeLike, fill: object | None = None, *, travels: bool = False
    ) -> NDArray[Any]:
        """A NumPy array, filled or left as it comes.

        Raises
        ------
        OutOfMemoryError
            If the system gives no memory for it.
        """
        dtype = np.dtype(dtype)
        nbytes = length * dtype.itemsize
        # No others: of the 20 ms of a search of R-MAT 23, 10 were outside its supersteps when all were.
        locked = self._pinned and travels
        if nbytes < LEAST:
            array = locked_array(length, dtype) if locked and length else _empty(length, dtype)
            if fill is not None:
                array[:] = fill
            return array
        pages = (_locked_pool if locked else _pool).words(nbytes)
        array = pages.view(np.uint8)[:nbytes].view(dtype)
        if fill is not None and 8 % dtype.itemsize:
            array[:] = fill  # no number of them makes a word
        elif fill is not None:
            word = np.full(8 // dtype.itemsize, fill, dtype).view(np.uint64)[0]
            self.call(self.kernel("fill.fill"), pages[: -(-nbytes // 8)], word)
        return array

    def zeros(self, count: int, length: int) -> list[NDArray[Any]]:
        """Parts of one array."""
        apart = words_apart(length)
        whole = self.array(count * apart, np.uint64, 0)
        return [whole[k * apart : k * apart + length] for k in range(count)]

    def hold(self, array: NDArray[Any]) -> NDArray[Any]:
        """The array itself."""
        return array

    def edges(self, length: int, dtype: np.dtype[Any], far: int) -> NDArray[Any]:  # noqa: ARG002 - none is far from here
        """A NumPy array."""
        return _empty(length, dtype)

    def open_edges(self, edges: NDArray[Any], begin: int, end: int) -> NDArray[Any]:
        """That part of the edges themselves."""
        return edges[begin:end]

    def close_edges(self, edges: NDArray[Any], begin: int, written: NDArray[Any]) -> None:
        """Do nothing: they were written where they are."""

    def fetch(self, array: NDArray[Any]) -> NDArray[Any]:
        """The array itself."""
        return array

    def begin_round(self) -> None:
        """Do nothing: a call that has returned is done."""

    def send(self, source: NDArray[Any], receiver: Element, target: Any) -> Any:
        """Let another element copy an array."""
        return receiver.bring(source, target)

    def bring(
        self,
        source: NDArray[Any],
        target: NDArray[Any],
        memory: object = "host",  # noqa: ARG002 - all that comes to be copied here lies in the host's
        after: Any = None,  # noqa: ARG002 - what the host has written is written
    ) -> None:
        """Copy an array of another CPU element's."""
        np.copyto(target, source)

    def receive(self, arrival: Any) -> None:
        """Wait for what a GPU sent; what others did is there."""
        if arrival is not None:
            arrival.wait()

    def reserve(self, edges: int) -> None:
        """Do nothing: kernels share out edges as they come to them."""

    def read(self, vote: Any) -> Any:
        """The vote itself."""
        return vote

    def wait(self) -> None:
        """Do nothing: a call that has returned is done."""

    def begin_timing(self, *, beside_others: bool) -> None:
        """Do nothing: the host's clock is always there."""

    def mark(self) -> float:
        """The time."""
        return perf_counter()

    def times(self, marks: Sequence[float]) -> list[float]:
        """The marks themselves."""
        return list(marks)

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run `function` on this thread, its parallel loops on this element's threads."""
        before = numba.get_num_threads()
        try:
            # Asking takes half of what telling does, and most calls have nothing to tell.
            if before != self.threads:
                numba.set_num_threads(self.threads)
            if jit.ENTERED_BY_MANY:
                return function(*args)
            with jit.ONE_AT_A_TIME:
                return function(*args)
        finally:
            if numba.get_num_threads() != before:
                numba.set_num_threads(before)
