"""Transports: move the packets of a route from one element to another."""

from __future__ import annotations

from collections import deque
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, NamedTuple

from evener.engine.exchange.packet import Packet
from evener.errors import DeviceError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evener.elements.protocols import Element
    from evener.engine.exchange.packet import Arrays

__all__ = [
    "IN_PLACE",
    "Receiver",
    "Sender",
    "Transport",
    "connect",
    "copying_ends",
    "find_transports",
    "reading_ends",
]

# The packet of a link whose receiver reads the sender's own arrays.
IN_PLACE = Packet({})


class Sender:
    """The sending end of a link. This class itself is the end of a link on another rank.

    Attributes
    ----------
    in_place : bool
        Whether the receiver reads the sender's arrays where they are, so that nothing is packed.
    """

    in_place = False

    def send(self, packet: Packet) -> None:
        """Send a packet, whose arrays are in the sender's memory; in place, let the receiver begin to read.

        The call may return before the arrays are copied. They must not change until the superstep ends.
        """
        raise NotImplementedError

    def take_posted(self) -> list[Any]:
        """Return handles for `World.wait`: the packets sent to another rank since the last call.

        Call this method after `send`, for all packets of an element at once.
        """
        return []


class Receiver:
    """The receiving end of a link. This class itself is the end of a link on another rank."""

    def expect(self, targets: Arrays) -> None:
        """Provide arrays in the receiver's memory, by use, that the next packet fills.

        Call this method before each `send`. Do not use the arrays until `receive` returns the packet.
        """
        raise NotImplementedError

    def receive(self) -> Packet:
        """Return the oldest packet, with its arrays in the receiver's memory.

        Later work on the receiver's element sees complete arrays.
        """
        raise NotImplementedError

    def release(self) -> None:
        """Let the sender change the arrays that were read in place.

        Call this method after the receiver's work on the packet was queued.
        """


class Transport(NamedTuple):
    """A way to move packets between two elements. Modules of `transports` list theirs as `TRANSPORTS`.

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
    """Return the two ends of a link, by the preferred transport that joins the elements.

    `complete` is whether packets have all values of the route.
    """
    found: list[Transport] = find_transports("TRANSPORTS")
    for transport in found:
        if transport.complete >= complete and transport.joins(sender, receiver):
            return transport.connect(sender, receiver)
    names = ", ".join(transport.name for transport in found)
    msg = (
        f"no transport joins {sender.name} to {receiver.name}; found {names}; "
        "run on elements that share a memory or copy to each other"
    )
    raise DeviceError(msg)


@cache
def find_transports(attribute: str) -> list[Any]:
    """Return what modules of `transports` list as this attribute, in the order of preference."""
    folder = import_module("evener.engine.exchange.transports")
    modules = [import_module(f"{folder.__name__}.{one.name}") for one in iter_modules(folder.__path__)]
    found = [one for module in modules for one in getattr(module, attribute, ())]
    return sorted(found, key=lambda transport: transport.preference)


# ---- the ends of links in one process --------------------------------------------------------------


def copying_ends(
    element: Element, copy: Callable[[Any, Any], Any], *, waiting: Sequence[Element] = ()
) -> tuple[Sender, Receiver]:
    """Return ends whose packets are copied to the element that receives.

    `copy` begins to copy an array from the sender's memory to the receiver's. It returns the event after the
    copy. Later work of the receiver, and of the elements in `waiting`, comes after the copy once the packet
    is received.
    """
    receiver = _CopyingReceiver([element, *waiting])
    return _CopyingSender(receiver, copy), receiver


class _CopyingReceiver(Receiver):
    """Provides targets for packets, and lets elements wait for their copies."""

    def __init__(self, elements: Sequence[Element]) -> None:
        self._elements = elements
        # Arrays that no packet has filled, oldest first.
        self.targets: deque[Arrays] = deque()
        # Packets that were sent but not received, with the events after their copies, oldest first.
        self.packets: deque[tuple[Packet, list[Any]]] = deque()

    def expect(self, targets: Arrays) -> None:
        """Provide arrays for the next packet."""
        self.targets.append(targets)

    def receive(self) -> Packet:
        """Return the oldest packet and order later work after its copies."""
        packet, copies = self.packets.popleft()
        for copied in copies:
            for element in self._elements:
                element.wait_for(copied)
        return packet


class _CopyingSender(Sender):
    """Copies each array of a packet to the target that the receiver has provided."""

    def __init__(self, receiver: _CopyingReceiver, copy: Callable[[Any, Any], Any]) -> None:
        self._receiver = receiver
        self._copy = copy

    def send(self, packet: Packet) -> None:
        """Begin to copy the packet's arrays."""
        targets = self._receiver.targets.popleft()
        received, copies = {}, []
        for use, source in packet.arrays.items():
            target = targets[use] if len(targets[use]) == len(source) else targets[use][: len(source)]
            copies.append(self._copy(source, target))
            received[use] = target
        self._receiver.packets.append((Packet(received, packet.nbytes), copies))


def reading_ends(sender: Element, receiver: Element) -> tuple[Sender, Receiver]:
    """Return ends of elements of which one reads the other's arrays in place."""
    events: deque[Any] = deque()
    return _ReadSender(events, sender), _ReadingReceiver(events, sender, receiver)


class _ReadSender(Sender):
    """Records when arrays are complete that the receiver reads in place."""

    in_place = True

    def __init__(self, events: deque[Any], element: Element) -> None:
        self._events = events
        self._element = element

    def send(self, packet: Packet) -> None:  # noqa: ARG002 - nothing is packed
        """Let the receiver read after the work queued so far."""
        self._events.append(self._element.record())


class _ReadingReceiver(Receiver):
    """Orders the work of the receiver, which reads arrays in place, and the work of the sender."""

    def __init__(self, events: deque[Any], sender: Element, element: Element) -> None:
        self._events = events
        self._sender = sender
        self._element = element

    def receive(self) -> Packet:
        """Order later work after the sender's, and return a packet without arrays."""
        self._element.wait_for_peer(self._events.popleft())
        return IN_PLACE

    def release(self) -> None:
        """Order later work of the sender after this element's work so far."""
        self._sender.wait_for_peer(self._element.record())
