"""Arrays with one part in host memory and the rest in GPU memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import DTypeLike

__all__ = ["TieredArray"]


class TieredArray:
    """A read-only array with its first part in host memory and the rest in GPU memory.

    Kernels read the host's part across the bus (zero-copy, T13 §8). It holds the rows of highest degree:
    reads of long rows use the bus best, and bottom-up searches read few edges of these rows.

    Parameters
    ----------
    host_part : ndarray
        The first values, in page-locked memory; may be empty.
    device_part : cupy.ndarray
        The remaining values.
    prefixes : cupy.ndarray, shape (rows, PREFIX_EDGES), optional
        A copy of the first values of each of the first rows: see `evener.partition.footprint.Tiers`.
    """

    def __init__(self, host_part: Any, device_part: Any, prefixes: Any = None) -> None:
        self.host_part = host_part
        self.device_part = device_part
        self.prefixes = prefixes
        self._pointers: tuple[int, int, int, int, int, int] | None = None

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of both parts."""
        return self.device_part.dtype  # type: ignore[no-any-return] # CuPy has no types

    @property
    def itemsize(self) -> int:
        """Bytes of a value."""
        return int(self.device_part.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        """Bytes of both parts and of the prefixes."""
        return int(
            self.host_part.nbytes
            + self.device_part.nbytes
            + (0 if self.prefixes is None else self.prefixes.nbytes)
        )

    def __len__(self) -> int:
        return len(self.host_part) + len(self.device_part)

    def view(self, dtype: DTypeLike) -> TieredArray:
        """Return the same bytes as another type of equal size."""
        prefixes = None if self.prefixes is None else self.prefixes.view(dtype)
        return TieredArray(self.host_part.view(dtype), self.device_part.view(dtype), prefixes)

    def with_prefixes(self, prefixes: Any) -> TieredArray:
        """Return the same values with other prefixes, or with None."""
        return TieredArray(self.host_part, self.device_part, prefixes)

    def pointers(self) -> tuple[int, int, int, int, int, int]:
        """Return the fields of a kernel's `Tiered` argument, in their order.

        These are the addresses of value 0 in GPU memory and in host memory; the length of the host's part,
        and of the whole array; the address of the prefixes, and the number of rows that have one.
        """
        if self._pointers is None:  # computed once, because every launch needs them
            split = len(self.host_part)
            # Kernels read the GPU's memory only from value `split` on.
            device = (int(self.device_part.data.ptr) - split * self.itemsize) % (1 << 64)
            host = int(self.host_part.ctypes.data) if split else device
            prefixes = (0, 0) if self.prefixes is None else (int(self.prefixes.data.ptr), len(self.prefixes))
            self._pointers = device, host, split, len(self), *prefixes
        return self._pointers
