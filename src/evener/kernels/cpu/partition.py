"""Placing vertices and edges: degree order, local numbers, mirrors, and edges in a partition's numbers."""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.build import DIGITS, slice_bound, sort_row
from evener.kernels.cpu.jit import inline_step, parallel, serial
from evener.kernels.cpu.work_queue import WORKERS, new_counter, take_chunk

__all__ = [
    "NEEDED",
    "NOT_NEEDED",
    "OWN",
    "append_mirrors",
    "assign",
    "count_owned",
    "find_needed",
    "mark_remote",
    "number_locally",
    "order_by_degree",
    "renumber_rows",
    "row_heads",
    "row_lengths",
    "scatter_names",
    "scatter_numbers",
    "scatter_to",
    "sum_degrees",
]

# What a vertex is to a partition: another's that no row of it leads to, another's that one does, its own.
NOT_NEEDED, NEEDED, OWN = np.uint8(0), np.uint8(1), np.uint8(2)

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_NOBODY = np.uint32(0xFFFFFFFF)
_NONE = np.uint32(0)
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


@inline_step
def _count_slice(order, owner, first, last, counts):
    for i in range(first, last):
        counts[owner[order[i]]] += _ONE


@parallel
def count_owned(order, owner, counts):
    """``counts[k, p]``: how many of the k-th slice of `order`, of as many equal ones, partition `p` owns."""
    parts = len(counts)
    for k in prange(parts):
        first, last = slice_bound(len(order), k, parts), slice_bound(len(order), k + 1, parts)
        _count_slice(order, owner, first, last, counts[k])


@inline_step
def _number_slice(order, owner, first, last, owned_before, places, local, vertices):
    for i in range(first, last):
        v = order[i]
        p = owner[v]
        place = places[p]
        places[p] = place + _ONE
        local[v] = place - owned_before[p]
        vertices[place] = v


@parallel
def number_locally(order, owner, owned_before, places, local, vertices):
    """Give each vertex its number within its owner, in the order of `order`.

    `order` (n,) uint32; `owner` (n,); `owned_before` (P + 1,) uint64: where each owner's vertices begin in
    `vertices`; `places` (slices, P) uint64: where those of each slice do, spent. Answers: `local` and
    `vertices` (n,) uint32.
    """
    parts = len(places)
    for k in prange(parts):
        first, last = slice_bound(len(order), k, parts), slice_bound(len(order), k + 1, parts)
        _number_slice(order, owner, first, last, owned_before, places[k], local, vertices)


@inline_step
def _sum_piece(order, degree, first, last):
    total = _ZERO
    for i in range(first, last):
        total += degree[order[i]]
    return total


@parallel
def sum_degrees(order, degree, piece, sums):
    """``sums[k]`` (uint64): the degrees of the k-th piece of `order`, `piece` vertices or what is left."""
    for k in prange(len(sums)):
        first = np.uint64(k) * np.uint64(piece)
        sums[k] = _sum_piece(order, degree, first, min(first + np.uint64(piece), np.uint64(len(order))))


@inline_step
def _assign_slice(order, first, last, p, owner):
    for i in range(first, last):
        owner[order[i]] = p


@parallel
def assign(order, p, owner):
    """``owner[v] = p`` for all `v` of `order`."""
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
            # Hubs are met over and over, and a write takes their line away from all other threads.
            if known == NOT_NEEDED:
                needed[t] = NEEDED
    return marked


@parallel
def mark_remote(offsets, targets, owned, blocks, needed):
    """Mark every target of a partition's rows that is not its own; how many edges lead there.

    `needed` (n,) uint8 is `OWN` for its own vertices, and becomes `NEEDED` where it was `NOT_NEEDED`. Threads
    may mark the same vertex together: they all write the same byte.
    """
    boundary = _ZERO
    for b in prange(len(blocks) - 1):
        boundary += _mark_row_targets(offsets, targets, owned, needed, blocks[b], blocks[b + 1])
    return boundary


@inline_step
def _find_in_slice(vertices, needed, first, last, found):
    count, begin, end = _ZERO, np.uint64(len(vertices)), _ZERO
    for i in range(first, last):
        if needed[vertices[i]] == NEEDED:
            begin = min(begin, i)
            end = i + _ONE
            count += _ONE
    found[0], found[1], found[2] = count, begin, end


@parallel
def find_needed(vertices, needed, found):
    """``found[k]`` (3,): of the k-th slice of `vertices`, how many are needed, the first, and past the last.

    `found` (slices, 3) uint64. Where none is, the second is the number of all vertices, and the third 0.
    """
    parts = len(found)
    for k in prange(parts):
        first, last = slice_bound(len(vertices), k, parts), slice_bound(len(vertices), k + 1, parts)
        _find_in_slice(vertices, needed, first, last, found[k])


@inline_step
def _append_slice(vertices, needed, first, last, place, mirrors, position):
    for i in range(first, last):
        v = vertices[i]
        if needed[v] == NEEDED:
            mirrors[place] = v
            position[v] = place
            place += _ONE


