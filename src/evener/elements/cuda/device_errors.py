"""Translation of CUDA's errors, and references to objects that a failed GPU can no longer free."""

from __future__ import annotations

import ctypes
import gc
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import DeviceError, DeviceOutOfMemory, first_clause
from evener.system.memory import format_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import DTypeLike

__all__ = ["DeviceContext", "failed", "leak_forever", "translate"]

# cudaErrorMemoryAllocation, also in the driver's numbering. The GPU stays usable.
_NO_MEMORY = 2
# Errors of a refused launch, after which the GPU stays usable: invalid values, invalid configuration, no code
# for the device (two), too many resources requested, cooperative launch too large.
_REFUSED = {1, 9, 98, 209, 701, 720}

_kept: list[Any] = []
# An extra reference, so that the objects are not freed at exit either.
ctypes.pythonapi.Py_IncRef(ctypes.py_object(_kept))


def leak_forever(loaded: Any) -> None:
    """Never free an object of a GPU; the driver frees it when the process ends."""
    _kept.append(loaded)


def translate(
    error: BaseException, name: str, doing: str, nbytes: int, free_bytes: Callable[[], int]
) -> Exception | None:
    """Return Evener's error for an error of CUDA, or None for any other error.

    `name` is the element, and `nbytes` the size of the request, 0 if unknown.
    """
    from cupy import cuda

    if isinstance(error, cuda.memory.OutOfMemoryError):
        free = free_bytes()
        needed = f"{doing} needs {format_bytes(nbytes)}" if nbytes else f"{doing} needs more memory"
        msg = (
            f"{name}: {needed}, but {format_bytes(free)} are free; give the GPU a smaller share of "
            'the edges (a larger alpha), or run with on="cpu"'
        )
        return DeviceOutOfMemory(msg, needed=nbytes, available=free)
    if not isinstance(error, cuda.runtime.CUDARuntimeError | cuda.driver.CUDADriverError):
        return None
    if error.status == _NO_MEMORY:
        msg = (
            f"{name}: CUDA has no memory left for {doing}; end other programs on this GPU, or run "
            'with on="cpu"'
        )
        return DeviceOutOfMemory(msg, needed=nbytes, available=0)
    what = f"{name} failed while {doing}"
    if error.status in _REFUSED:
        return DeviceError(f"{what}: {first_clause(error)}")
    return failed(what, error)


def failed(what: str, error: Exception) -> DeviceError:
    """Return the error for a GPU that has failed and is unusable for the rest of this process.

    After a kernel has failed, CUDA answers every call of the process with the same error. CuPy would report
    it for each object that it frees, so existing objects are never freed.
    """
    from cupy import cuda

    owners = (cuda.Event, cuda.Stream, cuda.PinnedMemory)
    _kept.extend(one for one in gc.get_objects() if type(one) in owners)
    msg = (
        f"{what}: {first_clause(error)}; this process cannot use the GPU again; run in a new process, or "
        'with on="cpu"'
    )
    return DeviceError(msg)


class DeviceContext:
    """A context with a GPU as the current one, which translates CUDA's errors.

    A class, because a generator would add a microsecond to each kernel.
    """

    __slots__ = ("_device", "_doing", "_dtype", "_length", "_translator")

    def __init__(
        self,
        device: Any,
        translator: Callable[[BaseException, str, int], Exception | None],
        doing: str,
        length: int,
        dtype: DTypeLike,
    ) -> None:
        self._device = device
        self._translator = translator
        self._doing = doing
        self._length = length
        self._dtype = dtype

    def __enter__(self) -> None:
        try:
            self._device.__enter__()
            self._device.use()  # CUDA counts the first GPU as current in a new thread, which has no context
        except Exception as error:  # after a GPU has failed, CUDA refuses every switch of GPUs
            self._translate(error)
            raise

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            self._device.__exit__(kind, error, trace)
        except Exception as left:  # the GPU that was current before has failed
            if error is None:
                self._translate(left)
                raise
        if error is not None:
            self._translate(error)

    def _translate(self, error: BaseException) -> None:
        nbytes = self._length * np.dtype(self._dtype).itemsize
        translated = self._translator(error, self._doing, nbytes)
        if translated is not None:
            raise translated from error
