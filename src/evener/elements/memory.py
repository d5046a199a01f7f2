"""Arrays that lie in two memories: what a GPU holds of its edges, and what it reads from the host's."""

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
    """

    def __init__(self, far: Any, near: Any) -> None:
        self.far = far
        self.near = near

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
        """Bytes of both parts."""
        return int(self.far.nbytes + self.near.nbytes)

    def __len__(self) -> int:
        return len(self.far) + len(self.near)

    def view(self, dtype: DTypeLike) -> TieredArray:
        """The same bytes as values of another type of that size."""
        return TieredArray(self.far.view(dtype), self.near.view(dtype))

    def pointers(self) -> tuple[int, int, int, int]:
        """What a kernel needs: where value 0 would be in either memory, where the near begin, how many."""
        split = len(self.far)
        # No edge before the near ones is read there, and without near ones none at all.
        near = (int(self.near.data.ptr) - split * self.itemsize) % (1 << 64)
        return near, int(self.far.ctypes.data) if split else near, split, len(self)
