"""The peer-read transport: the receiver's kernels read the sender's arrays over the link between two GPUs.

Bitmaps and values that changed are read in place, without packing and copies. All values of a route are
copied instead, because a copy keeps no multiprocessor busy.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from evener.engine.exchange.transport import Transport

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.elements.protocols import Element
    from evener.engine.exchange.encoding import Packet

    # Packets and the events after which their arrays are complete.
    Packets = deque[tuple[Packet, Any]]

__all__ = ["TRANSPORT"]


class _Sender:
    in_place = True

    def __init__(self, packets: Packets, element: Element) -> None:
        self._packets = packets
        self._element = element

    def send(self, packet: Packet) -> None:
        """Pass the packet on; its arrays are complete after the work queued so far."""
        self._packets.append((packet, self._element.record()))

    def take_posted(self) -> list[Any]:
        """Return nothing: no array goes to another rank."""
        return []


class _Receiver:
    def __init__(self, packets: Packets, sender: Element, element: Element) -> None:
        self._packets = packets
        self._sender = sender
        self._element = element

    def expect(self, room: dict[str, NDArray[Any]]) -> None:
        """Do nothing: packets need no room."""

    def receive(self) -> Packet:
        """Return the oldest packet, and order later work after the sender's."""
        packet, complete = self._packets.popleft()
        self._element.wait_for_peer(complete)
        return packet

    def release(self) -> None:
        """Order later work of the sender after this element's work so far."""
        self._sender.wait_for_peer(self._element.record())

    def discard(self) -> None:
        """Drop all packets."""
        self._packets.clear()


def _joins(sender: Element, receiver: Element) -> bool:
    return sender.peers is not None and sender.peers == receiver.peers and receiver.reads(sender)


def _connect(sender: Element, receiver: Element) -> tuple[_Sender, _Receiver]:
    packets: Packets = deque()
    return _Sender(packets, sender), _Receiver(packets, sender, receiver)


TRANSPORT = Transport("peer read", 1, _joins, _connect, complete=False)
