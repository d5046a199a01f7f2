"""Contraction: vertices grouped by label, and their rows merged into one row for each label.

Arrays for L owned vertices, M mirrors and K new vertices:

- `label` (L,) uint32: a vertex number of the graph for each owned vertex.
- `vertex` (L + M,) uint32: the new vertex of each vertex.
- `bounds` (K + 1,) uint64 and `members` (L,) uint32: the vertices of each new vertex, ascending.
- `begins` (K + 1,) uint64, `row_targets` uint32 and `row_weights` float64: rows with gaps. Row ``c`` has
  ``lengths[c]`` targets from ``begins[c]`` on, in the order in which its members name them.
- `local` (K,) uint32: the local number of each new vertex.

A worker finds the place of a target in its row through a table. Short rows have a hash table. A row with more
edges than new vertices has a table with an entry for each new vertex, which is never cleared: an entry is
valid
if the row has this target at this place.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.build import slice_bound
from evener.kernels.cpu.chunks import CHUNK, chunk_count
from evener.kernels.cpu.jit import inline_step, parallel, vertex_step
from evener.kernels.cpu.work_queue import WORKERS, new_counter, take_chunk

__all__ = [
    "add_repeated",
    "collapse",
    "count_edges",
    "count_members",
    "expand",
    "finish_rows",
    "mark_labels",
    "merge_rows",
    "new_vertices",
    "place_members",
    "take_lengths",
    "total_members",
]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_TWO = np.uint64(2)
_HALF = np.uint64(32)
_EMPTY = np.uint32(0xFFFFFFFF)
# 2^64 over the golden ratio: Fibonacci hashing (Knuth, The Art of Computer Programming, 6.4).
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
# New vertices in a chunk, at most.
_CHUNK = np.uint64(1 << 7)


# ---- labels -------------------------------------------------------------------------------------------


@parallel
def mark_labels(label, used):
    """Write 1 for each vertex number that is a label."""
    for v in prange(len(label)):
        used[label[v]] = 1


@parallel
def new_vertices(label, number, vertex):
    """Write the new vertex of each owned vertex, given that of each label."""
    for v in prange(len(label)):
        vertex[v] = number[label[v]]


# ---- members ------------------------------------------------------------------------------------------


@inline_step
def _count_slice(vertex, first, last, counts):
    for v in range(first, last):
        counts[vertex[v]] += 1


@inline_step
def _of_slice(counts, part, parts):
    size = np.uint64(len(counts)) // np.uint64(parts)
    return counts[np.uint64(part) * size : (np.uint64(part) + _ONE) * size]


@parallel
def count_members(vertex, owned, parts, counts):
    """Count the members of each new vertex among each slice of owned vertices, in counts of each slice."""
    for p in prange(parts):
        first, last = slice_bound(owned, p, parts), slice_bound(owned, p + 1, parts)
        _count_slice(vertex, first, last, _of_slice(counts, p, parts))


@inline_step
def _total_chunk(parts, counts, lengths, first, last):
    size = np.uint64(len(lengths))
    for c in range(first, last):
        total = np.uint32(0)
        for p in range(np.uint64(parts)):
            count = counts[p * size + c]
            counts[p * size + c] = total
            total += count
        lengths[c] = total


@parallel
def total_members(parts, counts, lengths):
    """Write the number of members, and replace counts by those of earlier slices."""
    size = np.uint64(len(lengths))
    for r in prange(chunk_count(size, CHUNK)):
        first = np.uint64(r) * CHUNK
        _total_chunk(parts, counts, lengths, first, min(first + CHUNK, size))


@inline_step
def _place_slice(vertex, first, last, bounds, counts, members):
    for v in range(first, last):
        c = np.uint64(vertex[v])
        members[bounds[c] + np.uint64(counts[c])] = v
        counts[c] += 1


@parallel
def place_members(vertex, parts, bounds, counts, members):
    """Write the members of each new vertex, given the counts of `total_members`."""
    owned = len(members)
    for p in prange(parts):
        first, last = slice_bound(owned, p, parts), slice_bound(owned, p + 1, parts)
        _place_slice(vertex, first, last, bounds, _of_slice(counts, p, parts), members)


@inline_step
def _count_chunk(offsets, bounds, members, lengths, first, last):
    for c in range(first, last):
        edges = _ZERO
        for i in range(bounds[c], bounds[c + _ONE]):
            v = np.uint64(members[i])
            edges += offsets[v + _ONE] - offsets[v]
        lengths[c] = edges


@parallel
def count_edges(offsets, vertex, bounds, members, lengths):  # noqa: ARG001 - GPUs read `vertex`
    """Write the places that each row needs: the number of edges of the members."""
    size = np.uint64(len(lengths))
    for r in prange(chunk_count(size, _CHUNK)):
        first = np.uint64(r) * _CHUNK
        _count_chunk(offsets, bounds, members, lengths, first, min(first + _CHUNK, size))


# ---- rows ---------------------------------------------------------------------------------------------


@inline_step
def _capacity(edges, size):
    """Return the entries of the table of a row: a power of two, or `size` for a row with many edges."""
    capacity = np.uint64(8)
    while capacity < edges + edges:
        capacity += capacity
    return min(capacity, size)


@vertex_step
def _hashed_place(table, mask, target, row_targets, begin, count):
    """Return the place of a target in its row; `count` if it is not there yet."""
    h = ((target * _FACTOR) >> _HALF) & mask
    while table[h] != _EMPTY:
        if row_targets[begin + np.uint64(table[h])] == target:
            return np.uint64(table[h])
        h = (h + _ONE) & mask
    table[h] = count
    return count


@vertex_step
def _direct_place(table, target, row_targets, begin, count):
    place = np.uint64(table[target])
    if place < count and row_targets[begin + place] == target:
        return place
    table[target] = count
    return count


@inline_step
def _merge(
    offsets, targets, weights, undirected, vertex, bounds, members, c, begin, edges, table, row_targets,
    row_weights,
):  # fmt: skip
    """Merge the rows of the members of `c` into one row from `begin` on. Return its length."""
    size = np.uint64(len(bounds) - 1)
    capacity = _capacity(edges, size)
    direct = capacity == size
    mask = capacity - _ONE
    if not direct:
        table[:capacity] = _EMPTY
    count = _ZERO
    inside = 0.0
    for i in range(bounds[c], bounds[c + _ONE]):
        u = np.uint64(members[i])
        for e in range(offsets[u], offsets[u + _ONE]):
            v = np.uint64(targets[e])
            target = np.uint64(vertex[v])
            weight = 1.0
            if weights is not None:
                weight = np.float64(weights[e])
            if target == c:
                # An undirected edge is stored twice, and a self-loop once.
                inside += weight if undirected and u != v else weight + weight
                continue
            if direct:
                place = _direct_place(table, target, row_targets, begin, count)
            else:
                place = _hashed_place(table, mask, target, row_targets, begin, count)
            if place == count:
                row_targets[begin + count] = target
                row_weights[begin + count] = weight
                count += _ONE
            else:
                row_weights[begin + place] += weight
    if inside != 0.0:
        row_targets[begin + count] = c
        row_weights[begin + count] = 0.5 * inside
        count += _ONE
    return count


@inline_step
def _largest(begins):
    largest = _ZERO
    for c in range(np.uint64(len(begins) - 1)):
        largest = max(largest, begins[c + _ONE] - begins[c])
    return largest


@inline_step
def _merge_by_worker(
    offsets, targets, weights, undirected, vertex, bounds, members, begins, largest, chunk, row_targets,
    row_weights, lengths, counter,
):  # fmt: skip
    size = np.uint64(len(lengths))
    first = take_chunk(counter, chunk)
    if first >= size:
        return
    table = np.zeros(_capacity(largest, size), np.uint32)
    while first < size:
        for c in range(first, min(first + chunk, size)):
            lengths[c] = _merge(
                offsets, targets, weights, undirected, vertex, bounds, members, c, begins[c],
                begins[c + _ONE] - begins[c], table, row_targets, row_weights,
            )  # fmt: skip
        first = take_chunk(counter, chunk)


@parallel
def merge_rows(
    offsets, targets, weights, undirected, vertex, bounds, members, begins, row_targets, row_weights, lengths,
    listed, counts,  # noqa: ARG001 - of GPUs
):  # fmt: skip
    """Write the row of each new vertex, from ``begins[c]`` on, and its length.

    A row lists each target once, with the sum of the weights of all edges there. Edges between members become
    a self-loop. If `undirected`, the loop has half the weight of the edges that are stored in both
    directions.
    """
    largest = _largest(begins)
    chunk = min(_CHUNK, max(_ONE, np.uint64(len(lengths)) // np.uint64(8 * WORKERS)))
    counter = new_counter()
    for _ in prange(WORKERS):
        _merge_by_worker(
            offsets, targets, weights, undirected, vertex, bounds, members, begins, largest, chunk,
            row_targets, row_weights, lengths, counter,
        )  # fmt: skip


@parallel
def take_lengths(lengths, order, taken):
    """Write the lengths of rows in another order."""
    for v in prange(len(order)):
        taken[v] = lengths[order[v]]


@inline_step
def _finish_chunk(begins, row_targets, row_weights, local, order, offsets, targets, weights, first, last):
    for v in range(first, last):
        begin, to = begins[order[v]], offsets[v]
        for i in range(offsets[v + _ONE] - to):
            targets[to + i] = local[row_targets[begin + i]]
            weights[to + i] = row_weights[begin + i]


@inline_step
def _finish_by_worker(begins, row_targets, row_weights, local, order, offsets, targets, weights, counter):
    size = np.uint64(len(order))
    first = take_chunk(counter, _CHUNK)
    while first < size:
        last = min(first + _CHUNK, size)
        _finish_chunk(begins, row_targets, row_weights, local, order, offsets, targets, weights, first, last)
        first = take_chunk(counter, _CHUNK)


@parallel
def finish_rows(begins, row_targets, row_weights, local, order, offsets, targets, weights):
    """Copy the row of each new vertex to its place in `order`, with the local numbers of its targets."""
    counter = new_counter()
    for _ in prange(WORKERS):
        _finish_by_worker(begins, row_targets, row_weights, local, order, offsets, targets, weights, counter)


@inline_step
def _add_chunk(offsets, targets, weights, lengths, first, last):
    for v in range(first, last):
        begin = offsets[v]
        count = _ZERO
        for e in range(begin, offsets[v + _ONE]):
            if count > _ZERO and targets[begin + count - _ONE] == targets[e]:
                weights[begin + count - _ONE] += weights[e]
            else:
                targets[begin + count] = targets[e]
                weights[begin + count] = weights[e]
                count += _ONE
        lengths[v] = count


@parallel
def add_repeated(offsets, targets, weights, lengths):
    """Add the weights of equal targets that follow each other, and write the lengths of the rows."""
    size = np.uint64(len(lengths))
    for r in prange(chunk_count(size, _CHUNK)):
        first = np.uint64(r) * _CHUNK
        _add_chunk(offsets, targets, weights, lengths, first, min(first + _CHUNK, size))


# ---- values -------------------------------------------------------------------------------------------


@parallel
def expand(vertex, local, values, expanded):
    """Write the value of the new vertex of each owned vertex."""
    for v in prange(len(expanded)):
        expanded[v] = values[local[vertex[v]]]


@parallel
def collapse(vertex, local, values, collapsed):
    """Write the value of each new vertex, given values of which those of its members are equal."""
    for v in prange(len(vertex)):
        collapsed[local[vertex[v]]] = values[v]
