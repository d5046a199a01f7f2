"""Staging of large arrays for a GPU through a few sets of page-locked memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.elements.pinned import locked_array
from evener.kernels.cpu.fill import copy

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["COPY_BYTES", "Staging"]

# Bytes per copy of a large array.
COPY_BYTES = 1 << 24
# Copies in progress before the pages of the oldest one are reused.
_MAX_COPIES = 2


class Staging:
    """Page-locked host memory: some pages are copied to the GPU while others are written.

    `record` returns an event after all work queued on the GPU so far.
    """

    def __init__(self, record: Callable[[], Any]) -> None:
        self._record = record
        self._copying: list[tuple[NDArray[np.uint8], Any]] = []

    def open(self, length: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return an array to write, in the pages of the oldest copy once enough copies are in progress."""
        nbytes = length * dtype.itemsize
        if len(self._copying) >= _MAX_COPIES:
            pages, sent = self._copying.pop(0)
            sent.synchronize()
            if len(pages) >= nbytes:
                return pages[:nbytes].view(dtype)
        return locked_array(nbytes, np.dtype(np.uint8)).view(dtype)

    def send(self, written: NDArray[Any], skipped: int, target: Any, begin: int) -> None:
        """Begin to copy ``written[skipped:]`` to ``target[begin:]``."""
        values = written[skipped:]
        if len(values):
            part = target[begin : begin + len(values)]
            part.data.copy_from_host_async(values.ctypes.data, values.nbytes)
        self._keep(written)

    def _keep(self, pages: NDArray[Any]) -> Any:
        """Keep pages while they are copied, and return the event after the copy."""
        # The base of all views is the array with the whole pages.
        whole = pages if pages.base is None or not isinstance(pages.base, np.ndarray) else pages.base
        self._copying.append((whole.view(np.uint8), self._record()))
        return self._copying[-1][1]

    def send_all(self, array: NDArray[Any], target: Any) -> None:
        """Copy a large array in pieces; CuPy would lock pages for all of it at once."""
        step = COPY_BYTES // array.itemsize
        for begin in range(0, len(array), step):
            piece = array[begin : begin + step]
            written = self.open(len(piece), array.dtype)
            copy(piece, written)
            self.send(written, 0, target, begin)

    def receive_all(self, source: Any, array: NDArray[Any]) -> None:
        """Copy a large array of the GPU to `array` in pieces; all threads copy each piece from its pages."""
        step = COPY_BYTES // array.itemsize
        arriving: list[tuple[Any, NDArray[Any], NDArray[Any]]] = []
        for begin in range(0, len(array), step):
            target = array[begin : begin + step]
            pages = self.open(len(target), array.dtype)
            source[begin : begin + step].data.copy_to_host_async(pages.ctypes.data, pages.nbytes)
            arriving.append((self._keep(pages), pages, target))
            if len(arriving) == _MAX_COPIES:
                _copy_arrived(*arriving.pop(0))
        for last in arriving:
            _copy_arrived(*last)

    def release(self) -> None:
        """Release all pages; call it after waiting for the GPU."""
        self._copying.clear()


def _copy_arrived(event: Any, pages: NDArray[Any], target: NDArray[Any]) -> None:
    """Copy pages to their target after waiting for the GPU's copy."""
    event.synchronize()
    copy(pages, target)
