"""MPI messages between hosts: packets pass through the memory of both hosts, page-locked for GPUs.

Each packet is one message, and its receive is posted before the packet is sent. A packet with all values, or
with bits, has the same length every time: the message is the array itself, and arrives at its final place on
a CPU. A packet of changes differs in length: the message is a head, then the positions or flags, then the
values.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.engine.exchange.packet import (
    HEAD_BYTES,
    Packet,
    has_head,
    longest_message,
    message_bytes,
    place_arrays,
)
from evener.engine.exchange.transport import Receiver, Sender

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.elements.protocols import Element
    from evener.engine.exchange.packet import Arrays
    from evener.engine.exchange.remote import FarEnd

__all__ = ["HostReceiver", "HostSender"]

# Buffers of an end. The exchange of one superstep may still use one while the next packet is sent.
_TURNS = 2


class _Buffers:
    """Host memory for messages, used in turns: an array for each turn, and the copies that still use it."""

    def __init__(self, element: Element) -> None:
        self._element = element
        self._turn = 0
        self._arrays = [np.empty(0, np.uint8)] * _TURNS
        self.copies: list[list[Any]] = [[] for _ in range(_TURNS)]

    def take(self, nbytes: int) -> tuple[NDArray[np.uint8], list[Any]]:
        """Return the array of the next turn, and its list of copies, after waiting for the last copies."""
        self._turn = (self._turn + 1) % _TURNS
        copies = self.copies[self._turn]
        wait_for_copies(copies)
        last = self._arrays[self._turn]
        if len(last) < nbytes:
            self._arrays[self._turn] = self._element.allocate_staging(max(nbytes, 2 * len(last)))
        return self._arrays[self._turn][:nbytes], copies


def wait_for_copies(copies: list[Any]) -> None:
    """Wait on the host for copies, and forget them."""
    for copied in copies:
        if copied is not None:
            copied.wait()
    copies.clear()


class HostSender(Sender):
    """The sending end of a link to another rank."""

    def __init__(self, far: FarEnd, element: Element) -> None:
        self._far = far
        self._element = element
        self._buffers = _Buffers(element)
        # Messages that are not posted yet, with the copies from the GPU to wait for.
        self._copying: list[tuple[NDArray[Any], list[Any]]] = []

    def send(self, packet: Packet) -> None:
        """Begin to copy the packet to the host.

        Arrays that a CPU sends must not change until `World.wait`.
        """
        arrays = list(packet.arrays.values())
        begin = HEAD_BYTES * has_head(packet.arrays)
        if self._element.addressable and not begin:
            self._copying.append((arrays[0], []))
            return
        message, copies = self._buffers.take(begin + message_bytes(arrays))
        if begin:
            packet.write_head(message)
        for array, place in place_arrays(arrays, begin):
            target = message[place].view(array.dtype)
            copies.append(self._element.copy_out(array, target))
        self._copying.append((message if begin else target, copies))

    def take_posted(self) -> list[Any]:
        """Post the packets sent since the last call, after their copies; return what `World.wait` needs."""
        posted = []
        for message, copies in self._copying:
            wait_for_copies(copies)
            posted.append(self._far.world.post(self._far.rank, self._far.tag, message))
        self._copying.clear()
        return posted


class _Expected(NamedTuple):
    """A packet that will arrive.

    The message arrives in host memory, and `posted` is its receive. The receiver's element needs the arrays
    in `targets`. Later messages wait for the copies from this one.
    """

    targets: Arrays
    message: NDArray[Any]
    copies: list[Any]
    posted: Any


class HostReceiver(Receiver):
    """The receiving end of a link from another rank."""

    def __init__(self, far: FarEnd, element: Element) -> None:
        self._far = far
        self._element = element
        self._buffers = _Buffers(element)
        self._expected: deque[_Expected] = deque()

    def expect(self, targets: Arrays) -> None:
        """Begin to receive the next packet."""
        message: NDArray[Any]
        copies: list[Any] = []
        if has_head(targets):
            message, copies = self._buffers.take(longest_message(targets))
        else:
            (message,) = targets.values()
            if not self._element.addressable:
                pages, copies = self._buffers.take(message.nbytes)
                message = pages.view(message.dtype)
        posted = self._far.world.expect(self._far.rank, self._far.tag, message)
        self._expected.append(_Expected(targets, message, copies, posted))

    def receive(self) -> Packet:
        """Return the oldest packet, after waiting for it."""
        targets, message, copies, posted = self._expected.popleft()
        self._far.world.wait([posted])
        begin = HEAD_BYTES * has_head(targets)
        if self._element.addressable and not begin:
            return Packet(targets)
        content = message.view(np.uint8)
        packet = Packet.arriving(targets, content if begin else None)
        uses, arrays = list(packet.arrays), list(packet.arrays.values())
        for use, (target, place) in zip(uses, place_arrays(arrays, begin), strict=True):
            arrived = content[place].view(target.dtype)
            if self._element.addressable:
                packet.arrays[use] = arrived
            else:
                copies.append(self._element.copy_in(arrived, target))
                self._element.wait_for(copies[-1])
        return packet
