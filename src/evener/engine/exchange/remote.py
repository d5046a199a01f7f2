"""Links between GPUs of two ranks: the ends that a carrier moves arrays between, and the heads of packets.

The host sees only small messages of the world. The head of a packet has its encoding and its lengths. A
packet with all values, or with bits, has the same length every time. It needs no head unless the carrier adds
a note.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from evener.engine.exchange.encoding import Encoding, Packet

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.elements.protocols import Gpu
    from evener.engine.exchange.transport import Arrays
    from evener.system.world import World

__all__ = [
    "HEAD_BYTES",
    "TAGS_OF_LINK",
    "Carrier",
    "DeviceReceiver",
    "DeviceSender",
    "FarEnd",
    "aligned",
    "complete_packet",
    "in_order",
    "is_of_changes",
    "read_head",
    "write_head",
]

_ENCODINGS = list(Encoding)
# Bytes of the head of a packet: encoding, count, bytes. Arrays in a buffer begin at multiples of 8 bytes.
HEAD_BYTES, _ALIGNED = 24, 8
# Numbers of messages of a link: of heads and whole messages, and of arrays in GPU memory.
TAGS_OF_LINK = 2
_ORDER = ("positions", "flags", "values")


class FarEnd(NamedTuple):
    """The end of a link that is on another rank.

    Attributes
    ----------
    world : World
    rank : int
        The other rank.
    tag : int
        The number of the link for messages of the world. The next number also belongs to the link.
    here, there : int
        The numbers of the partition of this rank and of the partition of the other rank.
    """

    world: World
    rank: int
    tag: int
    here: int
    there: int


def aligned(nbytes: int) -> int:
    """Return the distance between arrays in a buffer, for an array of `nbytes` bytes."""
    return -(-nbytes // _ALIGNED) * _ALIGNED


def in_order(arrays: Arrays) -> list[tuple[str, NDArray[Any]]]:
    """Return the uses and the arrays of a packet in the order in which they are sent."""
    return [(use, arrays[use]) for use in _ORDER if use in arrays]


def is_of_changes(packet: Packet) -> bool:
    """Return whether the length of a packet depends on what changed."""
    return packet.encoding is Encoding.SPARSE or len(packet.arrays) > 1


def write_head(packet: Packet, message: NDArray[np.uint8]) -> None:
    """Write the head of a packet to the first bytes of a message."""
    message[:HEAD_BYTES].view(np.int64)[:] = (
        _ENCODINGS.index(packet.encoding),
        packet.count,
        packet.nbytes,
    )


def read_head(message: NDArray[np.uint8], room: Arrays) -> Packet:
    """Return the packet with the head of a message, and with the arrays of `room` that it fills."""
    index, count, nbytes = message[:HEAD_BYTES].view(np.int64).tolist()
    packet = Packet(_ENCODINGS[index], count, nbytes)
    if packet.encoding is not Encoding.SPARSE:
        packet.arrays = {use: room[use] for use in ("flags", "values") if use in room}
    elif count:
        packet.arrays = {use: room[use][:count] for use in ("positions", "values")}
    return packet


def complete_packet(room: Arrays) -> Packet:
    """Return the packet that fills the only array of `room`."""
    ((use, target),) = room.items()
    encoding = Encoding.DENSE if use == "values" else Encoding.BITS
    return Packet(encoding, len(target), target.nbytes, {use: target})


class Carrier(Protocol):
    """Moves the arrays of packets between GPUs of different ranks, in the order of each GPU's work.

    Attributes
    ----------
    note_bytes : int
        Bytes that the carrier adds to the head of each packet. 0: packets of constant length have no head.
    """

    note_bytes: int

    def send(self, end: DeviceSender, arrays: list[NDArray[Any]]) -> bytes:
        """Begin to send arrays after the work queued so far, and return the carrier's note."""
        ...

    def add_receiver(self, end: DeviceReceiver) -> None:
        """Add an end whose packets the carrier receives."""
        ...

    def bring(self, end: DeviceReceiver) -> None:
        """Call `arrive` of an end, and fill the arrays that it returns before the GPU's later work."""
        ...

    def settle(self) -> None:
        """Begin all transfers of packets that were sent so far."""
        ...


class DeviceSender:
    """The sending end of a link from a GPU to a GPU of another rank.

    Parameters
    ----------
    far : FarEnd
    element : Gpu
        The element that sends.
    carrier : Carrier

    Attributes
    ----------
    posted : list
        The handles for `World.wait` of the messages sent since the last call of `take_posted`.
    """

    in_place = False

    def __init__(self, far: FarEnd, element: Gpu, carrier: Carrier) -> None:
        self.far = far
        self.element = element
        self._carrier = carrier
        self.posted: list[Any] = []

    def send(self, packet: Packet) -> None:
        """Begin to send the packet, and post its head."""
        note = self._carrier.send(self, [array for _, array in in_order(packet.arrays)])
        if note or is_of_changes(packet):
            head = np.empty(HEAD_BYTES + len(note), np.uint8)
            write_head(packet, head)
            head[HEAD_BYTES:] = np.frombuffer(note, np.uint8)
            self.posted.append(self.far.world.post(self.far.rank, self.far.tag, head))

    def take_posted(self) -> list[Any]:
        """Return `posted`, and begin a new list."""
        posted, self.posted = self.posted, []
        return posted


class _Expected(NamedTuple):
    """A packet that will arrive: where its arrays are needed, and its head with the posted receive."""

    room: Arrays
    head: NDArray[np.uint8] | None
    posted: Any


class DeviceReceiver:
    """The receiving end of a link from a GPU of another rank; the parameters are those of `DeviceSender`."""

    def __init__(self, far: FarEnd, element: Gpu, carrier: Carrier) -> None:
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

    def expect(self, room: Arrays) -> None:
        """Provide room for the next packet, and begin to receive its head."""
        head, posted = None, None
        if len(room) > 1 or self._carrier.note_bytes:
            head = np.empty(HEAD_BYTES + self._carrier.note_bytes, np.uint8)
            posted = self.far.world.expect(self.far.rank, self.far.tag, head)
        self._expected.append(_Expected(room, head, posted))

    def arrive(self) -> tuple[list[NDArray[Any]], bytes]:
        """Wait for the head of the next packet; return the arrays to fill, and the carrier's note."""
        room, head, posted = self._expected.popleft()
        if head is None:
            packet, note = complete_packet(room), b""
        else:
            self.far.world.wait([posted])
            packet, note = read_head(head, room), head[HEAD_BYTES:].tobytes()
        self._packets.append(packet)
        return [array for _, array in in_order(packet.arrays)], note

    def receive(self) -> Packet:
        """Return the oldest packet. Later work of the GPU sees complete arrays."""
        if not self._packets:
            self._carrier.bring(self)
        return self._packets.popleft()

    def release(self) -> None:
        """Do nothing: the packet is a copy."""

    def discard(self) -> None:
        """Receive and drop all packets that were expected."""
        while self._expected or self._packets:
            self.receive()
