"""The message transport: holder and owner have memories of their own; the sender packs, the receiver takes.

Each exchange has two halves. The sender packs what travels into an outbox in its own memory and sends it on
its way, into an inbox in the receiver's or, where whole values travel, to where they belong; it is then free
to change its arrays, but for whole values that lie in a row and travel from where they are. The receiver
takes what has arrived, and reduces it. An exchange is dense (the whole slice, with a bit for each value where
only some count) or sparse (positions and values of what changed), whichever is fewer bytes.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.engine.exchange.encoding import bit_bytes, dense_bytes, sparse_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike, NDArray

    from evener.elements import Element
    from evener.partition.route import Route

__all__ = ["Mailbox", "mailboxes", "send_pull", "send_push", "take_pull", "take_push"]


@dataclass(slots=True)
class Message:
    """What one element has sent to another.

    Attributes
    ----------
    turn : int
        Which of two sets of buffers it uses, 0 or 1.
    count : int
        How many values it holds.
    sparse : bool
        Whether it lists positions and values.
    contents : dict of str to ndarray
        Its arrays in the receiver's memory, by use.
    """

    turn: int
    count: int
    sparse: bool = False
    contents: dict[str, NDArray[Any]] = field(default_factory=dict)
    _arrivals: list[Any] = field(default_factory=list)

    def enclose(
        self,
        sender: Mailbox,
        receiver: Mailbox,
        use: str,
        source: NDArray[Any],
        target: NDArray[Any] | None = None,
    ) -> None:
        """Send an array along: to the receiver's own for this use and turn, or straight to a target."""
        if target is None:
            target = receiver.inbox(f"{use} {self.turn}", len(source), source.dtype)
        self.contents[use] = target
        self._arrivals.append(sender.element.send(source, receiver.element, target))

    def await_all(self, receiver: Element) -> None:
        """Let what the receiver does from here on find everything there."""
        for arrival in self._arrivals:
            receiver.receive(arrival)


