"""What a GPU that has failed leaves behind: an error to raise, and objects that cannot be freed any more."""

from __future__ import annotations

import ctypes
import gc
from typing import Any

from evener.errors import DeviceError, first_line

__all__ = ["failed", "keep"]

_kept: list[Any] = []
# One reference that nobody gives back, so that what is kept is not freed as the process ends either.
ctypes.pythonapi.Py_IncRef(ctypes.py_object(_kept))


def keep(loaded: Any) -> None:
    """Never free something of a GPU's: as the process ends, the driver does."""
    _kept.append(loaded)


def failed(what: str, error: Exception) -> DeviceError:
    """The error for a GPU that fails at something, in a sentence.

    From a kernel's failure on, CUDA answers every call of this process with it. Freeing is such a call, of
    which CuPy would complain on standard error, once for each object; so what there is now is never freed.
    """
    from cupy import cuda

    owners = (cuda.Event, cuda.Stream, cuda.PinnedMemory)
    _kept.extend(one for one in gc.get_objects() if type(one) in owners)
    msg = (
        f"{what}: {first_line(error)}; nothing more can be run on it in this process, so run again in a new "
        'one, or with on="cpu"'
    )
    return DeviceError(msg)
