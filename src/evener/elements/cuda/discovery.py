"""Which GPUs this machine has and what each of them is; and where none can be used, why."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evener.elements.cuda.compile import architecture
from evener.errors import first_clause

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Gpu", "Versions", "all_gpus", "driver_present", "gpus", "missing", "versions"]

# NVIDIA's driver has the first; a container may show the device alone.
_DRIVER = (Path("/proc/driver/nvidia"), Path("/dev/nvidiactl"))

_REINSTALL = 'pip install "evener[cuda13]" in an environment of its own'


@cache
def missing() -> str | None:
    """Why no GPU can be used, in a clause that says what to do; None if one can."""
    try:
        import cupy

        nvrtc, runtime = cupy.cuda.nvrtc, cupy.cuda.runtime
    except Exception as error:  # noqa: BLE001 - whatever a broken installation raises
        if isinstance(error, ModuleNotFoundError) and error.name == "cupy":
            return 'CuPy is not installed; pip install "evener[cuda13]"'
        cause = error.__cause__ or error
        # It makes a folder for its own cache. What names no file is of a library that cannot be loaded.
        closed = isinstance(cause, OSError) and cause.filename is not None
        advice = "set CUPY_CACHE_DIR to a folder that you may write to" if closed else _REINSTALL
        return f"CuPy cannot be loaded ({first_clause(cause)}); {advice}"
    try:
        count = int(runtime.getDeviceCount())
    except Exception as error:  # noqa: BLE001 - nor does a broken driver raise errors of one kind
        return _without_answer(error, runtime)
    if not count:
        return _hidden()
    try:
        nvrtc.getVersion()
    except Exception as error:  # noqa: BLE001 - CuPy's search for libraries raises kinds of its own
        return f"CUDA's run-time compiler cannot be loaded ({first_clause(error)}); {_REINSTALL}"
    return None


@cache
def driver_present() -> bool:
    """Return whether NVIDIA's driver is loaded. Starts no GPU."""
    return any(path.exists() for path in _DRIVER)


@cache
def gpus() -> int:
    """How many GPUs there are: asked once, for where one has failed, the driver may not answer any more."""
    if missing():
        return 0
    from cupy.cuda import runtime

    return int(runtime.getDeviceCount())


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU; what it does not tell is None.

    Attributes
    ----------
    element : str
        What ``on=`` calls it: "cuda:0".
    name : str
        What its maker calls it.
    free_bytes, total_bytes : int
        Of its memory.
    compute_capability : str
        Such as "9.0".
    multiprocessors : int
    power_limit_watts : float
        Where NVML tells it.
    problem : str
        Why it cannot be used, in a clause; None if it can.
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
    """Of what lies between Evener and a GPU.

    Attributes
    ----------
    driver : str or None
        NVIDIA's driver, where NVML tells it.
    driver_cuda : str
        The newest CUDA that it knows.
    cuda : str
        The CUDA that CuPy was built with.
    compiler : str
        NVRTC.
    cupy : str
    """

    driver: str | None
    driver_cuda: str
    cuda: str
    compiler: str
    cupy: str


def all_gpus() -> list[Gpu]:
    """What each GPU is.

    Asking for its free memory starts a GPU, some tenths of a second each.
    """
    with _management() as nvml:
        return [_gpu(index, nvml) for index in range(gpus())]


def versions() -> Versions | None:
    """Of what lies between Evener and a GPU; None where no GPU can be used."""
    if missing():
        return None
    import cupy
    from cupy.cuda import nvrtc, runtime

    major, minor = nvrtc.getVersion()
    with _management() as nvml:
        return Versions(
            driver=_told(nvml, "nvmlSystemGetDriverVersion"),
            driver_cuda=_version(runtime.driverGetVersion()),
            cuda=_version(runtime.runtimeGetVersion()),
            compiler=f"{major}.{minor}",
            cupy=str(cupy.__version__),
        )


def _gpu(index: int, nvml: Any) -> Gpu:
    from cupy.cuda import Device, runtime

    facts: dict[str, Any] = {"element": f"cuda:{index}"}
    try:
        told = runtime.getDeviceProperties(index)
        facts |= {
            "name": told["name"].decode(),
            "total_bytes": int(told["totalGlobalMem"]),
            "compute_capability": f"{told['major']}.{told['minor']}",
            "multiprocessors": int(told["multiProcessorCount"]),
        }
        architecture(f"{told['major']}{told['minor']}")
        with Device(index):
            facts["free_bytes"] = int(runtime.memGetInfo()[0])
    except Exception as error:  # noqa: BLE001 - one broken GPU is no reason not to tell of the others
        facts["problem"] = first_clause(error)
    handle = _told(nvml, "nvmlDeviceGetHandleByPciBusId", _told(runtime, "deviceGetPCIBusId", index))
    milliwatts = _told(nvml, "nvmlDeviceGetPowerManagementLimit", handle)
    return Gpu(**facts, power_limit_watts=None if milliwatts is None else milliwatts / 1e3)


@contextlib.contextmanager
def _management() -> Iterator[Any]:
    """NVIDIA's management library, or None: what it tells is good to know, but nothing needs it."""
    try:
        nvml = import_module("pynvml")
        nvml.nvmlInit()
    except Exception:  # noqa: BLE001 - it is missing, or finds no driver
        yield None
        return
    try:
        yield nvml
    finally:
        nvml.nvmlShutdown()


def _told(library: Any, name: str, *args: Any) -> Any:
    """What a function of the library answers; None where it does not."""
    if library is None or None in args:
        return None
    try:
        return getattr(library, name)(*args)
    except Exception:  # noqa: BLE001 - some GPUs, and some users, are not told everything
        return None


def _without_answer(error: Exception, runtime: Any) -> str:
    """What it means that the driver does not say how many GPUs there are."""
    if "NoDevice" in str(error):
        return _hidden()
    if "InsufficientDriver" not in str(error):
        answer = first_clause(error)
        return f"the NVIDIA driver answers with an error ({answer}); see whether nvidia-smi lists a GPU"
    known, wanted = int(runtime.driverGetVersion()), int(runtime.runtimeGetVersion())
    if not known:
        return "there is no NVIDIA driver; install one, or start this container with its GPUs"
    return (
        f"the NVIDIA driver is too old: it knows CUDA {_version(known)}, and CuPy here needs "
        f"{wanted // 1000}; install a newer driver"
    )


def _hidden() -> str:
    shown = os.environ.get("CUDA_VISIBLE_DEVICES")
    if shown is not None:
        return f'the NVIDIA driver shows no GPU, as CUDA_VISIBLE_DEVICES is "{shown}"; unset it or name a GPU'
    return "the NVIDIA driver shows no GPU; see whether nvidia-smi lists one"


def _version(number: int) -> str:
    """CUDA writes versions as numbers: 13020 is 13.2."""
    return f"{number // 1000}.{number % 1000 // 10}"
