"""Vertex numbers of edges whose ends are named by integers: the id itself, by bitmap and rank, by search.

Ids are unsigned, uint32 or uint64; numbers uint32. Each kernel cuts its edges into `parts` equal slices.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.atomics import fetch_or
from evener.kernels.cpu.bits import population, trailing_zeros
from evener.kernels.cpu.build import slice_bound
from evener.kernels.cpu.jit import inline_step, parallel

__all__ = ["list_marked", "mark", "number_by_bitmap", "number_by_search", "number_itself"]

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
def mark(ids, bitmap, parts):
    """Set bit ``i`` of `bitmap` for every id ``i`` in `ids`."""
    for p in prange(parts):
        _mark_slice(ids, slice_bound(len(ids), p, parts), slice_bound(len(ids), p + 1, parts), bitmap)


@inline_step
def _list_word(word, base, position, ids):
    while word != ZERO:
        ids[position] = np.int64(base + trailing_zeros(word))
        word &= word - ONE
        position += ONE


@parallel
def list_marked(bitmap, ranks, ids):
    """List the set bits, ascending: ``ids[ranks[w]:]`` are those of word ``w``."""
    for w in prange(len(bitmap)):
        _list_word(bitmap[w], np.uint64(w) << SIX, np.uint64(ranks[w]), ids)


@inline_step
def _itself_slice(src, dst, first, last, out_src, out_dst):
    for e in range(first, last):
        out_src[e] = np.uint32(src[e])
        out_dst[e] = np.uint32(dst[e])


@parallel
def number_itself(src, dst, out_src, out_dst, parts):
    """Vertex numbers of edges whose ids are the numbers."""
    for p in prange(parts):
        _itself_slice(
            src, dst, slice_bound(len(src), p, parts), slice_bound(len(src), p + 1, parts), out_src, out_dst
        )


@inline_step
def _bitmap_slice(ids, first, last, bitmap, ranks, out):
    for e in range(first, last):
        value = np.uint64(ids[e])
        below = (ONE << (value & LAST_BIT)) - ONE
        word = value >> SIX
        out[e] = np.uint32(np.uint64(ranks[word]) + population(bitmap[word] & below))


@parallel
def number_by_bitmap(src, dst, bitmap, ranks, out_src, out_dst, parts):
    """Vertex numbers of edges by rank: how many marked ids lie below each."""
    for p in prange(parts):
        first, last = slice_bound(len(src), p, parts), slice_bound(len(src), p + 1, parts)
        _bitmap_slice(src, first, last, bitmap, ranks, out_src)
        _bitmap_slice(dst, first, last, bitmap, ranks, out_dst)


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
def number_by_search(src, dst, ids, lowest, shift, index, out_src, out_dst, parts):
    """Vertex numbers of edges by search among sorted `ids`, those of equal high bits at ``index[bits]``."""
    for p in prange(parts):
        first, last = slice_bound(len(src), p, parts), slice_bound(len(src), p + 1, parts)
        _search_slice(src, first, last, ids, lowest, shift, index, out_src)
        _search_slice(dst, first, last, ids, lowest, shift, index, out_dst)
