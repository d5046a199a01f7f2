"""Forms of packets: bits, all values, or changed values, on links to owners or to mirrors.

Each form is a class with three methods: `targets` returns arrays that any packet fits, `pack` returns a
packet, and `unpack` stores or reduces a packet. A packet of changes has the positions of changed values, or a
bit for each value, whichever has fewer bytes. On a link in place, `unpack` reads the sender's own array.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, cast

from evener.engine.exchange.packet import Packet

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from evener.engine.array import PartitionedArray
    from evener.engine.exchange.link import Buffers, Link
    from evener.engine.exchange.packet import Arrays

    # Bytes, or a function that returns them once the element's work is done.
    Bytes = int | Callable[[], int]

__all__ = [
    "Form",
    "PulledBits",
    "PulledChanges",
    "PulledValues",
    "PushedBits",
    "PushedChanges",
    "PushedValues",
]

_POSITION_BYTES = 4


class Form(ABC):
    """The packets of one array in one verb.

    Parameters
    ----------
    array : PartitionedArray
    changed : PartitionedArray, optional
        A bitmap of the values that changed. Only these are sent.
    turn : int, default 0
        The set of buffers to use, 0 or 1. The other set may still be in use.

    Attributes
    ----------
    links : {"push", "pull", "complete pull"}
        The links that carry the packets.
    """

    links: str

    def __init__(
        self, array: PartitionedArray, changed: PartitionedArray | None = None, *, turn: int = 0
    ) -> None:
        self.array = array
        self._changed = cast("PartitionedArray", changed)
        self._turn = turn

    @abstractmethod
    def targets(self, link: Link) -> Arrays:
        """Return arrays of the receiving element for any packet of `pack`."""

    @abstractmethod
    def pack(self, link: Link) -> Packet:
        """Return a packet of a route's values. Runs on the sending element."""

    @abstractmethod
    def unpack(self, link: Link, packet: Packet) -> Bytes:
        """Store or reduce a packet, on the receiving element. Return the bytes that a link in place reads."""

    def _sent(self, link: Link) -> NDArray[Any]:
        """Return the part of the sending partition."""
        part: NDArray[Any] = self.array.parts[link.from_partition]
        return part

    def _received(self, link: Link) -> NDArray[Any]:
        """Return the part of the receiving partition."""
        part: NDArray[Any] = self.array.parts[link.to_partition]
        return part


class _Bits(Form):
    """A bit for each mirror."""

    def targets(self, link: Link) -> Arrays:
        """Return a bitmap."""
        return {"flags": link.inbox.bitmap(f"flags {self._turn}", len(link.route))}


class _Changes(Form):
    """Values that changed, and their positions or a bit for each value."""

    def targets(self, link: Link) -> Arrays:
        """Return arrays for all values, and for all positions or bits."""
        turn, count, inbox = self._turn, len(link.route), link.inbox
        return {
            "flags": inbox.bitmap(f"flags {turn}", count),
            "positions": inbox.array(f"positions {turn}", count, "uint32"),
            "values": inbox.array(f"values {turn}", count, self.array.dtype, 0),
        }

    def _pack(
        self, link: Link, values: NDArray[Any], flags: NDArray[Any], begin: int, flagged: int, emptied: int
    ) -> Packet:
        """Return a sparse packet if it has fewer bytes, else a packet of flags that needs values.

        The flags from `begin` on are cleared. Listed values are set to 0 if `emptied` is not 0.
        """
        outbox, count, turn = link.outbox, len(link.route), self._turn
        sparse, dense = _sparse_bytes(flagged, values), _dense_bytes(count, values)
        if sparse >= dense:
            return Packet({"flags": _take_bits(outbox, turn, flags, begin, count)}, dense)
        length = outbox.array("length", 1, "uint64", exchanged=False)
        length[:] = 0
        positions = outbox.array(f"positions {turn}", count, "uint32")
        listed = outbox.array(f"listed {turn}", count, values.dtype)
        list_flagged = outbox.element.kernel("message.list_flagged")
        list_flagged(flags, begin, count, values, emptied, positions, listed, length)
        if not flagged:
            return Packet({})
        return Packet({"positions": positions[:flagged], "values": listed[:flagged]}, sparse)


# ---- mirrors to owners -----------------------------------------------------------------------------


class PushedBits(_Bits):
    """Bits of mirrors, to be reduced by "or"."""

    links = "push"

    def pack(self, link: Link) -> Packet:
        """Return the mirrors' bits, and clear them."""
        begin, count = link.route.begin, len(link.route)
        flags = _take_bits(link.outbox, 0, self._sent(link), begin, count)
        return Packet({"flags": flags}, _bit_bytes(count))

    def unpack(self, link: Link, packet: Packet) -> Bytes:
        """Set the bits of owned vertices. In place, mirrors change as in `pack`."""
        begin, flags = 0, packet.arrays.get("flags")
        if link.in_place:
            begin, flags = link.route.begin, self._sent(link)
        push = link.inbox.element.kernel("exchange.push_or_bits")
        push(link.route.index, begin, flags, self._received(link))
        return _bit_bytes(len(link.route))


