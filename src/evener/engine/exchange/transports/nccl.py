"""NCCL: the GPUs of all ranks send to each other, on one machine or over the network.

All sends and receives of one exchange are one group of NCCL calls on the stream of each GPU. A group begins
when the first packet of the exchange is received: all packets have been sent then, and all lengths are known.

After a lost connection, NCCL's kernels wait forever, and NCCL reports the error only when it is polled. So a
thread polls.
"""

from __future__ import annotations

import atexit
import threading
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings

from evener.elements.cuda.device_errors import leak_forever
from evener.engine.exchange.remote import Carrier, RankTransport, gpu_pairs
from evener.errors import DeviceError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from evener.elements.protocols import GpuElement
    from evener.engine.exchange.remote import DeviceReceiver, DeviceSender, FarEnd, Place
    from evener.system.world import World

    _Transfer = tuple[FarEnd, GpuElement, NDArray[Any]]

__all__ = ["RANK_TRANSPORTS"]

# Seconds between checks for errors.
_POLL_SECONDS = 1.0
_REMEDY = "set EVENER_RANK_TRANSPORT=mpi to send through the hosts' memory"


class Nccl(RankTransport):
    """The communicators of the GPUs of this rank."""

    name = "nccl"
    preference = 1

    def __init__(self, world: World, places: Sequence[Place]) -> None:
        super().__init__(world, places)
        gpus = [number for number, place in enumerate(places) if place.bus_id]
        self._distinct = len({(places[number].host, places[number].bus_id) for number in gpus}) == len(gpus)
        # The rank of each GPU in NCCL's numbering, by the number of the element.
        self.ranks = {number: rank for rank, number in enumerate(gpus)}
        self.communicators: dict[int, Any] = {}

    def probe(self, elements: dict[int, GpuElement]) -> set[tuple[int, int]]:
        """Return all pairs of GPUs, or none if a rank cannot load NCCL, or if ranks share a GPU."""
        able = all(self._world.allgather(not elements or _library() is not None))
        return gpu_pairs(self._places) if able and self._distinct else set()

    def start(self, elements: dict[int, GpuElement]) -> None:
        """Create the communicators."""
        first = min(self.ranks)
        library = _library()
        unique = self._world.allgather(library.get_unique_id() if first in elements else None)
        name = next(one for one in unique if one is not None)
        if not elements:
            return
        with _group(library):
            for number, element in elements.items():
                args = len(self.ranks), name, self.ranks[number]
                self.communicators[number] = element.run(library.NcclCommunicator, *args)
        for communicator in self.communicators.values():
            leak_forever(communicator)  # to destroy one, NCCL waits for the other ranks
            _watched.append((communicator, library, self._world))
        _start_watching()

    def carrier(self) -> Carrier:
        """Return the carrier of the links that exchange together."""
        return _Together(self)

    def transfer(self, sends: Sequence[_Transfer], receives: Sequence[_Transfer]) -> None:
        """Queue sends and receives on the streams of their GPUs."""
        library = _library()
        with _group(library):
            for far, element, array in sends:
                self._call(library, "send", far, element, array)
            for far, element, array in receives:
                self._call(library, "recv", far, element, array)

    def _call(self, library: Any, name: str, far: FarEnd, element: GpuElement, array: NDArray[Any]) -> None:
        function = getattr(self.communicators[far.here], name)
        peer = self.ranks[far.there]
        element.run(function, _address(array), array.nbytes, library.NCCL_UINT8, peer, element.stream)


class _Together(Carrier):
    """The carrier of links that exchange together."""

    def __init__(self, nccl: Nccl) -> None:
        self._nccl = nccl
        self._receivers: list[DeviceReceiver] = []
        self._sends: list[_Transfer] = []

    def add_receiver(self, end: DeviceReceiver) -> None:
        """Receive for this end in each group."""
        self._receivers.append(end)

    def send(self, end: DeviceSender, arrays: list[NDArray[Any]]) -> bytes:
        """Send the arrays in the next group."""
        self._sends += [(end.far, end.element, array) for array in arrays]
        return b""

    def bring(self, end: DeviceReceiver) -> None:  # noqa: ARG002 - the group is of all ends
        """Transfer the next packet of all ends."""
        self.flush()

    def flush(self) -> None:
        """Transfer what was sent, and the next packet of each receiver."""
        sends, self._sends = self._sends, []
        receives = [
            (end.far, end.element, target)
            for end in self._receivers
            if end.expects
            for target in end.arrive()[0]
        ]
        if sends or receives:
            self._nccl.transfer(sends, receives)


# The communicators of this process, each with CuPy's module and its ranks.
_watched: list[tuple[Any, Any, World]] = []


@cache
def _start_watching() -> None:
    """Start the thread that checks for errors, once in a process."""
    leaving = threading.Event()
    atexit.register(leaving.set)
    threading.Thread(target=_watch, args=(leaving,), name="evener-nccl", daemon=True).start()


def _watch(leaving: threading.Event) -> None:
    """End all ranks if NCCL reports an error, because a transfer may then never end."""
    while not leaving.wait(_POLL_SECONDS):
        for watched in list(_watched):
            communicator, library, world = watched
            try:
                communicator.check_async_error()
            except library.NcclError as error:
                _watched.remove(watched)
                ranks = f"rank {world.rank} of {world.size}"
                world.end(f"NCCL failed on {ranks} ({error}); {_REMEDY}; this ends the job")


def _address(array: Any) -> int:
    return int(array.data.ptr)


@cache
def _library() -> Any:
    """Return CuPy's module for NCCL; None if NCCL cannot be loaded."""
    try:
        with catch_warnings(action="ignore"):  # CuPy warns if there is no NCCL
            nccl = import_module("cupy.cuda.nccl")
            return nccl if nccl.available else None
    except ImportError:
        return None


@contextmanager
def _group(library: Any) -> Iterator[None]:
    """Begin all calls of NCCL at the end, and translate NCCL's errors."""
    try:
        library.groupStart()
        try:
            yield
        finally:
            library.groupEnd()
    except library.NcclError as error:
        msg = f"NCCL failed ({error}); {_REMEDY}"
        raise DeviceError(msg) from error


RANK_TRANSPORTS = (Nccl,)
