"""Exchange: the steps that send values from mirrors to owners, or from owners to mirrors."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from weakref import WeakKeyDictionary

from evener.engine.array import PartitionedArray
from evener.engine.exchange.buffers import Buffers
from evener.engine.exchange.encoding import (
    Encoding,
    pack_in_place,
    pack_pull,
    pack_push,
    room_for_pull,
    room_for_push,
    unpack_published,
    unpack_pull,
    unpack_push,
)
from evener.engine.exchange.remote import TAGS_OF_LINK, FarEnd
from evener.engine.exchange.transport import NO_END, connect
from evener.engine.executor import no_steps
from evener.errors import MpiError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from evener.elements.protocols import Element
    from evener.engine.exchange.encoding import Bytes, Packet
    from evener.engine.exchange.network import Lines, Network
    from evener.engine.exchange.transport import Receiver, Sender
    from evener.engine.executor import Step
    from evener.partition.route import Route
    from evener.system.world import World

    Steps = list[list[Step]]

__all__ = ["ELSEWHERE", "Exchange", "Link"]

# The position of a partition of another rank.
ELSEWHERE = -1

# The exchange of each world whose verb or whose published array has messages under way. It stays alive,
# because MPI writes to its buffers.
_under_way: WeakKeyDictionary[World, Exchange] = WeakKeyDictionary()


class Link:
    """One direction of a route: two partitions, and the transport between their elements.

    Parameters
    ----------
    route : Route
    from_partition, to_partition : int
        The positions on this rank of the partitions that send and receive; ELSEWHERE on another rank.
    outbox, inbox : Buffers or None
        Arrays of the sending and of the receiving element; None for an element of another rank.
    complete : bool
        Whether packets have all values of the route.
    far : (FarEnd, Lines), optional
        The other element and how to reach it, if it is on another rank.

    Attributes
    ----------
    send_end : Sender
    receive_end : Receiver
    """

    __slots__ = ("from_partition", "inbox", "outbox", "receive_end", "route", "send_end", "to_partition")

    def __init__(
        self,
        route: Route,
        from_partition: int,
        to_partition: int,
        outbox: Buffers | None,
        inbox: Buffers | None,
        *,
        complete: bool,
        far: tuple[FarEnd, Lines] | None = None,
    ) -> None:
        self.route = route
        self.from_partition = from_partition
        self.to_partition = to_partition
        self.outbox = cast("Buffers", outbox)
        self.inbox = cast("Buffers", inbox)
        self.send_end: Sender = NO_END
        self.receive_end: Receiver = NO_END
        if outbox is not None and inbox is not None:
            self.send_end, self.receive_end = connect(outbox.element, inbox.element, complete=complete)
        elif far is not None:
            end, lines = far
            if outbox is not None:
                self.send_end = lines.sender(end, outbox.element)
            elif inbox is not None:
                self.receive_end = lines.receiver(end, inbox.element)


class _Links(NamedTuple):
    """The links by which values travel up to owners and down to mirrors.

    `complete_pulls` carry all values of a route, `pulls` carry bitmaps and values that changed.
    """

    pushes: list[Link]
    pulls: list[Link]
    complete_pulls: list[Link]


class Exchange:
    """The links of a partitioned graph.

    `push` and `pull` return two lists of steps. All elements run their send steps first, and then their
    receive steps. A link between elements that share a memory has no send step.

    The value of a step is a list of pairs: a partition, and the bytes that it sent.

    Parameters
    ----------
    elements : sequence of Element
        The elements of this rank.
    routes : sequence of Route
        The routes that begin or end on this rank.
    network : Network, optional
        The ways to the elements of other ranks. Default: there are no other ranks.
    ranks : sequence of int, optional
        The rank of each partition. Default: this rank.

    Attributes
    ----------
    in_verb : bool
        Whether a verb has begun that `settle` has not ended.
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
        self._ranks = [0] * len(elements) if ranks is None else list(ranks)
        self._rank = 0 if network is None else network.world.rank
        # The number of this rank's first partition.
        self._first = self._ranks.index(self._rank)
        self._published: PartitionedArray | None = None
        self._turn = 0
        self.in_verb = False
        # Pending messages to other ranks, for `World.wait`: of verbs, and of the published array.
        self._posts: list[Any] = []
        self._published_posts: list[Any] = []
        # How to reach other ranks, by the number of the link.
        self._lines = [] if network is None else [network.lines() for _ in _Links._fields]

    @cached_property
    def _links(self) -> _Links:
        """The links, made on first use."""
        links = _Links([], [], [])
        for route in self._routes:
            up, down = (route.mirror_partition, route.owner), (route.owner, route.mirror_partition)
            links.pushes.append(self._link(route, *up, 0, complete=False))
            links.pulls.append(self._link(route, *down, 1, complete=False))
            links.complete_pulls.append(self._link(route, *down, 2, complete=True))
        return links

    def _link(self, route: Route, sender: int, receiver: int, number: int, *, complete: bool) -> Link:
        """Return a link between two partitions; `number` differs for the links of a route."""
        here = [p - self._first if self._ranks[p] == self._rank else ELSEWHERE for p in (sender, receiver)]
        outbox, inbox = (None if p == ELSEWHERE else Buffers(self._elements[p]) for p in here)
        far = None
        if self._network is not None and ELSEWHERE in here:
            own, other = (receiver, sender) if outbox is None else (sender, receiver)
            number_of_route = route.mirror_partition * len(self._ranks) + route.owner
            tag = TAGS_OF_LINK * (number_of_route * len(_Links._fields) + number)
            end = FarEnd(self._network.world, self._ranks[other], tag, own, other)
            far = end, self._lines[number]
        return Link(route, here[0], here[1], outbox, inbox, complete=complete, far=far)

    def settle(self) -> None:
        """Wait until arrays that were sent to other ranks may change, except the published array."""
        if self._network is not None:
            for lines in self._lines:
                lines.settle()
            if self._posts:
                self._network.world.wait(self._posts)
                self._posts.clear()
            self.in_verb = False
            if self._published is None and _under_way.get(self._network.world) is self:
                del _under_way[self._network.world]

    def _begin(self) -> None:
        """Begin a verb, after ending the publication of any other exchange, whose messages have our tags.

        Raises
        ------
        MpiError
            If a verb has failed. Ranks that it has not failed on may have sent messages.
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

    def push(self, array: PartitionedArray, op: str, changed: PartitionedArray | None) -> tuple[Steps, Steps]:
        """Return the steps that carry mirrors to their owners, which reduce them by `op`."""

        def room(link: Link) -> dict[str, NDArray[Any]]:
            dtype = array.parts[link.to_partition].dtype
            return room_for_push(link.route, link.inbox, op, dtype, flagged=changed is not None)

        def pack(link: Link) -> Packet:
            flags = _part(changed, link.from_partition)
            return pack_push(link.route, link.outbox, op, array.parts[link.from_partition], flags)

        def unpack(link: Link) -> Bytes:
            owned, flags = array.parts[link.to_partition], _part(changed, link.to_partition)
            return unpack_push(link.route, link.inbox, op, link.receive_end.receive(), owned, flags)

        self.cancel_published()
        self._begin()
        links = self._links.pushes
        _expect(links, room)
        _send_in_place(links, array, changed)
        return self._sends(links, pack, self._posts), self._receives(links, unpack)

    def pull(self, array: PartitionedArray, changed: PartitionedArray | None) -> tuple[Steps, Steps]:
        """Return the steps that carry owners to their mirrors. A published array is not sent again."""
        links = self._links_of_pull(array, changed)
        published = self._published is array and changed is None
        if not published:
            self.cancel_published()
        self._begin()
        if published:
            self._end_publication()
            sends = no_steps(self._elements)
        else:
            sends = self._sends_of_pull(array, changed, self._posts)
        _send_in_place(links, array, changed)

        def unpack(link: Link) -> Bytes:
            packet, mirrored = link.receive_end.receive(), array.parts[link.to_partition]
            if published and packet.encoding is Encoding.DENSE:
                return unpack_published(link.route, link.inbox, packet, mirrored)
            flags = _part(changed, link.to_partition)
            return unpack_pull(link.route, link.inbox, packet, mirrored, flags, as_bits=array.bits)

        return sends, self._receives(links, unpack)

    def publish(self, array: PartitionedArray) -> Steps:
        """Return the send steps of a pull. Each element may take its steps at any time.

        The mirrors do not change before the pull. Packets alternate between two sets of buffers, because
        the last packets may still be in use. An earlier array that was published but not pulled is dropped.
        """
        self.cancel_published()
        self._begin()
        self._turn = 1 - self._turn
        self._published = array
        return self._sends_of_pull(array, None, self._published_posts)

    def invalidate_if_used(self, args: Sequence[Any]) -> None:
        """Drop the published array if it is among the arguments of a kernel, which may change it.

        Arguments may overlap on some ranks only, because views may be empty. If there is a published array,
        this is a collective operation; all ranks must call it.
        """
        published = self._published
        if published is None:
            return
        used = any(arg.overlaps(published) for arg in args if isinstance(arg, PartitionedArray))
        if self._network is not None:
            used = self._network.world.allreduce(used, "max")
        if used:
            self.cancel_published()

    def cancel_published(self) -> None:
        """Drop the published array, after waiting until it may change."""
        if self._published is not None:
            for link in self._links_of_pull(self._published, None):
                link.receive_end.discard()
            self._end_publication()
            self.settle()

    def _end_publication(self) -> None:
        """Let `settle` wait for the messages of the published array."""
        self._published = None
        self._posts += self._published_posts
        self._published_posts = []

    def _links_of_pull(self, array: PartitionedArray, changed: PartitionedArray | None) -> list[Link]:
        complete = changed is None and not array.bits
        return self._links.complete_pulls if complete else self._links.pulls

    def _sends_of_pull(
        self, array: PartitionedArray, changed: PartitionedArray | None, posts: list[Any]
    ) -> Steps:
        turn, as_bits, published = self._turn, array.bits, self._published is array

        def room(link: Link) -> dict[str, NDArray[Any]]:
            mirrored, flagged = array.parts[link.to_partition], changed is not None
            return room_for_pull(
                link.route, link.inbox, mirrored, as_bits=as_bits, flagged=flagged, published=published,
                turn=turn,
            )  # fmt: skip

        def pack(link: Link) -> Packet:
            owned, flags = array.parts[link.from_partition], _part(changed, link.from_partition)
            return pack_pull(link.route, link.outbox, owned, flags, as_bits=as_bits, turn=turn)

        links = self._links_of_pull(array, changed)
        _expect(links, room)
        return self._sends(links, pack, posts)

    def _sends(self, links: list[Link], pack: Callable[[Link], Packet], posts: list[Any]) -> Steps:
        """Return, for each element, a step that packs and sends its packets that are copied.

        The step adds its pending messages to `posts`, for `World.wait`.
        """

        def send(own: list[Link]) -> list[tuple[int, int]]:
            sent = []
            for link in own:
                packet = pack(link)
                link.send_end.send(packet)
                sent.append((link.from_partition, packet.nbytes))
            for link in own:
                posts.extend(link.send_end.take_posted())
            return sent

        steps = no_steps(self._elements)
        for p, own in enumerate(steps):
            outgoing = [link for link in links if link.from_partition == p and not link.send_end.in_place]
            if outgoing:
                own.append(("send", send, (outgoing,)))
        return steps

    def _receives(self, links: list[Link], unpack: Callable[[Link], Bytes]) -> Steps:
        """Return, for each element, a step that receives and unpacks its packets."""

        def receive(own: list[Link]) -> list[tuple[int, Bytes]]:
            received = []
            for link in own:
                nbytes = unpack(link)
                if link.from_partition != ELSEWHERE:  # other ranks count what they send
                    received.append((link.from_partition, nbytes))
                link.receive_end.release()
            return received

        steps = no_steps(self._elements)
        for p, own in enumerate(steps):
            if incoming := [link for link in links if link.to_partition == p]:
                own.append(("receive", receive, (incoming,)))
        return steps


def _expect(links: list[Link], room: Callable[[Link], dict[str, NDArray[Any]]]) -> None:
    """Provide room for the packets that are copied."""
    for link in links:
        if link.to_partition != ELSEWHERE and not link.send_end.in_place:
            link.receive_end.expect(room(link))


def _send_in_place(links: list[Link], array: PartitionedArray, changed: PartitionedArray | None) -> None:
    """Send the packets that are read in place."""
    for link in links:
        if link.send_end.in_place:
            p = link.from_partition
            link.send_end.send(pack_in_place(array.parts[p], _part(changed, p)))


def _part(changed: PartitionedArray | None, p: int) -> NDArray[Any] | None:
    return None if changed is None else changed.parts[p]
