"""Where a GPU fails: the error to raise, and what it leaves behind, objects that cannot be freed any more."""

from __future__ import annotations

import ctypes
import gc
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import DeviceError, DeviceOutOfMemory, first_clause
from evener.system.memory import format_bytes

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from evener.elements.cuda.element import CudaElement

__all__ = ["Guard", "failed", "keep", "meaning"]

# cudaErrorMemoryAllocation, and the driver's number for it: unlike most, it leaves the GPU usable.
_NO_MEMORY = 2
# As do these, by which the driver refuses a launch: invalid values, an invalid configuration, no code for the
# device (two), too many registers or too much shared memory, too many blocks that wait for one another.
_REFUSED = {1, 9, 98, 209, 701, 720}

_kept: list[Any] = []
# One reference that nobody gives back, so that what is kept is not freed as the process ends either.
ctypes.pythonapi.Py_IncRef(ctypes.py_object(_kept))


def keep(loaded: Any) -> None:
    """Never free something of a GPU's: as the process ends, the driver does."""
    _kept.append(loaded)


def meaning(element: CudaElement, error: BaseException, doing: str, nbytes: int) -> Exception | None:
    """What an error of CUDA's means on a GPU, as one of ours; None for another's.

    `nbytes` are those that were asked for, 0 if it is not known.
    """
    from cupy import cuda

    if isinstance(error, cuda.memory.OutOfMemoryError):
        free = element.free_bytes()
        more = f"{format_bytes(nbytes)} more are" if nbytes else "more is"
        msg = (
            f"{element.name} has {format_bytes(free)} free and {more} needed; give it a smaller share of the "
            'edges (a larger alpha), run with on="cpu", or take a GPU with more memory'
        )
        return DeviceOutOfMemory(msg, needed=nbytes, available=free)
    if not isinstance(error, cuda.runtime.CUDARuntimeError | cuda.driver.CUDADriverError):
        return None
    if error.status == _NO_MEMORY:
        msg = f'{element.name} has no memory for {doing}; end what else runs there, or take on="cpu"'
        return DeviceOutOfMemory(msg, needed=nbytes, available=0)
    what = f"{element.name} failed while {doing}"
    if error.status in _REFUSED:
        return DeviceError(f"{what}: {first_clause(error)}")
    return failed(what, error)


def failed(what: str, error: Exception) -> DeviceError:
    """The error for a GPU that fails at something, in a sentence.

    From a kernel's failure on, CUDA answers every call of this process with it. Freeing is such a call, of
    which CuPy would complain on standard error, once for each object; so what there is now is never freed.
    """
    from cupy import cuda

    owners = (cuda.Event, cuda.Stream, cuda.PinnedMemory)
    _kept.extend(one for one in gc.get_objects() if type(one) in owners)
    msg = (
        f"{what}: {first_clause(error)}; nothing more can be run on it in this process, so run again in a "
        'new one, or with on="cpu"'
    )
    return DeviceError(msg)


class Guard:
    """A block on a GPU as the current one, with its errors said in sentences.

    A class, as a generator takes a microsecond more: each kernel passes here twice, and lasts ten.
    """

    __slots__ = ("_device", "_doing", "_dtype", "_element", "_length")

    def __init__(self, element: CudaElement, device: Any, doing: str, length: int, dtype: DTypeLike) -> None:
        self._element = element
        self._device = device
        self._doing = doing
        self._length = length
        self._dtype = dtype

    def __enter__(self) -> None:
        try:
            self._device.__enter__()
        except Exception as error:  # once a GPU is lost, no other becomes the current one
            self._say(error)
            raise

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            self._device.__exit__(kind, error, trace)
        except Exception as left:  # that which was the current one before cannot be it any more
            if error is None:
                self._say(left)
                raise
        if error is not None:
            self._say(error)

    def _say(self, error: BaseException) -> None:
        said = self._element.said(error, self._doing, self._length * np.dtype(self._dtype).itemsize)
        if said is not None:
            raise said from error
