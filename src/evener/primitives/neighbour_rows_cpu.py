"""Rows of distinct neighbours: written, and packed for other partitions.

Arrays for L owned vertices and M mirrors:

- `degree` (L + M,) uint32 and `vertices` (L + M,) uint32: the order of vertices is by descending degree, then
  by ascending number. It is the same on all partitions.
- `offsets` (L + 1,) uint64 and `targets` uint32: the edges of the graph. Equal targets of a row follow each
  other. If `both`, `more_offsets` and `more_targets` are its edges in the other direction.
- `row_offsets` (L + 1,) uint64 and `row_targets` uint32: the rows, in local numbers, ascending.
- `mutual` uint8: 1 for each target of a row with edges in both directions; empty if it is not requested.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.build import DIGITS, sort_row
from evener.kernels.cpu.chunks import CHUNK, chunk_count
from evener.kernels.cpu.jit import inline_step, parallel, vertex_step
from evener.kernels.cpu.work_queue import WORKERS, new_counter, take_chunk

__all__ = [
    "close_gaps",
    "count_neighbours",
    "lengths_of",
    "pack_rows",
    "row_lengths",
    "sort_rows",
    "to_local",
    "write_neighbours",
]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
# Vertices in a chunk.
_CHUNK = np.uint64(1 << 8)
# Bits of a local number.
_BITS = np.uint64(32)
# Local number of a vertex that a partition does not have.
_NO_VERTEX = np.uint32(0xFFFFFFFF)


# ---- rows ---------------------------------------------------------------------------------------------


@inline_step
def _longest_of(offsets, first, last):
    longest = _ZERO
    for v in range(first, last):
        longest = max(longest, offsets[v + _ONE] - offsets[v])
    return longest


@parallel
def longest_row(offsets):
    """Return the length of the longest row."""
    rows = np.uint64(len(offsets) - 1)
    longest = _ZERO
    for r in prange(chunk_count(rows, CHUNK)):
        first = np.uint64(r) * CHUNK
        longest = max(longest, _longest_of(offsets, first, min(first + CHUNK, rows)))
    return longest


@vertex_step
def _belongs(v, target, oriented, degree, vertices):
    """Return 1 if a row has a target: another vertex and, if `oriented`, one that comes before the vertex."""
    if not oriented:
        return np.uint64(target != v)
    # Without branches, because a processor cannot predict them.
    higher, equal = degree[target] > degree[v], degree[target] == degree[v]
    return np.uint64(higher | (equal & (vertices[target] < vertices[v])))


@inline_step
def _count_chunk(offsets, targets, oriented, degree, vertices, lengths, first, last):
    for v in range(first, last):
        count = _ZERO
        before = v
        for e in range(offsets[v], offsets[v + _ONE]):
            target = np.uint64(targets[e])
            count += np.uint64(target != before) & _belongs(v, target, oriented, degree, vertices)
            before = target
        lengths[v] += count


@inline_step
def _count_by_worker(
    offsets, targets, more_offsets, more_targets, both, oriented, degree, vertices, lengths, counter
):
    owned = np.uint64(len(lengths))
    first = take_chunk(counter, _CHUNK)
    while first < owned:
        last = min(first + _CHUNK, owned)
        lengths[first:last] = 0
        _count_chunk(offsets, targets, oriented, degree, vertices, lengths, first, last)
        if both:
            _count_chunk(more_offsets, more_targets, oriented, degree, vertices, lengths, first, last)
        first = take_chunk(counter, _CHUNK)


@parallel
def count_neighbours(offsets, targets, more_offsets, more_targets, both, oriented, degree, vertices, lengths):
    """Write the number of targets of each row. If `both`, a neighbour in both directions counts twice."""
    counter = new_counter()
    for _ in prange(WORKERS):
        _count_by_worker(
            offsets, targets, more_offsets, more_targets, both, oriented, degree, vertices, lengths, counter
        )


@vertex_step
def _copy_row(offsets, targets, v, oriented, degree, vertices, row_targets, end, row_end):
    """Append the targets of a row, each of them once: equal targets follow each other."""
    before = v
    e = offsets[v]
    while e < offsets[v + _ONE] and end < row_end:
        target = np.uint64(targets[e])
        row_targets[end] = target  # the next target replaces one that does not belong to the row
        end += np.uint64(target != before) & _belongs(v, target, oriented, degree, vertices)
        before = target
        e += _ONE
    return end


@vertex_step
def _is_ascending(targets, begin, end):
    i = begin + _ONE
    while i < end and targets[i - _ONE] < targets[i]:
        i += _ONE
    return i >= end


@inline_step
def _sort_distinct(row_targets, mutual, begin, end, spare, counters, bits):
    """Sort a row, and keep each target once. Return the number of targets.

    A target is repeated if it is a neighbour in both directions, and is then marked in `mutual`.
    """
    unweighted = spare[:0]
    in_spare = sort_row(
        row_targets, unweighted, begin, end - begin, spare, unweighted, _ZERO, _ZERO, bits, counters
    )
    count = _ZERO
    before = _NO_VERTEX
    for i in range(end - begin):
        target = spare[i] if in_spare else row_targets[begin + i]
        if target != before:
            row_targets[begin + count] = target
            count += _ONE
        elif len(mutual) > 0:
            mutual[begin + count - _ONE] = 1
        before = target
    return count


@inline_step
def _write_by_worker(
    offsets, targets, more_offsets, more_targets, both, oriented, degree, vertices, row_offsets, row_targets,
    mutual, lengths, longest, bits, counter,
):  # fmt: skip
    owned = np.uint64(len(lengths))
    spare = np.empty(longest, np.uint32)
    counters = np.empty(DIGITS, np.uint64)
    first = take_chunk(counter, _CHUNK)
    while first < owned:
        for v in range(first, min(first + _CHUNK, owned)):
            begin, row_end = row_offsets[v], row_offsets[v + _ONE]
            end = _copy_row(offsets, targets, v, oriented, degree, vertices, row_targets, begin, row_end)
            if both:
                end = _copy_row(
                    more_offsets, more_targets, v, oriented, degree, vertices, row_targets, end, row_end
                )
            if len(mutual) > 0:
                mutual[begin:end] = 0 if both else 1
            lengths[v] = end - begin
            if not _is_ascending(row_targets, begin, end):
                lengths[v] = _sort_distinct(row_targets, mutual, begin, end, spare, counters, bits)
        first = take_chunk(counter, _CHUNK)


@parallel
def write_neighbours(
    offsets, targets, more_offsets, more_targets, both, oriented, degree, vertices, row_offsets, row_targets,
    mutual, lengths,
):  # fmt: skip
    """Write each row from ``row_offsets[v]`` on, and its length.

    Neighbours in both directions leave a gap after the row.
    """
    bits = _ONE
    while len(vertices) >> bits > 0:
        bits += _ONE
    longest = longest_row(row_offsets)
    counter = new_counter()
    for _ in prange(WORKERS):
        _write_by_worker(
            offsets, targets, more_offsets, more_targets, both, oriented, degree, vertices, row_offsets,
            row_targets, mutual, lengths, longest, bits, counter,
        )  # fmt: skip


@inline_step
def _sort_by_worker(row_offsets, row_targets, longest, counter):
    rows = np.uint64(len(row_offsets) - 1)
    spare = np.empty(longest, np.uint32)
    unweighted = spare[:0]
    counters = np.empty(DIGITS, np.uint64)
    first = take_chunk(counter, _CHUNK)
    while first < rows:
        for v in range(first, min(first + _CHUNK, rows)):
            begin, length = row_offsets[v], row_offsets[v + _ONE] - row_offsets[v]
            in_spare = sort_row(
                row_targets, unweighted, begin, length, spare, unweighted, _ZERO, _ZERO, _BITS, counters
            )
            if in_spare:
                row_targets[begin : begin + length] = spare[:length]
        first = take_chunk(counter, _CHUNK)


@parallel
def sort_rows(row_offsets, row_targets):
    """Sort each row."""
    longest = longest_row(row_offsets)
    counter = new_counter()
    for _ in prange(WORKERS):
        _sort_by_worker(row_offsets, row_targets, longest, counter)


@inline_step
def _copy_rows(begins, from_targets, from_mutual, row_offsets, row_targets, mutual, first, last):
    for v in range(first, last):
        for i in range(row_offsets[v + _ONE] - row_offsets[v]):
            row_targets[row_offsets[v] + i] = from_targets[begins[v] + i]
            if len(mutual) > 0:
                mutual[row_offsets[v] + i] = from_mutual[begins[v] + i]


@parallel
def close_gaps(begins, from_targets, from_mutual, row_offsets, row_targets, mutual):
    """Copy rows that begin at ``begins[v]`` to rows without gaps."""
    rows = np.uint64(len(row_offsets) - 1)
    for r in prange(chunk_count(rows, _CHUNK)):
        first = np.uint64(r) * _CHUNK
        last = min(first + _CHUNK, rows)
        _copy_rows(begins, from_targets, from_mutual, row_offsets, row_targets, mutual, first, last)


# ---- rows of other partitions -----------------------------------------------------------------------------


@parallel
def row_lengths(offsets, more_offsets, both, lengths):
    """Write the length of the row of each owned vertex, or if `both` the sum of the lengths of two rows."""
    for v in prange(np.int64(len(offsets) - 1)):
        length = offsets[v + 1] - offsets[v]
        lengths[v] = length + more_offsets[v + 1] - more_offsets[v] if both else length


@parallel
def lengths_of(row_offsets, listed, lengths):
    """Write the lengths of the rows of the listed vertices."""
    for i in prange(np.int64(len(listed))):
        v = np.uint64(listed[i])
        lengths[i] = row_offsets[v + _ONE] - row_offsets[v]


@inline_step
def _pack_rows(row_offsets, row_targets, mutual, vertices, listed, begins, packed, marks, first, last):
    for i in range(first, last):
        v = np.uint64(listed[i])
        for k in range(row_offsets[v + _ONE] - row_offsets[v]):
            packed[begins[i] + k] = vertices[row_targets[row_offsets[v] + k]]
            if len(marks) > 0:
                marks[begins[i] + k] = mutual[row_offsets[v] + k]


@parallel
def pack_rows(row_offsets, row_targets, mutual, vertices, listed, begins, packed, marks):
    """Write the rows of the listed vertices one after the other, as numbers of the graph."""
    rows = np.uint64(len(listed))
    for r in prange(chunk_count(rows, _CHUNK)):
        first = np.uint64(r) * _CHUNK
        last = min(first + _CHUNK, rows)
        _pack_rows(row_offsets, row_targets, mutual, vertices, listed, begins, packed, marks, first, last)


@inline_step
def _local_slice(ascending, local, numbers, first, last):
    for i in range(first, last):
        low, high = _ZERO, np.uint64(len(ascending))
        while low < high:
            middle = (low + high) >> _ONE
            if ascending[middle] < numbers[i]:
                low = middle + _ONE
            else:
                high = middle
        known = low < len(ascending) and ascending[low] == numbers[i]
        numbers[i] = local[low] if known else _NO_VERTEX


@parallel
def to_local(ascending, local, numbers):
    """Replace numbers of the graph by local numbers, given all numbers, ascending, with their local numbers.

    A vertex that the partition does not have becomes 2^32 - 1.
    """
    count = np.uint64(len(numbers))
    for r in prange(chunk_count(count, CHUNK)):
        first = np.uint64(r) * CHUNK
        _local_slice(ascending, local, numbers, first, min(first + CHUNK, count))
