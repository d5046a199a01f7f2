"""Random walks: sums of weights, draws by a counter-based generator, and the steps of each walk.

- `offsets` (n + 1,) uint64 and `targets` (m,) uint32: the out-edges of each vertex, ascending in each row.
- `sums` (m,) uint64: the sums of the weights of each row as integers; empty for walks without weights.
- `walks` (walks * places,) uint32: the vertices of each walk, and 2^32 - 1 after its end.

A draw is a word of the SplitMix64 stream of its walk, which is entered at the number of the draw.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.jit import inline_step, parallel, vertex_step
from evener.kernels.cpu.mixing import mix
from evener.kernels.cpu.work_queue import WORKERS, new_counter, take_chunk
from evener.kernels.vertex import NO_VERTEX

__all__ = ["sum_weights", "walk"]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
# Rows, and walks, in a chunk.
_CHUNK = np.uint64(1 << 8)
# The increment of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
_INCREMENT = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_LOW_HALF = np.uint64(0xFFFFFFFF)
_NO_VERTEX = np.uint64(NO_VERTEX)
# Bits of a word that a double does not hold, and the unit of the bits that it holds.
_SPARE_BITS = np.uint64(11)
_UNIT = 2.0**-53


@vertex_step
def _below(word, limit):
    """Return the upper 64 bits of the product of a word and a limit: a number below the limit."""
    low, high = word & _LOW_HALF, word >> _HALF
    limit_low, limit_high = limit & _LOW_HALF, limit >> _HALF
    middle = high * limit_low + ((low * limit_low) >> _HALF)
    other = low * limit_high + (middle & _LOW_HALF)
    return high * limit_high + (middle >> _HALF) + (other >> _HALF)


@vertex_step
def _fraction(word):
    """Return a number from 0 to below 1."""
    return np.float64(np.int64(word >> _SPARE_BITS)) * _UNIT


@inline_step
def _sum_rows(offsets, weights, scale, sums, first, last):
    for v in range(first, last):
        total = _ZERO
        for e in range(offsets[v], offsets[v + _ONE]):
            total += np.uint64(np.int64(np.ceil(np.float64(weights[e]) * scale)))
            sums[e] = total


@parallel
def sum_weights(offsets, weights, scale, rows, sums):
    """Write the sums of the weights of the first rows, times `scale` and rounded up to integers."""
    rows = np.uint64(rows)
    for r in prange(np.int64((rows + _CHUNK - _ONE) // _CHUNK)):
        first = np.uint64(r) * _CHUNK
        _sum_rows(offsets, weights, scale, sums, first, min(first + _CHUNK, rows))


@vertex_step
def _draw_edge(sums, begin, end, word):
    """Return an edge of a row. Without weights, each edge of the row is equally likely."""
    if len(sums) == 0:
        return begin + _below(word, end - begin)
    wanted = _below(word, sums[end - _ONE])
    low, high = begin, end - _ONE
    while low < high:
        middle = (low + high) >> _ONE
        if sums[middle] > wanted:
            high = middle
        else:
            low = middle + _ONE
    return low


@vertex_step
def _has_edge(offsets, targets, v, target):
    low, end = offsets[v], offsets[v + _ONE]
    high = end
    while low < high:
        middle = (low + high) >> _ONE
        if targets[middle] < target:
            low = middle + _ONE
        else:
            high = middle
    return low < end and targets[low] == target


@vertex_step
def _accepts(offsets, targets, previous, target, chance, back, near, far):
    """Return whether a walk accepts a target, given a number from 0 to below 1."""
    if target == previous:
        return chance < back
    if chance < min(near, far):
        return True
    if chance >= max(near, far):
        return False
    return chance < (near if _has_edge(offsets, targets, previous, target) else far)


@vertex_step
def _walk_from(offsets, targets, sums, source, key, back, near, far, restart, row):
    """Write a walk, and return the number of its steps."""
    biased = back != near or near != far
    v, previous = source, _NO_VERTEX
    row[0] = np.uint32(source)
    places = np.uint64(len(row))
    i = _ONE
    while i < places:
        begin, end = offsets[v], offsets[v + _ONE]
        if begin == end or (len(sums) > 0 and sums[end - _ONE] == _ZERO):
            break
        if restart > 0.0:
            key += _INCREMENT
        if restart > 0.0 and _fraction(mix(key)) < restart:
            v, previous = source, _NO_VERTEX
        else:
            while True:
                key += _INCREMENT
                target = np.uint64(targets[_draw_edge(sums, begin, end, mix(key))])
                if not biased or previous == _NO_VERTEX or end - begin == _ONE:
                    break
                key += _INCREMENT
                if _accepts(offsets, targets, previous, target, _fraction(mix(key)), back, near, far):
                    break
            previous, v = v, target
        row[i] = np.uint32(v)
        i += _ONE
    steps = i - _ONE
    while i < places:
        row[i] = np.uint32(_NO_VERTEX)
        i += _ONE
    return steps


@inline_step
def _walk_by_worker(
    offsets,
    targets,
    sums,
    sources,
    walks_per_vertex,
    seed,
    begin,
    back,
    near,
    far,
    restart,
    places,
    walks,
    counter,
):
    count = np.uint64(len(walks)) // places
    steps = _ZERO
    first = take_chunk(counter, _CHUNK)
    while first < count:
        for w in range(first, min(first + _CHUNK, count)):
            number = begin + w
            source = np.uint64(sources[number // walks_per_vertex])
            key = mix(mix(seed) + (number + _ONE) * _INCREMENT)
            row = walks[w * places : (w + _ONE) * places]
            steps += _walk_from(offsets, targets, sums, source, key, back, near, far, restart, row)
        first = take_chunk(counter, _CHUNK)
    return steps


@parallel
def walk(
    offsets, targets, sums, sources, walks_per_vertex, seed, begin, back, near, far, restart, places, walks
):
    """Write walks from number `begin` on, each with `places` vertices. Return the number of their steps.

    `back`, `near` and `far` are the chances to accept the previous vertex, its neighbours and other vertices.
    """
    counter = new_counter()
    steps = _ZERO
    for _ in prange(WORKERS):
        steps += _walk_by_worker(
            offsets, targets, sums, sources, np.uint64(walks_per_vertex), np.uint64(seed), np.uint64(begin),
            back, near, far, restart, np.uint64(places), walks, counter,
        )  # fmt: skip
    return steps
