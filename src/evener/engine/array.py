"""Spread: what differs from partition to partition, as one value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evener.partition.partition import Edges

__all__ = ["Spread", "adjacency"]


class Spread:
    """One array a partition, each in the memory of the element that holds the partition.

    Parameters
    ----------
    parts : sequence
        The arrays, or whatever else differs by partition.
    bits : bool
        Whether they are bitmaps, one bit a vertex.
    """

    __slots__ = ("bits", "parts")

    def __init__(self, parts: Sequence[Any], *, bits: bool = False) -> None:
        self.parts = list(parts)
        self.bits = bits

    @property
    def noun(self) -> str:
        """What an error calls it."""
        return "a bitmap" if self.bits else "an array"

    def overlaps(self, other: Spread) -> bool:
        """Whether some of its parts lie where the other's do, as views of one array."""
        return self is other or any(
            begin < other_end and other_begin < end
            for (begin, end), (other_begin, other_end) in zip(
                map(_extent, self.parts), map(_extent, other.parts), strict=True
            )
        )

    def first(self, lengths: Sequence[int]) -> Spread:
        """The first so many of each part."""
        return Spread([part[:length] for part, length in zip(self.parts, lengths, strict=True)])


def _extent(part: Any) -> tuple[int, int]:
    """The addresses that an array takes up in its memory; none where it is no array."""
    interface = getattr(part, "__array_interface__", None) or getattr(part, "__cuda_array_interface__", None)
    if interface is None:
        return 0, 0
    begin = int(interface["data"][0])
    return begin, begin + int(part.nbytes)


def adjacency(directions: list[Edges | None]) -> tuple[Spread, Spread, Spread]:
    """The offsets, targets and blocks of one direction of each partition's edges; None where it has none."""
    columns: list[list[NDArray[Any] | None]] = [
        [None if edges is None else getattr(edges, name) for edges in directions]
        for name in ("offsets", "targets", "blocks")
    ]
    offsets, targets, blocks = (Spread(column) for column in columns)
    return offsets, targets, blocks
