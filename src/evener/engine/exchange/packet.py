"""Packet: the arrays that a link carries at once, and their places in a message to another rank.

A packet with all values, or with bits, has one array, whose length is the same every time. A packet of
changes has several arrays or none. Their lengths differ, so its message begins with a head.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    # Arrays of a packet by use: "positions" (uint32, from the route's first mirror) or "flags" (a bitmap),
    # then "values".
    Arrays = dict[str, NDArray[Any]]

__all__ = ["HEAD_BYTES", "Packet", "has_head", "longest_message", "message_bytes", "place_arrays"]

# Bytes of the head of a message. Each array begins at a multiple of 8 bytes.
HEAD_BYTES, _ALIGNED = 8, 8
# In the head of a packet that is not sparse.
_DENSE = -1


class Packet(NamedTuple):
    """Boundary values that are sent along a link, and the bytes that the sender counts.

    There are no arrays if no value changed, and for a receiver that reads the sender's own arrays.
    """

    arrays: Arrays
    nbytes: int = 0

    @property
    def sparse(self) -> bool:
        """Whether the packet lists the positions of its values."""
        return "positions" in self.arrays or not self.arrays

    def write_head(self, message: NDArray[np.uint8]) -> None:
        """Write the number of listed values to the first bytes of a message."""
        listed = len(self.arrays.get("positions", ())) if self.sparse else _DENSE
        message[:HEAD_BYTES].view(np.int64)[0] = listed

    @classmethod
    def arriving(cls, targets: Arrays, message: NDArray[np.uint8] | None = None) -> Packet:
        """Return the packet that fills `targets`, given a message that begins with its head, if any."""
        listed = _DENSE if message is None else int(message[:HEAD_BYTES].view(np.int64)[0])
        if listed == _DENSE:
            return cls({use: targets[use] for use in ("flags", "values") if use in targets})
        return cls({use: targets[use][:listed] for use in ("positions", "values")} if listed else {})


def has_head(arrays: Arrays) -> bool:
    """Return whether packets with these arrays, or for these targets, differ in length."""
    return len(arrays) != 1


def message_bytes(arrays: Iterable[NDArray[Any]]) -> int:
    """Return the bytes of arrays in a message."""
    return sum(-(-array.nbytes // _ALIGNED) * _ALIGNED for array in arrays)


def longest_message(targets: Arrays) -> int:
    """Return the most bytes of a message of changes, given arrays for all of them.

    A packet of positions has fewer bytes than a packet of flags, except for the alignment of its two arrays.
    """
    return HEAD_BYTES + message_bytes([targets["flags"], targets["values"]]) + 2 * _ALIGNED


def place_arrays(arrays: Iterable[NDArray[Any]], begin: int = 0) -> Iterator[tuple[NDArray[Any], slice]]:
    """Yield each array with its place in a message, from the byte `begin` on."""
    for array in arrays:
        yield array, slice(begin, begin + array.nbytes)
        begin += message_bytes([array])
