"""Links between ranks: packets pass through the memory of both hosts, as messages of the world.

A message of integers describes each packet. The packet's arrays follow, in the order of `_USES`.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.engine.exchange.encoding import Encoding, Packet

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.elements.protocols import Element
    from evener.system.world import World

__all__ = ["NO_END", "RemoteReceiver", "RemoteSender"]

_ENCODINGS = list(Encoding)
_USES = ("values", "positions", "flags")
# The length of an array that a packet does not have.
_ABSENT = -1


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

    def send(self, packet: Packet) -> None:
        """Post the packet. Arrays that a CPU sends must not change until `World.wait`."""
        arrays = {use: self._element.download(array) for use, array in packet.arrays.items()}
        lengths = [len(arrays[use]) if use in arrays else _ABSENT for use in _USES]
        head = np.array([_ENCODINGS.index(packet.encoding), packet.count, packet.nbytes, *lengths], np.int64)
        sent = [head, *(arrays[use] for use in _USES if use in arrays and len(arrays[use]))]
        self._posted += [self._world.post(self._rank, self._tag, array) for array in sent]

    def take_posted(self) -> list[Any]:
        """Return what `World.wait` needs for the packets sent since the last call."""
        posted, self._posted = self._posted, []
        return posted


class RemoteReceiver:
    """The receiving end of a link from another rank; the parameters are those of `RemoteSender`."""

    def __init__(self, world: World, rank: int, tag: int, element: Element) -> None:
        self._world = world
        self._rank = rank
        self._tag = tag
        self._element = element
        self._rooms: deque[dict[str, NDArray[Any]]] = deque()

    def expect(self, room: dict[str, NDArray[Any]]) -> None:
        """Provide room for the next packet."""
        self._rooms.append(room)

    def receive(self) -> Packet:
        """Return the oldest packet, after waiting for it."""
        room, element = self._rooms.popleft(), self._element
        head = np.empty(3 + len(_USES), np.int64)
        self._world.fetch(self._rank, self._tag, head)
        encoding, count, nbytes, *lengths = head.tolist()
        packet, received = Packet(_ENCODINGS[encoding], count, nbytes), {}
        for use, length in zip(_USES, lengths, strict=True):
            if length == _ABSENT:
                continue
            received[use] = target = room[use][:length]
            if length and element.addressable:
                self._world.fetch(self._rank, self._tag, target)
            elif length:
                staged = np.empty(length, target.dtype)
                self._world.fetch(self._rank, self._tag, staged)
                element.wait_for(element.copy_in(staged, target))
        return replace(packet, arrays=received)

    def release(self) -> None:
        """Do nothing: the packet is a copy."""

    def discard(self) -> None:
        """Receive and drop all packets that were expected."""
        while self._rooms:
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

    def expect(self, room: dict[str, NDArray[Any]]) -> None:
        """Do nothing."""

    def release(self) -> None:
        """Do nothing."""

    def discard(self) -> None:
        """Do nothing."""


NO_END = _NoEnd()
