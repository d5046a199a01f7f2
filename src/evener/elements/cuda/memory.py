"""Arrays of which one part is in host memory and the rest in GPU memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import DTypeLike

__all__ = ["TieredArray"]


class TieredArray:
    """A read-only array whose first part lies in the host's memory and the rest in a GPU's.

    The host's part is *mapped*: kernels read it across the bus as they go (T13 §8). It is the first one, as
    that holds the rows of highest degree: their edges are read in long runs, which the bus serves best, and
    searches that step up rarely read more than the first few of each.

    Parameters
    ----------
    far : ndarray
        The first values, in page-locked memory of the host; empty if all are near.
    near : cupy.ndarray
        The others.
    heads : cupy.ndarray, shape (rows, HEAD), optional
        The first few values of each of the first rows once more: see `evener.partition.footprint.Tiers`.
    """

    def __init__(self, far: Any, near: Any, heads: Any = None) -> None:
        self.far = far
        self.near = near
        self.heads = heads
        self._pointers: tuple[int, int, int, int, int, int] | None = None

    @property
    def dtype(self) -> np.dtype[Any]:
        """That of both parts."""
        return self.near.dtype  # type: ignore[no-any-return] # CuPy has no types

    @property
    def itemsize(self) -> int:
        """Bytes of a value."""
        return int(self.near.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        """Bytes of both parts, and of the heads."""
        return int(self.far.nbytes + self.near.nbytes + (0 if self.heads is None else self.heads.nbytes))

    def __len__(self) -> int:
        return len(self.far) + len(self.near)

    def view(self, dtype: DTypeLike) -> TieredArray:
        """The same bytes as values of another type of that size."""
        heads = None if self.heads is None else self.heads.view(dtype)
        return TieredArray(self.far.view(dtype), self.near.view(dtype), heads)

    def with_heads(self, heads: Any) -> TieredArray:
        """The same values with these heads, or with None."""
        return TieredArray(self.far, self.near, heads)

    def pointers(self) -> tuple[int, int, int, int, int, int]:
        """What a kernel needs.

        Where value 0 would be in either memory, where the near begin, and how many there are in all; where
        the heads are, and of how many rows.
        """
        if self._pointers is None:  # worked out once: every launch asks
            split = len(self.far)
            # No edge before the near ones is read there, and without near ones none at all.
            near = (int(self.near.data.ptr) - split * self.itemsize) % (1 << 64)
            far = int(self.far.ctypes.data) if split else near
            heads = (0, 0) if self.heads is None else (int(self.heads.data.ptr), len(self.heads))
            self._pointers = near, far, split, len(self), *heads
        return self._pointers
