"""Coloring of a whole graph in one pass over its vertices in the order of their priorities.

Idea: threads take the vertices in order. A vertex remains for the next pass if other threads are coloring its
neighbours of higher priority. Rows list neighbours of higher degree first, so a row is read up to the
neighbours of lower degree.

Vertices of one degree are a class, which has consecutive numbers. A bucket sort orders it by priority: a
class has as many buckets as vertices, and hashes divide the vertices evenly.

- `priority` (L,) uint64 and `color` (L,) int32: as in `kernels_cpu`; no vertex has a color before.
- `ends` (L,) uint32: first the sizes of the buckets, then the end of the class of each vertex.
- `places` (L + 1,) uint64: the first place of each bucket in `order`; after `fill_buckets`, its end.
- `order` (L,) uint32: the vertices by descending priority.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.atomics import fetch_add
from evener.kernels.cpu.bits import trailing_zeros
from evener.kernels.cpu.chunks import CHUNK, chunk_count, chunk_of
from evener.kernels.cpu.jit import inline_step, parallel, vertex_step
from evener.kernels.cpu.work_queue import WORKERS, new_counter, take_chunk

__all__ = ["color_in_order", "count_buckets", "fill_buckets", "sort_buckets"]

_ONE, _ZERO, _SIX = np.uint64(1), np.uint64(0), np.uint64(6)
_LOW_BITS, _ALL_BITS = np.uint64(63), np.uint64(0xFFFFFFFFFFFFFFFF)
_HALF, _LOW_HALF = np.uint64(32), np.uint64(0xFFFFFFFF)
# Vertices that a thread takes at a time.
_TAKEN = np.uint64(64)
# Edges. One thread colors the vertices of at least this degree, because most of them wait for each other.
_HUB = np.uint64(64)
# One thread colors the vertices that wait if they are fewer than one in `_FEW`.
_FEW = np.uint64(16)
# Words of the colors that one pass over the neighbours of a vertex examines.
_WORDS = np.uint64(8)
_COLORS = _WORDS << _SIX


@vertex_step
def _first_of_degree(priority, low, high, degree):
    """Return the first vertex of ``low:high`` whose degree is at most `degree`."""
    while low < high:
        middle = (low + high) >> _ONE
        if priority[middle] >> _HALF > degree:
            low = middle + _ONE
        else:
            high = middle
    return low


@vertex_step
def _end_of_degree(priority, low, high, degree):
    """Return the first vertex of ``low:high`` whose degree is below `degree`."""
    while low < high:
        middle = (low + high) >> _ONE
        if priority[middle] >> _HALF >= degree:
            low = middle + _ONE
        else:
            high = middle
    return low


@vertex_step
def _bucket(own, begin, end):
    """Return the bucket of a priority in the class ``begin:end``."""
    return begin + ((_LOW_HALF - (own & _LOW_HALF)) * (end - begin) >> _HALF)


@inline_step
def _count_chunk(priority, ends, first, last):
    begin = end = first
    for v in range(first, last):
        own = priority[v]
        if v >= end:
            begin = v if v > first else _first_of_degree(priority, _ZERO, v, own >> _HALF)
            end = _end_of_degree(priority, v, np.uint64(len(ends)), own >> _HALF)
        fetch_add(ends, _bucket(own, begin, end), np.uint32(1))


@parallel
def count_buckets(priority, ends):
    """Count the vertices of each bucket, in `ends`."""
    for r in prange(chunk_count(len(ends), CHUNK)):
        first, last = chunk_of(r, 0, len(ends), CHUNK)
        _count_chunk(priority, ends, first, last)


@inline_step
def _fill_chunk(priority, ends, places, order, first, last):
    begin = end = first
    for v in range(first, last):
        own = priority[v]
        if v >= end:
            begin = v if v > first else _first_of_degree(priority, _ZERO, v, own >> _HALF)
            end = _end_of_degree(priority, v, np.uint64(len(ends)), own >> _HALF)
        ends[v] = end
        order[fetch_add(places, _bucket(own, begin, end), _ONE)] = v


@parallel
def fill_buckets(priority, ends, places, order):
    """List the vertices of each bucket in `order`, and write the end of each class."""
    for r in prange(chunk_count(len(ends), CHUNK)):
        first, last = chunk_of(r, 0, len(ends), CHUNK)
        _fill_chunk(priority, ends, places, order, first, last)


@inline_step
def _sort_chunk(priority, places, order, first, last):
    begin = places[first - _ONE] if first > _ZERO else _ZERO
    for bucket in range(first, last):
        end = places[bucket]
        for i in range(begin + _ONE, end):
            v = order[i]
            j = i
            while j > begin and priority[order[j - _ONE]] < priority[v]:
                order[j] = order[j - _ONE]
                j -= _ONE
            order[j] = v
        begin = end


@parallel
def sort_buckets(priority, places, order):
    """Sort the vertices of each bucket by descending priority."""
    for r in prange(chunk_count(len(order), CHUNK)):
        first, last = chunk_of(r, 0, len(order), CHUNK)
        _sort_chunk(priority, places, order, first, last)


@vertex_step
def _mark(targets, first, last, end, own, priority, color, lowest, used):
    """Set the bits of the colors from `lowest` on. Return whether all higher neighbours have one."""
    for e in range(first, last):
        t = np.uint64(targets[e])
        if t >= end:
            break
        # Another thread may color `t`, so its color is read once.
        of_t = np.int64(color[t])
        place = np.uint64(of_t - lowest)
        if place < _COLORS:
            used[place >> _SIX] |= _ONE << (place & _LOW_BITS)
        elif of_t < 0 and priority[t] > own:
            return False
    return True


@vertex_step
def _free_color(offsets, targets, in_offsets, in_targets, both, v, end, own, priority, color, used):
    """Return the smallest color that no neighbour of higher priority has; -1 if one has no color."""
    lowest = np.int64(0)
    while True:
        used[:] = _ZERO
        if not _mark(targets, offsets[v], offsets[v + _ONE], end, own, priority, color, lowest, used):
            return np.int64(-1)
        if both and not _mark(
            in_targets, in_offsets[v], in_offsets[v + _ONE], end, own, priority, color, lowest, used
        ):
            return np.int64(-1)
        for w in range(_WORDS):
            if used[w] != _ALL_BITS:
                return lowest + np.int64((w << _SIX) + trailing_zeros(~used[w]))
        lowest += np.int64(_COLORS)


@inline_step
def _color_worker(
    offsets, targets, in_offsets, in_targets, both, priority, ends, order, color, stop, counter
):  # fmt: skip
    """Color vertices of ``order[:stop]``. Return the number of vertices that still wait."""
    used = np.empty(_WORDS, np.uint64)
    waiting = _ZERO
    first = take_chunk(counter, _TAKEN)
    while first < stop:
        for i in range(first, min(first + _TAKEN, stop)):
            v = np.uint64(order[i])
            if color[v] < 0:
                color[v] = _free_color(
                    offsets, targets, in_offsets, in_targets, both, v, np.uint64(ends[v]), priority[v],
                    priority, color, used,
                )  # fmt: skip
                waiting += np.uint64(color[v] < 0)
        first = take_chunk(counter, _TAKEN)
    return waiting


@parallel
def color_in_order(offsets, targets, in_offsets, in_targets, both, priority, ends, order, color):
    """Color all vertices in order."""
    stop, count = _end_of_degree(priority, _ZERO, np.uint64(len(order)), _HUB), np.uint64(len(order))
    workers, begun = 1, _ZERO
    while True:
        counter = new_counter()
        counter[_ZERO] = begun
        waiting = _ZERO
        for _ in prange(workers):
            waiting += _color_worker(
                offsets, targets, in_offsets, in_targets, both, priority, ends, order, color, stop, counter
            )
        if waiting == _ZERO:
            if stop == count:
                return
            begun, stop = stop, count
        # One worker never finds a vertex that waits.
        workers = WORKERS if waiting == _ZERO or waiting > count // _FEW else 1
