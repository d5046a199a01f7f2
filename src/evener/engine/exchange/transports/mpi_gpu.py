"""MPI messages between GPUs, if the MPI library says that it sends and receives GPU memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evener.engine.exchange.remote import Carrier, RankTransport, gpu_pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.elements.protocols import GpuElement
    from evener.engine.exchange.remote import DeviceReceiver, DeviceSender

__all__ = ["RANK_TRANSPORTS"]


class MpiGpu(RankTransport, Carrier):
    """Messages of GPU memory; also the carrier of all links."""

    name = "mpi-gpu"
    preference = 2

    def probe(self, elements: dict[int, GpuElement]) -> set[tuple[int, int]]:  # noqa: ARG002 - MPI decides
        """Return all pairs of GPUs, or none if the MPI library of a rank does not send GPU memory."""
        able = all(self._world.allgather(self._world.sends_gpu_memory))
        return gpu_pairs(self._places) if able else set()

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


RANK_TRANSPORTS = (MpiGpu,)
