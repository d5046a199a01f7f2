"""Placing vertices and edges: degree order, local numbers, mirrors, and edges in a partition's numbers."""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.jit import inline_step, parallel, serial

__all__ = [
    "append_mirrors",
    "mark_remote",
    "number_locally",
    "order_by_degree",
    "renumber_ends",
    "renumber_weights",
    "scatter_names",
    "scatter_numbers",
    "scatter_to",
]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_NOBODY = np.uint32(0xFFFFFFFF)
# Values scattered by a thread at a time: long enough that the hand-out costs nothing beside it.
_SCATTER_RUN = np.uint64(1 << 14)


@serial
def order_by_degree(degree, first, order):
    """List the vertices by descending degree, equal degrees in ascending number (a counting sort).

    `degree` (n,) uint64; `first` (max degree + 2,) uint64 of zeros, scratch; `order` (n,) uint32, the answer.
    """
    highest = np.uint64(len(first)) - np.uint64(2)
    for v in range(np.uint64(len(degree))):
        first[highest - degree[v] + _ONE] += _ONE
    for d in range(_ONE, np.uint64(len(first))):
        first[d] += first[d - _ONE]
    for v in range(np.uint64(len(degree))):
        d = highest - degree[v]
        order[first[d]] = v
        first[d] += _ONE


@serial
def number_locally(order, owner, owned_before, count, local, vertices):
    """Give each vertex its number within its owner, in the order of `order`.

    `order` (n,) uint32; `owner` (n,); `owned_before` (P + 1,) uint64: where each owner's vertices begin in
    `vertices`; `count` (P,) uint64 of zeros, scratch. Answers: `local` and `vertices` (n,) uint32.
    """
    for i in range(np.uint64(len(order))):
        v = order[i]
        p = owner[v]
        local[v] = count[p]
        vertices[owned_before[p] + count[p]] = v
        count[p] += _ONE


@inline_step
def _mark_row_targets(offsets, targets, owned, owner, p, needed, begin, end):
    for i in range(np.uint64(begin), np.uint64(end)):
        v = owned[i]
        for e in range(offsets[v], offsets[np.uint64(v) + _ONE]):
            t = targets[e]
            if owner[t] != p:
                needed[t] = 1


@parallel
def mark_remote(offsets, targets, owned, blocks, owner, p, needed):
    """Set ``needed[t]`` for every target of partition `p`'s rows that another partition owns.

    Threads may set the same flag together: they all write the same byte.
    """
    for b in prange(len(blocks) - 1):
        _mark_row_targets(offsets, targets, owned, owner, p, needed, blocks[b], blocks[b + 1])


@serial
def append_mirrors(vertices, needed, first, mirrors, position):
    """Append the needed vertices of one owner to the mirrors and give each its position in the partition.

    `vertices`: the owner's vertices in its numbering; `first`: the position of the next mirror.
    `mirrors` (at least the needed,) uint32 receives them; ``position[v]`` their place. Returns how many.
    """
    found = np.uint64(0)
    for i in range(np.uint64(len(vertices))):
        v = vertices[i]
        if needed[v]:
            mirrors[found] = v
            position[v] = first + found
            found += _ONE
    return found


@inline_step
def _row_of(edge, row_bounds):
    """The row that edge number `edge` lies in."""
    low = _ZERO
    high = np.uint64(len(row_bounds)) - _ONE
    while low < high:
        middle = (low + high) >> _ONE
        if row_bounds[middle + _ONE] <= edge:
            low = middle + _ONE
        else:
            high = middle
    return low


@inline_step
def _ends_part(offsets, targets, owned, row_bounds, position, start, src, dst, first, last):
    row = _row_of(start + first, row_bounds)
    i = first
    while i < last:
        shift = offsets[owned[row]] - row_bounds[row] + start
        end = min(row_bounds[row + _ONE] - start, last)
        for k in range(i, end):
            src[k] = row
            dst[k] = position[targets[k + shift]]
        i = end
        row += _ONE


