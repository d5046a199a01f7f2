"""Counters of joules: RAPL's, as Linux shows it under ``/sys/class/powercap``, and NVML's.

Both count everything that runs on a device, whoever started it.
"""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

from evener.errors import first_clause

__all__ = ["BETWEEN_READINGS", "Counter", "NotMeasuredError", "Rapl", "of_gpu"]

# Seconds between readings in a run: RAPL's counters wrap, at 200 watts after some 20 minutes, and power is
# to be summed up.
BETWEEN_READINGS = 0.1

_POWERCAP = Path("/sys/class/powercap")


class NotMeasuredError(Exception):
    """There is no counter, or it cannot be read: a clause that says so."""


class Counter(Protocol):
    """Something that counts joules, or tells watts that can be summed up."""

    least_step: float  # seconds that its readings are apart in a run, where these make it up

    def look(self) -> object:
        """What it shows; something else after its next update."""
        ...

    def read(self) -> float:
        """Joules since it was made."""
        ...

    def close(self) -> None:
        """Let go of what it holds."""
        ...


# ---- the host ---------------------------------------------------------------------------------------


class Rapl:
    """The energy counters of the processors' packages, summed; microjoules that wrap."""

    least_step = 0.0

    def __init__(self) -> None:
        zones = [folder for folder in sorted(_POWERCAP.glob("intel-rapl:*")) if _is_package(folder)]
        if not zones:
            raise NotMeasuredError("the machine shows no RAPL counter")
        self._files = [zone / "energy_uj" for zone in zones]
        try:
            self._last = [int(file.read_text()) for file in self._files]
            self._ranges = [int((zone / "max_energy_range_uj").read_text()) for zone in zones]
        except PermissionError as error:
            msg = f"{error.filename} may not be read by this user; let root make it readable"
            raise NotMeasuredError(msg) from error
        except (OSError, ValueError) as error:
            raise NotMeasuredError(f"its RAPL counter cannot be read ({first_clause(error)})") from error
        self._microjoules = 0

    def look(self) -> object:
        """The raw counters."""
        return [file.read_text() for file in self._files]

    def read(self) -> float:
        """Joules since it was made."""
        for place, file in enumerate(self._files):
            now = int(file.read_text())
            passed = now - self._last[place]
            self._microjoules += passed if passed >= 0 else passed + self._ranges[place]
            self._last[place] = now
        return self._microjoules / 1e6

    def close(self) -> None:
        """Do nothing: no file is left open."""


def _is_package(zone: Path) -> bool:
    """Whether a zone is a whole package: not a part of one, and not the platform that contains them."""
    try:
        return (zone / "name").read_text().startswith("package")
    except OSError:
        return False


# ---- GPUs -------------------------------------------------------------------------------------------


class _GpuEnergy:
    """A GPU's own energy counter: millijoules since the driver was loaded."""

    least_step = 0.0

    def __init__(self, nvml: Any, gpu: Any) -> None:
        self._nvml, self._gpu = nvml, gpu
        self._first = self.look()

    def look(self) -> int:
        """Millijoules."""
        return int(self._nvml.nvmlDeviceGetTotalEnergyConsumption(self._gpu))

    def read(self) -> float:
        """Joules since it was made."""
        return (self.look() - self._first) / 1e3

    def close(self) -> None:
        """Let go of the library, which counts those who use it."""
        self._nvml.nvmlShutdown()


class _GpuPower:
    """A GPU's power, summed up: for GPUs that have no energy counter."""

    least_step = BETWEEN_READINGS

    def __init__(self, nvml: Any, gpu: Any) -> None:
        self._nvml, self._gpu = nvml, gpu
        self._joules, self._watts, self._at = 0.0, self.look() / 1e3, perf_counter()

    def look(self) -> int:
        """Milliwatts."""
        return int(self._nvml.nvmlDeviceGetPowerUsage(self._gpu))

    def read(self) -> float:
        """Joules since it was made."""
        watts, now = self.look() / 1e3, perf_counter()
        self._joules += (self._watts + watts) / 2 * (now - self._at)
        self._watts, self._at = watts, now
        return self._joules

    def close(self) -> None:
        """Let go of the library, which counts those who use it."""
        self._nvml.nvmlShutdown()


def of_gpu(index: int) -> Counter:
    """The counter of the GPU that CUDA calls `index`, or the power that stands in for it."""
    try:
        nvml = import_module("pynvml")
    except ImportError as error:
        raise NotMeasuredError("NVML's Python package is not installed; pip install nvidia-ml-py") from error
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        raise NotMeasuredError(f"NVML cannot be used ({first_clause(error)})") from error
    try:
        return _counter_of(nvml, index)
    except BaseException as error:
        nvml.nvmlShutdown()
        if isinstance(error, nvml.NVMLError):
            raise NotMeasuredError(f"NVML cannot read the GPU ({first_clause(error)})") from error
        raise


def _counter_of(nvml: Any, index: int) -> Counter:
    gpu = nvml.nvmlDeviceGetHandleByPciBusId(_bus(index))
    if _divided(nvml, gpu):
        raise NotMeasuredError("the GPU is divided into instances, which have no counter of their own")
    for kind in (_GpuEnergy, _GpuPower):
        with suppress(nvml.NVMLError_NotSupported):
            return kind(nvml, gpu)
    raise NotMeasuredError("the GPU tells neither its energy nor its power")


def _divided(nvml: Any, gpu: Any) -> bool:
    try:
        return bool(nvml.nvmlDeviceGetMigMode(gpu)[0])
    except nvml.NVMLError_NotSupported:
        return False


def _bus(index: int) -> str:
    """Where the GPU sits: NVML counts all of the machine's, CUDA those that it is shown, in its own order."""
    import cupy

    try:
        return str(cupy.cuda.runtime.deviceGetPCIBusId(index))
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise NotMeasuredError(f"CUDA does not know the GPU ({first_clause(error)})") from error
