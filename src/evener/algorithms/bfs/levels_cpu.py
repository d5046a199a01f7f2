"""Breadth-first search on a single element, several levels in one call.

`evener.algorithms.bfs.kernels_cpu` describes the arrays and results.
"""

from __future__ import annotations

import numpy as np

from evener.kernels.cpu.jit import serial

__all__ = ["narrow_steps"]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_SIX = np.uint64(6)
_LOW_BITS = np.uint64(63)


@serial
def narrow_steps(
    offsets, targets, vertices, first_edges, max_edges, max_levels, level, queue, length, distance, parent,
    visited, next_queue, next_length,
):  # fmt: skip
    """Run top-down steps on one thread while the frontier is narrow.

    `first_edges` is the number of out-edges of the queue. The kernel stops when a frontier has more than
    `max_edges` out-edges, after `max_levels` levels, or when the queue is empty. After an odd number of
    levels the frontier is in `next_queue`, otherwise in `queue`. Returns (vertices, frontier_vertices,
    frontier_edges, levels, edges), where `vertices` and `edges` are those that the steps read.
    """
    frontier_edges = np.uint64(first_edges)
    level = np.int32(level)
    levels = _ZERO
    vertices_read = _ZERO
    edges = _ZERO
    queued = length[_ZERO]
    while queued > _ZERO and frontier_edges <= np.uint64(max_edges) and levels < np.uint64(max_levels):
        level += np.int32(1)
        levels += _ONE
        vertices_read += queued
        edges += frontier_edges
        frontier_edges = _ZERO
        reached = _ZERO
        for i in range(queued):
            u = np.uint64(queue[i])
            number = vertices[u]
            for e in range(offsets[u], offsets[u + _ONE]):
                v = np.uint64(targets[e])
                bit = _ONE << (v & _LOW_BITS)
                if visited[v >> _SIX] & bit:
                    continue
                visited[v >> _SIX] |= bit
                parent[v] = number
                distance[v] = level
                frontier_edges += offsets[v + _ONE] - offsets[v]
                next_queue[reached] = v
                reached += _ONE
        queued = reached
        queue, next_queue = next_queue, queue
    length[_ZERO] = queued if levels % np.uint64(2) == _ZERO else _ZERO
    next_length[_ZERO] = _ZERO if levels % np.uint64(2) == _ZERO else queued
    return vertices_read, queued, frontier_edges, levels, edges
