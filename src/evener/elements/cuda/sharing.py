"""Memory and events of a GPU that other processes on the machine use, through CUDA's interprocess calls."""

from __future__ import annotations

import ctypes
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.errors import DeviceError, first_clause

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["GpuSharing"]


# Bytes of the driver's pages. A handle of a smaller allocation opens other allocations of its page too.
_PAGE = 1 << 21


@cache
def _driver() -> Any:
    return ctypes.CDLL("libcuda.so.1")


class _Event(NamedTuple):
    """An event of another process: the address that CuPy's streams wait for."""

    ptr: int


class GpuSharing:
    """Memory and events of one GPU that other processes use by their handles.

    A method that cannot open a handle raises DeviceError. The GPU stays usable.
    """

    def __init__(self, index: int, device: Any) -> None:
        self._index = index
        self._device = device

    def allocate(self, nbytes: int) -> tuple[NDArray[np.uint8], bytes]:
        """Return an undefined array and its handle. The memory is never freed.

        It is outside of CuPy's pool, because a handle names a whole allocation.
        """
        import cupy

        runtime, length = cupy.cuda.runtime, -(-nbytes // _PAGE) * _PAGE
        with self._current(f"allocating {nbytes} bytes to share"):
            try:
                address = runtime.malloc(length)
            except runtime.CUDARuntimeError:
                cupy.get_default_memory_pool().free_all_blocks()
                address = runtime.malloc(length)
            return self._array(address, nbytes), bytes(runtime.ipcGetMemHandle(address))

    def open(self, handle: bytes, nbytes: int) -> NDArray[np.uint8]:
        """Return the array of another process with this handle and length."""
        array: NDArray[np.uint8] = self._array(self.address(handle), nbytes)
        return array

    def address(self, handle: bytes) -> int:
        """Return the address, in this process, of the allocation of another process with this handle."""
        from cupy.cuda import runtime

        with self._current("opening memory of another process"):
            return int(runtime.ipcOpenMemHandle(handle))

    def export(self, array: Any) -> tuple[bytes, int]:
        """Return the handle of the allocation that holds an array, and the array's offset in it."""
        from cupy.cuda import runtime

        base, pointer = ctypes.c_void_p(), array.data.ptr
        with self._current("sharing an array"):
            failed = _driver().cuMemGetAddressRange_v2(ctypes.byref(base), None, ctypes.c_void_p(pointer))
            if failed or base.value is None:
                msg = f"cuda:{self._index} cannot share an array: the driver reports error {failed}"
                raise DeviceError(msg)
            return bytes(runtime.ipcGetMemHandle(base.value)), pointer - base.value

    def _array(self, address: int, nbytes: int) -> Any:
        import cupy

        memory = cupy.cuda.UnownedMemory(address, nbytes, None, self._index)
        return cupy.ndarray(nbytes, np.uint8, cupy.cuda.MemoryPointer(memory, 0))

    def event(self) -> tuple[Any, bytes]:
        """Return an event without a time, as other processes need, and its handle."""
        from cupy import cuda

        with self._current("creating an event"):
            event = cuda.Event(disable_timing=True, interprocess=True)
            return event, bytes(cuda.runtime.ipcGetEventHandle(event.ptr))

    def open_event(self, handle: bytes) -> _Event:
        """Return the event of another process, for `copy_from` and `wait_for_peer`."""
        from cupy.cuda import runtime

        with self._current("opening an event of another process"):
            return _Event(runtime.ipcOpenEventHandle(handle))

    def record(self, event: Any) -> None:
        """Let an event of `event` occur after all work queued so far."""
        with self._current("recording an event"):
            event.record()

    def copy(self, source: Any, target: Any) -> None:
        """Copy the bytes of an array of this GPU to another one, after all work queued so far."""
        with self._current("copying an array"):
            target.data.copy_from_device_async(source.data, source.nbytes)

    @contextmanager
    def _current(self, doing: str) -> Iterator[None]:
        """Make this GPU the current one, and translate CUDA's errors. The GPU stays usable."""
        from cupy.cuda import runtime

        try:
            with self._device:
                yield
        except runtime.CUDARuntimeError as error:
            msg = f"cuda:{self._index} failed while {doing}: {first_clause(error)}"
            raise DeviceError(msg) from error