class PushedValues(Form):
    """All values of mirrors, to be reduced by "add" or "min"."""

    links = "push"

    def __init__(self, array: PartitionedArray, op: str) -> None:
        super().__init__(array)
        self._op = op

    def targets(self, link: Link) -> Arrays:
        """Return an array for all values."""
        return {"values": link.inbox.array("values 0", len(link.route), self.array.dtype)}

    def pack(self, link: Link) -> Packet:
        """Return a copy of the mirrors, which are 0 after "add"."""
        mirrored, begin, count = self._sent(link), link.route.begin, len(link.route)
        values = link.outbox.array("values 0", count, mirrored.dtype)
        emptied = int(self._op == "add")
        link.outbox.element.kernel("message.take_values")(mirrored, begin, count, emptied, values)
        return Packet({"values": values}, values.nbytes)

    def unpack(self, link: Link, packet: Packet) -> Bytes:
        """Reduce the values into owned values. In place, mirrors change as in `pack`."""
        begin, values, owned = 0, packet.arrays.get("values"), self._received(link)
        if link.in_place:
            begin, values = link.route.begin, self._sent(link)
        link.inbox.element.kernel(f"exchange.push_{self._op}")(link.route.index, begin, values, owned)
        return len(link.route) * owned.itemsize


class PushedChanges(_Changes):
    """Changed values of mirrors, to be reduced by "add", "min" or "set"."""

    links = "push"

    def __init__(self, array: PartitionedArray, op: str, changed: PartitionedArray) -> None:
        super().__init__(array, changed)
        self._op = op

    def pack(self, link: Link) -> Packet:
        """Return the flagged mirrors, which are 0 after "add", and clear their flags."""
        outbox, begin, count = link.outbox, link.route.begin, len(link.route)
        mirrored, flags = self._sent(link), self._changed.parts[link.from_partition]
        flagged = int(outbox.element.kernel("bits.count_range")(flags, begin, begin + count))
        emptied = int(self._op == "add")
        packet = self._pack(link, mirrored, flags, begin, flagged, emptied)
        if not packet.sparse:
            values = outbox.array("values 0", count, mirrored.dtype)
            # Values without a flag may be undefined.
            take = outbox.element.kernel("message.take_flagged")
            take(mirrored, begin, packet.arrays["flags"], emptied, values)
            packet.arrays["values"] = values
        return packet

    def unpack(self, link: Link, packet: Packet) -> Bytes:
        """Reduce the values into owned values, and flag them. In place, mirrors change as in `pack`."""
        route, inbox, begin = link.route, link.inbox, 0
        owned, flags = self._received(link), self._changed.parts[link.to_partition]
        if link.in_place:
            begin, values, marks = route.begin, self._sent(link), self._changed.parts[link.from_partition]
        elif packet.sparse:
            values = inbox.array("placed", len(route), owned.dtype, exchanged=False)
            marks = inbox.bitmap("marks", len(route), exchanged=False)
            _place_listed(packet, inbox, 0, values, marks)
        else:
            values, marks = packet.arrays["values"], packet.arrays["flags"]
        push = inbox.element.kernel(f"exchange.push_{self._op}_flagged")
        return _bytes_of_changes(push(route.index, begin, values, marks, owned, flags), len(route), owned)


# ---- owners to mirrors -----------------------------------------------------------------------------


class PulledBits(_Bits):
    """Bits of owned vertices, for their mirrors."""

    links = "pull"

    def pack(self, link: Link) -> Packet:
        """Return the bits of the mirrored vertices."""
        route, outbox = link.route, link.outbox
        words = outbox.bitmap(f"flags {self._turn}", len(route))
        pull = outbox.element.kernel("exchange.pull_bits")
        pull(0, route.owner_bitmap, route.rank, self._sent(link), words)
        return Packet({"flags": words}, _bit_bytes(len(route)))

    def unpack(self, link: Link, packet: Packet) -> Bytes:
        """Set and clear the mirrors' bits."""
        route, element, mirrored = link.route, link.inbox.element, self._received(link)
        if link.in_place:
            pull = element.kernel("exchange.pull_bits")
            pull(route.begin, route.owner_bitmap, route.rank, self._sent(link), mirrored)
        else:
            element.kernel("message.place_bits")(packet.arrays["flags"], len(route), mirrored, route.begin)
        return _bit_bytes(len(route))


