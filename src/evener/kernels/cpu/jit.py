"""The ways a CPU kernel is compiled: parallel over blocks, serial, or inlined into another kernel."""

from __future__ import annotations

import contextlib
import ctypes
import os
from functools import wraps
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

import numba
from numba import njit

from evener.kernels import compile_clock  # noqa: F401 - the clock counts from the first kernel on
from evener.system.cache import cache_folder

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "ENTERED_BY_MANY",
    "KEEP",
    "ONE_AT_A_TIME",
    "can_keep",
    "inline_step",
    "parallel",
    "serial",
]

# OpenMP's threads wait for one another awake, by default for milliseconds. Where other programs want the same
# cores that stops both: placing R-MAT 20 on two busy cores took 22 s so, 4 s with a short wait (0.5 s alone).
os.environ.setdefault("GOMP_SPINCOUNT", "1000")
# OpenMP costs 3.5 us a parallel call, Numba's own work queue 69 us and it cannot be entered by two threads
# at once. A machine without GNU OpenMP, or a user's own choice, keeps Numba's order, and threads that were
# launched before are those that there are.
try:
    _layer = numba.threading_layer()
except ValueError:  # there are none yet
    if numba.config.THREADING_LAYER == "default" and "NUMBA_THREADING_LAYER" not in os.environ:
        with contextlib.suppress(OSError):
            ctypes.CDLL("libgomp.so.1")
            numba.config.THREADING_LAYER = "omp"
    _layer = str(numba.config.THREADING_LAYER).lower()

# Whether several threads may run parallel kernels at the same time. Where not, Numba ends the process.
ENTERED_BY_MANY = _layer in ("omp", "tbb", "threadsafe")

# Whose turn it is where they may not.
ONE_AT_A_TIME = RLock()

# `fastmath` lets sums be taken in any order, so loops vectorise. `reassoc`, `contract`, `arcp` and `nsz` do
# that; `nnan` and `ninf` are left out, because infinity is how an unreached vertex's distance is written.
_FASTMATH = {"reassoc", "contract", "arcp", "nsz"}


def can_keep(
    folder: Path, *, writable: Callable[[Path], bool] = lambda path: os.access(path, os.W_OK)
) -> bool:
    """Whether Numba finds a place for compiled kernels: one named, beside the source, or the user's own.

    Without one it refuses to import what asks to be kept, so on a read-only system nothing must ask.
    """
    places = [folder]
    own = cache_folder()
    # Where the name is empty or not absolute, Numba would go by it nonetheless, from the working directory.
    if own is not None and Path(os.environ.get("XDG_CACHE_HOME", own)) == own:
        places.append(own / "numba")
    if numba.config.CACHE_DIR:
        places.append(Path(numba.config.CACHE_DIR).absolute())
    there = (next(path for path in (place, *place.parents) if path.exists()) for place in places)
    return any(map(writable, there))


# Whether compiled kernels are kept.
KEEP = can_keep(Path(__file__).parent)

_parallel = njit(parallel=True, nogil=True, cache=KEEP, fastmath=_FASTMATH, error_model="numpy")


def parallel(function):
    """A kernel whose loop over blocks runs on all threads of the element."""
    kernel = _parallel(function)
    return kernel if ENTERED_BY_MANY else _in_turn(kernel)


def _in_turn(kernel):
    """The kernel, for threads that wait for their turn; another kernel calls it as it is."""

    @wraps(kernel.py_func)
    def waiting(*args):
        with ONE_AT_A_TIME:
            return kernel(*args)

    waiting._numba_type_ = kernel._numba_type_
    return waiting


# A kernel on one thread.
serial = njit(nogil=True, cache=KEEP, fastmath=_FASTMATH, error_model="numpy")

# The work on one block or vertex, compiled apart from the parallel loop around it: Numba's parallel passes
# cost compile time in proportion to the body they see.
inline_step = njit(nogil=True, cache=KEEP, fastmath=_FASTMATH, error_model="numpy", inline="never")
