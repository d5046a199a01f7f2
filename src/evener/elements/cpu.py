"""The CPU element: some of the cores of this process, running Numba kernels."""

from __future__ import annotations

import os
from importlib import import_module
from threading import RLock
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from evener.kernels.cpu import jit

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import DTypeLike, NDArray

__all__ = ["CpuElement", "usable_cores"]

# Numba's own work queue aborts when two threads enter it together; OpenMP and TBB do not.
_one_at_a_time = RLock()


def usable_cores() -> int:
    """Cores this process may run on, as far as Numba was told to use them."""
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(affinity, int(numba.config.NUMBA_NUM_THREADS)))


class CpuElement:
    """Some of this process's cores.

    Parameters
    ----------
    name : str
        As the user wrote it.
    threads : int
        How many threads kernels use.
    """

    kind = "cpu"

    def __init__(self, name: str, threads: int) -> None:
        self.name = name
        self.threads = threads
        self._kernels: dict[str, Callable[..., Any]] = {}

    def kernel(self, name: str) -> Callable[..., Any]:
        """The Numba kernel ``"file.function"``."""
        if name not in self._kernels:
            file, function = name.split(".")
            self._kernels[name] = getattr(import_module(f"evener.kernels.cpu.{file}"), function)
        return self._kernels[name]

    def array(self, length: int, dtype: DTypeLike, fill: object | None = None) -> NDArray[Any]:
        """A NumPy array, filled or left as it comes."""
        if fill is None:
            return np.empty(length, dtype)
        if not fill and isinstance(fill, int):
            return np.zeros(length, dtype)  # pages come zeroed, at first use
        return np.full(length, fill, dtype)

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run `function` on this thread, its parallel loops on this element's threads."""
        before = numba.get_num_threads()
        numba.set_num_threads(self.threads)
        try:
            if jit.ENTERED_BY_MANY:
                return function(*args)
            with _one_at_a_time:
                return function(*args)
        finally:
            numba.set_num_threads(before)