class PulledValues(Form):
    """All values of owned vertices, for their mirrors."""

    links = "complete pull"

    def __init__(self, array: PartitionedArray, *, turn: int, published: bool) -> None:
        super().__init__(array, turn=turn)
        self._published = published

    def targets(self, link: Link) -> Arrays:
        """Return the mirrors, which nothing may use before `unpack`.

        Published values have a buffer, because they may arrive long before the pull.
        """
        if self._published:
            return {"values": link.inbox.array(f"values {self._turn}", len(link.route), self.array.dtype)}
        return {"values": self._mirrors(link)}

    def pack(self, link: Link) -> Packet:
        """Return the values of the mirrored vertices: a view if these are contiguous, else a copy."""
        route, outbox, owned = link.route, link.outbox, self._sent(link)
        if route.first is not None:
            values = owned[route.first : route.first + len(route)]
        else:
            values = outbox.array(f"values {self._turn}", len(route), owned.dtype)
            outbox.element.kernel("exchange.pull")(route.index, 0, owned, values)
        return Packet({"values": values}, values.nbytes)

    def unpack(self, link: Link, packet: Packet) -> Bytes:
        """Store published values, or values in place, in the mirrors."""
        route, element = link.route, link.inbox.element
        if link.in_place:
            element.kernel("exchange.pull")(route.index, route.begin, self._sent(link), self._received(link))
        elif self._published:
            take = element.kernel("message.take_values")
            take(packet.arrays["values"], 0, len(route), 0, self._mirrors(link))
        return len(route) * self._received(link).itemsize

    def _mirrors(self, link: Link) -> NDArray[Any]:
        return self._received(link)[link.route.begin : link.route.begin + len(link.route)]


class PulledChanges(_Changes):
    """Changed values of owned vertices, for their mirrors."""

    links = "pull"

    def pack(self, link: Link) -> Packet:
        """Return the flagged values of the mirrored vertices."""
        route, outbox, owned = link.route, link.outbox, self._sent(link)
        # Filled, because a dense packet also sends values without a flag.
        values = outbox.array(f"values {self._turn}", len(route), owned.dtype, 0)
        marks = outbox.bitmap("marks", len(route), exchanged=False)
        flags = self._changed.parts[link.from_partition]
        pull = outbox.element.kernel("exchange.pull_flagged")
        moved = pull(0, route.owner_bitmap, route.rank, owned, flags, values, marks)
        packet = self._pack(link, values, marks, 0, int(moved), 0)
        if not packet.sparse:
            packet.arrays["values"] = values
        return packet

    def unpack(self, link: Link, packet: Packet) -> Bytes:
        """Store the values in the mirrors, and flag these."""
        route, element, begin = link.route, link.inbox.element, link.route.begin
        mirrored, flags = self._received(link), self._changed.parts[link.to_partition]
        if link.in_place:
            owned, owned_flags = self._sent(link), self._changed.parts[link.from_partition]
            pull = element.kernel("exchange.pull_flagged")
            moved = pull(begin, route.owner_bitmap, route.rank, owned, owned_flags, mirrored, flags)
            return _bytes_of_changes(moved, len(route), owned)
        if packet.sparse:
            _place_listed(packet, link.inbox, begin, mirrored, flags)
        else:
            place = element.kernel("message.place_flagged")
            place(packet.arrays["values"], packet.arrays["flags"], begin, mirrored, flags)
        return 0


# ---- for several forms -----------------------------------------------------------------------------


def _bit_bytes(mirrors: int) -> int:
    return (mirrors + 7) // 8


def _sparse_bytes(flagged: int, values: NDArray[Any]) -> int:
    return flagged * (_POSITION_BYTES + values.dtype.itemsize)


def _dense_bytes(mirrors: int, values: NDArray[Any]) -> int:
    return mirrors * values.dtype.itemsize + _bit_bytes(mirrors)


def _bytes_of_changes(moved: Any, mirrors: int, values: NDArray[Any]) -> Bytes:
    """Return the bytes of the smaller packet with `moved` values; a function for a result of a GPU."""
    dense = _dense_bytes(mirrors, values)
    if isinstance(moved, int):
        return min(_sparse_bytes(moved, values), dense)
    return lambda: min(_sparse_bytes(int(moved), values), dense)


def _take_bits(outbox: Buffers, turn: int, flags: NDArray[Any], begin: int, count: int) -> NDArray[Any]:
    """Return a bitmap of the flags of ``begin:begin + count``, which are cleared."""
    words = outbox.bitmap(f"flags {turn}", count)
    outbox.element.kernel("message.take_bits")(flags, begin, count, words)
    return words


def _place_listed(
    packet: Packet, inbox: Buffers, begin: int, values: NDArray[Any], flags: NDArray[Any]
) -> None:
    """Store and flag the values of a sparse packet."""
    if packet.arrays:
        positions, listed = packet.arrays["positions"], packet.arrays["values"]
        inbox.element.kernel("message.place_listed")(positions, listed, begin, values, flags)
