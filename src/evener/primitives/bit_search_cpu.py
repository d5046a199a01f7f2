"""Searches from up to 64 sources at once: the first level, the next level, and sums of distances.

Arrays for L owned vertices and M mirrors:

- `frontier`, `arriving` (L + M,) uint64: the searches that reached a vertex in the last, in the next level.
- `seen` (L,) uint64: the searches that reached a vertex.
- `changed`, `next_changed` bitmaps: the vertices whose word in `frontier`, `arriving` is not 0.
- `candidates` bitmap: the vertices with an in-neighbour in `frontier`.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.atomics import fetch_or
from evener.kernels.cpu.bits import population, set_bit, trailing_zeros
from evener.kernels.cpu.jit import inline_step, parallel, vertex_step
from evener.kernels.cpu.work_queue import WORKERS, new_counter, take_chunk

__all__ = [
    "add_distances",
    "add_reciprocals",
    "begin_searches",
    "bit_of",
    "clear_words",
    "mark_neighbours",
    "mark_sources",
    "take_bits",
]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_SIX = np.uint64(6)
_64 = np.uint64(64)
# Words of a bitmap in a chunk.
_CHUNK = np.uint64(16)


@vertex_step
def bit_of(number, sources):
    """Return the bit of a source, 0 for other vertices."""
    low, high = _ZERO, np.uint64(len(sources))
    while low < high:
        middle = (low + high) >> _ONE
        if sources[middle] < number:
            low = middle + _ONE
        else:
            high = middle
    if low < np.uint64(len(sources)) and sources[low] == number:
        return _ONE << low
    return _ZERO


@parallel
def begin_searches(vertices, sources, frontier, arriving, seen, changed, next_changed, candidates):
    """Clear all words and flags, and write the bits of the sources. `sources` are ascending numbers."""
    for w in prange(len(changed)):
        changed[w] = next_changed[w] = candidates[w] = _ZERO
    for v in prange(len(frontier)):
        frontier[v] = arriving[v] = _ZERO
    for v in prange(len(seen)):
        frontier[v] = seen[v] = bit_of(vertices[v], sources)


@parallel
def mark_sources(offsets, changed, frontier):
    """Flag the owned vertices whose word is not 0. Return their out-edges."""
    edges = _ZERO
    for w in prange(len(changed)):
        first = np.uint64(w) << _SIX
        word = _ZERO
        for v in range(first, min(first + _64, np.uint64(len(offsets) - 1))):
            if frontier[v] != _ZERO:
                word |= _ONE << (v - first)
                edges += offsets[v + _ONE] - offsets[v]
        changed[w] = word
    return edges


@inline_step
def _mark_by_worker(offsets, targets, changed, candidates, counter):
    owned, words = np.uint64(len(offsets) - 1), (np.uint64(len(offsets) - 1) + _64 - _ONE) >> _SIX
    first = take_chunk(counter, _CHUNK)
    while first < words:
        for w in range(first, min(first + _CHUNK, words)):
            word = changed[w]
            while word != _ZERO:
                v = (w << _SIX) + trailing_zeros(word)
                word &= word - _ONE
                if v < owned:
                    for e in range(offsets[v], offsets[v + _ONE]):
                        set_bit(candidates, targets[e])
        first = take_chunk(counter, _CHUNK)


@parallel
def mark_neighbours(offsets, targets, changed, candidates):
    """Flag the out-neighbours of all changed owned vertices, also mirrors."""
    counter = new_counter()
    for _ in prange(WORKERS):
        _mark_by_worker(offsets, targets, changed, candidates, counter)


@vertex_step
def _taken(offsets, targets, v, missing, frontier):
    """Return which of the missing searches have reached an in-neighbour in the last level."""
    taken = _ZERO
    for e in range(offsets[v], offsets[v + _ONE]):
        taken |= frontier[targets[e]]
        if taken & missing == missing:
            break
    return taken & missing


@inline_step
def _take_word(
    w, word, going, out_offsets, offsets, targets, frontier, seen, arriving, next_changed
):  # fmt: skip
    """Take the bits of the vertices of a word of a bitmap. Return values as `take_bits` does."""
    active, edges, arrived, flags = _ZERO, _ZERO, _ZERO, _ZERO
    while word != _ZERO:
        bit = trailing_zeros(word)
        word &= word - _ONE
        v = (w << _SIX) + bit
        missing = going & ~seen[v]
        if missing == _ZERO:
            continue
        taken = _taken(offsets, targets, v, missing, frontier)
        if taken != _ZERO:
            arriving[v] = taken
            seen[v] |= taken
            arrived |= taken
            flags |= _ONE << bit
            active += _ONE
            edges += out_offsets[v + _ONE] - out_offsets[v]
    next_changed[w] |= flags
    return active, edges, arrived


@inline_step
def _take_by_worker(
    everyone, going, out_offsets, offsets, targets, candidates, frontier, seen, arriving, next_changed,
    counter, all_arrived,
):  # fmt: skip
    owned = np.uint64(len(seen))
    words = (owned + _64 - _ONE) >> _SIX
    active, edges, arrived = _ZERO, _ZERO, _ZERO
    first = take_chunk(counter, _CHUNK)
    while first < words:
        for w in range(first, min(first + _CHUNK, words)):
            word = candidates[w]
            if everyone:
                word = ~_ZERO
            if (w << _SIX) + _64 > owned:
                word &= (_ONE << (owned - (w << _SIX))) - _ONE
            if word == _ZERO:
                continue
            candidates[w] = _ZERO
            more, more_edges, bits = _take_word(
                w, word, going, out_offsets, offsets, targets, frontier, seen, arriving, next_changed
            )
            active += more
            edges += more_edges
            arrived |= bits
        first = take_chunk(counter, _CHUNK)
    fetch_or(all_arrived, 0, arrived)
    return active, edges


@parallel
def take_bits(
    everyone, going, out_offsets, offsets, targets, candidates, frontier, seen, arriving, next_changed
):
    """Take the bits of in-neighbours at the candidates, or at everyone, and clear the candidates.

    `going` has the bits of the searches in the frontier. Return how many vertices changed, their out-edges,
    and the bits that they got.
    """
    counter, arrived = new_counter(), new_counter()
    active, edges = _ZERO, _ZERO
    for _ in prange(WORKERS):
        more, more_edges = _take_by_worker(
            everyone, going, out_offsets, offsets, targets, candidates, frontier, seen, arriving,
            next_changed, counter, arrived,
        )  # fmt: skip
        active += more
        edges += more_edges
    return active, edges, arrived[0]


@parallel
def clear_words(changed, frontier):
    """Write 0 where a vertex or a mirror is flagged, and clear the flags."""
    for w in prange(len(changed)):
        word = changed[w]
        while word != _ZERO:
            frontier[(np.uint64(w) << _SIX) + trailing_zeros(word)] = _ZERO
            word &= word - _ONE
        changed[w] = _ZERO


@parallel
def add_distances(distance, changed, reached, counts, sums):
    """Add the searches that reached each changed owned vertex, and their distances."""
    for w in prange(len(changed)):
        word = changed[w]
        while word != _ZERO:
            v = (np.uint64(w) << _SIX) + trailing_zeros(word)
            word &= word - _ONE
            if v < np.uint64(len(counts)):
                count = population(reached[v])
                counts[v] += count
                sums[v] += count * np.uint64(distance)


@parallel
def add_reciprocals(distance, changed, reached, sums):
    """Add the reciprocal distances of the searches that reached each changed owned vertex."""
    for w in prange(len(changed)):
        word = changed[w]
        while word != _ZERO:
            v = (np.uint64(w) << _SIX) + trailing_zeros(word)
            word &= word - _ONE
            if v < np.uint64(len(sums)):
                sums[v] += np.float64(population(reached[v])) / np.float64(distance)
