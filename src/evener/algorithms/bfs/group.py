"""Breadth-first search on a group of GPUs: one launch runs many levels on all of them.

The kernel sets the bits of mirrors on other GPUs, and reads the parents that they offer. Its policy is that
of a search on a single GPU, with the frontiers of all GPUs.
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
    from evener.spec.goal import Goal

__all__ = ["search_on_group"]

kernels = KernelFile(__package__, "group")
step_kernels = KernelFile(__package__)


def search_on_group(
    engine: Engine, group: ElementGroup, graph: Graph, goal: Goal, tuning: Tuning, *, bottom_up: bool
) -> tuple[PartitionedArray, PartitionedArray]:
    """Return the distances and the parents of a search, which may pass the cutoff and the target."""
    single = len(goal.numbers) == 1
    # Before the arrays are filled, because the host waits for the GPU that has the number.
    source = engine.at_vertex(goal.numbers[0]) if single else engine.scalar(NO_VERTEX)
    # Distances of -1, and NO_VERTEX as the parents.
    distance, parent = engine.several_arrays(("owned", "int32", 0xFF), ("owned", "uint32", 0xFF))
    visited, *frontiers, length, next_length, offer_bounds, before, offered, offers, queue, next_queue = (
        engine.work_arrays(
            *4 * [("bits", "uint64", 0)], (1, "uint64", 0), (1, "uint64", 0), (3, "uint64", 0),
            ("bits", "uint64", None), ("all", "uint32", None), ("mirrors", "uint64", None),
            ("owned", "uint32", None), ("owned", "uint32", None),
        )
    )  # fmt: skip
    peers = group.addresses([*frontiers, offers, offer_bounds])
    offsets, targets, _ = engine.out
    up_offsets, up_targets, up_rows = (
        (*engine.in_[:2], engine.in_rows) if bottom_up else (offsets, targets, engine.out_rows)
    )
    n = graph.n
    if not single:
        engine.superstep("begin")
        engine.compute(
            step_kernels.begin, offsets, engine.vertices, goal.sources(engine), distance, parent, visited,
            queue, length,
        )  # fmt: skip
    unexplored = engine.total(engine.out_edges)
    level, awake, explored = 0, 1, 0
    while awake and level < goal.limit(engine, distance, -1):
        # The edges of the previous superstep, because the next ones are not known.
        engine.superstep("search", edges=explored)
        _, awake, _, levels, explored = engine.compute(
            kernels.search, offsets, targets, up_offsets, up_targets, engine.vertices, up_rows, engine.owned,
            source, unexplored, tuning.fused_levels, int(bottom_up), tuning.alpha, n // tuning.beta,
            n // tuning.flood, level, queue, length, distance, parent, visited, before,
            *frontiers, offers, offer_bounds, offered, next_queue, next_length, peers, group.incoming,
            count_active=True, count_next_active=True,
        )  # fmt: skip
        unexplored -= explored
        level += levels
        if levels % 2:
            queue, next_queue, length, next_length = next_queue, queue, next_length, length
    return distance, parent
