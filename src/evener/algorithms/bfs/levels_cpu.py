"""Breadth-first search, many levels in one call, for the only element.

Arrays and votes are those of `evener.algorithms.bfs.kernels_cpu`.
"""

from __future__ import annotations

import numpy as np

from evener.algorithms.bfs.kernels_cpu import begin, bottom_up_step, flood_step, settle, top_down_step
from evener.kernels.cpu.bits import copy
from evener.kernels.cpu.frontier import to_bits, to_queue
from evener.kernels.cpu.jit import serial

__all__ = ["all_steps", "narrow_steps"]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_SIX = np.uint64(6)
_LOW_BITS = np.uint64(63)
_NOBODY = np.uint32(0xFFFFFFFF)


@serial
def narrow_steps(
    offsets, targets, vertices, first_scout, most_edges, most_levels, level, queue, length, distance, parent,
    visited, next_queue, next_length,
):  # fmt: skip
    """Steps down by one thread while the frontier is narrow: nobody is woken between levels, nobody asked.

    `first_scout` edges lead out of the queue. Goes on while no more than `most_edges` do, for `most_levels`
    at most; what is left is in `next_queue` after an odd number of levels. Returns (awake, scout, levels,
    edges), of which `edges` are those that were gone through.
    """
    scout = np.uint64(first_scout)
    level = np.int32(level)
    levels = _ZERO
    edges = _ZERO
    queued = length[_ZERO]
    while queued > _ZERO and scout <= np.uint64(most_edges) and levels < np.uint64(most_levels):
        level += np.int32(1)
        levels += _ONE
        edges += scout
        scout = _ZERO
        reached = _ZERO
        for i in range(queued):
            u = np.uint64(queue[i])
            name = vertices[u]
            for e in range(offsets[u], offsets[u + _ONE]):
                v = np.uint64(targets[e])
                bit = _ONE << (v & _LOW_BITS)
                if visited[v >> _SIX] & bit:
                    continue
                visited[v >> _SIX] |= bit
                parent[v] = name
                distance[v] = level
                scout += offsets[v + _ONE] - offsets[v]
                next_queue[reached] = v
                reached += _ONE
        queued = reached
        queue, next_queue = next_queue, queue
    length[_ZERO] = queued if levels % np.uint64(2) == _ZERO else _ZERO
    next_length[_ZERO] = _ZERO if levels % np.uint64(2) == _ZERO else queued
    return queued, scout, levels, edges


@serial
def all_steps(
    offsets, targets, in_offsets, in_targets, vertices, in_rows, owned, source, first_awake, first_scout,
    unexplored, narrow, most_narrow, most_levels, upward, turn_up, turn_down, broad, level, queue, length,
    distance, parent, visited, before, frontier, next_frontier, next_queue, next_length,
):  # fmt: skip
    """Steps of all kinds, from `source` or, where that is `NOBODY`, from a queue; for the only element.

    Of a queue, `first_awake` and `first_scout` are its votes. A frontier is narrow that has no more than
    `narrow` vertices, and as many edges out of them: once it has been for `most_narrow` levels in a row it is
    left to `narrow_steps`. No step down begins after `most_levels`. Steps go up, if that is `upward`, from
    where `turn_up` times its edges are more than those `unexplored`, until it shrinks and has no more than
    `turn_down` vertices; steps down over `broad` edges or more flood. Bitmaps of a frontier are clear before
    and after. What is left is in `next_queue` after an odd number of levels. Returns (awake, scout, levels,
    edges), of which `edges` are those that steps down went through.
    """
    awake = np.uint64(first_awake)
    scout = np.uint64(first_scout)
    if source != _NOBODY:
        awake, scout = begin(offsets, vertices, source, distance, parent, visited, queue, length)
    left = np.uint64(unexplored)
    levels = _ZERO
    while awake > _ZERO and levels < np.uint64(most_levels):
        odd = levels & _ONE != _ZERO
        if odd:
            from_queue, from_length, into, into_length = next_queue, next_length, queue, length
        else:
            from_queue, from_length, into, into_length = queue, length, next_queue, next_length
        if max(awake, scout) <= np.uint64(narrow):
            most = min(np.uint64(most_narrow), np.uint64(most_levels) - levels)
            awake, scout, taken, gone_through = narrow_steps(
                offsets, targets, vertices, scout, narrow, most, level + np.int64(levels), from_queue,
                from_length, distance, parent, visited, into, into_length,
            )  # fmt: skip
            levels += taken
            left -= gone_through
            if max(awake, scout) <= np.uint64(narrow):
                break
            continue
        if upward and scout * np.uint64(turn_up) > left:
            to_bits(from_queue, from_length, frontier)
            smallest = _ZERO
            while awake > _ZERO and (awake >= smallest or awake > np.uint64(turn_down)):
                smallest = awake
                levels += _ONE
                awake = bottom_up_step(
                    in_offsets, in_targets, vertices, in_rows, level + np.int64(levels), distance, parent,
                    visited, frontier, next_frontier,
                )  # fmt: skip
                frontier, next_frontier = next_frontier, frontier
            odd = levels & _ONE != _ZERO
            scout = to_queue(
                offsets, owned, frontier, next_queue if odd else queue, next_length if odd else length
            )
            next_frontier[:] = _ZERO
            continue
        levels += _ONE
        depth = level + np.int64(levels)
        left -= scout
        if scout < np.uint64(broad):
            awake, scout, _ = top_down_step(
                offsets, targets, vertices, owned, from_queue, from_length, depth, distance, parent, visited,
                next_frontier, parent, into, into_length,
            )  # fmt: skip
        else:
            copy(visited, before)
            flood_step(offsets, targets, vertices, owned, from_queue, from_length, parent, visited, parent)
            awake, scout, _ = settle(
                offsets, owned, before, visited, depth, distance, next_frontier, into, into_length
            )
    return awake, scout, levels, np.uint64(unexplored) - left
