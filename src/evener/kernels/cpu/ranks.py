"""Kernels of a graph in blocks of ranks: records of edges for ranks, and rows for owners.

A *record* is an edge of a block, packed as ``row << 32 | target`` (uint64), where the row counts from the
first row of the block. Vertices are in groups of ``2**shift``, and a table has the rank of each group.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.build import slice_bound
from evener.kernels.cpu.jit import inline_step, parallel, serial
from evener.kernels.cpu.work_queue import WORKERS, new_counter, take_chunk

__all__ = [
    "add_weights",
    "copy_rows",
    "count_by_row",
    "count_targets",
    "number_by_class",
    "pack_records",
    "place_by_row",
    "unpack_records",
]

ZERO, ONE = np.uint64(0), np.uint64(1)
HALF = np.uint64(32)
LOW_HALF = np.uint64(0xFFFFFFFF)
# Rows that a thread copies at a time.
_ROWS = np.uint64(1 << 8)


@inline_step
def _pack(row, target, shift, ranks, unwanted, rows, cursors, records):
    """Write a record and return its position; an unwanted one is overwritten, as a branch would be slower."""
    rank = np.uint64(ranks[row >> shift])
    where = cursors[rank]
    cursors[rank] = where + np.uint64(rank != unwanted)
    records[where] = ((row - rows[rank]) << HALF) | target
    return where


@inline_step
def _pack_slice(
    src, dst, weights, first, last, shift, symmetrise, loops, ranks, unwanted, rows, cursors, records,
    record_weights,
):  # fmt: skip
    weighted = len(weights) > 0
    for e in range(first, last):
        u, v = np.uint64(src[e]), np.uint64(dst[e])
        if u != v or loops != ZERO:
            where = _pack(u, v, shift, ranks, unwanted, rows, cursors, records)
            if weighted:
                record_weights[where] = weights[e]
        if symmetrise != ZERO and u != v:
            where = _pack(v, u, shift, ranks, unwanted, rows, cursors, records)
            if weighted:
                record_weights[where] = weights[e]


@parallel
def pack_records(src, dst, weights, shift, symmetrise, loops, ranks, rows, cursors, records, record_weights):
    """Write the records of edges in the order of ranks; `rows` (ranks + 1,) uint64 has the first row of each.

    ``cursors[thread, rank]`` is the first position of the records of a thread for a rank. The last column has
    a position for records that are not wanted, whose groups have the rank ``len(rows) - 1``. Without weights,
    the weight arrays have length 0. Other arguments are as for `build.count_rows`.
    """
    threads = len(cursors)
    for t in prange(threads):
        first, last = slice_bound(len(src), t, threads), slice_bound(len(src), t + 1, threads)
        _pack_slice(
            src, dst, weights, first, last, shift, symmetrise, loops, ranks, np.uint64(len(rows) - 1), rows,
            cursors[t], records, record_weights,
        )  # fmt: skip


@inline_step
def _unpack_slice(records, first, last, src, dst):
    for e in range(first, last):
        src[e] = np.uint32(records[e] >> HALF)
        dst[e] = np.uint32(records[e] & LOW_HALF)


@parallel
def unpack_records(records, src, dst, parts):
    """Write the rows and targets of records."""
    for p in prange(parts):
        first, last = slice_bound(len(records), p, parts), slice_bound(len(records), p + 1, parts)
        _unpack_slice(records, first, last, src, dst)


@inline_step
def _count_rows(records, first, last, offsets):
    for record in records:
        row = record >> HALF
        if first <= row < last:
            offsets[row + ONE] += ONE


@parallel
def count_by_row(records, bounds, offsets):
    """Add the number of records of each row to ``offsets[row + 1]``.

    A thread reads all records, and counts those of the rows ``bounds[t]:bounds[t + 1]`` (uint64).
    """
    for t in prange(len(bounds) - 1):
        _count_rows(records, bounds[t], bounds[t + 1], offsets)


@inline_step
def _place_rows(records, first, last, following, targets):
    for record in records:
        row = record >> HALF
        if first <= row < last:
            place = following[row]
            following[row] = place + ONE
            targets[place] = np.uint32(record & LOW_HALF)


@parallel
def place_by_row(records, bounds, following, targets):
    """Write the target of each record to ``targets[following[row]]``, and advance; `bounds` as before."""
    for t in prange(len(bounds) - 1):
        _place_rows(records, bounds[t], bounds[t + 1], following, targets)


@serial
def count_targets(records, degree):
    """Add 1 to ``degree[row]`` for each record."""
    for record in records:
        degree[record >> HALF] += ONE


@serial
def add_weights(records, weights, sums):
    """Add the weight of each record to ``sums[row]``."""
    for e in range(len(records)):
        sums[records[e] >> HALF] += weights[e]


@serial
def number_by_class(classes, following, numbers):
    """Number the vertices of each class in ascending order, from ``following[class]`` (uint64) on."""
    for v in range(np.uint64(len(classes))):
        numbers[v] = following[classes[v]]
        following[classes[v]] += ONE


@parallel
def copy_rows(lengths, begins, places, source, target):
    """Copy row ``i`` of `source`, from ``begins[i]`` on, to `target`, from ``places[i]`` on."""
    counter = new_counter()
    rows = np.uint64(len(lengths))
    for _ in prange(WORKERS):
        first = take_chunk(counter, _ROWS)
        while first < rows:
            for i in range(first, min(first + _ROWS, rows)):
                begin, place = begins[i], places[i]
                for e in range(lengths[i]):
                    target[place + e] = source[begin + e]
            first = take_chunk(counter, _ROWS)
