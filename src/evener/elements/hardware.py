"""Hardware: the processors and GPUs of this machine, and software versions."""

from __future__ import annotations

import hashlib
import json
import platform
from contextlib import suppress
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numba
import numpy as np

from evener.elements import usable_cores
from evener.elements.cuda.device_errors import failed

if TYPE_CHECKING:
    from evener.elements import Element
    from evener.elements.description import ElementDescription

__all__ = ["GpuFacts", "fingerprint", "gpu_facts", "machine_facts", "model_of"]

# Bytes of a copy that measures the bus.
_COPY_BYTES = 16 << 20
# Copies; the fastest one counts.
_COPIES = 4
# Bytes a second of GPU memory for each multiprocessor, if the driver reports no memory clock.
_BANDWIDTH_PER_MULTIPROCESSOR = 20e9


def machine_facts(*, with_gpus: bool = True) -> dict[str, Any]:
    """Return the facts on which the speed of this machine depends."""
    from evener.elements.cuda.discovery import gpus
    from evener.system.version import __version__

    found: dict[str, Any] = {
        "processor": _processor(),
        "cores": usable_cores(),
        "versions": {"evener": __version__, "numba": numba.__version__, "numpy": np.__version__},
        "gpus": [],
    }
    if with_gpus and gpus():
        import cupy

        runtime = cupy.cuda.runtime
        try:
            found["gpus"] = [runtime.getDeviceProperties(i)["name"].decode() for i in range(gpus())]
            found["driver"] = int(runtime.driverGetVersion())
        except runtime.CUDARuntimeError as error:
            raise failed("cannot read the properties of a GPU", error) from error
        found["versions"]["cupy"] = cupy.__version__
    return found


@cache
def fingerprint() -> str:
    """Return a digest of the processor and the versions. Reading it starts no GPU."""
    facts = json.dumps(machine_facts(with_gpus=False), sort_keys=True)
    return hashlib.sha256(facts.encode()).hexdigest()[:16]


def model_of(element: Element | ElementDescription) -> str:
    """Return the hardware of an element: "cpu", or the name of a GPU."""
    return "cpu" if element.kind == "cpu" else _gpu_name(getattr(element, "index", None))


@cache
def _gpu_name(index: int | None) -> str:
    if index is not None:
        with suppress(Exception):
            import cupy

            return str(cupy.cuda.runtime.getDeviceProperties(index)["name"].decode())
    return "an unknown GPU"


class GpuFacts(NamedTuple):
    """The facts on which the speed of a GPU depends."""

    # Memory clock times bus width.
    memory_bytes_per_second: float = 500e9
    # From host memory, by one copy.
    link_bytes_per_second: float = 12e9


@cache
def gpu_facts(index: int | None) -> GpuFacts:
    """Return the facts of a GPU, with defaults for facts that it does not report."""
    facts = GpuFacts()
    if index is None:
        return facts
    try:
        import cupy

        attributes = cupy.cuda.Device(index).attributes
        # Two transfers per clock cycle. The clock is in kHz, the bus width in bits.
        bandwidth = 2e3 * attributes.get("MemoryClockRate", 0) * attributes.get("GlobalMemoryBusWidth", 0) / 8
        if not bandwidth:
            bandwidth = _BANDWIDTH_PER_MULTIPROCESSOR * attributes["MultiProcessorCount"]
        facts = facts._replace(memory_bytes_per_second=bandwidth)
        return facts._replace(link_bytes_per_second=_link_speed(cupy, index))
    except Exception:  # noqa: BLE001 - a plan works with defaults, and a run reports a broken GPU
        return facts


def _link_speed(cupy: Any, index: int) -> float:
    """Return the bytes a second of the fastest of a few copies from pinned host memory."""
    with cupy.cuda.Device(index):
        host = cupy.cuda.alloc_pinned_memory(_COPY_BYTES)
        device = cupy.cuda.alloc(_COPY_BYTES)
        stream = cupy.cuda.Stream(non_blocking=True)
        marks = [cupy.cuda.Event() for _ in range(_COPIES + 1)]
        marks[0].record(stream)
        for mark in marks[1:]:
            device.copy_from_host_async(host.ptr, _COPY_BYTES, stream)
            mark.record(stream)
        stream.synchronize()
        spans = [cupy.cuda.get_elapsed_time(one, other) for one, other in pairwise(marks)]
    return float(_COPY_BYTES / (min(spans) * 1e-3))


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor()
