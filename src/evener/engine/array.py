"""PartitionedArray: one value with a part for each partition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np

    _Parts = Sequence[Any]
else:
    # Not an abstract class at run time: the engine calls isinstance for every argument of a kernel.
    _Parts = object

__all__ = ["PartitionedArray", "parts_of"]


class PartitionedArray(_Parts):
    """One array for each partition of this rank, in the memory of the partition's element.

    Iterating gives the parts. A part may also be a number or another value that differs by partition.

    Parameters
    ----------
    parts : sequence
        One part for each partition.
    bits : bool
        Whether the parts are bitmaps, with one bit for each vertex.
    """

    __slots__ = ("bits", "parts")

    def __init__(self, parts: Sequence[Any], *, bits: bool = False) -> None:
        self.parts = list(parts)
        self.bits = bits

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, p: Any) -> Any:
        return self.parts[p]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.parts)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the parts' elements."""
        dtype: np.dtype[Any] = self.parts[0].dtype
        return dtype

    @property
    def noun(self) -> str:
        """The name of this kind of array in error messages."""
        return "a bitmap" if self.bits else "an array"

    def overlaps(self, other: PartitionedArray) -> bool:
        """Return whether a part shares memory with the other's part for the same partition."""
        return self is other or any(
            begin < other_end and other_begin < end
            for (begin, end), (other_begin, other_end) in zip(
                map(_extent, self.parts), map(_extent, other.parts), strict=True
            )
        )

    def first(self, lengths: Sequence[int]) -> PartitionedArray:
        """Return views of the first `lengths[p]` elements of each part p."""
        return PartitionedArray([part[:length] for part, length in zip(self.parts, lengths, strict=True)])


def parts_of(args: Sequence[Any], p: int) -> list[Any]:
    """Return the arguments of a kernel for one partition."""
    return [arg.parts[p] if isinstance(arg, PartitionedArray) else arg for arg in args]


def _extent(part: Any) -> tuple[int, int]:
    """Return the addresses where an array begins and ends; zeros for a value that is no array."""
    interface = getattr(part, "__array_interface__", None) or getattr(part, "__cuda_array_interface__", None)
    if interface is None:
        return 0, 0
    begin = int(interface["data"][0])
    return begin, begin + int(part.nbytes)
