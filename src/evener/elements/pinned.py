"""Host arrays in pinned pages, which a GPU copies from and to asynchronously and can read directly."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any
from weakref import finalize

import numpy as np

from evener.elements.cuda.device_errors import failed
from evener.errors import DeviceOutOfMemory
from evener.kernels.cpu.fill import fill
from evener.system.memory import available, format_bytes, on_shortage, require

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["locked_array", "locked_words"]

# cudaErrorInvalidValue, where the size alone is refused, and cudaErrorMemoryAllocation.
_NO_PAGES = (1, 2)
_LARGE_PAGE = 1 << 21


def _give_up_pages() -> None:
    """Unlock the pages that CuPy keeps for later."""
    if "cupy" in sys.modules:
        from cupy import get_default_pinned_memory_pool

        get_default_pinned_memory_pool().free_all_blocks()


on_shortage(_give_up_pages)


def locked_array(length: int, dtype: np.dtype[Any], *, pooled: bool = True) -> NDArray[Any]:
    """An array whose pages stay where they are, so that a GPU can copy from and to it by itself, and read it.

    Locking takes long, so a pool keeps what is given up, in sizes of powers of two; `pooled` is for what is
    made again and again.

    Raises
    ------
    DeviceOutOfMemory
        If the system does not lock so many pages.
    DeviceError
        If the GPU has failed, and with it all that CUDA does in this process.
    """
    from cupy import cuda

    nbytes = length * dtype.itemsize
    with _locking(nbytes):
        pages = (
            cuda.alloc_pinned_memory(nbytes)
            if pooled
            else cuda.PinnedMemoryPointer(cuda.PinnedMemory(nbytes), 0)
        )
    return np.frombuffer(pages, dtype, length)


def locked_words(length: int) -> NDArray[np.uint64]:
    """An array in large pages where the system has them, locked: CUDA's own are small ones.

    Kernels of the CPU that read here and there take a fifth less time in large pages: an iteration of
    PageRank on a third of R-MAT 24, 15 cores, takes 30 ms there and 36 ms in small ones.

    Raises
    ------
    DeviceOutOfMemory, DeviceError
        As `locked_array`.
    """
    nbytes = length * 8
    with _locking(nbytes):
        require(nbytes, "locking pages for a GPU")  # for the system may promise more than it has
        room = np.empty(nbytes + _LARGE_PAGE, np.uint8)  # of which NumPy asks the system for large pages
        begin = -room.ctypes.data % _LARGE_PAGE
        pages = room[begin : begin + nbytes].view(np.uint64)
        # So that they are there: on all threads, for the system may take long to give a page.
        fill(pages, np.uint64(0))
        return np.asarray(_Locked(pages))


class _Locked:
    """What NumPy takes for the owner of pages that are locked as long as it is there."""

    def __init__(self, pages: NDArray[np.uint64]) -> None:
        from cupy.cuda import runtime

        # First, for whoever interrupts this is heard as soon as they are locked.
        unlocking = finalize(self, _unlock, pages)
        unlocking.atexit = False  # as the process ends the system unlocks them
        try:
            runtime.hostRegister(pages.ctypes.data, pages.nbytes, runtime.hostAllocPortable)
        except runtime.CUDARuntimeError:
            unlocking.detach()
            raise
        self.__array_interface__: dict[str, Any] = pages.__array_interface__


def _unlock(pages: NDArray[np.uint64]) -> None:
    """Unlock pages, which go with this; a GPU that has failed answers nothing any more."""
    from cupy.cuda import runtime

    with contextlib.suppress(runtime.CUDARuntimeError):
        runtime.hostUnregister(pages.ctypes.data)


@contextlib.contextmanager
def _locking(nbytes: int) -> Iterator[None]:
    """Say in a sentence why pages cannot be locked."""
    from cupy.cuda import runtime

    try:
        yield
    except (MemoryError, runtime.CUDARuntimeError) as error:
        if getattr(error, "status", _NO_PAGES[0]) not in _NO_PAGES:
            raise failed("a GPU failed while locking pages of the host's memory", error) from error
        msg = (
            f"{format_bytes(nbytes)} of the host's memory cannot be locked for a GPU to read ({error}), with "
            f"{format_bytes(available())} at hand; take a smaller graph, or give the GPU more of it"
        )
        raise DeviceOutOfMemory(msg, needed=nbytes, available=available()) from error
