"""Partitioning kernels: degree order, local numbers, mirrors, and edges in local numbers."""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.bits import population
from evener.kernels.cpu.build import DIGITS, slice_bound, sort_row
from evener.kernels.cpu.chunks import chunk_count
from evener.kernels.cpu.jit import inline_step, parallel, serial
from evener.kernels.cpu.work_queue import WORKERS, new_counter, take_chunk
from evener.kernels.vertex import NO_VERTEX

__all__ = [
    "NEEDED",
    "NOT_NEEDED",
    "OWN",
    "assign",
    "count_owned",
    "gather_floats",
    "gather_ids",
    "gather_values",
    "invert_order",
    "mark_owned",
    "mark_remote",
    "number_by_owner",
    "number_partition",
    "order_by_degree",
    "renumber_rows",
    "replace_by_place",
    "row_lengths",
    "row_prefixes",
    "sum_degrees",
]

# State of a vertex for a partition: remote and not a target, remote and a target, owned.
NOT_NEEDED, NEEDED, OWN = np.uint8(0), np.uint8(1), np.uint8(2)

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_SIX, _LAST_BIT = np.uint64(6), np.uint64(63)
# Values per gather step of a thread.
_GATHER_CHUNK = np.uint64(1 << 14)


@serial
def order_by_degree(degree, first, order):
    """List the vertices by descending degree and ascending number (a counting sort).

    `degree` (n,) integers; `first` (max degree + 2,) uint64 zeros, scratch; `order` (n,) uint32, output.
    """
    highest = np.uint64(len(first)) - np.uint64(2)
    for v in range(np.uint64(len(degree))):
        first[highest - np.uint64(degree[v]) + _ONE] += _ONE
    for d in range(_ONE, np.uint64(len(first))):
        first[d] += first[d - _ONE]
    for v in range(np.uint64(len(degree))):
        d = highest - np.uint64(degree[v])
        order[first[d]] = v
        first[d] += _ONE


@inline_step
def _count_slice(order, owner, first, last, counts):
    for i in range(first, last):
        counts[owner[order[i]]] += _ONE


@parallel
def count_owned(order, owner, counts):
    """Count the vertices of slice `k` of `order` that partition `p` owns, in ``counts[k, p]``."""
    parts = len(counts)
    for k in prange(parts):
        first, last = slice_bound(len(order), k, parts), slice_bound(len(order), k + 1, parts)
        _count_slice(order, owner, first, last, counts[k])


@inline_step
def _number_slice(order, owner, first, last, places, numbers, vertices):
    for i in range(first, last):
        v = order[i]
        p = owner[v]
        place = places[p]
        places[p] = place + _ONE
        numbers[v] = place
        vertices[place] = v


@parallel
def number_by_owner(order, owner, places, numbers, vertices):
    """Number the vertices of each owner in the order of `order`.

    `order` (n,) uint32; `owner` (n,). `places` (slices, P) uint64 is the first number of each slice and
    owner; the kernel overwrites it. Outputs: `numbers` and `vertices` (n,) uint32.
    """
    parts = len(places)
    for k in prange(parts):
        first, last = slice_bound(len(order), k, parts), slice_bound(len(order), k + 1, parts)
        _number_slice(order, owner, first, last, places[k], numbers, vertices)


@inline_step
def _sum_piece(order, degree, first, last):
    total = _ZERO
    for i in range(first, last):
        total += degree[order[i]]
    return total


@parallel
def sum_degrees(order, degree, piece, sums):
    """Write the degree sum of each `piece` vertices of `order` to `sums` (uint64)."""
    for k in prange(len(sums)):
        first = np.uint64(k) * np.uint64(piece)
        sums[k] = _sum_piece(order, degree, first, min(first + np.uint64(piece), np.uint64(len(order))))


@inline_step
def _assign_slice(order, first, last, p, owner):
    for i in range(first, last):
        owner[order[i]] = p


@parallel
def assign(order, p, owner):
    """Set ``owner[v] = p`` for each vertex `v` of `order`."""
    for k in prange(WORKERS):
        first, last = slice_bound(len(order), k, WORKERS), slice_bound(len(order), k + 1, WORKERS)
        _assign_slice(order, first, last, p, owner)


