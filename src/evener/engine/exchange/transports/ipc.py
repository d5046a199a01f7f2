"""CUDA IPC: a GPU copies from a window in the memory of another rank's GPU, on one machine.

The sender copies a packet to a window that it has allocated for the link, and records an event. The head of
the packet names both. The receiver opens a window and an event the first time they are named. After its copy
it records an event of its own, and a message lets the sender use the window again. A link has two windows.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.engine.exchange.packet import message_bytes, place_arrays
from evener.engine.exchange.remote import Carrier, RankTransport
from evener.errors import DeviceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evener.elements.protocols import GpuElement
    from evener.engine.exchange.remote import DeviceReceiver, DeviceSender, FarEnd, Place
    from evener.system.world import World

__all__ = ["RANK_TRANSPORTS"]

_HANDLE_BYTES = 64
# The bytes of the window, its handle, and the handle of the event after the sender's copy.
_NOTE = struct.Struct(f"<q{_HANDLE_BYTES}s{_HANDLE_BYTES}s")
# Windows of a link.
_TURNS = 2
# Bytes of the window that a probe copies from.
_PROBE_BYTES = 256


def _probe_byte(number: int) -> int:
    """Return the byte that an element writes for a probe: not 0, because new memory may be zero."""
    return 1 + number % 255


class _Window:
    """Memory of the sender that another rank reads, with the event after which it is complete."""

    def __init__(self, element: GpuElement) -> None:
        self.event, self.event_handle = element.sharing.event()
        self.array: Any = None
        self.handle = b""
        # The receive of the message that lets the sender use the window again, and its content.
        self.posted: Any = None
        self.released_by = np.empty(_HANDLE_BYTES, np.uint8)

    def make_room(self, element: GpuElement, nbytes: int) -> None:
        """Replace the window if it is too small. The old memory stays, because the receiver has opened it."""
        have = 0 if self.array is None else self.array.nbytes
        if have < nbytes:
            self.array, self.handle = element.sharing.allocate(max(nbytes, 2 * have))


class _Release:
    """The event after which the receiver needs a window no more, and the message with its handle."""

    def __init__(self, element: GpuElement) -> None:
        self.event, handle = element.sharing.event()
        self.message = np.frombuffer(handle, np.uint8).copy()
        self.posted: Any = None


class CudaIpc(RankTransport, Carrier):
    """The windows between this rank and the others; also the carrier of all links.

    Windows stay allocated for later runs, because other ranks may have them open.
    """

    name = "ipc"
    preference = 0
    note_bytes = _NOTE.size

    def __init__(self, world: World, places: Sequence[Place]) -> None:
        super().__init__(world, places)
        self._turns: defaultdict[int, int] = defaultdict(int)
        # By the tag of the link and the turn.
        self._windows: dict[tuple[int, int], _Window] = {}
        self._releases: dict[tuple[int, int], _Release] = {}
        # By the number of the element here and the handle.
        self._opened: dict[tuple[int, bytes], Any] = {}

    def probe(self, elements: dict[int, GpuElement]) -> set[tuple[int, int]]:
        """Return the pairs of elements whose receiver is here and opens the sender's memory."""
        shared = {}
        for number, element in elements.items():
            try:
                array, handle = element.sharing.allocate(_PROBE_BYTES)
                # Groups share the arrays of runs, whose allocator may be a user's.
                element.sharing.export(element.allocate(_PROBE_BYTES, np.uint8))
            except DeviceError:
                continue
            element.fill(array, _probe_byte(number))
            element.wait()
            shared[number] = handle
        of_ranks = self._world.allgather(shared)
        found = {
            (there, here)
            for here, element in elements.items()
            for handles in of_ranks
            for there, handle in handles.items()
            if self._places[there].host == self._places[here].host
            and self._places[there].rank != self._places[here].rank
            and self._reads(element, there, handle)
        }
        self._world.barrier()  # no rank ends before the others have read
        return found

    def _reads(self, element: GpuElement, there: int, handle: bytes) -> bool:
        """Return whether a copy from another rank's memory has the values that the rank wrote."""
        try:
            source = element.sharing.open(handle, _PROBE_BYTES)
            target = element.allocate(_PROBE_BYTES, np.uint8, exchanged=True)
            element.begin_round()
            element.wait_for(element.copy_from(source, target, there, element.record()))
            return bool((element.download(target) == _probe_byte(there)).all())
        except DeviceError:
            return False

    def carrier(self) -> Carrier:
        """Return the carrier of all links."""
        return self

    def send(self, end: DeviceSender, arrays: list[NDArray[Any]]) -> bytes:
        """Copy arrays to the next window of the link."""
        if not arrays:
            return bytes(self.note_bytes)
        element, far = end.element, end.far
        window = self._next_window(far, element)
        window.make_room(element, message_bytes(arrays))
        for array, place in place_arrays(arrays):
            element.sharing.copy(array, window.array[place])
        element.sharing.record(window.event)
        window.posted = self._world.expect(far.rank, far.tag, window.released_by)
        return _NOTE.pack(window.array.nbytes, window.handle, window.event_handle)

    def _next_window(self, far: FarEnd, element: GpuElement) -> _Window:
        """Return the window of the next turn, after the receiver's work on its last packet."""
        key = far.tag, self._next_turn(far.tag)
        if key not in self._windows:
            self._windows[key] = _Window(element)
        window = self._windows[key]
        if window.posted is not None:
            self._world.wait([window.posted])
            element.wait_for_peer(self._event(far.here, element, window.released_by.tobytes()))
        return window

    def _next_turn(self, tag: int) -> int:
        self._turns[tag] = (self._turns[tag] + 1) % _TURNS
        return self._turns[tag]

    def _event(self, here: int, element: GpuElement, handle: bytes) -> Any:
        if (here, handle) not in self._opened:
            self._opened[here, handle] = element.sharing.open_event(handle)
        return self._opened[here, handle]

    def bring(self, end: DeviceReceiver) -> None:
        """Copy a packet from the sender's window, and release the window."""
        targets, note = end.arrive()
        if not targets:
            return
        element, far = end.element, end.far
        length, handle, event_handle = _NOTE.unpack(note)
        if (far.here, handle) not in self._opened:
            self._opened[far.here, handle] = element.sharing.open(handle, length)
        window, complete = self._opened[far.here, handle], self._event(far.here, element, event_handle)
        for target, place in place_arrays(targets):
            element.wait_for(element.copy_from(window[place], target, far.there, complete))
        self._release(far, element)

    def _release(self, far: FarEnd, element: GpuElement) -> None:
        """Let the sender use the window after the work queued so far."""
        key = far.tag, self._next_turn(far.tag)
        if key not in self._releases:
            self._releases[key] = _Release(element)
        release = self._releases[key]
        if release.posted is not None:
            self._world.wait([release.posted])
        element.sharing.record(release.event)
        release.posted = self._world.post(far.rank, far.tag, release.message)


RANK_TRANSPORTS = (CudaIpc,)
