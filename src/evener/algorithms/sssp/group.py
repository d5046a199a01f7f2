"""Shortest paths on a group of GPUs: one launch settles several buckets on all of them.

The owners of mirrors read their new distances in place, until the bucket is empty on every GPU.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from evener.kernels.kernel import KernelFile
from evener.spec.arguments import unsigned

if TYPE_CHECKING:
    import numpy as np

    from evener.algorithms.sssp.settle import SearchState
    from evener.engine.engine import Engine
    from evener.engine.group import ElementGroup

__all__ = ["GROUP_WIDER", "GROUP_WIDTH", "settle_on_group", "sweep_on_group"]

kernels = KernelFile(__package__, "group")

# Buckets that one launch settles.
BUCKETS = 64
# Default width of a bucket over that of one element, because GPUs wait for each other in each bucket.
GROUP_WIDTH = 2
# Width of a bucket after a sweep over the width before it. Few edges are left, and waits cost most.
GROUP_WIDER = 64


def settle_on_group(engine: Engine, state: SearchState, delta: float, far: np.uint32 | np.float64) -> bool:
    """Settle buckets until no vertex waits. Return True if the next one would relax too many edges."""
    s, group = state, cast("ElementGroup", engine.group)
    peers = group.addresses([s.pending, s.distance])
    offsets, targets, _ = engine.out
    weights = unsigned(engine.out_weights)
    taken, explored, waiting = engine.scalar(1), 0, 1
    while waiting and not s.is_beyond_goal():
        # The vertices and edges of the previous buckets, because the next ones are not known.
        engine.superstep("settle", active=taken, edges=explored)
        _, explored, left, waiting = engine.compute(
            kernels.relax_together, offsets, targets, weights, engine.owned, delta, far, s.budget, BUCKETS,
            s.distance, s.parent, s.pending, s.near, s.queue, s.length, s.next_queue, s.next_length, s.scout,
            peers, group.incoming, count_active=True,
        )  # fmt: skip
        if left:
            return True
    return False


def sweep_on_group(engine: Engine, state: SearchState, m: int, few: int) -> None:
    """Search all in-edges for shorter paths, until at most `few` edges lead into the improved vertices."""
    s, group = state, cast("ElementGroup", engine.group)
    peers = group.addresses([s.pending, s.distance])
    offsets, targets, _ = engine.in_
    engine.superstep("sweep", active=engine.owned, edges=m)
    engine.compute(
        kernels.sweep_together, offsets, targets, unsigned(engine.in_weights), few, s.distance, s.parent,
        s.pending, peers, group.incoming,
    )  # fmt: skip
