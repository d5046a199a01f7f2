"""Placing vertices and edges: degree order, local numbers, mirrors, and the partition's own sorted rows."""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.jit import inline_step, parallel, serial

__all__ = [
    "append_mirrors",
    "mark_remote",
    "number_locally",
    "order_by_degree",
    "place_rows",
    "scatter_names",
    "scatter_to",
]

_ONE = np.uint64(1)
_NOBODY = np.uint32(0xFFFFFFFF)
# Rows up to this length are sorted by insertion: below it, moving a few words beats partitioning them.
_INSERTION_SORT_LENGTH = 24
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
def _sort_by_insertion(keys, weights, begin, end):
    for i in range(begin + _ONE, end):
        key = keys[i]
        if weights is not None:
            weight = weights[i]
        j = i
        while j > begin and keys[j - _ONE] > key:
            keys[j] = keys[j - _ONE]
            if weights is not None:
                weights[j] = weights[j - _ONE]
            j -= _ONE
        keys[j] = key
        if weights is not None:
            weights[j] = weight


@inline_step
def _swap(keys, weights, i, j):
    keys[i], keys[j] = keys[j], keys[i]
    if weights is not None:
        weights[i], weights[j] = weights[j], weights[i]


@inline_step
def _sort_row(keys, weights, begin, end):
    """Sort ``keys[begin:end]`` (and `weights` with it) in place: quicksort, the larger part deferred."""
    deferred_begin = np.empty(64, np.uint64)  # the smaller part is sorted first, so log2(length) suffice
    deferred_end = np.empty(64, np.uint64)
    depth = 0
    while True:
        while end - begin > np.uint64(_INSERTION_SORT_LENGTH):
            middle = begin + ((end - begin) >> _ONE)
            last = end - _ONE
            if keys[middle] < keys[begin]:
                _swap(keys, weights, middle, begin)
            if keys[last] < keys[begin]:
                _swap(keys, weights, last, begin)
            if keys[last] < keys[middle]:
                _swap(keys, weights, last, middle)
            pivot = keys[middle]
            i = begin
            j = last
            while True:
                while keys[i] < pivot:
                    i += _ONE
                while keys[j] > pivot:
                    j -= _ONE
                if i >= j:
                    break
                _swap(keys, weights, i, j)
                i += _ONE
                j -= _ONE
            split = j + _ONE
            if split - begin < end - split:
                deferred_begin[depth] = split
                deferred_end[depth] = end
                end = split
            else:
                deferred_begin[depth] = begin
                deferred_end[depth] = split
                begin = split
            depth += 1
        _sort_by_insertion(keys, weights, begin, end)
        if depth == 0:
            return
        depth -= 1
        begin = deferred_begin[depth]
        end = deferred_end[depth]


@inline_step
def _place_block(
    offsets, targets, weights, owned, position, new_offsets, new_targets, new_weights, begin, end
):
    for i in range(np.uint64(begin), np.uint64(end)):
        v = owned[i]
        start = offsets[v]
        new_start = new_offsets[i]
        length = new_offsets[np.uint64(i) + _ONE] - new_start
        for k in range(length):
            new_targets[new_start + k] = position[targets[start + k]]
            if weights is not None:
                new_weights[new_start + k] = weights[start + k]
        _sort_row(new_targets, new_weights, new_start, new_start + length)


@parallel
def place_rows(offsets, targets, weights, owned, blocks, position, new_offsets, new_targets, new_weights):
    """Copy the rows of the owned vertices, targets renumbered by `position`, each row sorted.

    `weights` and `new_weights` are both None for a graph without weights.
    """
    for b in prange(len(blocks) - 1):
        _place_block(
            offsets, targets, weights, owned, position, new_offsets, new_targets, new_weights,
            blocks[b], blocks[b + 1],
        )  # fmt: skip


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
