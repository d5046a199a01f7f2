"""Rank 0 gathers the values of all vertices and the timeline of all elements."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.engine.timeline import Timeline
from evener.system.agreement import on_all_ranks
from evener.system.memory import require

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.results.record import RunRecord
    from evener.system.world import World

__all__ = ["gather_ids", "gather_on_first_rank", "join_timelines"]


def gather_on_first_rank(values: NDArray[Any], world: World) -> NDArray[Any] | None:
    """Return the values of all ranks in the order of ranks on rank 0, and None on other ranks.

    This is a collective operation; all ranks must call it.
    """
    total = world.allreduce(values.nbytes, "sum")
    what = "gathering the values of all ranks"
    on_all_ranks(world, lambda: require(2 * total, what) if world.rank == 0 else None)
    parts = world.alltoall([values if rank == 0 else values[:0] for rank in range(world.size)])
    return np.concatenate(parts) if world.rank == 0 else None


def gather_ids(result: RunRecord) -> NDArray[Any] | None:
    """Return the ids of all vertices on rank 0, and None on other ranks.

    This is a collective operation; all ranks must call it.
    """
    ids, world = result.ids, result.world
    if ids.dtype.kind == "U":  # widths differ
        ids = ids.astype(f"U{world.allreduce(ids.itemsize // 4, 'max')}")
    return gather_on_first_rank(ids, world)


def join_timelines(timeline: Timeline, world: World) -> Timeline:
    """Return the timeline of the elements of all ranks on rank 0, and the rank's own timeline elsewhere.

    Elements get names such as "rank 1 cpu". The times in seconds are the largest of all ranks, on every rank.
    This is a collective operation; all ranks must call it.
    """
    name = f"rank {world.rank} {{}}".format
    own = Timeline(replace(span, element=name(span.element)) for span in timeline.spans)
    own.slices = [one._replace(element=name(one.element)) for one in timeline.slices]
    own.more_slices = timeline.more_slices
    times = (timeline.seconds, timeline.compile_seconds)
    own.seconds, own.compile_seconds = world.allreduce(times, "max")
    own.earlier_seconds = timeline.earlier_seconds
    sent = np.frombuffer(pickle.dumps((own.spans, own.slices, own.more_slices), 5), np.uint8)
    received = world.alltoall([sent if rank == 0 else sent[:0] for rank in range(world.size)])
    if world.rank == 0:
        for part in received[1:]:
            spans, slices, more = pickle.loads(part.data)  # noqa: S301 - a rank of this job sent it
            own.spans += spans
            for one in slices:
                own.add_slice(one)
            own.more_slices += more
        own.spans.sort(key=lambda span: span.superstep)
    return own