@inline_step
def _mark_row_targets(offsets, targets, owned, needed, begin, end):
    marked = _ZERO
    for i in range(np.uint64(begin), np.uint64(end)):
        v = owned[i]
        for e in range(offsets[v], offsets[np.uint64(v) + _ONE]):
            t = targets[e]
            known = needed[t]
            marked += np.uint64(known != OWN)
            # Test before the write: a write to a hub invalidates its cache line in all threads.
            if known == NOT_NEEDED:
                needed[t] = NEEDED
    return marked


@parallel
def mark_remote(offsets, targets, owned, blocks, needed):
    """Mark the remote targets of a partition's rows, and return the number of edges to them.

    `needed` (n,) uint8 is `OWN` for owned vertices; `NOT_NEEDED` becomes `NEEDED` for remote targets. Several
    threads may mark the same vertex, because all of them write the same byte.
    """
    boundary = _ZERO
    for b in prange(len(blocks) - 1):
        boundary += _mark_row_targets(offsets, targets, owned, needed, blocks[b], blocks[b + 1])
    return boundary


@parallel
def mark_owned(numbers, first, owned, needed):
    """Write `OWN` for each vertex with one of the `owned` numbers from `first` on; `numbers` (n,) uint32."""
    for v in prange(np.uint64(len(numbers))):
        if np.uint64(numbers[v]) - first < owned:
            needed[v] = OWN


@inline_step
def _number_slice_of_partition(numbers, first, owned, marked, ranks, begin, end):
    for v in range(begin, end):
        number = np.uint64(numbers[v])
        if number - first < owned:
            numbers[v] = number - first
        else:
            below = (_ONE << (number & _LAST_BIT)) - _ONE
            word = number >> _SIX
            numbers[v] = owned + np.uint64(ranks[word]) + population(marked[word] & below)


@parallel
def number_partition(numbers, first, owned, marked, ranks):
    """Replace the numbers of vertices by local numbers.

    The partition owns `owned` vertices, with the numbers from `first` on. The bitmap `marked` has the numbers
    of the mirrors, and `ranks` (words + 1,) uint32 the bits before each word. Vertices that are neither owned
    nor mirrors get arbitrary numbers.
    """
    for k in prange(WORKERS):
        begin, end = slice_bound(len(numbers), k, WORKERS), slice_bound(len(numbers), k + 1, WORKERS)
        _number_slice_of_partition(numbers, first, owned, marked, ranks, begin, end)


@parallel
def row_lengths(offsets, owned, lengths):
    """Write the number of edges of row ``owned[i]`` to ``lengths[i]``."""
    for i in prange(len(owned)):
        v = np.uint64(owned[i])
        lengths[i] = offsets[v + _ONE] - offsets[v]


@parallel
def invert_order(order, place):
    """Set ``place[order[i]] = i``."""
    for i in prange(np.uint64(len(order))):
        place[order[i]] = i


@parallel
def replace_by_place(place, numbers):
    """Set ``numbers[i] = place[numbers[i]]``.

    A number beyond the end of `place` counts as the last one, because `numbers` may have entries for vertices
    that the partition does not need.
    """
    last = np.uint64(len(place) - 1)
    for i in prange(np.uint64(len(numbers))):
        numbers[i] = place[min(np.uint64(numbers[i]), last)]


@inline_step
def _renumber_chunk(
    offsets, targets, weights, owned, bounds, position, begin, end, base, order, bits, out, out_weights,
    spare, spare_weights,
):  # fmt: skip
    weighted = len(weights) > 0
    # Gather all rows before sorting, so that distant reads overlap.
    for row in range(begin, end):
        source = offsets[owned[row]] - bounds[row]
        for e in range(bounds[row], bounds[row + _ONE]):
            out[e - base] = position[targets[e + source]]
        if weighted:
            for e in range(bounds[row], bounds[row + _ONE]):
                out_weights[e - base] = weights[e + source]
    counters = np.empty(DIGITS, np.uint64)
    for row in range(begin, end):
        start = bounds[row] - base
        length = bounds[row + _ONE] - bounds[row]
        if sort_row(out, out_weights, start, length, spare, spare_weights, start, start, bits, counters):
            for i in range(start, start + length):
                out[i] = spare[i]
            if weighted:
                for i in range(start, start + length):
                    out_weights[i] = spare_weights[i]
        if len(order) > 0:
            for i in range(start, start + length):
                out[i] = order[out[i]]


