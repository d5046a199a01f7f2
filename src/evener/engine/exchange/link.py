"""Links: the two directions of a route, each with the ends of a transport and the buffers of its elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from evener.elements.protocols import Element
    from evener.engine.exchange.transport import Receiver, Sender
    from evener.partition.route import Route

__all__ = ["Buffers", "Link"]


class Buffers:
    """Arrays in an element's memory, each allocated on first use and kept for the run."""

    __slots__ = ("_arrays", "element")

    def __init__(self, element: Element) -> None:
        self.element = element
        self._arrays: dict[tuple[str, str], NDArray[Any]] = {}

    def array(
        self, use: str, length: int, dtype: DTypeLike, fill: object | None = None, *, exchanged: bool = True
    ) -> NDArray[Any]:
        """Return the array of shape (length,) for a use and a type; at first undefined, or filled.

        Arrays that are sent or received need `exchanged`.
        """
        key = (use, np.dtype(dtype).char)
        if key not in self._arrays:
            self._arrays[key] = self.element.allocate(length, dtype, fill, exchanged=exchanged)
        return self._arrays[key]

    def bitmap(self, use: str, length: int, *, exchanged: bool = True) -> NDArray[Any]:
        """Return the bitmap for a use, with `length` bits; at first clear."""
        return self.array(use, (length + 63) // 64, "uint64", 0, exchanged=exchanged)


class Link(NamedTuple):
    """One direction of a route, with the ends of its transport.

    The partitions that send and receive are positions on this rank; ELSEWHERE for a partition of another
    rank, whose buffers are missing.
    """

    route: Route
    from_partition: int
    to_partition: int
    outbox: Buffers
    inbox: Buffers
    send_end: Sender
    receive_end: Receiver

    @property
    def in_place(self) -> bool:
        """Whether the receiver reads the sender's own arrays, so that nothing is packed."""
        return self.send_end.in_place
