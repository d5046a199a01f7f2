"""Measure the latency and the bandwidth between GPUs of ranks, by packets of the chosen transport."""

from __future__ import annotations

from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from evener.engine.exchange.network import connect_ranks
from evener.engine.exchange.packet import Packet
from evener.engine.exchange.remote import TAGS_OF_LINK, FarEnd
from evener.system.probe import RankRoute, rounds

if TYPE_CHECKING:
    from evener.elements.protocols import Element
    from evener.engine.exchange.network import Network
    from evener.engine.exchange.remote import Carrier
    from evener.system.world import World

__all__ = ["measure_gpu_routes"]

# Bytes of the packets, and how often each goes back and forth. Two times more are not counted, because they
# allocate buffers.
_SMALL, _SMALL_TIMES = 8, 20
_LARGE, _LARGE_TIMES = 1 << 24, 4
_WARM = 2


def measure_gpu_routes(world: World, gpu: Element | None) -> list[RankRoute]:
    """Return the routes between the GPUs of all pairs of ranks, in the order of ranks.

    This is a collective operation; all ranks must call it.

    Parameters
    ----------
    world : World
    gpu : Element or None
        The GPU of this rank, if it has one.
    """
    network = connect_ranks(world, [] if gpu is None else [gpu])
    users = [rank for rank, has in enumerate(world.allgather(gpu is not None)) if has]
    found: list[RankRoute] = []
    for pairs in rounds(len(users)) if network is not None else []:
        world.barrier()
        for pair in pairs:
            ranks = [users[number] for number in pair]
            if gpu is not None and network is not None and world.rank in ranks:
                here, there = pair if world.rank == ranks[0] else pair[::-1]
                ends = _Ends(network, gpu, here, there, users[there])
                latency = ends.one_way(_SMALL, _SMALL_TIMES)
                seconds = ends.one_way(_LARGE, _LARGE_TIMES)
                if world.rank == ranks[0]:
                    name = network.name(*pair)
                    found.append(RankRoute(ranks[0], ranks[1], name, latency, _LARGE / seconds))
    return sorted(route for own in world.allgather(found) for route in own)


class _Ends:
    """A sender to the GPU of another rank, and a receiver from it."""

    def __init__(self, network: Network, gpu: Element, here: int, there: int, rank: int) -> None:
        self._network = network
        self._gpu = gpu
        self._leads = here < there
        self._carriers: dict[str, Carrier] = {}
        to, back = (TAGS_OF_LINK * number for number in ((0, 1) if self._leads else (1, 0)))
        there_end, back_end = (FarEnd(network.world, rank, tag, here, there) for tag in (to, back))
        self._sender = network.sender(there_end, gpu, self._carriers)
        self._receiver = network.receiver(back_end, gpu, self._carriers)

    def one_way(self, nbytes: int, times: int) -> float:
        """Return the median seconds of a packet in one direction, from packets that go back and forth."""
        values = self._gpu.allocate(nbytes, np.uint8, 1, exchanged=True)
        target = self._gpu.allocate(nbytes, np.uint8, 0, exchanged=True)
        packet = Packet({"values": values}, nbytes)
        taken = []
        for _ in range(times + _WARM):
            since = perf_counter()
            if self._leads:
                self._send(packet)
            self._gpu.begin_round()
            self._receiver.expect({"values": target})
            self._receiver.receive()
            self._gpu.wait()
            if not self._leads:
                self._send(packet)
            taken.append((perf_counter() - since) / 2)
        return median(taken[_WARM:])

    def _send(self, packet: Packet) -> None:
        self._sender.send(packet)
        posted = self._sender.take_posted()
        for carrier in self._carriers.values():
            carrier.flush()
        self._network.world.wait(posted)