@parallel
def renumber_ends(offsets, targets, owned, row_bounds, position, start, src, dst, parts):
    """Write the ends of edges ``start:start + len(src)`` of the owned vertices, in the partition's numbers.

    `row_bounds` (L + 1,) uint64 bounds the owned vertices' rows, laid one after another; `parts` is into how
    many pieces the work is cut.
    """
    length = np.uint64(len(src))
    for k in prange(parts):
        first = length * np.uint64(k) // np.uint64(parts)
        last = length * np.uint64(k + 1) // np.uint64(parts)
        if first < last:
            _ends_part(offsets, targets, owned, row_bounds, position, start, src, dst, first, last)


@inline_step
def _weights_part(offsets, weights, owned, row_bounds, start, out, first, last):
    row = _row_of(start + first, row_bounds)
    i = first
    while i < last:
        shift = offsets[owned[row]] - row_bounds[row] + start
        end = min(row_bounds[row + _ONE] - start, last)
        for k in range(i, end):
            out[k] = weights[k + shift]
        i = end
        row += _ONE


@parallel
def renumber_weights(offsets, weights, owned, row_bounds, start, out, parts):
    """Write the weights of edges ``start:start + len(out)`` of the owned vertices; see `renumber_ends`."""
    length = np.uint64(len(out))
    for k in prange(parts):
        first = length * np.uint64(k) // np.uint64(parts)
        last = length * np.uint64(k + 1) // np.uint64(parts)
        if first < last:
            _weights_part(offsets, weights, owned, row_bounds, start, out, first, last)


@inline_step
def _scatter_run(vertices, values, gathered, first, last):
    for i in range(first, last):
        gathered[vertices[i]] = values[i]


@parallel
def scatter_to(vertices, values, owned, gathered):
    """``gathered[vertices[i]] = values[i]`` for the owned vertices."""
    for r in prange(np.int64((owned + _SCATTER_RUN - _ONE) // _SCATTER_RUN)):
        first = np.uint64(r) * _SCATTER_RUN
        _scatter_run(vertices, values, gathered, first, min(first + _SCATTER_RUN, owned))


@inline_step
def _name_run(vertices, numbers, ids, gathered, first, last):
    for i in range(first, last):
        if numbers[i] == _NOBODY:
            gathered[vertices[i]] = -1
        elif len(ids) == 0:
            gathered[vertices[i]] = vertices[numbers[i]]
        else:
            gathered[vertices[i]] = ids[vertices[numbers[i]]]


@parallel
def scatter_names(vertices, numbers, ids, owned, gathered):
    """``gathered[vertices[i]] = ids[vertices[numbers[i]]]``; -1 for nobody; without `ids`, the number."""
    for r in prange(np.int64((owned + _SCATTER_RUN - _ONE) // _SCATTER_RUN)):
        first = np.uint64(r) * _SCATTER_RUN
        _name_run(vertices, numbers, ids, gathered, first, min(first + _SCATTER_RUN, owned))


@inline_step
def _number_run(vertices, numbers, ids, gathered, first, last):
    for i in range(first, last):
        number = numbers[i]
        if number == _NOBODY:
            gathered[vertices[i]] = -1
        elif len(ids) == 0:
            gathered[vertices[i]] = number
        else:
            gathered[vertices[i]] = ids[number]


@parallel
def scatter_numbers(vertices, numbers, ids, owned, gathered):
    """``gathered[vertices[i]] = ids[numbers[i]]``; -1 for nobody; without `ids`, the number itself."""
    for r in prange(np.int64((owned + _SCATTER_RUN - _ONE) // _SCATTER_RUN)):
        first = np.uint64(r) * _SCATTER_RUN
        _number_run(vertices, numbers, ids, gathered, first, min(first + _SCATTER_RUN, owned))
