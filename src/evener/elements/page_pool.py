"""Large arrays that one run gives up and the next takes: fresh pages take longer than writing to them."""

from __future__ import annotations

from collections import OrderedDict, deque
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import finalize

import numpy as np

from evener.errors import OutOfMemoryError
from evener.system.memory import allocation_error, available

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["LEAST", "Pool"]

# Smaller arrays are the allocator's, which keeps them itself. Filling 64 MiB on two threads takes 10 ms in
# fresh pages, 3 ms in these.
LEAST = 1 << 20
# The part of the memory at hand that may be kept for later. A run's state is some tens of bytes a vertex, its
# graph mostly hundreds: a run that leaves more than this has a graph that hardly fits.
_KEPT = 1 / 16


class Pool:
    """Pages that were given up, by size.

    Parameters
    ----------
    make : callable
        Gives an array of so many uint64 in fresh pages.
    """

    def __init__(self, make: Callable[[int], NDArray[np.uint64]]) -> None:
        self._make = make
        # By size, those first of which none has been given up for the longest time.
        self._kept: OrderedDict[int, list[NDArray[np.uint64]]] = OrderedDict()
        self._nbytes = 0
        self._most: int | None = None
        # The end of an array may come at any moment, on any thread, and while that looks for pages here: so
        # what is given up waits in line, which nothing interrupts, until somebody has the lock.
        self._given_up: deque[NDArray[np.uint64]] = deque()
        self._lock = Lock()

    @property
    def nbytes(self) -> int:
        """What is kept for later."""
        with self._lock:
            self._settle()
            return self._nbytes

    def words(self, nbytes: int) -> NDArray[np.uint64]:
        """An undefined array of `nbytes` or more; when it and all its views are gone its pages are kept.

        Raises
        ------
        OutOfMemoryError
            If the system gives no pages, even with those back that were kept.
        """
        nbytes = _rounded(nbytes)
        with self._lock:
            self._settle()
            pages = self._take(nbytes) if nbytes in self._kept else None
        if pages is None:
            try:
                pages = self._make(nbytes // 8)
            except MemoryError:
                self.clear()
                pages = self._made(nbytes)
        return np.asarray(_Lease(self, pages))

    def _made(self, nbytes: int) -> NDArray[np.uint64]:
        """Fresh pages."""
        try:
            return self._make(nbytes // 8)
        except OutOfMemoryError:
            raise
        except MemoryError as error:
            raise allocation_error(nbytes) from error

    def keep(self, pages: NDArray[np.uint64]) -> None:
        """Keep pages for later; once they are too many, give up some of a size long out of use."""
        self._given_up.append(pages)
        if self._lock.acquire(blocking=False):
            try:
                self._settle()
            finally:
                self._lock.release()

    def clear(self) -> None:
        """Give up all that is kept."""
        with self._lock:
            self._given_up.clear()
            self._kept.clear()
            self._nbytes = 0

    def _settle(self) -> None:
        """Put away what waits in line."""
        while self._given_up:
            pages = self._given_up.popleft()
            if self._most is None:  # asked once, for asking takes longer than filling a small array
                self._most = int(_KEPT * available())
            if pages.nbytes > self._most:
                continue
            self._kept.setdefault(pages.nbytes, []).append(pages)
            self._kept.move_to_end(pages.nbytes)
            self._nbytes += pages.nbytes
            while self._nbytes > self._most:
                self._take(next(iter(self._kept)))

    def _take(self, nbytes: int) -> NDArray[np.uint64]:
        """Pages of a size of which some are kept; not kept any more."""
        of_size = self._kept[nbytes]
        pages = of_size.pop()
        if not of_size:
            del self._kept[nbytes]
        self._nbytes -= nbytes
        return pages


class _Lease:
    """What NumPy takes for the owner of an array's memory."""

    def __init__(self, pool: Pool, pages: NDArray[np.uint64]) -> None:
        self.__array_interface__: dict[str, Any] = pages.__array_interface__
        # Not as the process ends: then nothing is kept, and what keeping needs is gone.
        finalize(self, pool.keep, pages).atexit = False


def _rounded(nbytes: int) -> int:
    """The next eighth of a power of two, so that arrays of almost one size take each other's pages."""
    step = 1 << max(nbytes.bit_length() - 4, 3)
    return -(-nbytes // step) * step
