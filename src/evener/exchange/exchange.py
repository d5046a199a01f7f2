"""Exchange: what each element has to do so that values come from mirrors to owners, or the other way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evener.exchange import memory, message

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from evener.elements import Element
    from evener.exchange.message import Mailbox
    from evener.exchange.route import Route
    from evener.spread import Spread

    # The phase of the timeline that a step's time goes to, and what an element does. What an exchange's step
    # returns says who sent how many bytes.
    Step = tuple[str, Callable[..., Any], Sequence[Any]]

__all__ = ["Exchange", "nothing"]


def nothing(elements: Sequence[Element]) -> list[list[Step]]:
    """No steps for each element."""
    return [[] for _ in elements]


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

    def push(
        self, array: Spread, op: str, changed: Spread | None
    ) -> tuple[list[list[Step]], list[list[Step]]]:
        """From mirrors to owners, who reduce by `op`."""

        def near(route: Route, element: Element) -> int:
            mirrored, owned = array.parts[route.holder], array.parts[route.owner]
            return memory.push(
                route, element, op, mirrored, owned, _flags(changed, route.holder, route.owner)
            )

        def send(route: Route, outbox: Mailbox) -> int:
            return message.send_push(
                route, outbox, op, array.parts[route.holder], _flag(changed, route.holder)
            )

        def take(route: Route, outbox: Mailbox, inbox: Mailbox) -> None:
            owned, flags = array.parts[route.owner], _flag(changed, route.owner)
            message.take_push(route, outbox, inbox, op, owned, flags)

        return self._steps("holder", "owner", near, send, take)

    def pull(self, array: Spread, changed: Spread | None) -> tuple[list[list[Step]], list[list[Step]]]:
        """From owners to mirrors."""

        def near(route: Route, element: Element) -> int:
            owned, mirrored = array.parts[route.owner], array.parts[route.holder]
            flags = _flags(changed, route.owner, route.holder)
            return memory.pull(route, element, owned, mirrored, flags, as_bits=array.bits)

        def send(route: Route, outbox: Mailbox) -> int:
            owned, flags = array.parts[route.owner], _flag(changed, route.owner)
            return message.send_pull(route, outbox, owned, flags, as_bits=array.bits)

        def take(route: Route, outbox: Mailbox, inbox: Mailbox) -> None:
            mirrored, flags = array.parts[route.holder], _flag(changed, route.holder)
            message.take_pull(route, outbox, inbox, mirrored, flags, as_bits=array.bits)

        return self._steps("owner", "holder", near, send, take)

    def _steps(
        self,
        sender: str,
        receiver: str,
        near: Callable[[Route, Element], int],
        send: Callable[[Route, Mailbox], int],
        take: Callable[[Route, Mailbox, Mailbox], None],
    ) -> tuple[list[list[Step]], list[list[Step]]]:
        def packed(p: int, routes: list[Route]) -> list[tuple[int, int]]:
            sent = [(p, send(route, self._boxes(route, sender)[0])) for route in routes]
            self._elements[p].post()
            return sent

        def taken(p: int, routes: list[Route]) -> list[tuple[int, int]]:
            sent = []
            for route in routes:
                if route in self._mailboxes:
                    take(route, *self._boxes(route, sender))
                else:
                    sent.append((getattr(route, sender), near(route, self._elements[p])))
            return sent

        sends, takes = nothing(self._elements), nothing(self._elements)
        for p in range(len(self._elements)):
            going = [r for r in self._routes if getattr(r, sender) == p and r in self._mailboxes]
            coming = [r for r in self._routes if getattr(r, receiver) == p]
            if going:
                sends[p].append(("send", packed, (p, going)))
            if coming:
                takes[p].append(("receive", taken, (p, coming)))
        return sends, takes

    def _boxes(self, route: Route, sender: str) -> tuple[Mailbox, Mailbox]:
        """The sender's and the receiver's."""
        of_holder, of_owner = self._mailboxes[route]
        return (of_holder, of_owner) if sender == "holder" else (of_owner, of_holder)


def _flag(changed: Spread | None, p: int) -> NDArray[Any] | None:
    return None if changed is None else changed.parts[p]


def _flags(changed: Spread | None, p: int, q: int) -> tuple[NDArray[Any], NDArray[Any]] | None:
    return None if changed is None else (changed.parts[p], changed.parts[q])
