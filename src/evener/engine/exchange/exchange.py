"""Exchange: the steps that send values from mirrors to owners, or from owners to mirrors."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

from evener.engine.array import PartitionedArray
from evener.engine.exchange.forms import (
    PulledBits,
    PulledChanges,
    PulledValues,
    PushedBits,
    PushedChanges,
    PushedValues,
)
from evener.engine.exchange.link import Buffers, Link
from evener.engine.exchange.remote import TAGS_OF_LINK, FarEnd
from evener.engine.exchange.transport import IN_PLACE, Receiver, Sender, connect
from evener.engine.executor import no_steps
from evener.errors import MpiError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evener.elements.protocols import Element
    from evener.engine.exchange.forms import Bytes, Form
    from evener.engine.exchange.network import Network
    from evener.engine.exchange.remote import Carrier
    from evener.engine.executor import Step
    from evener.partition.route import Route
    from evener.system.world import World

    Steps = list[list[Step]]

__all__ = ["ELSEWHERE", "Exchange"]

# The position of a partition of another rank.
ELSEWHERE = -1

# The links of each route: to owners, to mirrors, and to mirrors for all values of a route.
_KINDS = ("push", "pull", "complete pull")

# The exchange of each world whose verb or whose published array has messages under way. It stays alive,
# because MPI writes to its buffers.
_under_way: WeakKeyDictionary[World, Exchange] = WeakKeyDictionary()


class Exchange:
    """The links of a partitioned graph.

    `push` and `pull` return two lists of steps. All elements run their send steps first, and then their
    receive steps. A link between elements that share a memory has no send step.

    The value of a step is a list of pairs: a partition, and the bytes that it sent.

    `elements` are those of this rank, and `routes` begin or end on this rank. `ranks` has the rank of each
    partition. Without a network, there are no other ranks.
    """

    def __init__(
        self,
        elements: Sequence[Element],
        routes: Sequence[Route],
        network: Network | None = None,
        ranks: Sequence[int] | None = None,
    ) -> None:
        self._elements = elements
        self._routes = routes
        self._network = network
        self._ranks = [0] * len(elements) if ranks is None else ranks
        self._rank = 0 if network is None else network.world.rank
        # The number of this rank's first partition.
        self._first = self._ranks.index(self._rank)
        self._published: Form | None = None
        self._turn = 0
        # Whether a verb has begun that `end_verb` has not ended.
        self.in_verb = False
        # Pending messages to other ranks, for `World.wait`: of verbs, and of the published array.
        self._posts: list[Any] = []
        self._published_posts: list[Any] = []
        # The carriers of the links of each kind, by the name of their transport.
        self._carriers: dict[str, dict[str, Carrier]] = {kind: {} for kind in _KINDS}

    @cached_property
    def _links(self) -> dict[str, list[Link]]:
        """The links of each kind, made on first use."""
        return {kind: [self._link(route, kind) for route in self._routes] for kind in _KINDS}

    def _link(self, route: Route, kind: str) -> Link:
        """Return a link of a route, with the ends that are on this rank."""
        ends = (route.mirror_partition, route.owner)
        sender, receiver = ends if kind == "push" else ends[::-1]
        start, end = (
            p - self._first if self._ranks[p] == self._rank else ELSEWHERE for p in (sender, receiver)
        )
        outbox, inbox = (None if p == ELSEWHERE else Buffers(self._elements[p]) for p in (start, end))
        send_end, receive_end = Sender(), Receiver()
        if outbox is not None and inbox is not None:
            send_end, receive_end = connect(outbox.element, inbox.element, complete=kind == "complete pull")
        elif self._network is not None:
            number = route.mirror_partition * len(self._ranks) + route.owner
            tag = TAGS_OF_LINK * (number * len(_KINDS) + _KINDS.index(kind))
            here, there = (receiver, sender) if outbox is None else (sender, receiver)
            far = FarEnd(self._network.world, self._ranks[there], tag, here, there)
            if outbox is not None:
                send_end = self._network.sender(far, outbox.element, self._carriers[kind])
            elif inbox is not None:
                receive_end = self._network.receiver(far, inbox.element, self._carriers[kind])
        buffers = cast("Buffers", outbox), cast("Buffers", inbox)
        return Link(route, start, end, *buffers, send_end, receive_end)

    # ---- verbs ------------------------------------------------------------------------------------

    def push(self, array: PartitionedArray, op: str, changed: PartitionedArray | None) -> tuple[Steps, Steps]:
        """Return the steps that carry mirrors to their owners, which reduce them by `op`."""
        if op == "or":
            return self.carry(PushedBits(array))
        return self.carry(PushedValues(array, op) if changed is None else PushedChanges(array, op, changed))

    def pull(self, array: PartitionedArray, changed: PartitionedArray | None) -> tuple[Steps, Steps]:
        """Return the steps that carry owners to their mirrors. A published array is not sent again."""
        form = self._published
        if form is not None and form.array is array and changed is None:
            self._begin_verb()
            self._end_publication()
            return no_steps(self._elements), self._receives(form)
        return self.carry(self._pulled(array, changed))

    def carry(self, form: Form) -> tuple[Steps, Steps]:
        """Return the steps that carry the packets of a form."""
        self.cancel_published()
        self._begin_verb()
        return self._sends(form, self._posts), self._receives(form)

    def publish(self, array: PartitionedArray) -> Steps:
        """Return the send steps of a pull. Each element may take its steps at any time.

        The mirrors do not change before the pull. Packets alternate between two sets of buffers, because
        the last packets may still be in use. An earlier array that was published but not pulled is dropped.
        """
        self.cancel_published()
        self._begin_verb()
        self._turn = 1 - self._turn
        form = self._pulled(array, None, published=True)
        sends = self._sends(form, self._published_posts)
        self._published = form
        return sends

    def _pulled(
        self, array: PartitionedArray, changed: PartitionedArray | None, *, published: bool = False
    ) -> Form:
        if array.bits:
            return PulledBits(array, turn=self._turn)
        if changed is None:
            return PulledValues(array, turn=self._turn, published=published)
        return PulledChanges(array, changed, turn=self._turn)

    # ---- when arrays may change -------------------------------------------------------------------

    def _begin_verb(self) -> None:
        """Begin a verb, after ending the publication of any other exchange, whose messages have our tags.

        After a verb has failed, raise MpiError: ranks that it has not failed on may have sent messages.
        """
        if self._network is not None:
            other = _under_way.get(self._network.world, self)
            if other is not self:
                if other.in_verb:
                    msg = (
                        "an earlier exchange between ranks has failed, and its messages may still arrive; "
                        "start the job again"
                    )
                    raise MpiError(msg)
                other.cancel_published()
            _under_way[self._network.world] = self
            self.in_verb = True

    def end_verb(self) -> None:
        """Wait until arrays that were sent to other ranks may change, except the published array."""
        if self._network is not None:
            for carriers in self._carriers.values():
                for carrier in carriers.values():
                    carrier.flush()
            if self._posts:
                self._network.world.wait(self._posts)
                self._posts.clear()
            self.in_verb = False
            if self._published is None and _under_way.get(self._network.world) is self:
                del _under_way[self._network.world]

    def invalidate_if_used(self, args: Sequence[Any]) -> None:
        """Drop the published array if it is among the arguments of a kernel, which may change it.

        Arguments may overlap on some ranks only, because views may be empty. If there is a published array,
        this is a collective operation; all ranks must call it.
        """
        if self._published is None:
            return
        published = self._published.array
        used = any(arg.overlaps(published) for arg in args if isinstance(arg, PartitionedArray))
        if self._network is not None:
            used = self._network.world.allreduce(used, "max")
        if used:
            self.cancel_published()

    def cancel_published(self) -> None:
        """Drop the published array, after waiting until it may change."""
        if self._published is not None:
            for link in self._links[self._published.links]:
                if link.to_partition != ELSEWHERE and not link.in_place:
                    link.receive_end.receive()
            self._end_publication()
            self.end_verb()

    def _end_publication(self) -> None:
        """Let `end_verb` wait for the messages of the published array."""
        self._published = None
        self._posts += self._published_posts
        self._published_posts = []

    # ---- steps ------------------------------------------------------------------------------------

    def _sends(self, form: Form, posts: list[Any]) -> Steps:
        """Return, for each element, a step that packs and sends its packets that are copied.

        The step adds its pending messages to `posts`, for `World.wait`.
        """

        def send(own: list[Link]) -> list[tuple[int, int]]:
            sent = []
            for link in own:
                packet = form.pack(link)
                link.send_end.send(packet)
                sent.append((link.from_partition, packet.nbytes))
            for link in own:
                posts.extend(link.send_end.take_posted())
            return sent

        links = [link for link in self._links[form.links] if not link.in_place]
        # If memory for one of the targets is missing, no receiver expects a packet that is never sent.
        incoming = [(link, form.targets(link)) for link in links if link.to_partition != ELSEWHERE]
        for link, targets in incoming:
            link.receive_end.expect(targets)
        steps = no_steps(self._elements)
        for p, own in enumerate(steps):
            if outgoing := [link for link in links if link.from_partition == p]:
                own.append(("send", send, (outgoing,)))
        return steps

    def _receives(self, form: Form) -> Steps:
        """Return, for each element, a step that receives and unpacks its packets."""

        def receive(own: list[Link]) -> list[tuple[int, Bytes]]:
            read = []
            for link in own:
                nbytes = form.unpack(link, link.receive_end.receive())
                if link.in_place:  # otherwise the sender counts
                    read.append((link.from_partition, nbytes))
                link.receive_end.release()
            return read

        links = self._links[form.links]
        for link in links:
            if link.in_place:
                link.send_end.send(IN_PLACE)
        steps = no_steps(self._elements)
        for p, own in enumerate(steps):
            if incoming := [link for link in links if link.to_partition == p]:
                own.append(("receive", receive, (incoming,)))
        return steps
