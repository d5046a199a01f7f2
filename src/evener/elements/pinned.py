"""Host arrays in page-locked memory, which a GPU copies asynchronously and reads directly."""

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

# cudaErrorInvalidValue, for a size that CUDA refuses, and cudaErrorMemoryAllocation.
_NO_PAGES = (1, 2)
_LARGE_PAGE = 1 << 21


def _release_pages() -> None:
    """Release the pages that CuPy keeps for later."""
    if "cupy" in sys.modules:
        from cupy import get_default_pinned_memory_pool

        get_default_pinned_memory_pool().free_all_blocks()


on_shortage(_release_pages)


def locked_array(length: int, dtype: np.dtype[Any], *, pooled: bool = True) -> NDArray[Any]:
    """Return an undefined array of shape (length,) in page-locked memory.

    With `pooled`, the pages come from CuPy's pool, which has sizes of powers of two. Arrays that every run
    allocates come from the pool, because locking pages is slow.
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
    """Return an array of `length` uint64 in page-locked memory, in large pages if the system has them.

    CUDA allocates small pages, in which random reads of CPU kernels are slower.
    """
    nbytes = length * 8
    with _locking(nbytes):
        require(nbytes, "locking pages for a GPU")  # the system may overcommit
        room = np.empty(nbytes + _LARGE_PAGE, np.uint8)  # NumPy asks for large pages
        begin = -room.ctypes.data % _LARGE_PAGE
        pages = room[begin : begin + nbytes].view(np.uint64)
        # Map the pages now, on all threads.
        fill(pages, np.uint64(0))
        return np.asarray(_Locked(pages))


class _Locked:
    """The owner of locked pages, as NumPy sees it."""

    def __init__(self, pages: NDArray[np.uint64]) -> None:
        from cupy.cuda import runtime

        # Before the call, because an interrupt may arrive as soon as the pages are locked.
        unlocking = finalize(self, _unlock, pages)
        unlocking.atexit = False  # the system unlocks them when the process ends
        try:
            runtime.hostRegister(pages.ctypes.data, pages.nbytes, runtime.hostAllocPortable)
        except runtime.CUDARuntimeError:
            unlocking.detach()
            raise
        self.__array_interface__: dict[str, Any] = pages.__array_interface__


def _unlock(pages: NDArray[np.uint64]) -> None:
    """Unlock pages; the error of a failed GPU is ignored."""
    from cupy.cuda import runtime

    with contextlib.suppress(runtime.CUDARuntimeError):
        runtime.hostUnregister(pages.ctypes.data)


@contextlib.contextmanager
def _locking(nbytes: int) -> Iterator[None]:
    """Translate errors of locking pages."""
    from cupy.cuda import runtime

    try:
        yield
    except (MemoryError, runtime.CUDARuntimeError) as error:
        if getattr(error, "status", _NO_PAGES[0]) not in _NO_PAGES:
            raise failed("a GPU failed while locking pages of the host's memory", error) from error
        msg = (
            f"cannot lock {format_bytes(nbytes)} of host memory for a GPU ({error}); "
            f"{format_bytes(available())} are available; use a smaller graph, or a larger share on the GPU"
        )
        raise DeviceOutOfMemory(msg, needed=nbytes, available=available()) from error
