"""Breadth-first search on a group of GPUs: one launch runs many levels on all of them.

The kernel reads the frontiers and the offered parents of other GPUs in place. Its policy is that of a search
on a single GPU, with the frontiers of all GPUs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evener.kernels.kernel import KernelFile
from evener.kernels.vertex import NO_VERTEX

if TYPE_CHECKING:
    from evener.algorithms.bfs.direction import Tuning
    from evener.engine.engine import Engine, PartitionedArray
    from evener.engine.group import ElementGroup
    from evener.graph.graph import Graph

__all__ = ["search_on_group"]

kernels = KernelFile(__package__, "group")


def search_on_group(
    engine: Engine, group: ElementGroup, graph: Graph, number: int, tuning: Tuning, *, bottom_up: bool
) -> tuple[PartitionedArray, PartitionedArray]:
    """Return the distances and the parents of a search from the vertex `number`."""
    distance, parent = engine.owned_array("int32", -1), engine.owned_array("uint32", NO_VERTEX)
    offered = engine.array("uint32")
    visited, before, frontier, next_frontier = engine.bitmaps(4)
    offers, offer_bounds = engine.mirror_array("uint64", 1), engine.local_array(3, "uint64")
    queue, next_queue = engine.owned_array("uint32"), engine.owned_array("uint32")
    length, next_length = engine.counters(2)
    peers = group.addresses([frontier, next_frontier, offers, offer_bounds])
    offsets, targets, _ = engine.out
    up_offsets, up_targets, up_rows = (
        (*engine.in_[:2], engine.in_rows) if bottom_up else (offsets, targets, engine.out_rows)
    )
    source, n = engine.at_vertex(number), graph.n
    unexplored = engine.total(engine.out_edges)
    level, awake, explored = 0, 1, 0
    while awake:
        # The edges of the previous superstep, because the next ones are not known.
        engine.superstep("search", edges=explored)
        awake, _, levels, explored = engine.compute(
            kernels.search, offsets, targets, up_offsets, up_targets, engine.vertices, up_rows, engine.owned,
            source, unexplored, tuning.fused_levels, int(bottom_up), tuning.alpha, n // tuning.beta,
            n // tuning.flood, level, queue, length, distance, parent, visited, before, frontier,
            next_frontier, offers, offer_bounds, offered, next_queue, next_length, peers, group.incoming,
            group.mirrored, count_next_active=True,
        )  # fmt: skip
        unexplored -= explored
        level += levels
        if levels % 2:
            queue, next_queue, length, next_length = next_queue, queue, next_length, length
    return distance, parent
