"""Large arrays on their way to a GPU: through a few sets of locked pages, for which nobody waits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.elements.pinned import locked_array

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["LARGE", "Staging"]

# Bytes of a large array copied to the GPU at a time, and how many sets of pages may be on their way before
# the first of them is written again; those that are being written come on top.
LARGE, _SETS = 1 << 27, 2


class Staging:
    """Locked pages of the host's memory: some are copied to the GPU while others are written.

    Parameters
    ----------
    mark_now : callable
        Gives an event behind all that the GPU has been given.
    """

    def __init__(self, mark_now: Callable[[], Any]) -> None:
        self._mark_now = mark_now
        self._under_way: list[tuple[NDArray[np.uint8], Any]] = []

    def open(self, length: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        """An array to write: once enough are under way, in the pages of the first, when it is there."""
        nbytes = length * dtype.itemsize
        if len(self._under_way) >= _SETS:
            pages, sent = self._under_way.pop(0)
            sent.synchronize()
            if len(pages) >= nbytes:
                return pages[:nbytes].view(dtype)
        return locked_array(nbytes, np.dtype(np.uint8)).view(dtype)

    def send(self, written: NDArray[Any], skipped: int, held: Any, begin: int) -> None:
        """Begin to copy what was written, but for the first `skipped`, to ``held[begin:]``."""
        values = written[skipped:]
        if len(values):
            target = held[begin : begin + len(values)]
            target.data.copy_from_host_async(values.ctypes.data, values.nbytes)
        # What was written is a part of its pages, which are the array that all views of them lead to.
        pages = written if written.base is None or not isinstance(written.base, np.ndarray) else written.base
        self._under_way.append((pages.view(np.uint8), self._mark_now()))

    def send_all(self, array: NDArray[Any], held: Any) -> None:
        """Copy a large array in pieces; of all at once CuPy would lock as many pages again."""
        step = LARGE // array.itemsize
        for begin in range(0, len(array), step):
            piece = array[begin : begin + step]
            written = self.open(len(piece), array.dtype)
            np.copyto(written, piece)
            self.send(written, 0, held, begin)

    def give_up(self) -> None:
        """Give up the pages, once all of them are on the GPU."""
        self._under_way.clear()
