"""Kernels that verify a spanning forest: the heaviest edge between two vertices of a tree.

Rows of the answer, in ascending weight, are joined into trees of depth log n (union by size). `parent` (n,)
uint32 has the parent of each vertex in them, and `row` (n,) uint32 the row that joined it, or 2^32 - 1 for a
root. Rows ascend towards the root. So the last row on the way between two vertices is the heaviest row
between them.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.jit import inline_step, parallel, serial, vertex_step
from evener.kernels.vertex import NO_VERTEX

__all__ = ["find_lighter", "join_rows", "mark_rows"]

_ONE = np.uint64(1)
_HALF = np.uint64(32)


@serial
def join_rows(u, v, size, parent, row):
    """Join the trees of the ends of each row. Return the first row that closes a cycle, or how many rows."""
    for i in range(len(u)):
        a, b = np.uint64(u[i]), np.uint64(v[i])
        while parent[a] != a:
            a = np.uint64(parent[a])
        while parent[b] != b:
            b = np.uint64(parent[b])
        if a == b:
            return i
        if size[a] > size[b]:
            a, b = b, a
        parent[a] = b
        row[a] = i
        size[b] += size[a]
    return len(u)


@vertex_step
def _last_row(a, b, parent, row):
    """Return the last row on the way between two vertices, or NO_VERTEX if they are in different trees."""
    last = np.uint32(0)
    while a != b:
        if row[a] > row[b] or (row[a] == row[b] and a > b):
            a, b = b, a
        if row[a] == NO_VERTEX:
            return np.uint32(NO_VERTEX)
        last = row[a]
        a = np.uint64(parent[a])
    return last


@inline_step
def _find_lighter_in(offsets, targets, weights, numbers, parent, row, weight, start, stop):
    for v in range(start, stop):
        for e in range(offsets[v], offsets[v + _ONE]):
            a, b = np.uint64(numbers[v]), np.uint64(numbers[targets[e]])
            if a == b:
                continue
            last = _last_row(a, b, parent, row)
            if last == NO_VERTEX or (np.float64(weights[e]) if len(weights) > 0 else 1.0) < weight[last]:
                return np.uint32(v)
    return np.uint32(NO_VERTEX)


@parallel
def find_lighter(offsets, targets, weights, numbers, parent, row, weight, blocks, first):
    """Find a vertex with an edge to another tree, or one that is lighter than the rows between its ends."""
    for b in prange(len(first)):
        first[b] = _find_lighter_in(
            offsets, targets, weights, numbers, parent, row, weight, blocks[b], blocks[b + 1]
        )


@inline_step
def _mark_in(offsets, targets, weights, numbers, ends, weight, marked, start, stop):
    for v in range(start, stop):
        for e in range(offsets[v], offsets[v + _ONE]):
            a, b = np.uint64(numbers[v]), np.uint64(numbers[targets[e]])
            key = (min(a, b) << _HALF) | max(a, b)
            low, high = np.uint64(0), np.uint64(len(ends))
            while low < high:
                middle = (low + high) >> _ONE
                if ends[middle] < key:
                    low = middle + _ONE
                else:
                    high = middle
            if low < len(ends) and ends[low] == key:
                own = np.float64(weights[e]) if len(weights) > 0 else 1.0
                if own == weight[low]:
                    marked[low] = 1


@parallel
def mark_rows(offsets, targets, weights, numbers, ends, weight, marked, blocks):
    """Mark the rows that are edges of the graph, given their ends, ascending, and their weights."""
    for b in prange(len(blocks) - 1):
        _mark_in(offsets, targets, weights, numbers, ends, weight, marked, blocks[b], blocks[b + 1])
