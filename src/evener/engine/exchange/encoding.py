"""Encoding: boundary values as packets, in the form with the fewest bytes.

A dense packet has the whole slice of a route's mirrors, with a bit for each value if only some changed. A
sparse packet has the positions and values of changes. A packet of bits is a slice of a bitmap. If two
elements share a memory, a packet holds the sender's own arrays, which the receiver reads in place.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from evener.engine.exchange.buffers import Buffers
    from evener.partition.route import Route

    # Bytes, or a function that returns them once the element's work is done.
    Bytes = int | Callable[[], int]

__all__ = [
    "Encoding",
    "Packet",
    "bit_bytes",
    "dense_bytes",
    "pack_in_place",
    "pack_pull",
    "pack_push",
    "room_for_pull",
    "room_for_push",
    "sparse_bytes",
    "unpack_published",
    "unpack_pull",
    "unpack_push",
]

_POSITION_BYTES = 4


class Encoding(Enum):
    """The form of a packet."""

    IN_PLACE = "in place"
    DENSE = "dense"
    SPARSE = "sparse"
    BITS = "bits"


@dataclass(slots=True)
class Packet:
    """Boundary values that are sent along a route.

    Attributes
    ----------
    encoding : Encoding
    count : int
        The number of values.
    nbytes : int
        The bytes that are sent; 0 in place, where the receiver counts the bytes that it reads.
    arrays : dict of str to ndarray
        By use: "values", "positions" (uint32, from the route's first mirror) and "flags" (a bitmap).
    """

    encoding: Encoding
    count: int
    nbytes: int
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)


def sparse_bytes(flagged: int, itemsize: int) -> int:
    """Return the bytes of a position and a value for each value that changed."""
    return flagged * (_POSITION_BYTES + itemsize)


def dense_bytes(mirrors: int, itemsize: int) -> int:
    """Return the bytes of all values, with a bit for each."""
    return mirrors * itemsize + bit_bytes(mirrors)


def bit_bytes(mirrors: int) -> int:
    """Return the bytes of one bit for each mirror."""
    return (mirrors + 7) // 8


def pack_in_place(values: NDArray[Any], flags: NDArray[Any] | None) -> Packet:
    """Return a packet of the sender's own arrays, in its numbering."""
    arrays = {"values": values} if flags is None else {"values": values, "flags": flags}
    return Packet(Encoding.IN_PLACE, 0, 0, arrays)


# ---- mirrors to owners -----------------------------------------------------------------------------


def pack_push(
    route: Route, outbox: Buffers, op: str, mirrored: NDArray[Any], flags: NDArray[Any] | None
) -> Packet:
    """Return a packet of a route's mirrors. Runs on the element of the mirrors.

    After "add" the mirrors in the packet are 0; their flags are cleared.
    """
    element, begin, k = outbox.element, route.begin, len(route)
    if op == "or":
        return Packet(Encoding.BITS, k, bit_bytes(k), {"flags": _take_bits(outbox, 0, mirrored, begin, k)})
    emptied = int(op == "add")
    if flags is None:
        values = outbox.array("values 0", k, mirrored.dtype)
        element.kernel("message.take_values")(mirrored, begin, k, emptied, values)
        return Packet(Encoding.DENSE, k, k * mirrored.dtype.itemsize, {"values": values})
    flagged = int(element.kernel("bits.count_range")(flags, begin, begin + k))
    packet = _pack_changes(outbox, 0, flags, begin, k, mirrored, flagged, emptied=emptied)
    if packet.encoding is Encoding.DENSE:
        values = outbox.array("values 0", k, mirrored.dtype)
        # Values without a flag may be undefined.
        element.kernel("message.take_flagged")(mirrored, begin, packet.arrays["flags"], emptied, values)
        packet.arrays["values"] = values
    return packet


def room_for_push(
    route: Route, inbox: Buffers, op: str, dtype: np.dtype[Any], *, flagged: bool
) -> dict[str, NDArray[Any]]:
    """Return arrays of the owner's element for any packet of `pack_push`."""
    k = len(route)
    if op == "or":
        return {"flags": inbox.bitmap("flags 0", k)}
    return _room_for_changes(inbox, 0, k, dtype) if flagged else {"values": inbox.array("values 0", k, dtype)}


def unpack_push(
    route: Route, inbox: Buffers, op: str, packet: Packet, owned: NDArray[Any], flags: NDArray[Any] | None
) -> Bytes:
    """Reduce a packet into a route's owned values, on the owner's element; return the bytes read in place."""
    if packet.encoding is Encoding.IN_PLACE:
        return _push_in_place(route, inbox, op, packet, owned, flags)
    element, k = inbox.element, len(route)
    if op == "or":
        element.kernel("exchange.push_or_bits")(route.index, 0, packet.arrays["flags"], owned)
    elif flags is None:
        element.kernel(f"exchange.push_{op}")(route.index, 0, packet.arrays["values"], owned)
    else:
        if packet.encoding is Encoding.SPARSE:
            values = inbox.array("placed", k, owned.dtype, exchanged=False)
            marks = inbox.bitmap("marks", k, exchanged=False)
            _place_listed(packet, inbox, 0, values, marks)
        else:
            values, marks = packet.arrays["values"], packet.arrays["flags"]
        element.kernel(f"exchange.push_{op}_flagged")(route.index, 0, values, marks, owned, flags)
    return 0


def _push_in_place(
    route: Route, inbox: Buffers, op: str, packet: Packet, owned: NDArray[Any], flags: NDArray[Any] | None
) -> Bytes:
    element, mirrored = inbox.element, packet.arrays["values"]
    if op == "or":
        element.kernel("exchange.push_or_bits")(route.index, route.begin, mirrored, owned)
        return bit_bytes(len(route))
    if flags is None:
        element.kernel(f"exchange.push_{op}")(route.index, route.begin, mirrored, owned)
        return len(route) * owned.itemsize
    args = (route.index, route.begin, mirrored, packet.arrays["flags"], owned, flags)
    moved = element.kernel(f"exchange.push_{op}_flagged")(*args)
    return _bytes_of_changes(moved, owned.itemsize, dense_bytes(len(route), owned.itemsize))


# ---- owners to mirrors -----------------------------------------------------------------------------


def pack_pull(
    route: Route,
    outbox: Buffers,
    owned: NDArray[Any],
    flags: NDArray[Any] | None,
    *,
    as_bits: bool,
    turn: int,
) -> Packet:
    """Return a packet of the values of a route's mirrors. Runs on the owner's element.

    Parameters
    ----------
    owned : ndarray
        If the route's mirrors are contiguous and there are no flags, the packet holds a view of it.
    flags : ndarray or None
        A bitmap of the values that changed. Only these are sent.
    as_bits : bool
        Whether `owned` is a bitmap.
    turn : int
        The set of buffers to use, 0 or 1. The other set may still be in use.
    """
    element, k = outbox.element, len(route)
    if as_bits:
        words = outbox.bitmap(f"flags {turn}", k)
        element.kernel("exchange.pull_bits")(0, route.owner_bitmap, route.rank, owned, words)
        return Packet(Encoding.BITS, k, bit_bytes(k), {"flags": words})
    if flags is None and route.first is not None:
        source = owned[route.first : route.first + k]
        return Packet(Encoding.DENSE, k, k * owned.dtype.itemsize, {"values": source})
    # Filled, because a dense packet also sends values without a flag.
    values = outbox.array(f"values {turn}", k, owned.dtype, 0)
    if flags is None:
        element.kernel("exchange.pull")(route.index, 0, owned, values)
        return Packet(Encoding.DENSE, k, k * owned.dtype.itemsize, {"values": values})
    marks = outbox.bitmap("marks", k, exchanged=False)
    moved = element.kernel("exchange.pull_flagged")(
        0, route.owner_bitmap, route.rank, owned, flags, values, marks
    )
    packet = _pack_changes(outbox, turn, marks, 0, k, values, int(moved))
    if packet.encoding is Encoding.DENSE:
        packet.arrays["values"] = values
    return packet


def room_for_pull(
    route: Route,
    inbox: Buffers,
    mirrored: NDArray[Any],
    *,
    as_bits: bool,
    flagged: bool,
    turn: int,
    published: bool = False,
) -> dict[str, NDArray[Any]]:
    """Return arrays of the mirrors' element for any packet of `pack_pull`.

    Values without flags go to the mirrors directly, so nothing may use the mirrors before `unpack_pull`.
    Published values may arrive long before the pull, so they have a buffer.
    """
    k = len(route)
    if as_bits:
        return {"flags": inbox.bitmap(f"flags {turn}", k)}
    if flagged:
        return _room_for_changes(inbox, turn, k, mirrored.dtype)
    if published:
        return {"values": inbox.array(f"values {turn}", k, mirrored.dtype)}
    return {"values": mirrored[route.begin : route.begin + k]}


def unpack_pull(
    route: Route,
    inbox: Buffers,
    packet: Packet,
    mirrored: NDArray[Any],
    flags: NDArray[Any] | None,
    *,
    as_bits: bool,
) -> Bytes:
    """Store a packet in a route's mirrors, on the mirrors' element; return the bytes read in place."""
    element, begin, k = inbox.element, route.begin, len(route)
    if packet.encoding is Encoding.IN_PLACE:
        return _pull_in_place(route, inbox, packet, mirrored, flags, as_bits=as_bits)
    if packet.encoding is Encoding.BITS:
        element.kernel("message.place_bits")(packet.arrays["flags"], k, mirrored, begin)
    elif packet.encoding is Encoding.SPARSE:
        _place_listed(packet, inbox, begin, mirrored, flags)
    elif flags is not None:
        values, marks = packet.arrays["values"], packet.arrays["flags"]
        element.kernel("message.place_flagged")(values, marks, begin, mirrored, flags)
    return 0


def unpack_published(route: Route, inbox: Buffers, packet: Packet, mirrored: NDArray[Any]) -> int:
    """Copy a packet of all values from its buffer to a route's mirrors, as `unpack_pull` does."""
    mirrors = mirrored[route.begin : route.begin + len(route)]
    inbox.element.kernel("message.take_values")(packet.arrays["values"], 0, len(route), 0, mirrors)
    return 0


def _pull_in_place(
    route: Route,
    inbox: Buffers,
    packet: Packet,
    mirrored: NDArray[Any],
    flags: NDArray[Any] | None,
    *,
    as_bits: bool,
) -> Bytes:
    element, owned = inbox.element, packet.arrays["values"]
    if as_bits:
        element.kernel("exchange.pull_bits")(route.begin, route.owner_bitmap, route.rank, owned, mirrored)
        return bit_bytes(len(route))
    if flags is None:
        element.kernel("exchange.pull")(route.index, route.begin, owned, mirrored)
        return len(route) * owned.itemsize
    args = (route.begin, route.owner_bitmap, route.rank, owned, packet.arrays["flags"], mirrored, flags)
    moved = element.kernel("exchange.pull_flagged")(*args)
    return _bytes_of_changes(moved, owned.itemsize, dense_bytes(len(route), owned.itemsize))


# ---- for both --------------------------------------------------------------------------------------


def _bytes_of_changes(moved: Any, itemsize: int, dense: int) -> Bytes:
    """Return the bytes of the smaller packet with `moved` values; a function for a result of a GPU."""
    if isinstance(moved, int):
        return min(sparse_bytes(moved, itemsize), dense)
    return lambda: min(sparse_bytes(int(moved), itemsize), dense)


def _pack_changes(
    outbox: Buffers,
    turn: int,
    flags: NDArray[Any],
    begin: int,
    count: int,
    values: NDArray[Any],
    flagged: int,
    *,
    emptied: int = 0,
) -> Packet:
    """Return a sparse packet if it has fewer bytes, else a dense packet with flags and without values.

    The flags of ``begin:begin + count`` are cleared. Listed values are set to 0 if `emptied` is not 0.
    """
    itemsize = values.dtype.itemsize
    sparse, dense = sparse_bytes(flagged, itemsize), dense_bytes(count, itemsize)
    if sparse >= dense:
        return Packet(Encoding.DENSE, count, dense, {"flags": _take_bits(outbox, turn, flags, begin, count)})
    length = outbox.array("length", 1, "uint64", exchanged=False)
    length[:] = 0
    positions = outbox.array(f"positions {turn}", count, "uint32")
    listed = outbox.array(f"listed {turn}", count, values.dtype)
    outbox.element.kernel("message.list_flagged")(
        flags, begin, count, values, emptied, positions, listed, length
    )  # fmt: skip
    packet = Packet(Encoding.SPARSE, flagged, sparse)
    if flagged:
        packet.arrays = {"positions": positions[:flagged], "values": listed[:flagged]}
    return packet


def _room_for_changes(inbox: Buffers, turn: int, count: int, dtype: np.dtype[Any]) -> dict[str, NDArray[Any]]:
    """Return arrays for a packet of `_pack_changes`, dense or sparse."""
    return {
        "flags": inbox.bitmap(f"flags {turn}", count),
        "positions": inbox.array(f"positions {turn}", count, "uint32"),
        "values": inbox.array(f"values {turn}", count, dtype, 0),
    }


def _take_bits(outbox: Buffers, turn: int, flags: NDArray[Any], begin: int, count: int) -> NDArray[Any]:
    """Return a bitmap of the flags of ``begin:begin + count``, which are cleared."""
    words = outbox.bitmap(f"flags {turn}", count)
    outbox.element.kernel("message.take_bits")(flags, begin, count, words)
    return words


def _place_listed(
    packet: Packet, inbox: Buffers, begin: int, values: NDArray[Any], flags: NDArray[Any] | None
) -> None:
    if packet.count:
        positions, listed = packet.arrays["positions"], packet.arrays["values"]
        inbox.element.kernel("message.place_listed")(positions, listed, begin, values, flags)
