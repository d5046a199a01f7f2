"""Coloring: color vertices in the order of their priorities.

Arrays for L owned vertices and M mirrors:

- `priority` (L + M,) uint64: the degree in the upper 32 bits, a hash in the lower; no two vertices without a
  color have equal priorities. It is 0 for vertices that an earlier run has colored.
- `color` (L + M,) int32: -1 for vertices without a color. Mirrors have theirs after an exchange.
- `waits` (L + M,) int32: edges to vertices of higher priority without a color; at a mirror, minus the edges
  to vertices that have been colored since the last exchange.
- `queue` (L,) uint32: vertices that wait for no others. Those of ``begun[0]:length[0]`` have no color.
- `lowered`, `colored`, bitmaps of L + M bits: mirrors with a value in `waits`, and vertices with a new color.

`in_offsets` and `in_targets` count only if `both`.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.atomics import fetch_add, load
from evener.kernels.cpu.bits import is_set, set_bit, trailing_zeros
from evener.kernels.cpu.chunks import CHUNK, chunk_count, chunk_of
from evener.kernels.cpu.frontier import BUFFER, append
from evener.kernels.cpu.jit import inline_step, parallel, vertex_step
from evener.kernels.cpu.work_queue import WORKERS, new_counter, take_chunk

__all__ = ["color_ready", "count_higher", "prioritize", "queue_lowered", "unused_colors"]

_ONE, _ZERO, _SIX = np.uint64(1), np.uint64(0), np.uint64(6)
_LOW_BITS, _ALL_BITS = np.uint64(63), np.uint64(0xFFFFFFFFFFFFFFFF)
_LOST, _ALL_COLORS = np.int32(-1), np.int64(1 << 31)
# Vertices in a chunk of all vertices, and of the queue.
_SCAN_CHUNK, _QUEUE_CHUNK = np.uint64(1 << 9), np.uint64(16)
# Vertices. One worker colors a shorter queue.
_NARROW = np.uint64(1 << 10)
# Words of the colors that one pass over the neighbours of a vertex examines.
_WORDS = np.uint64(8)
_COLORS = _WORDS << _SIX


@inline_step
def _mix(word):
    """Return a permutation of the 32-bit words: the finalizer of MurmurHash3 (Appleby)."""
    word = np.uint32(word)
    word = np.uint32((word ^ (word >> np.uint32(16))) * np.uint32(0x85EBCA6B))
    word = np.uint32((word ^ (word >> np.uint32(13))) * np.uint32(0xC2B2AE35))
    return np.uint32(word ^ (word >> np.uint32(16)))


@inline_step
def _prioritize_chunk(offsets, in_offsets, both, vertices, key, color, priority, first, last):
    for v in range(first, last):
        degree = offsets[v + _ONE] - offsets[v]
        if both:
            degree += in_offsets[v + _ONE] - in_offsets[v]
        own = degree << np.uint64(32) | np.uint64(_mix(np.uint32(vertices[v]) ^ np.uint32(key)))
        priority[v] = own if color[v] < 0 else _ZERO


@parallel
def prioritize(offsets, in_offsets, both, vertices, owned, key, color, priority):
    """Set the priority of each owned vertex; 0 if it has a color."""
    for r in prange(chunk_count(owned, CHUNK)):
        first, last = chunk_of(r, 0, owned, CHUNK)
        _prioritize_chunk(offsets, in_offsets, both, vertices, key, color, priority, first, last)


@vertex_step
def _higher(targets, first, last, priority, own):
    higher = np.int32(0)
    for e in range(first, last):
        higher += np.int32(priority[targets[e]] > own)
    return higher


@inline_step
def _count_worker(
    offsets, targets, in_offsets, in_targets, both, priority, color, waits, queue, length, owned, counter
):
    buffer, held = np.empty(BUFFER, np.uint32), 0
    first = take_chunk(counter, _SCAN_CHUNK)
    while first < owned:
        for v in range(first, min(first + _SCAN_CHUNK, owned)):
            if color[v] >= 0:
                continue
            own = priority[v]
            higher = _higher(targets, offsets[v], offsets[v + _ONE], priority, own)
            if both:
                higher += _higher(in_targets, in_offsets[v], in_offsets[v + _ONE], priority, own)
            waits[v] = higher
            if higher == 0:
                buffer[held] = v
                held += 1
                if held == BUFFER:
                    append(buffer, held, queue, length)
                    held = 0
        first = take_chunk(counter, _SCAN_CHUNK)
    append(buffer, held, queue, length)


@parallel
def count_higher(offsets, targets, in_offsets, in_targets, both, priority, color, waits, queue, length):
    """Count the edges of vertices without a color to higher priorities, and queue vertices without any."""
    owned = np.uint64(len(queue))
    counter = new_counter()
    for _ in prange(WORKERS):
        _count_worker(
            offsets, targets, in_offsets, in_targets, both, priority, color, waits, queue, length, owned,
            counter,
        )  # fmt: skip


@vertex_step
def _mark(targets, first, last, color, lowest, used):
    """Set the bits of the colors from `lowest` on that neighbours have."""
    for e in range(first, last):
        place = np.uint64(np.int64(color[targets[e]]) - lowest)
        if place < _COLORS:
            used[place >> _SIX] |= _ONE << (place & _LOW_BITS)


@vertex_step
def _free_color(offsets, targets, in_offsets, in_targets, both, v, color, used):
    """Return the smallest color that no neighbour has."""
    lowest = np.int64(0)
    while True:
        used[:] = _ZERO
        _mark(targets, offsets[v], offsets[v + _ONE], color, lowest, used)
        if both:
            _mark(in_targets, in_offsets[v], in_offsets[v + _ONE], color, lowest, used)
        for w in range(_WORDS):
            if used[w] != _ALL_BITS:
                return lowest + np.int64((w << _SIX) + trailing_zeros(~used[w]))
        lowest += np.int64(_COLORS)


@vertex_step
def _lower(targets, first, last, own, owned, priority, waits, buffer, held, queue, length, lowered):
    """Count down the edges that neighbours of lower priority wait for, and queue those that wait no more."""
    for e in range(first, last):
        u = np.uint64(targets[e])
        if priority[u] < own:
            before = fetch_add(waits, u, _LOST)
            if u >= owned:
                if not is_set(lowered, u):
                    set_bit(lowered, u)
            elif before == 1:
                buffer[held] = u
                held += 1
                if held == BUFFER:
                    append(buffer, held, queue, length)
                    held = 0
    return held


@inline_step
def _color_worker(
    offsets, targets, in_offsets, in_targets, both, priority, color, waits, queue, end, length, lowered,
    colored, counter,
):  # fmt: skip
    owned = np.uint64(len(queue))
    used = np.empty(_WORDS, np.uint64)
    buffer, held = np.empty(BUFFER, np.uint32), 0
    first = take_chunk(counter, _QUEUE_CHUNK)
    while first < end:
        for i in range(first, min(first + _QUEUE_CHUNK, end)):
            v = np.uint64(queue[i])
            own = priority[v]
            free = _free_color(offsets, targets, in_offsets, in_targets, both, v, color, used)
            color[v] = free
            set_bit(colored, v)
            held = _lower(
                targets, offsets[v], offsets[v + _ONE], own, owned, priority, waits, buffer, held, queue,
                length, lowered,
            )  # fmt: skip
            if both:
                held = _lower(
                    in_targets, in_offsets[v], in_offsets[v + _ONE], own, owned, priority, waits, buffer,
                    held, queue, length, lowered,
                )  # fmt: skip
        first = take_chunk(counter, _QUEUE_CHUNK)
    append(buffer, held, queue, length)


@parallel
def color_ready(
    offsets, targets, in_offsets, in_targets, both, priority, color, waits, queue, begun, length, lowered,
    colored,
):  # fmt: skip
    """Color vertices until the others wait for vertices of other partitions.

    Return the number of vertices that were colored.
    """
    colored_before = begun[_ZERO]
    while begun[_ZERO] < length[_ZERO]:
        end = length[_ZERO]
        counter = new_counter()
        counter[_ZERO] = begun[_ZERO]
        workers = WORKERS if end - begun[_ZERO] > _NARROW else 1
        for _ in prange(workers):
            _color_worker(
                offsets, targets, in_offsets, in_targets, both, priority, color, waits, queue, end, length,
                lowered, colored, counter,
            )  # fmt: skip
        begun[_ZERO] = end
    return begun[_ZERO] - colored_before


@inline_step
def _queue_worker(color, waits, queue, length, lowered, colored, owned, counter):
    buffer, held = np.empty(BUFFER, np.uint32), 0
    words = np.uint64(len(lowered))
    first = take_chunk(counter, _SCAN_CHUNK)
    while first < words:
        for w in range(first, min(first + _SCAN_CHUNK, words)):
            word = lowered[w]
            lowered[w] = _ZERO
            colored[w] = _ZERO
            while word != _ZERO:
                v = (w << _SIX) + trailing_zeros(word)
                word &= word - _ONE
                if v < owned and waits[v] == 0 and load(color, v) < 0:
                    buffer[held] = v
                    held += 1
                    if held == BUFFER:
                        append(buffer, held, queue, length)
                        held = 0
        first = take_chunk(counter, _SCAN_CHUNK)
    append(buffer, held, queue, length)


@parallel
def queue_lowered(color, waits, queue, length, lowered, colored):
    """Queue vertices that wait no more because of other partitions, and clear the bitmaps."""
    owned = np.uint64(len(queue))
    counter = new_counter()
    for _ in prange(WORKERS):
        _queue_worker(color, waits, queue, length, lowered, colored, owned, counter)


@parallel
def unused_colors(color, owned):
    """Return 2^31 minus the number of colors."""
    unused = _ALL_COLORS
    for v in prange(np.int64(owned)):
        unused = min(unused, _ALL_COLORS - 1 - np.int64(color[v]))
    return unused
