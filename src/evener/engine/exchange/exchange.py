"""Exchange: what each element has to do so that values come from mirrors to owners, or the other way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evener.engine.array import Spread
from evener.engine.exchange.transports import shared as memory
from evener.engine.exchange.transports import staged as message

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from evener.elements import Element
    from evener.engine.exchange.transports.staged import Mailbox
    from evener.partition.route import Route

    # The phase of the timeline that a step's time goes to, and what an element does. What an exchange's step
    # returns says who sent how many bytes.
    Step = tuple[str, Callable[..., Any], Sequence[Any]]

__all__ = ["Exchange", "nothing", "take_steps"]


def nothing(elements: Sequence[Element]) -> list[list[Step]]:
    """No steps for each element."""
    return [[] for _ in elements]


def take_steps(element: Element, steps: list[Step]) -> tuple[list[tuple[str, Any]], list[Any]]:
    """Take the steps: the phase of each and what it returned, after a first of nothing; and the marks."""
    done: list[tuple[str, Any]] = [("begin", None)]
    marks = [element.mark()]
    for phase, function, args in steps:
        done.append((phase, function(*args)))
        marks.append(element.mark())
    return done, marks


class Exchange:
    """The routes of a partitioned graph, each with its transport.

    Both directions give steps for each element twice: first all elements send, then all receive. Where the
    ends of a route share a memory, the receiver does it all.

    Parameters
    ----------
    elements : sequence of Element
    routes : sequence of Route
    mailboxes : dict
        What `message.mailboxes` makes of them.
    """

    def __init__(
        self,
        elements: Sequence[Element],
        routes: Sequence[Route],
        mailboxes: dict[Route, tuple[Mailbox, Mailbox]],
    ) -> None:
        self._elements = elements
        self._routes = routes
        self._mailboxes = mailboxes
        self._posted: Spread | None = None
        self._turn = 0

    def push(
        self, array: Spread, op: str, changed: Spread | None
    ) -> tuple[list[list[Step]], list[list[Step]]]:
        """From mirrors to owners, who reduce by `op`."""

        def near(route: Route, element: Element) -> int:
            mirrored, owned = array.parts[route.holder], array.parts[route.owner]
            return memory.push(
                route, element, op, mirrored, owned, _flags(changed, route.holder, route.owner)
            )

        def send(route: Route, outbox: Mailbox, inbox: Mailbox) -> int:
            mirrored, flags = array.parts[route.holder], _flag(changed, route.holder)
            return message.send_push(route, outbox, inbox, op, mirrored, flags)

        def take(route: Route, inbox: Mailbox) -> None:
            message.take_push(route, inbox, op, array.parts[route.owner], _flag(changed, route.owner))

        self.drop_posted()
        return self._sends("holder", send), self._takes("owner", near, take)

    def pull(self, array: Spread, changed: Spread | None) -> tuple[list[list[Step]], list[list[Step]]]:
        """From owners to mirrors. What was posted need not be sent again."""

        def near(route: Route, element: Element) -> int:
            owned, mirrored = array.parts[route.owner], array.parts[route.holder]
            flags = _flags(changed, route.owner, route.holder)
            return memory.pull(route, element, owned, mirrored, flags, as_bits=array.bits)

        def take(route: Route, inbox: Mailbox) -> None:
            mirrored, flags = array.parts[route.holder], _flag(changed, route.holder)
            message.take_pull(route, inbox, mirrored, flags, as_bits=array.bits)

        takes = self._takes("holder", near, take)
        if self._posted is array and changed is None:
            self._posted = None
            return nothing(self._elements), takes
        self.drop_posted()
        return self._sends("owner", self._sender_of_pulled(array, changed)), takes

    def post(self, array: Spread) -> list[list[Step]]:
        """The first half of a pull, for each element to do when it likes; the mirrors must not be in use.

        What the message before it brought may still be in use, so it takes the other set of buffers. What was
        posted before and not pulled is dropped.
        """
        self.drop_posted()
        self._turn = 1 - self._turn
        self._posted = array
        return self._sends("owner", self._sender_of_pulled(array, None))

    def taken_back(self, args: Sequence[Any]) -> None:
        """Forget what was posted if it is among a kernel's arguments: the kernel may change it."""
        posted = self._posted
        if posted is not None and any(arg.overlaps(posted) for arg in args if isinstance(arg, Spread)):
            self.drop_posted()

    def drop_posted(self) -> None:
        """Forget what was posted and is not pulled after all.

        A CPU waits for it. A GPU lets only what it is asked from here on wait: values may still be on their
        way to its mirrors, which a later pull writes after them.
        """
        if self._posted is not None:
            self._posted = None
            for boxes in self._mailboxes.values():
                for box in boxes:
                    box.drop()

    def _sender_of_pulled(self, array: Spread, changed: Spread | None) -> Callable[..., int]:
        turn = self._turn

        def send(route: Route, outbox: Mailbox, inbox: Mailbox) -> int:
            owned, mirrored = array.parts[route.owner], array.parts[route.holder]
            flags = _flag(changed, route.owner)
            return message.send_pull(
                route, outbox, inbox, owned, mirrored, flags, as_bits=array.bits, turn=turn
            )

        return send

    def _sends(self, sender: str, send: Callable[[Route, Mailbox, Mailbox], int]) -> list[list[Step]]:
        """What each element does for the routes on which it is the sender; near ones are the receiver's."""

        def sent(p: int, routes: list[Route]) -> list[tuple[int, int]]:
            return [(p, send(route, *self._boxes(route, sender))) for route in routes]

        steps = nothing(self._elements)
        for p, own in enumerate(steps):
            going = [r for r in self._routes if getattr(r, sender) == p and r in self._mailboxes]
            if going:
                own.append(("send", sent, (p, going)))
        return steps

    def _takes(
        self,
        receiver: str,
        near: Callable[[Route, Element], int],
        take: Callable[[Route, Mailbox], None],
    ) -> list[list[Step]]:
        """What each element does for the routes on which it is the receiver."""
        sender = "owner" if receiver == "holder" else "holder"

        def taken(p: int, routes: list[Route]) -> list[tuple[int, int]]:
            sent = []
            for route in routes:
                if route in self._mailboxes:
                    take(route, self._boxes(route, sender)[1])
                else:
                    sent.append((getattr(route, sender), near(route, self._elements[p])))
            return sent

        steps = nothing(self._elements)
        for p, own in enumerate(steps):
            coming = [r for r in self._routes if getattr(r, receiver) == p]
            if coming:
                own.append(("receive", taken, (p, coming)))
        return steps

    def _boxes(self, route: Route, sender: str) -> tuple[Mailbox, Mailbox]:
        """The sender's and the receiver's."""
        of_holder, of_owner = self._mailboxes[route]
        return (of_holder, of_owner) if sender == "holder" else (of_owner, of_holder)


def _flag(changed: Spread | None, p: int) -> NDArray[Any] | None:
    return None if changed is None else changed.parts[p]


def _flags(changed: Spread | None, p: int, q: int) -> tuple[NDArray[Any], NDArray[Any]] | None:
    return None if changed is None else (changed.parts[p], changed.parts[q])
