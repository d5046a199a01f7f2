"""Messages of arrays between all partitions, through the memory of their hosts."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evener.engine.engine import Engine

__all__ = ["exchange"]


def exchange(engine: Engine, messages: Sequence[Sequence[NDArray[Any]]]) -> list[list[NDArray[Any]]]:
    """Return the arrays that all partitions sent to each partition of this rank.

    This is a collective operation; all ranks must call it.

    Parameters
    ----------
    engine : Engine
    messages : sequence of sequences of ndarray
        ``messages[p][q]`` is the array from the `p`-th partition of this rank to partition `q` of all ranks.
        All arrays of all ranks have the same type.

    Returns
    -------
    list of lists of ndarray
        An array from each partition of all ranks, for each partition of this rank.
    """
    ranks, world = engine.partitioned.ranks, engine.partitioned.world
    lengths = engine.gather([[len(message) for message in own] for own in messages])
    of_rank = [[q for q, rank in enumerate(ranks) if rank == r] for r in range(world.size)]
    packets = [_joined([own[q] for own in messages for q in receivers], messages) for receivers in of_rank]
    since = perf_counter()
    arrived = world.alltoall(packets)
    engine.recorder.sent(since, perf_counter(), [sum(one.nbytes for one in own) for own in messages])
    received: list[list[Any]] = [[None] * len(ranks) for _ in messages]
    here = [partition.index for partition in engine.partitions]
    for senders, packet in zip(of_rank, arrived, strict=True):
        begin = 0
        for sender in senders:
            for p, receiver in enumerate(here):
                end = begin + lengths[sender][receiver]
                received[p][sender] = packet[begin:end]
                begin = end
    return received


def _joined(parts: list[NDArray[Any]], messages: Sequence[Sequence[NDArray[Any]]]) -> NDArray[Any]:
    """Return arrays one after the other; an empty array of the type of all messages if there are none."""
    return parts[0] if len(parts) == 1 else np.concatenate([messages[0][0][:0], *parts])
