"""A pool of large arrays that later runs reuse, because mapping new pages is slow."""

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

__all__ = ["MIN_POOLED_BYTES", "PagePool"]

# Bytes of the smallest pooled array. NumPy's allocator caches smaller ones.
MIN_POOLED_BYTES = 1 << 20
# Share of the available memory that the pool may keep.
_MAX_KEPT_SHARE = 1 / 16


class PagePool:
    """A pool of pages, by size. `make` returns an array of a given number of uint64 in new pages."""

    def __init__(self, make: Callable[[int], NDArray[np.uint64]]) -> None:
        self._make = make
        # By size, least recently returned sizes first.
        self._kept: OrderedDict[int, list[NDArray[np.uint64]]] = OrderedDict()
        self._nbytes = 0
        self._limit: int | None = None
        # Finalizers run at any time, also on a thread that holds the lock. So they only append here, and the
        # next holder of the lock sorts the pages in.
        self._returned: deque[NDArray[np.uint64]] = deque()
        self._lock = Lock()

    @property
    def nbytes(self) -> int:
        """Bytes that the pool keeps."""
        with self._lock:
            self._settle()
            return self._nbytes

    def take(self, nbytes: int) -> NDArray[np.uint64]:
        """Return an undefined array of at least `nbytes`, whose pages return here with its last view.

        Raise OutOfMemoryError if the system has no memory, also after the pool has released its pages.
        """
        nbytes = _rounded(nbytes)
        with self._lock:
            self._settle()
            pages = self._pop(nbytes) if nbytes in self._kept else None
        if pages is None:
            try:
                pages = self._make(nbytes // 8)
            except MemoryError:
                self.clear()
                pages = self._make_checked(nbytes)
        return np.asarray(_Borrowed(self, pages))

    def _make_checked(self, nbytes: int) -> NDArray[np.uint64]:
        """Return new pages."""
        try:
            return self._make(nbytes // 8)
        except OutOfMemoryError:
            raise
        except MemoryError as error:
            raise allocation_error(nbytes) from error

    def keep(self, pages: NDArray[np.uint64]) -> None:
        """Keep pages for later; release the least recently returned sizes beyond the limit."""
        self._returned.append(pages)
        if self._lock.acquire(blocking=False):
            try:
                self._settle()
            finally:
                self._lock.release()

    def clear(self) -> None:
        """Release all pages."""
        with self._lock:
            self._returned.clear()
            self._kept.clear()
            self._nbytes = 0

    def _settle(self) -> None:
        """Sort in the pages that finalizers returned."""
        while self._returned:
            pages = self._returned.popleft()
            if self._limit is None:  # queried once, because the query is slow
                self._limit = int(_MAX_KEPT_SHARE * available())
            if pages.nbytes > self._limit:
                continue
            self._kept.setdefault(pages.nbytes, []).append(pages)
            self._kept.move_to_end(pages.nbytes)
            self._nbytes += pages.nbytes
            while self._nbytes > self._limit:
                self._pop(next(iter(self._kept)))

    def _pop(self, nbytes: int) -> NDArray[np.uint64]:
        """Remove pages of a size from the pool, and return them."""
        of_size = self._kept[nbytes]
        pages = of_size.pop()
        if not of_size:
            del self._kept[nbytes]
        self._nbytes -= nbytes
        return pages


class _Borrowed:
    """The owner of a borrowed array's memory, as NumPy sees it."""

    def __init__(self, pool: PagePool, pages: NDArray[np.uint64]) -> None:
        self.__array_interface__: dict[str, Any] = pages.__array_interface__
        # At exit the pool's own objects are gone.
        finalize(self, pool.keep, pages).atexit = False


def _rounded(nbytes: int) -> int:
    """Round up to an eighth of a power of two, so that similar sizes share pages."""
    step = 1 << max(nbytes.bit_length() - 4, 3)
    return -(-nbytes // step) * step
