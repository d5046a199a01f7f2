"""The shared-memory transport: the receiver reads the sender's arrays in place, and nothing is copied."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from evener.engine.exchange.transport import Transport

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.elements.protocols import Element
    from evener.engine.exchange.encoding import Packet

__all__ = ["TRANSPORT"]


class _Sender:
    in_place = True

    def __init__(self, packets: deque[Packet]) -> None:
        self._packets = packets

    def send(self, packet: Packet) -> None:
        """Pass the packet on; its arrays are views of the sender's."""
        self._packets.append(packet)

    def take_posted(self) -> list[Any]:
        """Return nothing: no array goes to another rank."""
        return []


class _Receiver:
    def __init__(self, packets: deque[Packet]) -> None:
        self._packets = packets

    def expect(self, room: dict[str, NDArray[Any]]) -> None:
        """Do nothing: packets need no room."""

    def receive(self) -> Packet:
        """Return the oldest packet."""
        return self._packets.popleft()

    def release(self) -> None:
        """Do nothing: elements of one memory do not run at the same time as the next verb."""

    def discard(self) -> None:
        """Drop all packets."""
        self._packets.clear()


def _joins(sender: Element, receiver: Element) -> bool:
    return sender.memory == receiver.memory


def _connect(sender: Element, receiver: Element) -> tuple[_Sender, _Receiver]:  # noqa: ARG001 - one memory
    packets: deque[Packet] = deque()
    return _Sender(packets), _Receiver(packets)


TRANSPORT = Transport("shared", 0, _joins, _connect)
