"""The machine of a benchmark: processor, memory, versions, and the memory bandwidth measured now."""

from __future__ import annotations

import os
import platform
import time
from importlib import metadata
from pathlib import Path

import numba
import numpy as np

from evener.elements.hardware import machine_facts

# 512 MiB, larger than the last cache.
_STREAM_BYTES = 1 << 29

_PACKAGES = (
    "cupy-cuda13x",
    "evener",
    "igraph",
    "llvmlite",
    "networkit",
    "numba",
    "numpy",
    "nvidia-cuda-nvrtc",
    "pyarrow",
    "python-graphblas",
    "scipy",
    "suitesparse-graphblas",
)


@numba.njit(parallel=True, fastmath=True, nogil=True)
def _read(array):
    total = 0.0
    for i in numba.prange(len(array)):
        total += array[i]
    return total


def bandwidth(repeats=9):
    """Return bytes/s that all threads together read from memory: the best of `repeats` sums."""
    array = np.ones(_STREAM_BYTES // 8)
    times = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        _read(array)
        times.append(time.perf_counter() - start)
    return array.nbytes / min(times[1:])


def describe():
    """Return the machine, as a dict for the record."""
    cpuinfo = Path("/proc/cpuinfo")
    model = platform.processor()
    if cpuinfo.exists():
        models = [line for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        model = models[0].split(":", 1)[1].strip() if models else model
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "gpus": machine_facts()["gpus"],
        "threads used": numba.get_num_threads(),
        "memory": f"{pages / 2**30:.1f} GiB",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
    }


def versions():
    """Return the versions of all installed packages that take part."""
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found