@parallel
def append_mirrors(vertices, needed, places, mirrors, position):
    """Write the needed vertices of one owner where they are to be mirrors, and give each its position.

    `vertices`: the owner's vertices in its numbering; `places` (slices,) uint64: where in `mirrors` (uint32)
    those of each of as many equal slices begin; ``position[v]`` (uint32) receives their place.
    """
    parts = len(places)
    for k in prange(parts):
        first, last = slice_bound(len(vertices), k, parts), slice_bound(len(vertices), k + 1, parts)
        _append_slice(vertices, needed, first, last, places[k], mirrors, position)


@parallel
def row_lengths(offsets, owned, lengths):
    """``lengths[i]``: how many edges row ``owned[i]`` has."""
    for i in prange(len(owned)):
        v = np.uint64(owned[i])
        lengths[i] = offsets[v + _ONE] - offsets[v]


@inline_step
def _renumber_run(
    offsets, targets, weights, owned, bounds, position, begin, end, base, first, vertices, bits, out,
    out_weights, spare, spare_weights,
):  # fmt: skip
    weighted = len(weights) > 0
    # So many come before the others.
    ahead = vertices - first
    # All rows are gathered before any is sorted: reads far apart then overlap.
    for row in range(begin, end):
        source = offsets[owned[row]] - bounds[row]
        for e in range(bounds[row], bounds[row + _ONE]):
            v = position[targets[e + source]]
            out[e - base] = v - first if v >= first else v + ahead
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
        if first > _NONE:
            for i in range(start, start + length):
                out[i] = out[i] + first if out[i] < ahead else out[i] - ahead


@parallel
def renumber_rows(
    offsets, targets, weights, owned, bounds, position, blocks, first, vertices, bits, out, out_weights,
    spare, spare_weights,
):  # fmt: skip
    """Write some rows of a partition: targets in its numbers (of `bits` bits), weights beside.

    Row ``i`` is the graph's row ``owned[i]``; `bounds` (L + 1,) uint64 bounds the rows laid one after
    another, `blocks` those rows that are wanted, in runs for threads. A row ascends, but for the partition's
    vertices ``first:vertices``, which come before the others. `out` receives the rows from the first on;
    `spare` is as long. Without weights, the arrays of weights have length 0.
    """
    base = bounds[blocks[0]]
    runs = np.uint64(len(blocks)) - _ONE
    counter = new_counter()
    for _ in prange(WORKERS):
        b = take_chunk(counter, _ONE)
        while b < runs:
            _renumber_run(
                offsets, targets, weights, owned, bounds, position, np.uint64(blocks[b]),
                np.uint64(blocks[b + _ONE]), base, np.uint32(first), np.uint32(vertices), bits, out,
                out_weights, spare, spare_weights,
            )  # fmt: skip
            b = take_chunk(counter, _ONE)


@parallel
def row_heads(offsets, targets, heads):
    """Copy the first edges of each row to `heads` (rows, HEAD); what a row does not have is another's."""
    last = np.uint64(len(targets) - 1)
    for row in prange(np.uint64(len(heads))):
        for i in range(np.uint64(heads.shape[1])):
            heads[row, i] = targets[min(offsets[row] + i, last)]


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
    beyond = _ZERO
    for i in range(first, last):
        if numbers[i] == _NOBODY:
            gathered[vertices[i]] = -1
        elif numbers[i] >= len(vertices):
            beyond += _ONE
        elif len(ids) == 0:
            gathered[vertices[i]] = vertices[numbers[i]]
        else:
            gathered[vertices[i]] = ids[vertices[numbers[i]]]
    return beyond


@parallel
def scatter_names(vertices, numbers, ids, owned, gathered):
    """``gathered[vertices[i]] = ids[vertices[numbers[i]]]``; -1 for nobody; without `ids`, the number.

    `numbers` unsigned. Returns how many of them no vertex has; what is gathered for these is undefined.
    """
    beyond = _ZERO
    for r in prange(np.int64((owned + _SCATTER_RUN - _ONE) // _SCATTER_RUN)):
        first = np.uint64(r) * _SCATTER_RUN
        beyond += _name_run(vertices, numbers, ids, gathered, first, min(first + _SCATTER_RUN, owned))
    return beyond


@inline_step
def _number_run(vertices, numbers, ids, gathered, first, last):
    beyond = _ZERO
    for i in range(first, last):
        number = numbers[i]
        if number == _NOBODY:
            gathered[vertices[i]] = -1
        elif number >= len(gathered):
            beyond += _ONE
        elif len(ids) == 0:
            gathered[vertices[i]] = number
        else:
            gathered[vertices[i]] = ids[number]
    return beyond


@parallel
def scatter_numbers(vertices, numbers, ids, owned, gathered):
    """``gathered[vertices[i]] = ids[numbers[i]]``; -1 for nobody; without `ids`, the number itself.

    `numbers` unsigned. Returns how many of them no vertex has; what is gathered for these is undefined.
    """
    beyond = _ZERO
    for r in prange(np.int64((owned + _SCATTER_RUN - _ONE) // _SCATTER_RUN)):
        first = np.uint64(r) * _SCATTER_RUN
        beyond += _number_run(vertices, numbers, ids, gathered, first, min(first + _SCATTER_RUN, owned))
    return beyond