@parallel
def renumber_rows(
    offsets, targets, weights, owned, bounds, position, blocks, order, bits, out, out_weights, spare,
    spare_weights,
):  # fmt: skip
    """Write rows of a partition to `out` and `out_weights`, with targets in local numbers of `bits` bits.

    Row ``i`` is row ``owned[i]`` of the graph. `bounds` (L + 1,) uint64 bounds the rows of the partition.
    `blocks` bounds the requested rows, in runs for the threads. `order` (uint32) lists the local vertices in
    the order of targets in rows, and `position` has places in it. If `order` is empty, targets ascend and
    `position` has local numbers. `spare` is a buffer of the length of `out`. Without weights, the weight
    arrays have length 0.
    """
    base = bounds[blocks[0]]
    runs = np.uint64(len(blocks)) - _ONE
    counter = new_counter()
    for _ in prange(WORKERS):
        b = take_chunk(counter, _ONE)
        while b < runs:
            _renumber_chunk(
                offsets, targets, weights, owned, bounds, position, np.uint64(blocks[b]),
                np.uint64(blocks[b + _ONE]), base, order, bits, out, out_weights, spare, spare_weights,
            )  # fmt: skip
            b = take_chunk(counter, _ONE)


@parallel
def row_prefixes(offsets, targets, prefixes):
    """Copy the first edges of each row to `prefixes` (rows, PREFIX_EDGES).

    The prefix of a short row continues into the next rows.
    """
    last = np.uint64(len(targets) - 1)
    for row in prange(np.uint64(len(prefixes))):
        for i in range(np.uint64(prefixes.shape[1])):
            prefixes[row, i] = targets[min(offsets[row] + i, last)]


@inline_step
def _gather_chunk(values, places, gathered, first, last):
    for i in range(first, last):
        gathered[i] = values[places[i]]


@parallel
def gather_values(values, places, gathered):
    """Set ``gathered[i] = values[places[i]]``."""
    count = np.uint64(len(places))
    for r in prange(chunk_count(count, _GATHER_CHUNK)):
        first = np.uint64(r) * _GATHER_CHUNK
        _gather_chunk(values, places, gathered, first, min(first + _GATHER_CHUNK, count))


@inline_step
def _gather_floats_chunk(values, places, absent, gathered, first, last):
    for i in range(first, last):
        value = values[places[i]]
        gathered[i] = np.inf if value == absent else np.float64(value)


@parallel
def gather_floats(values, places, absent, gathered):
    """Set ``gathered[i] = values[places[i]]``, or infinity where the integer is `absent`."""
    count = np.uint64(len(places))
    for r in prange(chunk_count(count, _GATHER_CHUNK)):
        first = np.uint64(r) * _GATHER_CHUNK
        last = min(first + _GATHER_CHUNK, count)
        _gather_floats_chunk(values, places, absent, gathered, first, last)


@inline_step
def _gather_ids_chunk(numbers, places, to_global, ids, gathered, first, last):
    local = len(to_global) > 0
    limit = np.uint64(len(to_global) if local else len(places))
    beyond = _ZERO
    for i in range(first, last):
        number = np.uint64(numbers[places[i]])
        if number == NO_VERTEX:
            gathered[i] = -1
        elif number >= limit:
            beyond += _ONE
        else:
            if local:
                number = np.uint64(to_global[number])
            gathered[i] = ids[number] if len(ids) > 0 else np.int64(number)
    return beyond


@parallel
def gather_ids(numbers, places, to_global, ids, gathered):
    """Set ``gathered[i] = ids[to_global[numbers[places[i]]]]`` for unsigned numbers of vertices.

    Without `to_global`, the numbers are global. Without `ids`, global numbers replace the ids. No vertex
    gives -1. Returns how many numbers are out of range; their results are undefined.
    """
    beyond = _ZERO
    count = np.uint64(len(places))
    for r in prange(chunk_count(count, _GATHER_CHUNK)):
        first = np.uint64(r) * _GATHER_CHUNK
        last = min(first + _GATHER_CHUNK, count)
        beyond += _gather_ids_chunk(numbers, places, to_global, ids, gathered, first, last)
    return beyond
