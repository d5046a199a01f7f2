"""Transports: move the packets of a route from one element to another."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from evener.errors import DeviceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from evener.elements.protocols import Element
    from evener.engine.exchange.encoding import Packet

    Arrays = dict[str, NDArray[Any]]

__all__ = [
    "NO_END",
    "Channel",
    "CopyingReceiver",
    "CopyingSender",
    "Receiver",
    "Sender",
    "Transport",
    "connect",
]


class Sender(Protocol):
    """The sending end of a route.

    Attributes
    ----------
    in_place : bool
        Whether the receiver reads the sender's arrays where they are, so that nothing is packed.
    """

    in_place: bool

    def send(self, packet: Packet) -> None:
        """Send a packet, whose arrays are in the sender's memory.

        The call may return before the arrays are copied. They must not change until the superstep ends.
        """
        ...

    def take_posted(self) -> list[Any]:
        """Return handles for `World.wait`: the packets sent to another rank since the last call.

        Call this method after `send`, for all packets of an element at once.
        """
        ...


class Receiver(Protocol):
    """The receiving end of a route."""

    def expect(self, room: Arrays) -> None:
        """Provide room for the next packet: arrays in the receiver's memory, by use.

        Call this method before each `send`. Do not use the arrays until `receive` returns the packet.
        """
        ...

    def receive(self) -> Packet:
        """Return the oldest packet, with its arrays in the receiver's memory.

        Later work on the receiver's element sees complete arrays.
        """
        ...

    def release(self) -> None:
        """Let the sender change the arrays of the packet that was received last.

        Call this method after the receiver's work on the packet was queued.
        """
        ...

    def discard(self) -> None:
        """Receive and drop all packets that were sent."""
        ...


class Transport(NamedTuple):
    """A way to move packets between two elements. Each module of `transports` has one named `TRANSPORT`.

    Attributes
    ----------
    name : str
    preference : int
        If several transports join two elements, the one with the lowest preference is used.
    joins : callable
        Called with the sending and the receiving element; returns whether this transport can join them.
    connect : callable
        Called with the same elements; returns a `Sender` and a `Receiver`.
    complete : bool, default True
        Whether the transport also carries packets with all values of a route. If not, it carries only bitmaps
        and values that changed.
    """

    name: str
    preference: int
    joins: Callable[[Element, Element], bool]
    connect: Callable[[Element, Element], tuple[Sender, Receiver]]
    complete: bool = True


def connect(sender: Element, receiver: Element, *, complete: bool = True) -> tuple[Sender, Receiver]:
    """Return the two ends of a route, by the preferred transport that joins the elements.

    Parameters
    ----------
    sender, receiver : Element
    complete : bool, default True
        Whether packets have all values of the route.

    Raises
    ------
    DeviceError
        If no transport joins them.
    """
    for transport in _transports():
        if transport.complete >= complete and transport.joins(sender, receiver):
            return transport.connect(sender, receiver)
    names = ", ".join(transport.name for transport in _transports())
    msg = (
        f"no transport joins {sender.name} to {receiver.name}; found {names}; "
        "run on elements that share a memory or copy to each other"
    )
    raise DeviceError(msg)


@cache
def _transports() -> list[Transport]:
    folder = import_module("evener.engine.exchange.transports")
    modules = [import_module(f"{folder.__name__}.{one.name}") for one in iter_modules(folder.__path__)]
    found = [module.TRANSPORT for module in modules if hasattr(module, "TRANSPORT")]
    return sorted(found, key=lambda transport: transport.preference)


# ---- ends whose packets are copied -----------------------------------------------------------------


class Channel:
    """The state that the two ends of a copying transport share.

    Parameters
    ----------
    copy : callable
        Begins to copy an array from the sender's memory to the receiver's. Returns the event after the copy,
        for the receiver's element to wait for.

    Attributes
    ----------
    rooms : deque of dict
        Arrays that the receiver has provided and no packet has used, oldest first.
    packets : deque of (Packet, list)
        Packets that were sent but not received, with the events after their copies, oldest first.
    """

    def __init__(self, copy: Callable[[Any, Any], Any]) -> None:
        self.copy = copy
        self.rooms: deque[Arrays] = deque()
        self.packets: deque[tuple[Packet, list[Any]]] = deque()


class CopyingSender:
    """Copies each array of a packet to the room that the receiver has provided."""

    in_place = False

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def send(self, packet: Packet) -> None:
        """Begin to copy the packet's arrays."""
        room = self._channel.rooms.popleft()
        received, copies = {}, []
        for use, source in packet.arrays.items():
            target = room[use] if len(room[use]) == len(source) else room[use][: len(source)]
            copies.append(self._channel.copy(source, target))
            received[use] = target
        self._channel.packets.append((replace(packet, arrays=received), copies))

    def take_posted(self) -> list[Any]:
        """Return nothing: no array goes to another rank."""
        return []


class CopyingReceiver:
    """Provides room for packets, and waits for their copies on the receiver's element."""

    def __init__(self, channel: Channel, element: Element) -> None:
        self._channel = channel
        self._element = element

    def expect(self, room: Arrays) -> None:
        """Provide room for the next packet."""
        self._channel.rooms.append(room)

    def receive(self) -> Packet:
        """Return the oldest packet and order later work after its copies."""
        packet, copies = self._channel.packets.popleft()
        for copied in copies:
            self._element.wait_for(copied)
        return packet

    def release(self) -> None:
        """Do nothing: the packet is a copy."""

    def discard(self) -> None:
        """Drop all packets, and order later work after their copies."""
        while self._channel.packets:
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
