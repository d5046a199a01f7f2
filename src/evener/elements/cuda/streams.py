"""Copying to and from one GPU while it computes: the streams, and what may not be freed meanwhile."""

from __future__ import annotations

from collections import defaultdict, deque
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evener.elements.cuda.element import CudaElement

__all__ = ["Arrival", "Copies"]

# Arrays that are being copied from and to each GPU, by any of its elements, with the event behind the copy.
_copying: defaultdict[int, deque[tuple[Any, tuple[Any, ...]]]] = defaultdict(deque)
_copying_lock = Lock()


class Arrival:
    """What was sent to or from a GPU.

    Parameters
    ----------
    element : CudaElement
        The GPU that copies it.
    event : cupy.cuda.Event
        The event behind the copy.
    """

    def __init__(self, element: CudaElement, event: Any) -> None:
        self.event = event
        self._element = element

    def wait(self) -> None:
        """Wait for it on the host."""
        self._element.wait_for(self.event)


class Copies:
    """The streams by which one element of a GPU sends and is brought arrays, beside its kernels.

    Made, and asked for anything, with that GPU as the current one.

    Parameters
    ----------
    index : int
        The GPU, as CUDA counts them.
    """

    def __init__(self, index: int) -> None:
        from cupy import cuda

        self._index = index
        self._cuda: Any = cuda
        self._outgoing = self._stream()
        # One for the host, and one for each GPU that sends here, so that none waits for another's kernel.
        self._incoming: dict[object, Any] = {"host": self._stream()}

    def _stream(self) -> Any:
        return self._cuda.Stream(non_blocking=True)

    def to_host(self, source: Any, target: Any, after: Any) -> Any:
        """Copy an array to the host's, behind an event; returns the event behind the copy."""
        self._outgoing.wait_event(after)
        source.data.copy_to_host_async(target.ctypes.data, target.nbytes, self._outgoing)
        sent = self._outgoing.record()
        self.hold_until(sent, source, target)
        return sent

    def taken(self, event: Any) -> Any:
        """Let what is sent from here on come behind another GPU's copy; returns an event of this one's."""
        self._outgoing.wait_event(event)
        return self._outgoing.record()

    def bring(self, source: Any, target: Any, memory: object, after: Any, begun: Any) -> Any:
        """Copy an array in another's memory to one here, behind two events; returns that behind the copy.

        `after` is of the GPU where `source` lies, None if that is the host; `begun` of this one. A GPU's is
        copied by a stream of this one: compute-sanitizer takes what another's has written here for undefined.
        """
        if memory not in self._incoming:
            self._incoming[memory] = self._stream()
        incoming = self._incoming[memory]
        incoming.wait_event(begun)
        if after is None:
            target.data.copy_from_host_async(source.ctypes.data, target.nbytes, incoming)
        else:
            incoming.wait_event(after)
            target.data.copy_from_device_async(source.data, target.nbytes, incoming)
        brought = incoming.record()
        self.hold_until(brought, source, target)
        return brought

    def hold_until(self, event: Any, *arrays: Any) -> None:
        """Keep arrays while they are copied, though a run that is broken off has forgotten them, and us."""
        self.forget_copied()
        with _copying_lock:
            _copying[self._index].append((event, arrays))

    def forget_copied(self) -> None:
        """Keep no longer what has been copied."""
        copying = _copying[self._index]
        with _copying_lock:  # several CPU elements may bring at once
            while copying and copying[0][0].done:
                copying.popleft()

    def wait(self) -> None:
        """Wait until all has been copied."""
        for stream in (self._outgoing, *self._incoming.values()):
            stream.synchronize()
        self.forget_copied()
