"""Streams that copy to and from a GPU while the GPU computes."""

from __future__ import annotations

from collections import defaultdict, deque
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evener.elements.cuda.device import Device

__all__ = ["CopyDone", "CopyStreams"]

# For each GPU, the arrays of unfinished copies, with the event after each copy.
_copying: defaultdict[int, deque[tuple[Any, tuple[Any, ...]]]] = defaultdict(deque)
_copying_lock = Lock()


class CopyDone:
    """The event after a copy to or from a GPU, which copies."""

    def __init__(self, device: Device, event: Any) -> None:
        self.event = event
        self._device = device

    def wait(self) -> None:
        """Wait for the copy on the host."""
        self._device.synchronize(self.event)


class CopyStreams:
    """The streams by which one element of a GPU sends and receives arrays, concurrently with its kernels.

    Every method runs with the GPU as the current one.
    """

    def __init__(self, index: int) -> None:
        from cupy import cuda

        self._index = index
        self._cuda: Any = cuda
        self._outgoing = self._stream()
        # One stream for the host and one for each sending GPU, so that no sender waits for another sender.
        self._incoming: dict[object, Any] = {"host": self._stream()}
        # The streams that got copies since the last wait.
        self._busy: set[Any] = set()

    def _stream(self) -> Any:
        return self._cuda.Stream(non_blocking=True)

    def to_host(self, source: Any, target: Any, after: Any) -> Any:
        """Copy an array to the host after an event; return the event after the copy."""
        self._outgoing.wait_event(after)
        source.data.copy_to_host_async(target.ctypes.data, target.nbytes, self._outgoing)
        sent = self._outgoing.record()
        self._busy.add(self._outgoing)
        self.keep_until(sent, source, target)
        return sent

    def from_host(self, source: Any, target: Any, after: Any) -> Any:
        """Copy a host array to this GPU after an event; return the event after the copy."""
        incoming = self._incoming["host"]
        incoming.wait_event(after)
        target.data.copy_from_host_async(source.ctypes.data, target.nbytes, incoming)
        return self._received(incoming, source, target)

    def from_peer(self, source: Any, target: Any, memory: object, sent_after: Any, after: Any) -> Any:
        """Copy an array of another GPU to this GPU after an event of each; return the event after the copy.

        A stream of the receiving GPU copies, because compute-sanitizer reports memory that another GPU wrote
        as uninitialized.
        """
        if memory not in self._incoming:
            self._incoming[memory] = self._stream()
        incoming = self._incoming[memory]
        incoming.wait_event(after)
        incoming.wait_event(sent_after)
        target.data.copy_from_device_async(source.data, target.nbytes, incoming)
        return self._received(incoming, source, target)

    def _received(self, incoming: Any, source: Any, target: Any) -> Any:
        received = incoming.record()
        self._busy.add(incoming)
        self.keep_until(received, source, target)
        return received

    def keep_until(self, event: Any, *arrays: Any) -> None:
        """Keep arrays alive until an event, even if the run fails and drops its references."""
        self.release_copied()
        with _copying_lock:
            _copying[self._index].append((event, arrays))

    def release_copied(self) -> None:
        """Drop the arrays whose copies are done."""
        copying = _copying[self._index]
        with _copying_lock:  # several CPU elements may send here at once
            while copying and copying[0][0].done:
                copying.popleft()

    def wait(self) -> None:
        """Wait for all copies."""
        for stream in tuple(self._busy):
            self._busy.discard(stream)
            stream.synchronize()
        self.release_copied()
