"""Random walks: sums of weights, draws by a counter-based generator, and the steps of each walk.

- `offsets` (n + 1,) uint64 and `targets` (m,) uint32: the out-edges of each vertex, ascending in each row.
- `sums` (m,) uint64: the sums of the weights of each row as integers; empty for walks without weights.
- `walks` (walks * places,) uint32: the vertices of each walk, and 2^32 - 1 after its end.

A thread makes a group of walks at the same time, so that their random reads overlap.
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
# Rows in a chunk.
_CHUNK = np.uint64(1 << 8)
# Walks that a thread makes at the same time.
_GROUP = np.uint64(32)
# The increment of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
_INCREMENT = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_LOW_HALF = np.uint64(0xFFFFFFFF)
_NO_EDGE = np.uint64(0xFFFFFFFFFFFFFFFF)
_NO_VERTEX = np.uint64(NO_VERTEX)
# Rejections of a step after which it is drawn from its distribution.
_MOST_REJECTIONS = 64
# Bits of the largest chance of a group of edges.
_CHANCE_BITS = np.uint64(61)
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
def _group(offsets, targets, previous, target, near, far):
    """Return the group of a target: 0 for the previous vertex, 1 for its neighbours, 2 for others."""
    if target == previous:
        return 0
    return 1 if near == far or _has_edge(offsets, targets, previous, target) else 2


@vertex_step
def _weight(sums, begin, e):
    if len(sums) == 0:
        return _ONE
    return sums[e] if e == begin else sums[e] - sums[e - _ONE]


@vertex_step
def _chance(weight, chance, unit):
    """Return the chance of a group of edges as an integer. `unit` is a power of two, so it rounds nothing."""
    return np.uint64(np.int64(np.float64(np.int64(weight)) * chance * unit))


@vertex_step
def _draw_biased(offsets, targets, sums, begin, end, previous, back, near, far, word, other):
    """Return a target with the exact chances, given two words: one for its group, one for its edge."""
    weight_back, weight_near, weight_far = _ZERO, _ZERO, _ZERO
    for e in range(begin, end):
        group = _group(offsets, targets, previous, np.uint64(targets[e]), near, far)
        weight = _weight(sums, begin, e)
        weight_back += weight if group == 0 else _ZERO
        weight_near += weight if group == 1 else _ZERO
        weight_far += weight if group == 2 else _ZERO
    unit = 1.0
    shift, total = _ZERO, weight_back + weight_near + weight_far
    while total >> _ONE + shift != _ZERO:
        shift += _ONE
    for _ in range(shift, _CHANCE_BITS):
        unit *= 2.0
    chance_back, chance_near = _chance(weight_back, back, unit), _chance(weight_near, near, unit)
    drawn = _below(word, chance_back + chance_near + _chance(weight_far, far, unit))
    chosen, rest = 2, _below(other, weight_far)
    if drawn < chance_back:
        chosen, rest = 0, _below(other, weight_back)
    elif drawn < chance_back + chance_near:
        chosen, rest = 1, _below(other, weight_near)
    for e in range(begin, end):
        target = np.uint64(targets[e])
        if _group(offsets, targets, previous, target, near, far) == chosen:
            weight = _weight(sums, begin, e)
            if rest < weight:
                return target
            rest -= weight
    return previous


@vertex_step
def _choose_edges(offsets, sums, source, restart, places, walks, first, state):
    """Choose the next edge of each walk of a group. Return the steps of the walks that end here."""
    v, previous, key, at, edge = state
    steps = _ZERO
    for j in range(np.uint64(len(source))):
        edge[j] = _NO_EDGE
        if at[j] == places:
            continue
        begin, end = offsets[v[j]], offsets[v[j] + _ONE]
        row = (first + j) * places
        if begin == end or (len(sums) > 0 and sums[end - _ONE] == _ZERO):
            steps += at[j] - _ONE
            for i in range(at[j], places):
                walks[row + i] = np.uint32(_NO_VERTEX)
            at[j] = places
            continue
        if restart > 0.0:
            key[j] += _INCREMENT
            if _fraction(mix(key[j])) < restart:
                v[j], previous[j] = source[j], _NO_VERTEX
                walks[row + at[j]] = np.uint32(v[j])
                at[j] += _ONE
                steps += places - _ONE if at[j] == places else _ZERO
                continue
        key[j] += _INCREMENT
        edge[j] = _draw_edge(sums, begin, end, mix(key[j]))
    return steps


@vertex_step
def _follow_edges(offsets, targets, sums, biased, back, near, far, places, walks, first, state):
    """Move each walk of a group along its edge, or an edge that it accepts. Return the steps as above."""
    v, previous, key, at, edge = state
    steps = _ZERO
    for j in range(np.uint64(v.size)):
        if edge[j] == _NO_EDGE:
            continue
        target = np.uint64(targets[edge[j]])
        if biased and previous[j] != _NO_VERTEX:
            begin, end = offsets[v[j]], offsets[v[j] + _ONE]
            rejections = 0
            while end - begin > _ONE:
                key[j] += _INCREMENT
                chance = _fraction(mix(key[j]))
                if _accepts(offsets, targets, previous[j], target, chance, back, near, far):
                    break
                rejections += 1
                key[j] += _INCREMENT
                if rejections == _MOST_REJECTIONS:
                    word = mix(key[j])
                    key[j] += _INCREMENT
                    target = _draw_biased(
                        offsets, targets, sums, begin, end, previous[j], back, near, far, word, mix(key[j])
                    )
                    break
                target = np.uint64(targets[_draw_edge(sums, begin, end, mix(key[j]))])
        previous[j], v[j] = v[j], target
        walks[(first + j) * places + at[j]] = np.uint32(target)
        at[j] += _ONE
        steps += places - _ONE if at[j] == places else _ZERO
    return steps


@inline_step
def _walk_by_worker(
    offsets, targets, sums, sources, walks_per_vertex, seed, begin, back, near, far, restart, places, walks,
    counter,
):  # fmt: skip
    """Make groups of walks, one step of each in turn, so that the random reads of a group overlap."""
    count = np.uint64(len(walks)) // places
    biased = back != near or near != far
    source = np.empty(_GROUP, np.uint64)
    v, previous, key = np.empty(_GROUP, np.uint64), np.empty(_GROUP, np.uint64), np.empty(_GROUP, np.uint64)
    at, edge = np.empty(_GROUP, np.uint64), np.empty(_GROUP, np.uint64)
    state = v, previous, key, at, edge
    steps = _ZERO
    first = take_chunk(counter, _GROUP)
    while first < count:
        for j in range(_GROUP):
            at[j] = places
            if first + j < count:
                number = begin + first + j
                source[j] = np.uint64(sources[number // walks_per_vertex])
                v[j], previous[j], at[j] = source[j], _NO_VERTEX, _ONE
                key[j] = mix(mix(seed) + (number + _ONE) * _INCREMENT)
                walks[(first + j) * places] = np.uint32(source[j])
        while at.min() < places:
            steps += _choose_edges(offsets, sums, source, restart, places, walks, first, state)
            steps += _follow_edges(
                offsets, targets, sums, biased, back, near, far, places, walks, first, state
            )
        first = take_chunk(counter, _GROUP)
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
