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

    def first(self, lengths: Sequence[int]) -> Spread:
        """The first so many of each part."""
        return Spread([part[:length] for part, length in zip(self.parts, lengths, strict=True)])


def adjacency(directions: list[Edges | None]) -> tuple[Spread, Spread, Spread]:
    """The offsets, targets and blocks of one direction of each partition's edges; None where it has none."""
    columns: list[list[NDArray[Any] | None]] = [
        [None if edges is None else getattr(edges, name) for edges in directions]
        for name in ("offsets", "targets", "blocks")
    ]
    offsets, targets, blocks = (Spread(column) for column in columns)
    return offsets, targets, blocks
