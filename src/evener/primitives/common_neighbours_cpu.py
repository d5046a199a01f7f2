"""Common neighbours of two rows: a hash table of one row, in which the targets of other rows are looked up.

Most targets of the other rows are not in the table. A filter of one bit for each of 65,536 hash values finds
that without a branch, and fits the fastest cache. The targets that pass it are collected first, and looked up
then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evener.kernels.cpu.jit import inline_step, vertex_step

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Table", "common_neighbours", "enter_row", "leave_row", "new_table"]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_FILTER_BITS = np.uint64(0xFFFF)
_SIX = np.uint64(6)
_LOW_BITS = np.uint64(63)
# 2^64 over the golden ratio: Fibonacci hashing (Knuth, The Art of Computer Programming, 6.4).
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_EMPTY = np.uint32(0xFFFFFFFF)


class Table(NamedTuple):
    """A hash table of one row, and the common neighbours that were found last.

    Attributes
    ----------
    filter : ndarray of uint64, shape (1024,)
        The bits of the entered targets.
    keys, places : ndarray of uint32, shape (capacity,)
        The targets by hash value, and their places in the entered row.
    found, positions : ndarray of uint32, shape (longest row,)
        For each common neighbour, its place in the entered row, and its place in the other row.
    """

    filter: NDArray[np.uint64]
    keys: NDArray[np.uint32]
    places: NDArray[np.uint32]
    found: NDArray[np.uint32]
    positions: NDArray[np.uint32]


@inline_step
def new_table(longest):
    """Return a table for rows of up to `longest` targets."""
    capacity = _capacity(np.uint64(longest))
    return Table(
        np.zeros((_FILTER_BITS + _ONE) >> _SIX, np.uint64),
        np.empty(capacity, np.uint32),
        np.empty(capacity, np.uint32),
        np.empty(longest, np.uint32),
        np.empty(longest, np.uint32),
    )


@inline_step
def _capacity(length):
    """Return a power of two that is at least twice a length."""
    capacity = np.uint64(8)
    while capacity < length + length:
        capacity += capacity
    return capacity


@vertex_step
def _hash(target, mask):
    return ((target * _FACTOR) >> _HALF) & mask


@vertex_step
def enter_row(targets, begin, end, table):
    """Enter the targets ``begin:end`` of a row without repeated targets. Return the mask of hash values."""
    mask = _capacity(end - begin) - _ONE
    for h in range(mask + _ONE):
        table.keys[h] = _EMPTY
    for e in range(begin, end):
        target = np.uint64(targets[e])
        table.filter[(target & _FILTER_BITS) >> _SIX] |= _ONE << (target & _LOW_BITS)
        h = _hash(target, mask)
        while table.keys[h] != _EMPTY:
            h = (h + _ONE) & mask
        table.keys[h] = target
        table.places[h] = e - begin
    return mask


@vertex_step
def leave_row(targets, begin, end, table):
    """Clear the filter, given the targets that were entered."""
    for e in range(begin, end):
        table.filter[(np.uint64(targets[e]) & _FILTER_BITS) >> _SIX] = _ZERO


@vertex_step
def common_neighbours(targets, begin, end, mask, table):
    """Find the targets ``begin:end`` that are in the entered row. Return their number."""
    passed = _ZERO
    for e in range(begin, end):
        target = np.uint64(targets[e])
        table.positions[passed] = e - begin
        passed += (table.filter[(target & _FILTER_BITS) >> _SIX] >> (target & _LOW_BITS)) & _ONE
    count = _ZERO
    for i in range(passed):
        position = table.positions[i]
        target = targets[begin + position]
        h = _hash(np.uint64(target), mask)
        while table.keys[h] != _EMPTY:
            if table.keys[h] == target:
                table.found[count] = table.places[h]
                table.positions[count] = position
                count += _ONE
                break
            h = (h + _ONE) & mask
    return count
