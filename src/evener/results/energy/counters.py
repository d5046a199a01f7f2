"""Energy counters: RAPL under ``/sys/class/powercap`` on Linux, and NVML for GPUs.

Both count everything that runs on a device, including other programs.
"""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

from evener.errors import first_clause

__all__ = ["BETWEEN_READINGS", "Counter", "NotMeasuredError", "Rapl", "gpu_counter"]

# Seconds between readings. RAPL's counters wrap after minutes, and power is integrated over time.
BETWEEN_READINGS = 0.1

_POWERCAP = Path("/sys/class/powercap")


class NotMeasuredError(Exception):
    """No counter exists, or it cannot be read. The message is a clause with the reason."""


class Counter(Protocol):
    """A device's energy counter, or its power integrated over time."""

    min_step: float  # seconds between readings that are integrated over time, else 0

    def raw(self) -> object:
        """Return the raw reading, which changes with each update of the counter."""
        ...

    def joules(self) -> float:
        """Return the joules since the counter was opened."""
        ...

    def close(self) -> None:
        """Release the counter's resources."""
        ...


# ---- the host ---------------------------------------------------------------------------------------


class Rapl:
    """The energy counters of the processor packages, summed. They count microjoules and wrap."""

    min_step = 0.0

    def __init__(self) -> None:
        zones = [folder for folder in sorted(_POWERCAP.glob("intel-rapl:*")) if _is_package(folder)]
        if not zones:
            raise NotMeasuredError("the machine has no RAPL counter")
        self._files = [zone / "energy_uj" for zone in zones]
        try:
            self._last = [int(file.read_text()) for file in self._files]
            self._ranges = [int((zone / "max_energy_range_uj").read_text()) for zone in zones]
        except PermissionError as error:
            msg = f"{error.filename} is not readable by this user; ask root to make it readable"
            raise NotMeasuredError(msg) from error
        except (OSError, ValueError) as error:
            raise NotMeasuredError(f"its RAPL counter cannot be read ({first_clause(error)})") from error
        self._microjoules = 0

    def raw(self) -> object:
        """Return the raw counters."""
        return [file.read_text() for file in self._files]

    def joules(self) -> float:
        """Return the joules since the counter was opened."""
        for place, file in enumerate(self._files):
            now = int(file.read_text())
            passed = now - self._last[place]
            self._microjoules += passed if passed >= 0 else passed + self._ranges[place]
            self._last[place] = now
        return self._microjoules / 1e6

    def close(self) -> None:
        """Do nothing: no file is open."""


def _is_package(zone: Path) -> bool:
    """Return true for the zone of a whole package, not of a part or of the platform."""
    try:
        return (zone / "name").read_text().startswith("package")
    except OSError:
        return False


# ---- GPUs -------------------------------------------------------------------------------------------


class _GpuEnergy:
    """A GPU's energy counter, in millijoules since the driver was loaded."""

    min_step = 0.0

    def __init__(self, nvml: Any, gpu: Any) -> None:
        self._nvml, self._gpu = nvml, gpu
        self._first = self.raw()

    def raw(self) -> int:
        """Return millijoules."""
        return int(self._nvml.nvmlDeviceGetTotalEnergyConsumption(self._gpu))

    def joules(self) -> float:
        """Return the joules since the counter was opened."""
        return (self.raw() - self._first) / 1e3

    def close(self) -> None:
        """Shut down NVML, which counts its users."""
        self._nvml.nvmlShutdown()


class _GpuPower:
    """A GPU's power integrated over time, for GPUs without an energy counter."""

    min_step = BETWEEN_READINGS

    def __init__(self, nvml: Any, gpu: Any) -> None:
        self._nvml, self._gpu = nvml, gpu
        self._joules, self._watts, self._at = 0.0, self.raw() / 1e3, perf_counter()

    def raw(self) -> int:
        """Return milliwatts."""
        return int(self._nvml.nvmlDeviceGetPowerUsage(self._gpu))

    def joules(self) -> float:
        """Return the joules since the counter was opened."""
        watts, now = self.raw() / 1e3, perf_counter()
        self._joules += (self._watts + watts) / 2 * (now - self._at)
        self._watts, self._at = watts, now
        return self._joules

    def close(self) -> None:
        """Shut down NVML, which counts its users."""
        self._nvml.nvmlShutdown()


def gpu_counter(index: int) -> Counter:
    """Return the energy counter of the GPU with CUDA number `index`, or its integrated power."""
    try:
        nvml = import_module("pynvml")
    except ImportError as error:
        raise NotMeasuredError("NVML's Python package is not installed; pip install nvidia-ml-py") from error
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        raise NotMeasuredError(f"NVML cannot be used ({first_clause(error)})") from error
    try:
        return _open_counter(nvml, index)
    except BaseException as error:
        nvml.nvmlShutdown()
        if isinstance(error, nvml.NVMLError):
            raise NotMeasuredError(f"NVML cannot read the GPU ({first_clause(error)})") from error
        raise


def _open_counter(nvml: Any, index: int) -> Counter:
    gpu = nvml.nvmlDeviceGetHandleByPciBusId(_bus_id(index))
    if _has_instances(nvml, gpu):
        raise NotMeasuredError("the GPU is divided into MIG instances, which have no counter of their own")
    for kind in (_GpuEnergy, _GpuPower):
        with suppress(nvml.NVMLError_NotSupported):
            return kind(nvml, gpu)
    raise NotMeasuredError("the GPU reports neither its energy nor its power")


def _has_instances(nvml: Any, gpu: Any) -> bool:
    try:
        return bool(nvml.nvmlDeviceGetMigMode(gpu)[0])
    except nvml.NVMLError_NotSupported:
        return False


def _bus_id(index: int) -> str:
    """Return the PCI bus id of a GPU. NVML and CUDA number the GPUs differently."""
    import cupy

    try:
        return str(cupy.cuda.runtime.deviceGetPCIBusId(index))
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise NotMeasuredError(f"CUDA does not know the GPU ({first_clause(error)})") from error
