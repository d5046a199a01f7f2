"""Measure the latency and the bandwidth between ranks, by small messages."""

from __future__ import annotations

from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.system.world import World

__all__ = ["RankRoute", "measure_routes", "rounds"]

# Bytes of the messages, and how often each goes back and forth. One time more is not counted.
_SMALL, _SMALL_TIMES = 8, 30
_LARGE, _LARGE_TIMES = 1 << 20, 4
# The tag of the messages; no exchange is in progress.
_TAG = 0


class RankRoute(NamedTuple):
    """The route between two ranks, in both directions.

    Attributes
    ----------
    first, second : int
        The ranks.
    transport : str
        Between hosts "network", on one host "shared memory"; between GPUs the name of a transport.
    latency : float
        Seconds of 8 bytes in one direction.
    bandwidth : float
        Bytes per second of a large message: 1 MiB between hosts, 16 MiB between GPUs.
    """

    first: int
    second: int
    transport: str
    latency: float
    bandwidth: float


def measure_routes(world: World) -> list[RankRoute]:
    """Return the routes between all pairs of ranks, in the order of ranks.

    This is a collective operation; all ranks must call it. A few ranks need less than a second.
    """
    hosts = world.allgather(world.host)
    found = []
    for pairs in rounds(world.size):
        world.barrier()
        for first, second in pairs:
            if world.rank not in (first, second):
                continue
            other = second if world.rank == first else first
            leads = world.rank == first
            latency = _one_way(world, other, np.zeros(_SMALL, np.uint8), _SMALL_TIMES, leads=leads)
            seconds = _one_way(world, other, np.zeros(_LARGE, np.uint8), _LARGE_TIMES, leads=leads)
            transport = "shared memory" if hosts[first] == hosts[second] else "network"
            if leads:
                found.append(RankRoute(first, second, transport, latency, _LARGE / seconds))
    return sorted(route for own in world.allgather(found) for route in own)


def _one_way(world: World, other: int, message: NDArray[np.uint8], times: int, *, leads: bool) -> float:
    """Return the median seconds of a message in one direction, from messages that go back and forth."""
    taken = []
    for _ in range(times + 1):
        since = perf_counter()
        if leads:
            world.wait([world.post(other, _TAG, message)])
        world.wait([world.expect(other, _TAG, message)])
        if not leads:
            world.wait([world.post(other, _TAG, message)])
        taken.append((perf_counter() - since) / 2)
    return median(taken[1:])


def rounds(size: int) -> list[list[tuple[int, int]]]:
    """Return rounds of pairs of ranks: each pair once, and each rank at most once in a round."""
    ranks = list(range(size + size % 2))
    rounds = []
    for _ in ranks[1:]:
        pairs = [sorted(pair) for pair in zip(ranks, reversed(ranks), strict=True)][: len(ranks) // 2]
        rounds.append([(a, b) for a, b in pairs if b < size])
        ranks = [ranks[0], ranks[-1], *ranks[1:-1]]
    return rounds
