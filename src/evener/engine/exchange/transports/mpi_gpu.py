"""MPI messages between GPUs, if the MPI library says that it sends and receives GPU memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evener.engine.exchange.remote import Carrier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evener.elements.protocols import GpuElement
    from evener.engine.exchange.network import Place
    from evener.engine.exchange.remote import DeviceReceiver, DeviceSender
    from evener.system.world import World

__all__ = ["RANK_TRANSPORT"]


class MpiGpu(Carrier):
    """Messages of GPU memory; also the carrier of all links. The parameters are those of `CudaIpc`."""

    name = "mpi-gpu"
    preference = 2

    def __init__(self, world: World, places: Sequence[Place]) -> None:
        self._world = world
        self._places = places

    def probe(self, elements: dict[int, GpuElement]) -> set[tuple[int, int]]:
        """Return the pairs of elements, sender first, whose receiver is here.

        This is a collective operation; all ranks must call it.
        """
        if not all(self._world.allgather(self._world.sends_gpu_memory)):
            return set()
        rank_of = {number: place.rank for number, place in enumerate(self._places) if place.bus_id}
        return {(a, b) for a in rank_of for b in elements if rank_of[a] != rank_of[b]}

    def start(self, elements: dict[int, GpuElement]) -> None:
        """Do nothing: MPI needs no preparation."""

    def carrier(self) -> Carrier:
        """Return the carrier of all links."""
        return self

    def send(self, end: DeviceSender, arrays: list[NDArray[Any]]) -> bytes:
        """Post arrays after waiting for the GPU, because MPI does not know its stream."""
        end.element.wait()
        end.posted += [self._world.post(end.far.rank, end.far.tag + 1, array) for array in arrays]
        return b""

    def bring(self, end: DeviceReceiver) -> None:
        """Receive the arrays of a packet, after the GPU's work on them."""
        end.element.wait()
        targets, _ = end.arrive()
        self._world.wait([self._world.expect(end.far.rank, end.far.tag + 1, target) for target in targets])


RANK_TRANSPORT = MpiGpu
