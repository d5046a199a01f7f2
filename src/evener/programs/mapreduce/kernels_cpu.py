"""Shuffle: choose the element of each record, group records by element, and sort them by key.

A record is a key (int64 or uint32) and one word (uint32 or uint64) in each column: the bits of a number.
Mapped records are in pieces of `step` positions: piece ``k`` has ``counts[k]`` records from position
``k * step`` on. The sort is a stable radix sort by the least significant digit first. Each thread has an
equal slice of the records, so one key with most of the records does not slow it down.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.build import slice_bound
from evener.kernels.cpu.jit import inline_step, parallel
from evener.kernels.cpu.mixing import mix

__all__ = [
    "choose_by_block",
    "choose_by_hash",
    "count_digits",
    "count_heads",
    "gather_words",
    "group_words",
    "pack",
    "scatter_digits",
    "scatter_packed",
]

_ZERO, _ONE, _HALF = np.uint64(0), np.uint64(1), np.uint64(32)


# ---- the element of each record -----------------------------------------------------------------------


@parallel
def choose_by_hash(keys, step, counts, elements, chosen, sizes):
    """Choose elements by a hash of the key. Adds the records of each piece and element to `sizes`."""
    for k in prange(len(counts)):
        begin = np.uint64(k) * step
        for i in range(begin, begin + counts[k]):
            element = mix(np.uint64(keys[i])) % elements
            chosen[i] = element
            sizes[k, element] += 1


@inline_step
def _block_piece(keys, begin, end, bounds, chosen, sizes):
    elements = np.uint64(len(bounds)) - _ONE
    n = bounds[elements]
    outside = 0
    for i in range(begin, end):
        key = np.uint64(keys[i])
        if key >= n:
            outside += 1
            key = _ZERO
        element = min(key * elements // max(n, _ONE), elements - _ONE)  # a guess
        while key < bounds[element]:
            element -= _ONE
        while key >= bounds[element + _ONE]:
            element += _ONE
        chosen[i] = element
        sizes[element] += 1
    return outside


@parallel
def choose_by_block(keys, step, counts, bounds, chosen, sizes):
    """Choose the element ``e`` with ``bounds[e] <= key < bounds[e + 1]``.

    Return the number of keys in no block.
    """
    outside = 0
    for k in prange(len(counts)):
        begin = np.uint64(k) * step
        outside += _block_piece(keys, begin, begin + counts[k], bounds, chosen, sizes[k])
    return outside


@parallel
def group_words(words, step, counts, chosen, cursors, out):
    """Copy words, those of each element together. Piece ``k`` writes from ``cursors[k, element]`` on."""
    for k in prange(len(counts)):
        begin = np.uint64(k) * step
        for i in range(begin, begin + counts[k]):
            element = np.uint64(chosen[i])
            where = cursors[k, element]
            cursors[k, element] = where + _ONE
            out[where] = words[i]


# ---- sort ---------------------------------------------------------------------------------------------


@parallel
def count_digits(keys, least, shift, mask, counts):
    """Count the digits ``(key - least) >> shift & mask`` of each slice, in ``counts[slice, digit]``."""
    slices = len(counts)
    for t in prange(slices):
        begin, end = slice_bound(len(keys), t, slices), slice_bound(len(keys), t + 1, slices)
        for i in range(begin, end):
            counts[t, ((np.uint64(keys[i]) - least) >> shift) & mask] += _ONE


@parallel
def scatter_digits(keys, words, least, shift, mask, cursors, out_keys, out_words):
    """Move each record to its digit. Each slice writes from ``cursors[slice, digit]`` on."""
    slices = len(cursors)
    for t in prange(slices):
        begin, end = slice_bound(len(keys), t, slices), slice_bound(len(keys), t + 1, slices)
        for i in range(begin, end):
            key = keys[i]
            digit = ((np.uint64(key) - least) >> shift) & mask
            where = cursors[t, digit]
            cursors[t, digit] = where + _ONE
            out_keys[where] = key
            out_words[where] = words[i]


@parallel
def scatter_packed(records, least, shift, mask, cursors, out):
    """Move each record, packed into one word, to its digit, as `scatter_digits` does."""
    slices = len(cursors)
    for t in prange(slices):
        begin, end = slice_bound(len(records), t, slices), slice_bound(len(records), t + 1, slices)
        for i in range(begin, end):
            record = records[i]
            digit = ((record - least) >> shift) & mask
            where = cursors[t, digit]
            cursors[t, digit] = where + _ONE
            out[where] = record


@parallel
def pack(keys, words, slices, out):
    """Write a key and a word of 32 bits each to one word; the key has the upper half."""
    for t in prange(slices):
        begin, end = slice_bound(len(keys), t, slices), slice_bound(len(keys), t + 1, slices)
        for i in range(begin, end):
            out[i] = (np.uint64(keys[i]) << _HALF) | np.uint64(words[i])


@parallel
def gather_words(words, order, slices, out):
    """Write ``words[order]`` to `out`."""
    for t in prange(slices):
        begin, end = slice_bound(len(order), t, slices), slice_bound(len(order), t + 1, slices)
        for i in range(begin, end):
            out[i] = words[order[i]]


# ---- segments of equal keys ---------------------------------------------------------------------------


@parallel
def count_heads(keys, heads):
    """Count the records of each slice that have another key than the record before."""
    slices = len(heads)
    for t in prange(slices):
        begin, end = slice_bound(len(keys), t, slices), slice_bound(len(keys), t + 1, slices)
        own = _ZERO
        for i in range(begin, end):
            own += np.uint64(i == _ZERO or keys[i] != keys[i - _ONE])
        heads[t] = own
