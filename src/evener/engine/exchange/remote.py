"""Links between GPUs of two ranks: the ends that a carrier moves arrays between.

The host sees only small messages of the world: the heads of packets of changes, and notes of the carrier.
"""

from __future__ import annotations

from collections import deque
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.engine.exchange.packet import HEAD_BYTES, Packet, has_head
from evener.engine.exchange.transport import Receiver, Sender

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evener.elements.protocols import GpuElement
    from evener.engine.exchange.packet import Arrays
    from evener.system.world import World

__all__ = [
    "TAGS_OF_LINK",
    "Carrier",
    "DeviceReceiver",
    "DeviceSender",
    "FarEnd",
    "Place",
    "RankTransport",
    "gpu_pairs",
]

# Numbers of messages of a link: of heads and whole messages, and of arrays in GPU memory.
TAGS_OF_LINK = 2


class Place(NamedTuple):
    """The rank of an element, the name of its machine, and a GPU's place in it; "" for other elements."""

    rank: int
    host: str
    bus_id: str


def gpu_pairs(places: Sequence[Place]) -> set[tuple[int, int]]:
    """Return the numbers of all pairs of GPUs of different ranks, in both orders."""
    gpus = [(number, place.rank) for number, place in enumerate(places) if place.bus_id]
    return {(a, b) for (a, rank), (b, other) in product(gpus, gpus) if rank != other}


class RankTransport:
    """A way to move packets between GPUs of two ranks. Modules of `transports` list theirs.

    `probe` and `start` are collective operations; all ranks must call them. `elements` are the GPUs of this
    rank, by number.

    Parameters
    ----------
    world : World
    places : sequence of Place
        The elements of all ranks.

    Attributes
    ----------
    name : str
        The name in `EVENER_RANK_TRANSPORT`.
    preference : int
        If several transports join two elements, the one with the lowest preference is used.
    """

    name: str
    preference: int

    def __init__(self, world: World, places: Sequence[Place]) -> None:
        self._world = world
        self._places = places

    def probe(self, elements: dict[int, GpuElement]) -> set[tuple[int, int]]:
        """Return pairs of elements, sender first, that the transport joins, as far as this rank knows."""
        raise NotImplementedError

    def start(self, elements: dict[int, GpuElement]) -> None:
        """Prepare for links, once some pair uses the transport."""

    def carrier(self) -> Carrier:
        """Return the carrier of links that exchange together."""
        raise NotImplementedError


class FarEnd(NamedTuple):
    """The end of a link that is on another rank.

    `tag` is the number of the link for messages of the world. The next number also belongs to the link.
    `here` and `there` are the numbers of the partition of this rank and of that of the other rank.
    """

    world: World
    rank: int
    tag: int
    here: int
    there: int


class Carrier:
    """Moves the arrays of packets between GPUs of different ranks, in the order of each GPU's work.

    Links of one kind that use the same transport share a carrier, so that their transfers can begin together.

    Attributes
    ----------
    note_bytes : int
        Bytes that the carrier adds to the head of each packet. 0: packets of constant length have no head.
    """

    note_bytes = 0

    def send(self, end: DeviceSender, arrays: list[NDArray[Any]]) -> bytes:
        """Begin to send arrays after the work queued so far, and return the carrier's note."""
        raise NotImplementedError

    def add_receiver(self, end: DeviceReceiver) -> None:
        """Add an end whose packets the carrier receives."""

    def bring(self, end: DeviceReceiver) -> None:
        """Call `arrive` of an end, and fill the arrays that it returns before the GPU's later work."""
        raise NotImplementedError

    def flush(self) -> None:
        """Begin all transfers of packets that were sent so far."""


class DeviceSender(Sender):
    """The sending end of a link from a GPU to a GPU of another rank."""

    def __init__(self, far: FarEnd, element: GpuElement, carrier: Carrier) -> None:
        self.far = far
        self.element = element
        self._carrier = carrier
        # Handles for `World.wait` of the messages sent since the last call of `take_posted`.
        self.posted: list[Any] = []

    def send(self, packet: Packet) -> None:
        """Begin to send the packet, and post its head."""
        note = self._carrier.send(self, list(packet.arrays.values()))
        if note or has_head(packet.arrays):
            head = np.empty(HEAD_BYTES + len(note), np.uint8)
            packet.write_head(head)
            head[HEAD_BYTES:] = np.frombuffer(note, np.uint8)
            self.posted.append(self.far.world.post(self.far.rank, self.far.tag, head))

    def take_posted(self) -> list[Any]:
        """Return `posted`, and begin a new list."""
        posted, self.posted = self.posted, []
        return posted


class _Expected(NamedTuple):
    """A packet that will arrive: the arrays that it fills, and its head with the posted receive."""

    targets: Arrays
    head: NDArray[np.uint8] | None
    posted: Any


class DeviceReceiver(Receiver):
    """The receiving end of a link from a GPU of another rank."""

    def __init__(self, far: FarEnd, element: GpuElement, carrier: Carrier) -> None:
        self.far = far
        self.element = element
        self._carrier = carrier
        self._expected: deque[_Expected] = deque()
        self._packets: deque[Packet] = deque()
        carrier.add_receiver(self)

    @property
    def expects(self) -> bool:
        """Whether a packet is expected that has not arrived."""
        return bool(self._expected)

    def expect(self, targets: Arrays) -> None:
        """Provide arrays for the next packet, and begin to receive its head."""
        head, posted = None, None
        if has_head(targets) or self._carrier.note_bytes:
            head = np.empty(HEAD_BYTES + self._carrier.note_bytes, np.uint8)
            posted = self.far.world.expect(self.far.rank, self.far.tag, head)
        self._expected.append(_Expected(targets, head, posted))

    def arrive(self) -> tuple[list[NDArray[Any]], bytes]:
        """Wait for the head of the next packet; return the arrays to fill, and the carrier's note."""
        targets, head, posted = self._expected.popleft()
        if head is not None:
            self.far.world.wait([posted])
        packet = Packet.arriving(targets, head)
        self._packets.append(packet)
        return list(packet.arrays.values()), b"" if head is None else head[HEAD_BYTES:].tobytes()

    def receive(self) -> Packet:
        """Return the oldest packet. Later work of the GPU sees complete arrays."""
        if not self._packets:
            self._carrier.bring(self)
        return self._packets.popleft()
