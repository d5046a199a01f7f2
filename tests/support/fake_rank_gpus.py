"""Fake GPUs of fake ranks, whose memory other ranks can open, and a fake NCCL."""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from types import SimpleNamespace
from uuid import uuid4

import numpy as np

from evener.elements import CpuElement
from evener.errors import DeviceError
from evener.system.world import current_world
from support.fake_elements import ApartElement, Copy, Event

# Shared arrays and events by handle.
_shared = {}


def _handle():
    return uuid4().bytes * 4


class FakeSharing:
    def __init__(self, element):
        self._element = element
        self.allocated = 0

    def allocate(self, nbytes):
        self.allocated += 1
        handle, array = _handle(), self._element.allocate(nbytes, np.uint8, 255)
        _shared[handle] = array
        return array, handle

    def export(self, array):
        if self._element.shares_nothing:
            raise DeviceError("memory of an allocator without handles")
        return _handle(), 0

    def open(self, handle, nbytes):
        if self._element.opens_nothing:
            raise DeviceError("no peer access")
        array = _shared[handle]
        assert array.memory != self._element.memory
        assert array.nbytes == nbytes
        return array

    def event(self):
        handle, event = _handle(), Event()
        event.recorded = False
        _shared[handle] = event
        return event, handle

    def open_event(self, handle):
        return _shared[handle]

    def record(self, event):
        event[:] = self._element.record()
        event.recorded = True

    def copy(self, source, target):
        assert source.memory == target.memory == self._element.memory
        self._element.download(source)  # copies to the source have happened
        Copy(source, target).wait()


class RankGpu(ApartElement):
    """A GPU of a rank. Its copies happen as late as possible."""

    addressable = False
    peers = "fake"
    stream = 0
    opens_nothing = shares_nothing = False

    def __init__(self, name, bus_id):
        super().__init__(name, uuid4(), deferred=True)
        self.bus_id = bus_id
        self.sharing = FakeSharing(self)

    def allocate(self, length, dtype, fill=None, *, exchanged=False):
        return super().allocate(length, dtype, fill, exchanged=True)

    def copy_in(self, source, target):
        assert not hasattr(source, "memory")
        return super().copy_in(source, target)

    def copy_out(self, source, target):
        assert not hasattr(target, "memory")
        return super().copy_out(source, target)

    def copy_from(self, source, target, memory, after):
        assert self._rounds
        assert after is None or after.recorded
        return self._copy(source.view(target.dtype), target, after)

    def wait_for_peer(self, event):
        assert event.recorded
        super().wait_for_peer(event)

    def group_with_ranks(self, world):
        """Do nothing: kernels on a CPU wait for no other element."""

    def fill(self, array, value):
        array[:] = value


def parse_rank_gpus(on, **_):
    """Return a rank's elements: "cpu:1", "gpu:0" for a private GPU, "gpu:shared" for a GPU of all ranks."""
    made = []
    for i, word in enumerate(on.split(",") if isinstance(on, str) else on):
        kind, number = word.split(":")
        bus_id = number if number == "shared" else f"{current_world().rank}:{number}"
        made.append(RankGpu(f"{word}#{i}", bus_id) if kind == "gpu" else CpuElement(f"{word}#{i}", 1))
    return made


class FakeNccl:
    """Fake NCCL. A group first copies everything that it sends, and then waits for what it receives."""

    available = True
    NCCL_UINT8 = 1

    class NcclError(RuntimeError):
        pass

    def __init__(self):
        self._own = threading.local()
        self._sent = defaultdict(deque)
        self.lost = False  # whether a connection is lost
        self.NcclCommunicator = self._communicator

    def get_unique_id(self):
        return (uuid4(),)

    def groupStart(self):  # noqa: N802 - NCCL's name
        self._own.calls = []

    def groupEnd(self):  # noqa: N802 - NCCL's name
        calls, self._own.calls = self._own.calls, None
        world = current_world()
        for name, route, array in calls:
            if name == "send":
                self._sent[route].append(array.copy())
        world.notify()
        for name, route, array in calls:
            if name == "recv":
                sent = self._sent[route]
                world.await_event(lambda sent=sent: bool(sent), f"for NCCL from {route[1]} to {route[2]}")
                values = sent.popleft()
                assert values.nbytes == array.nbytes, "a send and its receive differ in length"
                array[:] = values

    def _communicator(self, size, unique, rank):
        def call(name):
            def add(array, nbytes, _kind, peer, _stream):
                assert 0 <= peer < size
                assert array.nbytes == nbytes
                ends = (rank, peer) if name == "send" else (peer, rank)
                self._own.calls.append((name, (unique, *ends), array))

            return add

        def check_async_error():
            if self.lost:
                raise self.NcclError("NCCL_ERROR_REMOTE_ERROR")

        return SimpleNamespace(send=call("send"), recv=call("recv"), check_async_error=check_async_error)
