"""Hardware: the processors and GPUs of this machine, and the versions of what runs on them."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

import numba
import numpy as np

from evener.elements import usable_cores
from evener.elements.cuda.device_errors import failed

__all__ = ["described"]


def described(*, with_gpus: bool = True) -> dict[str, Any]:
    """What this machine is, in words and numbers: another where anything may run faster or slower.

    Raises
    ------
    DeviceError
        If there are GPUs, and they do not answer.
    """
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
            raise failed("a GPU does not say what it is", error) from error
        found["versions"]["cupy"] = cupy.__version__
    return found


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor()
