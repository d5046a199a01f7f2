"""Links between ranks: packets pass through the memory of both hosts, as messages of the world.

Each packet is one message, and its receive is posted before the packet is sent. A packet with all values, or
with bits, has the same length every time: the message is the array itself, and arrives at its final place. A
packet of changes differs in length: the message is a head, then the positions or flags, then the values.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.engine.exchange.encoding import Encoding, Packet

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.elements.protocols import Element
    from evener.system.world import World

    Arrays = dict[str, NDArray[Any]]

__all__ = ["NO_END", "RemoteReceiver", "RemoteSender"]

_ENCODINGS = list(Encoding)
# Bytes of the head of a packet of changes: encoding, count, bytes. Arrays begin at multiples of 8 bytes.
_HEAD, _ALIGNED = 24, 8


def _aligned(nbytes: int) -> int:
    return -(-nbytes // _ALIGNED) * _ALIGNED


class RemoteSender:
    """The sending end of a link to another rank.

    Parameters
    ----------
    world : World
    rank, tag : int
        The other rank, and the number of the link, which both ranks know.
    element : Element
        The element that sends.
    """

    in_place = False

    def __init__(self, world: World, rank: int, tag: int, element: Element) -> None:
        self._world = world
        self._rank = rank
        self._tag = tag
        self._element = element
        self._posted: list[Any] = []
        self._message = np.empty(0, np.uint8)

    def send(self, packet: Packet) -> None:
        """Post the packet. Arrays that a CPU sends must not change until `World.wait`."""
        arrays = {use: self._element.download(array) for use, array in packet.arrays.items()}
        of_changes = packet.encoding is Encoding.SPARSE or len(arrays) > 1
        sent = self._changes(packet, arrays) if of_changes else next(iter(arrays.values()))
        self._posted.append(self._world.post(self._rank, self._tag, sent))

    def _changes(self, packet: Packet, arrays: Arrays) -> NDArray[np.uint8]:
        """Return the message of a packet of changes. One such message of a link is in transit at a time."""
        parts = [arrays[use].view(np.uint8) for use in ("positions", "flags", "values") if use in arrays]
        length = _HEAD + sum(_aligned(len(part)) for part in parts)
        if len(self._message) < length:
            self._message = np.empty(2 * length, np.uint8)
        head = self._message[:_HEAD].view(np.int64)
        head[:] = _ENCODINGS.index(packet.encoding), packet.count, packet.nbytes
        begin = _HEAD
        for part in parts:
            self._message[begin : begin + len(part)] = part
            begin += _aligned(len(part))
        return self._message[:length]

    def take_posted(self) -> list[Any]:
        """Return what `World.wait` needs for the packets sent since the last call."""
        posted, self._posted = self._posted, []
        return posted


class _Expected(NamedTuple):
    """A packet that will arrive.

    Attributes
    ----------
    room : dict of str to ndarray
        Where the receiver's element needs the arrays.
    message : ndarray
        Where the message arrives, in host memory.
    posted : Any
        The receive, for `World.wait`.
    """

    room: Arrays
    message: NDArray[Any]
    posted: Any


class RemoteReceiver:
    """The receiving end of a link from another rank; the parameters are those of `RemoteSender`."""

    def __init__(self, world: World, rank: int, tag: int, element: Element) -> None:
        self._world = world
        self._rank = rank
        self._tag = tag
        self._element = element
        self._expected: deque[_Expected] = deque()
        self._changes = np.empty(0, np.uint8)

    def expect(self, room: Arrays) -> None:
        """Begin to receive the next packet. A packet of changes needs room for several arrays."""
        if len(room) > 1:
            # A packet of positions has fewer bytes than a packet of flags, but for the alignment.
            length = _HEAD + _aligned(room["flags"].nbytes) + _aligned(room["values"].nbytes) + 2 * _ALIGNED
            # A copy to a GPU may still read the last message.
            if len(self._changes) < length or not self._element.addressable:
                self._changes = np.empty(length, np.uint8)
            message = self._changes
        else:
            (target,) = room.values()
            message = target if self._element.addressable else np.empty(len(target), target.dtype)
        posted = self._world.expect(self._rank, self._tag, message)
        self._expected.append(_Expected(room, message, posted))

    def receive(self) -> Packet:
        """Return the oldest packet, after waiting for it."""
        room, message, posted = self._expected.popleft()
        self._world.wait([posted])
        if len(room) > 1:
            return self._packet_of_changes(room, message)
        ((use, target),) = room.items()
        if message is not target:
            self._element.wait_for(self._element.copy_in(message, target))
        encoding = Encoding.DENSE if use == "values" else Encoding.BITS
        return Packet(encoding, len(target), target.nbytes, {use: target})

    def _packet_of_changes(self, room: Arrays, message: NDArray[np.uint8]) -> Packet:
        index, count, nbytes = message[:_HEAD].view(np.int64).tolist()
        packet = Packet(_ENCODINGS[index], count, nbytes)
        if packet.encoding is Encoding.SPARSE:
            lengths = {"positions": count, "values": count} if count else {}
        else:
            lengths = {"flags": len(room["flags"]), "values": len(room["values"])}
        begin = _HEAD
        for use, length in lengths.items():
            target = room[use][:length]
            arrived = message[begin : begin + target.nbytes].view(target.dtype)
            begin += _aligned(target.nbytes)
            if self._element.addressable:
                packet.arrays[use] = arrived
            else:
                self._element.wait_for(self._element.copy_in(arrived, target))
                packet.arrays[use] = target
        return packet

    def release(self) -> None:
        """Do nothing: the packet is a copy."""

    def discard(self) -> None:
        """Receive and drop all packets that were expected."""
        while self._expected:
            self.receive()


class _NoEnd:
    """The end of a link that is on another rank."""

    in_place = False

    def send(self, packet: Packet) -> None:
        """Raise an error."""
        raise NotImplementedError

    def take_posted(self) -> list[Any]:
        """Return nothing."""
        return []

    def receive(self) -> Packet:
        """Raise an error."""
        raise NotImplementedError

    def expect(self, room: Arrays) -> None:
        """Do nothing."""

    def release(self) -> None:
        """Do nothing."""

    def discard(self) -> None:
        """Do nothing."""


NO_END = _NoEnd()
