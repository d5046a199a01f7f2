"""Start GPUs in a thread while the process still imports modules and reads its graph.

CUDA needs a quarter of a second to start a GPU. Calls of the driver through ctypes run without Python's lock.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["start_gpus"]


def start_gpus(indices: Sequence[int] | None = None) -> None:
    """Start some GPUs, by default all, and return at once. Errors appear when a GPU is used."""
    threading.Thread(target=_start, args=(indices,), name="evener-gpus", daemon=True).start()


def _start(indices: Sequence[int] | None) -> None:
    with contextlib.suppress(OSError, AttributeError):  # there is no driver
        driver = ctypes.CDLL("libcuda.so.1")
        if driver.cuInit(0) != 0:
            return
        count, context = ctypes.c_int(), ctypes.c_void_p()
        driver.cuDeviceGetCount(ctypes.byref(count))
        for index in range(count.value) if indices is None else indices:
            device = ctypes.c_int()
            if driver.cuDeviceGet(ctypes.byref(device), index) == 0:
                driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