@dataclass(slots=True)
class Mailbox:
    """What one route keeps on one side: arrays that are made once, and what has come.

    Attributes
    ----------
    element : Element
        On whose memory they lie.
    coming : deque of Message
        What was sent here and has not been taken, oldest first.
    """

    element: Element
    coming: deque[Message] = field(default_factory=deque)
    _arrays: dict[tuple[str, str], NDArray[Any]] = field(default_factory=dict)

    def array(
        self, use: str, length: int, dtype: DTypeLike, fill: object | None = None, *, travels: bool = True
    ) -> NDArray[Any]:
        """An array for some use, so long; the same every time, at first undefined or filled.

        One that does not travel is for what is worked out on the way.
        """
        key = (use, np.dtype(dtype).char)
        if key not in self._arrays:
            self._arrays[key] = self.element.array(length, dtype, fill, travels=travels)
        return self._arrays[key]

    def inbox(self, use: str, length: int, dtype: DTypeLike) -> NDArray[Any]:
        """As `array`, for what others send here."""
        made = len(self._arrays)
        array = self.array(use, length, dtype)
        if len(self._arrays) > made:
            # Its memory may have been that of an array which a kernel of this round was given.
            self.element.begin_round()
        return array

    def bitmap(self, use: str, length: int, *, travels: bool = True) -> NDArray[Any]:
        """A bitmap for some use; the same every time, clear at first."""
        return self.array(use, (length + 63) // 64, "uint64", 0, travels=travels)

    def take(self) -> Message:
        """The oldest message, when it has arrived."""
        message = self.coming.popleft()
        message.await_all(self.element)
        return message

    def drop(self) -> None:
        """Take and forget all that was sent here."""
        while self.coming:
            self.element.call(self.take)


def mailboxes(routes: Sequence[Route], elements: Sequence[Element]) -> dict[Route, tuple[Mailbox, Mailbox]]:
    """For each route between memories, what its holder keeps and what its owner keeps."""
    return {
        route: (Mailbox(elements[route.holder]), Mailbox(elements[route.owner]))
        for route in routes
        if elements[route.holder].memory != elements[route.owner].memory
    }


# ---- mirrors to owners -----------------------------------------------------------------------------


def send_push(
    route: Route,
    outbox: Mailbox,
    inbox: Mailbox,
    op: str,
    mirrored: NDArray[Any],
    flags: NDArray[Any] | None,
) -> int:
    """Send a route's mirrors, on the holder's element; returns the bytes that travel.

    After "add" the mirrors that travelled are empty; their flags are cleared.
    """
    element, begin, k = outbox.element, route.begin, len(route)
    message = Message(0, k)
    inbox.coming.append(message)
    if op == "or":
        _send_bits(message, outbox, inbox, mirrored, begin)
        return bit_bytes(k)
    nbytes, emptied = k * mirrored.dtype.itemsize, int(op == "add")
    if flags is not None:
        flagged = int(element.kernel("bits.count_range")(flags, begin, begin + k))
        nbytes = _send_changes(message, outbox, inbox, flags, begin, mirrored, flagged, emptied=emptied)
    if not message.sparse:
        values = outbox.array(f"values {message.turn}", k, mirrored.dtype)
        if flags is None:
            element.kernel("message.take_values")(mirrored, begin, k, emptied, values)
        else:
            # What is not flagged may never have been written.
            sent = outbox.bitmap(f"flags {message.turn}", k)
            element.kernel("message.take_flagged")(mirrored, begin, sent, emptied, values)
        message.enclose(outbox, inbox, "values", values)
    return nbytes


def take_push(route: Route, inbox: Mailbox, op: str, owned: NDArray[Any], flags: NDArray[Any] | None) -> None:
    """Reduce what a route's holder sent, on the owner's element."""
    element, k = inbox.element, len(route)
    message = inbox.take()
    if op == "or":
        element.kernel("exchange.push_or_bits")(route.index, 0, message.contents["flags"], owned)
        return
    if flags is None:
        element.kernel(f"exchange.push_{op}")(route.index, 0, message.contents["values"], owned)
        return
    if message.sparse:
        values = inbox.array("placed", k, owned.dtype, travels=False)
        marks = inbox.bitmap("marks", k, travels=False)
        _place_listed(message, inbox, 0, values, marks)
    else:
        values, marks = message.contents["values"], message.contents["flags"]
    element.kernel(f"exchange.push_{op}_flagged")(route.index, 0, values, marks, owned, flags)


# ---- owners to mirrors -----------------------------------------------------------------------------


def send_pull(
    route: Route,
    outbox: Mailbox,
    inbox: Mailbox,
    owned: NDArray[Any],
    mirrored: NDArray[Any],
    flags: NDArray[Any] | None,
    *,
    as_bits: bool,
    turn: int = 0,
) -> int:
    """Send what a route's mirrors stand for, on the owner's element; returns the bytes that travel.

    Values without flags go straight into the mirrors, so these must not be in use, and on a route whose owner
    numbers them in a row straight out of `owned`, which then stays as it is until they are there. Where the
    message before it may still be in use, `turn` is the other one's number.
    """
    element, k = outbox.element, len(route)
    message = Message(turn, k)
    inbox.coming.append(message)
    if as_bits:
        words = outbox.bitmap(f"flags {message.turn}", k)
        element.kernel("exchange.pull_bits")(0, route.held, route.before, owned, words)
        message.enclose(outbox, inbox, "flags", words)
        return bit_bytes(k)
    if flags is None and route.first is not None:
        source, target = owned[route.first : route.first + k], mirrored[route.begin : route.begin + k]
        message.enclose(outbox, inbox, "values", source, target)
        return k * owned.dtype.itemsize
    # Values that are not flagged travel as well, so they are something.
    values = outbox.array(f"values {message.turn}", k, owned.dtype, 0)
    if flags is None:
        element.kernel("exchange.pull")(route.index, 0, owned, values)
        message.enclose(outbox, inbox, "values", values, mirrored[route.begin : route.begin + k])
        return k * owned.dtype.itemsize
    marks = outbox.bitmap("marks", k, travels=False)
    moved = element.kernel("exchange.pull_flagged")(0, route.held, route.before, owned, flags, values, marks)
    nbytes = _send_changes(message, outbox, inbox, marks, 0, values, int(moved))
    if not message.sparse:
        message.enclose(outbox, inbox, "values", values)
    return nbytes


def take_pull(
    route: Route, inbox: Mailbox, mirrored: NDArray[Any], flags: NDArray[Any] | None, *, as_bits: bool
) -> None:
    """Put what a route's owner sent into the mirrors, on the holder's element."""
    element, begin, k = inbox.element, route.begin, len(route)
    message = inbox.take()
    if as_bits:
        element.kernel("message.place_bits")(message.contents["flags"], k, mirrored, begin)
    elif message.sparse:
        _place_listed(message, inbox, begin, mirrored, flags)
    elif flags is not None:
        values, marks = message.contents["values"], message.contents["flags"]
        element.kernel("message.place_flagged")(values, marks, begin, mirrored, flags)


# ---- what both share -------------------------------------------------------------------------------


def _send_changes(
    message: Message,
    outbox: Mailbox,
    inbox: Mailbox,
    flags: NDArray[Any],
    begin: int,
    values: NDArray[Any],
    flagged: int,
    *,
    emptied: int = 0,
) -> int:
    """Send the flags of a route's slice: in a list with values if that is fewer bytes, else as bits.

    Values that are listed are 0 afterwards if they are to be `emptied`.
    """
    element, k, itemsize = outbox.element, message.count, values.dtype.itemsize
    sparse, dense = sparse_bytes(flagged, itemsize), dense_bytes(k, itemsize)
    if sparse >= dense:
        _send_bits(message, outbox, inbox, flags, begin)
        return dense
    message.sparse, message.count = True, flagged
    length = outbox.array("length", 1, "uint64", travels=False)
    length[:] = 0
    positions = outbox.array(f"positions {message.turn}", k, "uint32")
    listed = outbox.array(f"listed {message.turn}", k, values.dtype)
    element.kernel("message.list_flagged")(
        flags, begin, k, values, emptied, positions, listed, length
    )  # fmt: skip
    if flagged:
        for use, listing in (("positions", positions), ("listed", listed)):
            # As long as any list can become, so that it is made once.
            target = inbox.inbox(f"{use} {message.turn}", k, listing.dtype)
            message.enclose(outbox, inbox, use, listing[:flagged], target[:flagged])
    return sparse


def _send_bits(message: Message, outbox: Mailbox, inbox: Mailbox, flags: NDArray[Any], begin: int) -> None:
    """Send flags from `begin` on, which are cleared."""
    k = message.count
    words = outbox.bitmap(f"flags {message.turn}", k)
    outbox.element.kernel("message.take_bits")(flags, begin, k, words)
    message.enclose(outbox, inbox, "flags", words)


def _place_listed(
    message: Message, inbox: Mailbox, begin: int, values: NDArray[Any], flags: NDArray[Any] | None
) -> None:
    if message.count:
        positions, listed = message.contents["positions"], message.contents["listed"]
        inbox.element.kernel("message.place_listed")(positions, listed, begin, values, flags)
