"""The GPUs of this machine, and the reason if no GPU can be used."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evener.elements.cuda.compile import architecture
from evener.errors import first_clause

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "GpuDescription",
    "Versions",
    "all_gpus",
    "driver_loads",
    "driver_present",
    "gpu_of_pointer",
    "gpus",
    "missing",
    "versions",
]

# NVIDIA's driver creates both. A container may have only the second.
_DRIVER = (Path("/proc/driver/nvidia"), Path("/dev/nvidiactl"))

_REINSTALL = 'pip install "evener[cuda13]" in an environment of its own'


@cache
def missing() -> str | None:
    """Return the reason, with advice, why no GPU is usable; None if a GPU is usable."""
    try:
        import cupy

        nvrtc, runtime = cupy.cuda.nvrtc, cupy.cuda.runtime
    except Exception as error:  # noqa: BLE001 - a broken installation raises errors of any kind
        if isinstance(error, ModuleNotFoundError) and error.name == "cupy":
            return 'CuPy is not installed; pip install "evener[cuda13]"'
        cause = error.__cause__ or error
        # CuPy creates a cache folder. An error without a file name comes from a library that does not load.
        no_access = isinstance(cause, OSError) and cause.filename is not None
        advice = "set CUPY_CACHE_DIR to a folder that you may write to" if no_access else _REINSTALL
        return f"CuPy cannot be loaded ({first_clause(cause)}); {advice}"
    try:
        count = int(runtime.getDeviceCount())
    except Exception as error:  # noqa: BLE001 - a broken driver raises errors of any kind
        return _driver_problem(error, runtime)
    if not count:
        return _no_gpu_shown()
    try:
        nvrtc.getVersion()
    except Exception as error:  # noqa: BLE001 - CuPy's search for libraries raises errors of any kind
        return f"CUDA's run-time compiler cannot be loaded ({first_clause(error)}); {_REINSTALL}"
    return None


@cache
def driver_present() -> bool:
    """Return whether NVIDIA's driver is loaded. Starts no GPU."""
    return any(path.exists() for path in _DRIVER)


@cache
def driver_loads() -> bool:
    """Return whether the library of the driver can be loaded. Imports no CuPy, which is slow."""
    if sys.platform != "linux":
        return True
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


@cache
def gpus() -> int:
    """Return the number of GPUs. Cached, because the driver may not answer after a GPU has failed."""
    if not driver_loads() or missing():
        return 0
    from cupy.cuda import runtime

    return int(runtime.getDeviceCount())


def gpu_of_pointer(pointer: int) -> int:
    """Return the index of the GPU whose memory holds an address."""
    from cupy.cuda import runtime

    return int(runtime.pointerGetAttributes(pointer).device)


@dataclass(frozen=True, slots=True)
class GpuDescription:
    """One GPU, with its name in ``on=``. Facts that the driver does not report are None.

    NVML reports the power limit. `problem` is why the GPU is not usable; None if it is usable.
    """

    element: str
    name: str | None = None
    free_bytes: int | None = None
    total_bytes: int | None = None
    compute_capability: str | None = None
    multiprocessors: int | None = None
    power_limit_watts: float | None = None
    problem: str | None = None


class Versions(NamedTuple):
    """Versions of the software that drives a GPU.

    `driver` is NVIDIA's, if NVML reports it, and `driver_cuda` the newest CUDA that it supports. CuPy was
    built with `cuda`. `compiler` is NVRTC's version.
    """

    driver: str | None
    driver_cuda: str
    cuda: str
    compiler: str
    cupy: str


def all_gpus() -> list[GpuDescription]:
    """Return the facts of each GPU.

    Querying free memory starts the GPU. Starting is slow.
    """
    with _management() as nvml:
        return [_gpu(index, nvml) for index in range(gpus())]


def versions() -> Versions | None:
    """Return the versions of the software that drives a GPU; None if no GPU can be used."""
    if missing():
        return None
    import cupy
    from cupy.cuda import nvrtc, runtime

    major, minor = nvrtc.getVersion()
    with _management() as nvml:
        return Versions(
            driver=_query(nvml, "nvmlSystemGetDriverVersion"),
            driver_cuda=_version(runtime.driverGetVersion()),
            cuda=_version(runtime.runtimeGetVersion()),
            compiler=f"{major}.{minor}",
            cupy=str(cupy.__version__),
        )


def _gpu(index: int, nvml: Any) -> GpuDescription:
    from cupy.cuda import Device, runtime

    facts: dict[str, Any] = {"element": f"cuda:{index}"}
    try:
        properties = runtime.getDeviceProperties(index)
        facts |= {
            "name": properties["name"].decode(),
            "total_bytes": int(properties["totalGlobalMem"]),
            "compute_capability": f"{properties['major']}.{properties['minor']}",
            "multiprocessors": int(properties["multiProcessorCount"]),
        }
        architecture(f"{properties['major']}{properties['minor']}")
        with Device(index):
            facts["free_bytes"] = int(runtime.memGetInfo()[0])
    except Exception as error:  # noqa: BLE001 - other GPUs may work
        facts["problem"] = first_clause(error)
    handle = _query(nvml, "nvmlDeviceGetHandleByPciBusId", _query(runtime, "deviceGetPCIBusId", index))
    milliwatts = _query(nvml, "nvmlDeviceGetPowerManagementLimit", handle)
    return GpuDescription(**facts, power_limit_watts=None if milliwatts is None else milliwatts / 1e3)


@contextlib.contextmanager
def _management() -> Iterator[Any]:
    """Yield NVIDIA's management library; None if it is not available."""
    try:
        nvml = import_module("pynvml")
        nvml.nvmlInit()
    except Exception:  # noqa: BLE001 - the library is missing, or finds no driver
        yield None
        return
    try:
        yield nvml
    finally:
        nvml.nvmlShutdown()


def _query(library: Any, name: str, *args: Any) -> Any:
    """Return the value of a library function; None if it fails."""
    if library is None or None in args:
        return None
    try:
        return getattr(library, name)(*args)
    except Exception:  # noqa: BLE001 - some GPUs and some users lack access
        return None


def _driver_problem(error: Exception, runtime: Any) -> str:
    """Return the reason why the driver does not report the number of GPUs."""
    if "NoDevice" in str(error):
        return _no_gpu_shown()
    if "InsufficientDriver" not in str(error):
        answer = first_clause(error)
        return f"the NVIDIA driver reports an error ({answer}); check that nvidia-smi lists a GPU"
    known, wanted = int(runtime.driverGetVersion()), int(runtime.runtimeGetVersion())
    if not known:
        return "there is no NVIDIA driver; install one, or start this container with its GPUs"
    return (
        f"the NVIDIA driver is too old: CuPy needs CUDA {wanted // 1000}, and the driver supports "
        f"{_version(known)}; install a newer driver"
    )


def _no_gpu_shown() -> str:
    shown = os.environ.get("CUDA_VISIBLE_DEVICES")
    if shown is not None:
        return f'the NVIDIA driver shows no GPU: CUDA_VISIBLE_DEVICES is "{shown}"; unset it or name a GPU'
    return "the NVIDIA driver shows no GPU; check that nvidia-smi lists one"


def _version(number: int) -> str:
    """Return a CUDA version as text: 13020 is 13.2."""
    return f"{number // 1000}.{number % 1000 // 10}"
