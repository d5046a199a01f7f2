"""CPU twin of a kernel in ``algorithms/bfs/levels.cu`` that runs steps of all kinds in one call.

`evener.algorithms.bfs.kernels_cpu` describes the arrays and results.
"""

from __future__ import annotations

import numpy as np

from evener.algorithms.bfs.kernels_cpu import (
    begin,
    bottom_up_step,
    collect_new,
    scatter_parents,
    top_down_step,
)
from evener.algorithms.bfs.levels_cpu import narrow_steps
from evener.kernels.cpu.frontier import to_bits, to_queue
from evener.kernels.cpu.jit import serial
from evener.kernels.vertex import NO_VERTEX

__all__ = ["all_steps"]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)


@serial
def all_steps(
    offsets, targets, in_offsets, in_targets, vertices, in_rows, owned, source, first_vertices, first_edges,
    unexplored, narrow_limit, max_narrow_levels, max_levels, bottom_up, alpha, min_bottom_up, min_scatter,
    level, queue, length, distance, parent, visited, visited_before, frontier, next_frontier, next_queue,
    next_length,
):  # fmt: skip
    """Run steps of all kinds from `source`, or from the queue if `source` is `NO_VERTEX`.

    A queue has `first_vertices` vertices and `first_edges` out-edges. A frontier is narrow if it has at most
    `narrow_limit` vertices and at most as many out-edges. The kernel stops after `max_narrow_levels` narrow
    levels in a row, and starts no top-down step after `max_levels` levels. If `bottom_up` is not 0, bottom-up
    steps start when ``alpha`` times the frontier's edges exceed the `unexplored` edges. They stop when the
    frontier shrinks to at most `min_bottom_up` vertices. A top-down step over at least `min_scatter` edges
    uses `scatter_parents`. The bitmaps of frontiers are clear before and after. After an odd number of levels
    the frontier is in `next_queue`. Returns (vertices, frontier_vertices, frontier_edges, levels,
    edges), where `vertices` are those of the frontiers of all steps, and `edges` those that top-down steps
    read.
    """
    frontier_vertices = np.uint64(first_vertices)
    frontier_edges = np.uint64(first_edges)
    if source != NO_VERTEX:
        frontier_vertices, frontier_edges = begin(
            offsets, vertices, np.full(1, source, np.uint32), distance, parent, visited, queue, length
        )
    left = np.uint64(unexplored)
    levels = _ZERO
    vertices_read = _ZERO
    while frontier_vertices > _ZERO and levels < np.uint64(max_levels):
        odd = levels & _ONE != _ZERO
        if odd:
            from_queue, from_length, into, into_length = next_queue, next_length, queue, length
        else:
            from_queue, from_length, into, into_length = queue, length, next_queue, next_length
        if max(frontier_vertices, frontier_edges) <= np.uint64(narrow_limit):
            most = min(np.uint64(max_narrow_levels), np.uint64(max_levels) - levels)
            read, frontier_vertices, frontier_edges, taken, edges = narrow_steps(
                offsets, targets, vertices, frontier_edges, narrow_limit, most, level + np.int64(levels),
                from_queue, from_length, distance, parent, visited, into, into_length,
            )  # fmt: skip
            vertices_read += read
            levels += taken
            left -= edges
            if max(frontier_vertices, frontier_edges) <= np.uint64(narrow_limit):
                break
            continue
        if bottom_up and frontier_edges * np.uint64(alpha) > left:
            to_bits(from_queue, from_length, frontier)
            last = _ZERO  # vertices of the previous frontier
            while frontier_vertices > _ZERO and (
                frontier_vertices >= last or frontier_vertices > np.uint64(min_bottom_up)
            ):
                last = frontier_vertices
                vertices_read += last
                levels += _ONE
                frontier_vertices = bottom_up_step(
                    in_offsets, in_targets, vertices, in_rows, level + np.int64(levels), distance, parent,
                    visited, frontier, next_frontier,
                )  # fmt: skip
                frontier, next_frontier = next_frontier, frontier
            odd = levels & _ONE != _ZERO
            frontier_edges = to_queue(
                offsets, owned, frontier, next_queue if odd else queue, next_length if odd else length
            )
            next_frontier[:] = _ZERO
            continue
        levels += _ONE
        vertices_read += frontier_vertices
        depth = level + np.int64(levels)
        left -= frontier_edges
        if frontier_edges < np.uint64(min_scatter):
            frontier_vertices, frontier_edges, _ = top_down_step(
                offsets, targets, vertices, owned, from_queue, from_length, depth, distance, parent, visited,
                next_frontier, parent, into, into_length,
            )  # fmt: skip
        else:
            visited_before[:] = visited
            scatter_parents(
                offsets, targets, vertices, owned, from_queue, from_length, parent, visited, parent
            )
            frontier_vertices, frontier_edges, _ = collect_new(
                offsets, owned, parent, parent, visited, depth, distance, next_frontier, into, into_length
            )
    return vertices_read, frontier_vertices, frontier_edges, levels, np.uint64(unexplored) - left
