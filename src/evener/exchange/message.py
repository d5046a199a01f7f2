"""The message transport: holder and owner have memories of their own; the sender packs, the receiver takes.

Each exchange has two halves. The sender packs what travels into an outbox in its own memory, and is then free
to change its arrays; the receiver takes the outbox's content over by plain copies, and reduces it. An
exchange is dense (the whole slice, with a bit for each value where only some count) or sparse (positions and
values of what changed), whichever is fewer bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.exchange.cost import bit_bytes, dense_bytes, sparse_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike, NDArray

    from evener.elements import Element
    from evener.exchange.route import Route

__all__ = ["Mailbox", "mailboxes", "send_pull", "send_push", "take_pull", "take_push"]


@dataclass(slots=True)
class Mailbox:
    """What one route keeps on one side: arrays that are made once, and what was packed last.

    Attributes
    ----------
    element : Element
        On whose memory they lie.
    sparse : bool
        Whether the last message lists positions and values.
    count : int
        How many values the last message holds.
    """

    element: Element
    sparse: bool = False
    count: int = 0
    _arrays: dict[tuple[str, str], NDArray[Any]] = field(default_factory=dict)

    def array(self, use: str, length: int, dtype: DTypeLike) -> NDArray[Any]:
        """An array for some use; the same one every time, undefined at first, zero for flags and counts."""
        key = (use, np.dtype(dtype).char)
        if key not in self._arrays:
            self._arrays[key] = self.element.array(length, dtype, 0 if np.dtype(dtype) == np.uint64 else None)
        return self._arrays[key]

    def bits(self, use: str, length: int) -> NDArray[Any]:
        """A bitmap for some use, clear at first."""
        return self.array(use, (length + 63) // 64, "uint64")


def mailboxes(routes: Sequence[Route], elements: Sequence[Element]) -> dict[Route, tuple[Mailbox, Mailbox]]:
    """For each route between memories, what its holder keeps and what its owner keeps."""
    return {
        route: (Mailbox(elements[route.holder]), Mailbox(elements[route.owner]))
        for route in routes
        if elements[route.holder].memory != elements[route.owner].memory
    }


# ---- mirrors to owners -----------------------------------------------------------------------------


def send_push(
    route: Route, outbox: Mailbox, op: str, mirrored: NDArray[Any], flags: NDArray[Any] | None
) -> int:
    """Pack a route's mirrors, on the holder's element; returns the bytes that will travel.

    Mirrors are emptied after "add", and their flags are cleared.
    """
    element, begin, k = outbox.element, route.begin, len(route)
    outbox.count, outbox.sparse = k, False
    if op == "or":
        element.kernel("message.take_bits")(mirrored, begin, k, outbox.bits("flags", k))
        return bit_bytes(k)
    itemsize = mirrored.dtype.itemsize
    nbytes = k * itemsize
    if flags is not None:
        flagged = int(element.kernel("bits.count_range")(flags, begin, begin + k))
        nbytes = _pack_changes(outbox, flags, begin, k, mirrored, flagged)
    if not outbox.sparse:
        outbox.array("values", k, mirrored.dtype)[:] = mirrored[begin : begin + k]
    if op == "add":
        mirrored[begin : begin + k] = 0
    return nbytes


def take_push(
    route: Route, outbox: Mailbox, inbox: Mailbox, op: str, owned: NDArray[Any], flags: NDArray[Any] | None
) -> None:
    """Reduce what a route's holder packed, on the owner's element."""
    element, k = inbox.element, len(route)
    if op == "or":
        message = _take_bits(outbox, inbox, k)
        element.kernel("exchange.push_or_bits")(route.index, 0, message, owned)
        return
    values = inbox.array("values", k, owned.dtype)
    if flags is None:
        element.take(outbox.element, outbox.array("values", k, owned.dtype), values)
        element.kernel(f"exchange.push_{op}")(route.index, 0, values, owned)
        return
    if outbox.sparse:
        marks = inbox.bits("marks", k)  # clear, for the kernel below takes each
        _place_listed(outbox, inbox, k, 0, values, marks)
    else:
        marks = _take_bits(outbox, inbox, k)
        element.take(outbox.element, outbox.array("values", k, owned.dtype), values)
    element.kernel(f"exchange.push_{op}_flagged")(route.index, 0, values, marks, owned, flags)


# ---- owners to mirrors -----------------------------------------------------------------------------


def send_pull(
    route: Route, outbox: Mailbox, owned: NDArray[Any], flags: NDArray[Any] | None, *, as_bits: bool
) -> int:
    """Pack what a route's mirrors stand for, on the owner's element; returns the bytes that will travel."""
    element, k = outbox.element, len(route)
    outbox.count, outbox.sparse = k, False
    if as_bits:
        element.kernel("exchange.pull_bits")(0, route.held, route.before, owned, outbox.bits("flags", k))
        return bit_bytes(k)
    values = outbox.array("values", k, owned.dtype)
    if flags is None:
        element.kernel("exchange.pull")(route.index, 0, owned, values)
        return k * owned.dtype.itemsize
    marks = outbox.bits("marks", k)  # clear, for packing takes each
    moved = element.kernel("exchange.pull_flagged")(0, route.held, route.before, owned, flags, values, marks)
    return _pack_changes(outbox, marks, 0, k, values, int(moved))


def take_pull(
    route: Route,
    outbox: Mailbox,
    inbox: Mailbox,
    mirrored: NDArray[Any],
    flags: NDArray[Any] | None,
    *,
    as_bits: bool,
) -> None:
    """Put what a route's owner packed into the mirrors, on the holder's element."""
    element, begin, k = inbox.element, route.begin, len(route)
    if as_bits:
        element.kernel("message.place_bits")(_take_bits(outbox, inbox, k), k, mirrored, begin)
        return
    packed = outbox.array("values", k, mirrored.dtype)
    if flags is None:
        element.take(outbox.element, packed, mirrored[begin : begin + k])
    elif outbox.sparse:
        _place_listed(outbox, inbox, k, begin, mirrored, flags)
    else:
        values = inbox.array("values", k, mirrored.dtype)
        element.take(outbox.element, packed, values)
        marks = _take_bits(outbox, inbox, k)
        element.kernel("message.place_flagged")(values, marks, begin, mirrored, flags)


# ---- what both share -------------------------------------------------------------------------------


def _pack_changes(
    outbox: Mailbox, flags: NDArray[Any], begin: int, k: int, values: NDArray[Any], flagged: int
) -> int:
    """Take the flags of ``begin:begin + k``: as a list with values if that is fewer bytes, else as bits."""
    element, itemsize = outbox.element, values.dtype.itemsize
    sparse, dense = sparse_bytes(flagged, itemsize), dense_bytes(k, itemsize)
    if sparse >= dense:
        element.kernel("message.take_bits")(flags, begin, k, outbox.bits("flags", k))
        return dense
    outbox.sparse, outbox.count = True, flagged
    length = outbox.array("length", 1, "uint64")
    length[:] = 0
    positions, listed = outbox.array("positions", k, "uint32"), outbox.array("listed", k, values.dtype)
    element.kernel("message.list_flagged")(flags, begin, k, values, positions, listed, length)
    return sparse


def _take_bits(outbox: Mailbox, inbox: Mailbox, k: int) -> NDArray[Any]:
    message = inbox.bits("flags", k)
    inbox.element.take(outbox.element, outbox.bits("flags", k), message)
    return message


def _place_listed(
    outbox: Mailbox, inbox: Mailbox, k: int, begin: int, values: NDArray[Any], flags: NDArray[Any]
) -> None:
    if outbox.count == 0:
        return
    element, count = inbox.element, outbox.count
    positions = inbox.array("positions", k, "uint32")[:count]
    listed = inbox.array("listed", k, values.dtype)[:count]
    element.take(outbox.element, outbox.array("positions", k, "uint32")[:count], positions)
    element.take(outbox.element, outbox.array("listed", k, values.dtype)[:count], listed)
    element.kernel("message.place_listed")(positions, listed, begin, values, flags)
