"""Records of variable size, as Mars stores them, and a reduction with one thread for each key.

Keys and values are bytes in two arrays. The index has four numbers for each record: the position and the
size of its key, and those of its value. Map runs twice: first to count records and bytes, then to write
them. The sort is the radix sort of Evener, but it moves the numbers of the index and reads keys through
them.
"""

from __future__ import annotations

import numpy as np
from numba import get_num_threads, njit, prange

from evener.kernels.cpu.jit import OPTIONS

_parallel = njit(**OPTIONS, parallel=True)
_step = njit(**OPTIONS, inline="never")
_BITS = 8


@_step
def _count(begin, end, targets):
    records, key_bytes, value_bytes = 0, 0, 0
    for _ in range(begin, end):
        records += 1
        key_bytes += targets.itemsize
        value_bytes += 4
    return records, key_bytes, value_bytes


@_step
def _write(begin, end, row, offsets, targets, message, keys, values, index, at, key_at, value_at):
    for e in range(begin, end):
        while offsets[row + 1] <= e:
            row += 1
        keys[key_at >> 2] = targets[e]
        values[value_at >> 2] = message[row]
        index[at, 0], index[at, 1], index[at, 2], index[at, 3] = key_at, 4, value_at, 4
        at, key_at, value_at = at + 1, key_at + 4, value_at + 4


@_parallel
def _map(offsets, targets, message, keys, values, index, bounds, sizes):
    parts = len(bounds) - 1
    for t in prange(parts):
        sizes[t + 1, 0], sizes[t + 1, 1], sizes[t + 1, 2] = _count(bounds[t], bounds[t + 1], targets)
    for t in range(parts):
        for k in range(3):
            sizes[t + 1, k] += sizes[t, k]
    for t in prange(parts):
        row = np.searchsorted(offsets, bounds[t], side="right") - 1
        at, key_at, value_at = sizes[t]
        _write(
            bounds[t], bounds[t + 1], row, offsets, targets, message, keys, values, index, at, key_at,
            value_at,
        )  # fmt: skip


@_step
def _digits(keys, index, begin, end, shift, mask, counts):
    for i in range(begin, end):
        counts[(keys[index[i, 0] >> 2] >> shift) & mask] += 1


@_step
def _move(keys, index, begin, end, shift, mask, cursors, out):
    for i in range(begin, end):
        digit = (keys[index[i, 0] >> 2] >> shift) & mask
        where = cursors[digit]
        cursors[digit] = where + 1
        for k in range(4):
            out[where, k] = index[i, k]


@_parallel
def _pass(keys, index, bounds, shift, mask, counts, out):
    parts = len(bounds) - 1
    for t in prange(parts):
        _digits(keys, index, bounds[t], bounds[t + 1], shift, mask, counts[t])
    before = 0
    for digit in range(mask + 1):
        for t in range(parts):
            before, counts[t, digit] = before + counts[t, digit], before
    for t in prange(parts):
        _move(keys, index, bounds[t], bounds[t + 1], shift, mask, counts[t], out)


@_parallel
def _reduce(values, index, starts, out):
    for row in prange(len(starts) - 1):
        total = 0.0
        for i in range(starts[row], starts[row + 1]):
            total += values[index[i, 2] >> 2]
        out[row] = total


@_parallel
def _keys(keys, index, out):
    for i in prange(len(index)):
        out[i] = keys[index[i, 0] >> 2]


def mapped(offsets, targets, message):
    """Return keys, values and index of the records of all edges."""
    edges, parts = len(targets), get_num_threads()
    bounds = np.array([edges * t // parts for t in range(parts + 1)])
    keys, values = np.empty(edges, np.uint32), np.empty(edges, np.float32)
    index, sizes = np.empty((edges, 4), np.int64), np.zeros((parts + 1, 3), np.int64)
    _map(offsets, targets, message, keys, values, index, bounds, sizes)
    return keys, values, index


def sorted_index(keys, index, largest):
    """Return the index in the order of keys."""
    parts, other = get_num_threads(), np.empty_like(index)
    bounds = np.array([len(index) * t // parts for t in range(parts + 1)])
    for shift in range(0, int(largest).bit_length(), _BITS):
        _pass(keys, index, bounds, shift, (1 << _BITS) - 1, np.zeros((parts, 1 << _BITS), np.int64), other)
        index, other = other, index
    return index


def reduced(keys, values, index):
    """Return the keys and the sums of their values."""
    own = np.empty(len(index), keys.dtype)
    _keys(keys, index, own)
    starts = np.append(np.flatnonzero(np.append(True, own[1:] != own[:-1])), len(own))
    out = np.empty(len(starts) - 1, np.float32)
    _reduce(values, index, starts, out)
    return own[starts[:-1]], out
