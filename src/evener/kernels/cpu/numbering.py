"""Conversion of integer ids to vertex numbers: copy, rank in a bitmap, or binary search.

Ids are uint32 or uint64, and vertex numbers uint32. Each kernel cuts its edges into `parts` equal slices.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.atomics import fetch_or
from evener.kernels.cpu.bits import population, trailing_zeros
from evener.kernels.cpu.build import slice_bound
from evener.kernels.cpu.jit import inline_step, parallel

__all__ = [
    "copy_numbers",
    "list_marked_ids",
    "mark_ids",
    "number_by_bitmap",
    "number_by_search",
]

ZERO, ONE = np.uint64(0), np.uint64(1)
SIX, LAST_BIT = np.uint64(6), np.uint64(63)


@inline_step
def _mark_slice(ids, first, last, bitmap):
    for i in range(first, last):
        value = np.uint64(ids[i])
        bit = ONE << (value & LAST_BIT)
        if bitmap[value >> SIX] & bit == ZERO:
            fetch_or(bitmap, value >> SIX, bit)


@parallel
def mark_ids(ids, bitmap, parts):
    """Set bit ``i`` of `bitmap` (uint64 words) for each id ``i``."""
    for p in prange(parts):
        _mark_slice(ids, slice_bound(len(ids), p, parts), slice_bound(len(ids), p + 1, parts), bitmap)


@inline_step
def _list_word(word, base, position, ids):
    while word != ZERO:
        ids[position] = np.int64(base + trailing_zeros(word))
        word &= word - ONE
        position += ONE


@parallel
def list_marked_ids(bitmap, ranks, ids):
    """Write the set bits of `bitmap`, ascending; the bits of word ``w`` start at ``ids[ranks[w]]``."""
    for w in prange(len(bitmap)):
        _list_word(bitmap[w], np.uint64(w) << SIX, np.uint64(ranks[w]), ids)


@parallel
def copy_numbers(ids, out, parts):
    """Copy ids that are vertex numbers to a uint32 array."""
    for p in prange(parts):
        for e in range(slice_bound(len(ids), p, parts), slice_bound(len(ids), p + 1, parts)):
            out[e] = np.uint32(ids[e])


@inline_step
def _bitmap_slice(ids, first, last, bitmap, ranks, out):
    for e in range(first, last):
        value = np.uint64(ids[e])
        below = (ONE << (value & LAST_BIT)) - ONE
        word = value >> SIX
        out[e] = np.uint32(np.uint64(ranks[word]) + population(bitmap[word] & below))


@parallel
def number_by_bitmap(ids, bitmap, ranks, out, parts):
    """Write the rank of each id in `bitmap`; `ranks` holds the rank of each word. `out` may be `ids`."""
    for p in prange(parts):
        first, last = slice_bound(len(ids), p, parts), slice_bound(len(ids), p + 1, parts)
        _bitmap_slice(ids, first, last, bitmap, ranks, out)


@inline_step
def _search_slice(values, first, last, ids, lowest, shift, index, out):
    for e in range(first, last):
        value = np.uint64(values[e])
        group = (value - lowest) >> shift
        low, high = np.uint64(index[group]), np.uint64(index[group + ONE])
        while low < high:
            middle = (low + high) >> ONE
            if ids[middle] < value:
                low = middle + ONE
            else:
                high = middle
        out[e] = np.uint32(low)


@parallel
def number_by_search(values, ids, lowest, shift, index, out, parts):
    """Write the position of each value in sorted `ids`; ids with equal high bits start at ``index[bits]``."""
    for p in prange(parts):
        first, last = slice_bound(len(values), p, parts), slice_bound(len(values), p + 1, parts)
        _search_slice(values, first, last, ids, lowest, shift, index, out)
