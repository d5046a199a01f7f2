"""Core numbers: remove vertices level by level.

Arrays for L owned vertices and M mirrors:

- `degree` (L,) uint32: edges to remaining vertices, or the level at which the vertex was removed.
- `lost` (L + M,) uint32: edges that mirrors have lost since the last exchange; after it, those of vertices.
- `changed`, a bitmap of L + M bits: the mirrors that have lost edges.
- `remaining`, `rest` (L,) uint32: vertices that may remain, ``count[0]`` and ``rest_count[0]`` of them.
- `queue` (L,) uint32: ``state[0]`` vertices to remove; ``state[1]`` is the lowest degree of the rest,
  and on GPUs also the two values after it.

`in_offsets` and `in_targets` count only if `both`.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.atomics import fetch_add, fetch_min, load
from evener.kernels.cpu.bits import is_set, set_bit
from evener.kernels.cpu.chunks import CHUNK, chunk_count, chunk_of
from evener.kernels.cpu.frontier import BUFFER, append
from evener.kernels.cpu.jit import inline_step, parallel, vertex_step
from evener.kernels.cpu.work_queue import WORKERS, new_counter, take_chunk
from evener.kernels.vertex import NO_VERTEX

__all__ = ["begin", "peel"]

_ONE, _ZERO = np.uint64(1), np.uint64(0)
_EDGE, _MINUS_EDGE = np.uint32(1), np.uint32(0xFFFFFFFF)
_NONE = np.uint64(NO_VERTEX)
# Vertices in a chunk of a list to scan, and of the queue.
_SCAN_CHUNK, _QUEUE_CHUNK = np.uint64(1 << 10), np.uint64(32)


@inline_step
def _begin_chunk(offsets, in_offsets, both, degree, remaining, first, last):
    for v in range(first, last):
        edges = offsets[v + _ONE] - offsets[v]
        if both:
            edges += in_offsets[v + _ONE] - in_offsets[v]
        degree[v] = edges
        remaining[v] = v


@parallel
def begin(offsets, in_offsets, both, degree, remaining, count):
    """Count the edges of each vertex, and list all vertices."""
    for r in prange(chunk_count(len(degree), CHUNK)):
        first, last = chunk_of(r, 0, len(degree), CHUNK)
        _begin_chunk(offsets, in_offsets, both, degree, remaining, first, last)
    count[_ZERO] = len(degree)


@inline_step
def _scan(level, fresh, degree, lost, remaining, listed, rest, rest_count, queue, state, counter):
    """Distribute chunks of vertices to the queue and the rest, and note the lowest degree of the rest."""
    kept, leaving = np.empty(BUFFER, np.uint32), np.empty(BUFFER, np.uint32)
    keep = leave = 0
    lowest = _NONE
    first = take_chunk(counter, _SCAN_CHUNK)
    while first < listed:
        for i in range(first, min(first + _SCAN_CHUNK, listed)):
            v = np.uint64(remaining[i])
            own = np.uint64(degree[v])
            if own > level:
                own = max(own, level + np.uint64(lost[v])) - np.uint64(lost[v])
                lost[v] = 0
                degree[v] = own
            elif own < level or not fresh:
                continue
            if own > level:
                lowest = min(lowest, own)
                kept[keep] = v
                keep += 1
                if keep == BUFFER:
                    append(kept, keep, rest, rest_count)
                    keep = 0
            else:
                leaving[leave] = v
                leave += 1
                if leave == BUFFER:
                    append(leaving, leave, queue, state)
                    leave = 0
        first = take_chunk(counter, _SCAN_CHUNK)
    append(kept, keep, rest, rest_count)
    append(leaving, leave, queue, state)
    fetch_min(state, _ONE, lowest)


@vertex_step
def _remove(targets, begin, end, level, degree, lost, changed, stack, held, queue, state):
    """Remove edges of a vertex. Return the number of vertices on the stack, which now leave too."""
    for e in range(begin, end):
        t = np.uint64(targets[e])
        if t >= np.uint64(len(degree)):
            fetch_add(lost, t, _EDGE)
            if not is_set(changed, t):
                set_bit(changed, t)
        elif np.uint64(degree[t]) > level:
            before = np.uint64(fetch_add(degree, t, _MINUS_EDGE))
            if before <= level:
                fetch_add(degree, t, _EDGE)
            elif before == level + _ONE:
                if held == BUFFER:
                    append(stack, held, queue, state)
                    held = 0
                stack[held] = t
                held += 1
    return held


@inline_step
def _remove_queued(
    offsets, targets, in_offsets, in_targets, both, level, degree, lost, changed, queue, state, end, counter
):
    """Remove chunks of the queue, and all vertices that leave because of them. Return their number."""
    stack = np.empty(BUFFER, np.uint32)
    removed = 0
    first = take_chunk(counter, _QUEUE_CHUNK)
    while first < end:
        for i in range(first, min(first + _QUEUE_CHUNK, end)):
            stack[0] = queue[i]
            held = 1
            while held > 0:
                held -= 1
                u = np.uint64(stack[held])
                removed += 1
                held = _remove(
                    targets, offsets[u], offsets[u + _ONE], level, degree, lost, changed, stack, held, queue,
                    state,
                )  # fmt: skip
                if both:
                    held = _remove(
                        in_targets, in_offsets[u], in_offsets[u + _ONE], level, degree, lost, changed, stack,
                        held, queue, state,
                    )  # fmt: skip
        first = take_chunk(counter, _QUEUE_CHUNK)
    return removed


@parallel
def peel(
    offsets, targets, in_offsets, in_targets, both, level, fresh, all_levels, degree, lost, changed,
    remaining, count, rest, rest_count, queue, state,
):  # fmt: skip
    """Remove the vertices of a level, until no more of this partition leave. List the others in `rest`.

    `fresh` is false if the level has been begun. With `all_levels`, continue until no vertex remains.

    Returns
    -------
    removed : int
        The vertices removed.
    lowest : int
        A bound on the degrees of `rest`, exact if no vertex was removed; 2^32 - 1 if there are none. With
        `all_levels`, the last level at which vertices were removed.
    """
    now, last, all_removed = np.uint64(level), _ZERO, _ZERO
    while True:
        rest_count[_ZERO] = _ZERO
        state[_ZERO] = _ZERO
        state[_ONE] = _NONE
        counter = new_counter()
        listed = load(count, _ZERO)
        for _ in prange(WORKERS):
            _scan(now, fresh, degree, lost, remaining, listed, rest, rest_count, queue, state, counter)
        lowest = load(state, _ONE)
        removed = _ZERO
        begun = _ZERO
        end = load(state, _ZERO)
        while begun < end:
            queued = new_counter()
            queued[_ZERO] = begun
            for _ in prange(WORKERS):
                removed += np.uint64(
                    _remove_queued(
                        offsets, targets, in_offsets, in_targets, both, now, degree, lost, changed, queue,
                        state, end, queued,
                    )
                )  # fmt: skip
            begun, end = end, load(state, _ZERO)
        all_removed += removed
        if not all_levels:
            return all_removed, lowest
        if removed > _ZERO:
            last = now
            now += _ONE
        elif lowest == _NONE:
            return all_removed, last
        else:
            now = lowest
        remaining, rest = rest, remaining
        count, rest_count = rest_count, count
