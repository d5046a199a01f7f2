"""Strongly connected components: trim vertices, seed searches, and assign components.

Arrays for L owned vertices and M mirrors:

- `group` (L + M,) uint32: the component, 2^32 - 1 for remaining vertices.
- `forward`, `backward` (L + M,) uint32: the smallest seed that reaches a vertex, and that a vertex reaches;
  2^32 - 1 if there is none. ``forward`` of a removed vertex is its own number, which seeds no search.
- `members`, a bitmap of L + M bits: the seeds.
- `remaining`, `rest` (L,) uint32: lists of ``count[0]`` and ``rest_count[0]`` vertices.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.atomics import load
from evener.kernels.cpu.bits import set_bit
from evener.kernels.cpu.chunks import CHUNK, chunk_count, chunk_of
from evener.kernels.cpu.frontier import BUFFER, append
from evener.kernels.cpu.jit import inline_step, parallel, serial, vertex_step
from evener.kernels.cpu.work_queue import WORKERS, new_counter, take_chunk
from evener.kernels.vertex import NO_VERTEX

__all__ = ["assign", "begin", "first_member", "pivot", "seed", "seed_back", "trim"]

_ONE, _ZERO = np.uint64(1), np.uint64(0)
_NONE = np.uint64(NO_VERTEX)
_SHIFT = np.uint64(32)
# Vertices in a chunk.
_CHUNK = np.uint64(1 << 10)


@serial
def begin(remaining, count):
    """List all vertices."""
    for v in range(np.uint64(len(remaining))):
        remaining[v] = v
    count[_ZERO] = len(remaining)


@vertex_step
def _has_remaining(targets, begin, end, v, group):
    """Return true if a row of `v` has another vertex that remains."""
    for e in range(begin, end):
        t = np.uint64(targets[e])
        if t != v and np.uint64(group[t]) == _NONE:
            return True
    return False


@inline_step
def _trim(
    offsets, targets, in_offsets, in_targets, vertices, group, forward, remaining, listed, rest, rest_count,
    counter,
):  # fmt: skip
    """Trim chunks of vertices. Return the number of vertices that remain."""
    kept = np.empty(BUFFER, np.uint32)
    held = 0
    left = _ZERO
    first = take_chunk(counter, _CHUNK)
    while first < listed:
        for i in range(first, min(first + _CHUNK, listed)):
            v = np.uint64(remaining[i])
            if np.uint64(group[v]) != _NONE:
                forward[v] = vertices[v]
            elif _has_remaining(targets, offsets[v], offsets[v + _ONE], v, group) and _has_remaining(
                in_targets, in_offsets[v], in_offsets[v + _ONE], v, group
            ):
                kept[held] = v
                held += 1
                left += _ONE
                if held == BUFFER:
                    append(kept, held, rest, rest_count)
                    held = 0
            else:
                group[v] = forward[v] = vertices[v]
        first = take_chunk(counter, _CHUNK)
    append(kept, held, rest, rest_count)
    return left


@parallel
def trim(
    offsets, targets, in_offsets, in_targets, vertices, group, forward, remaining, count, rest, rest_count
):
    """Remove vertices without a remaining neighbour in one of the directions, and list the others in `rest`.

    Returns the number of vertices that remain, and of those that left the list.
    """
    rest_count[_ZERO] = _ZERO
    counter = new_counter()
    listed = load(count, _ZERO)
    left = _ZERO
    for _ in prange(WORKERS):
        left += _trim(
            offsets, targets, in_offsets, in_targets, vertices, group, forward, remaining, listed, rest,
            rest_count, counter,
        )  # fmt: skip
    return left, listed - left


@serial
def pivot(offsets, in_offsets, vertices, remaining, count):
    """Return a number with the best vertex to search from in its lower 32 bits.

    A vertex is better if the smaller of its numbers of out-edges and in-edges is larger. The smallest number
    of all elements has the best vertex.
    """
    best = ~_ZERO
    for i in range(count[_ZERO]):
        v = np.uint64(remaining[i])
        edges = min(offsets[v + _ONE] - offsets[v], in_offsets[v + _ONE] - in_offsets[v])
        best = min(best, (_NONE - edges) << _SHIFT | np.uint64(vertices[v]))
    return best


@inline_step
def _seed_chunk(vertices, remaining, only, forward, members, first, last):
    for i in range(first, last):
        v = np.uint64(remaining[i])
        number = np.uint64(vertices[v])
        if only == _NONE or number == only:
            forward[v] = number
            set_bit(members, v)
        else:
            forward[v] = _NONE


@inline_step
def _clear_mirrors(values, vertices, remaining):
    for v in range(np.uint64(len(remaining)), np.uint64(len(vertices))):
        values[v] = _NONE


@parallel
def seed(vertices, remaining, count, only, forward, members):
    """Make each remaining vertex the seed of a forward search, or the vertex number `only` alone."""
    listed = count[_ZERO]
    for r in prange(chunk_count(listed, CHUNK)):
        first, last = chunk_of(r, 0, listed, CHUNK)
        _seed_chunk(vertices, remaining, np.uint64(only), forward, members, first, last)
    _clear_mirrors(forward, vertices, remaining)


@inline_step
def _seed_back_chunk(vertices, remaining, forward, backward, members, first, last):
    for i in range(first, last):
        v = np.uint64(remaining[i])
        if forward[v] == vertices[v]:
            backward[v] = forward[v]
            set_bit(members, v)
        else:
            backward[v] = _NONE


@parallel
def seed_back(vertices, remaining, count, forward, backward, members):
    """Make each vertex that no smaller seed reached the seed of a backward search."""
    listed = count[_ZERO]
    for r in prange(chunk_count(listed, CHUNK)):
        first, last = chunk_of(r, 0, listed, CHUNK)
        _seed_back_chunk(vertices, remaining, forward, backward, members, first, last)
    _clear_mirrors(backward, vertices, remaining)


@serial
def first_member(vertices, remaining, count, forward, backward):
    """Return the smallest number of a vertex that both searches of a seed reached."""
    smallest = _NONE
    for i in range(count[_ZERO]):
        v = np.uint64(remaining[i])
        if forward[v] == backward[v] and np.uint64(forward[v]) != _NONE:
            smallest = min(smallest, np.uint64(vertices[v]))
    return smallest


@inline_step
def _assign_chunk(remaining, label, forward, backward, group, first, last):
    for i in range(first, last):
        v = np.uint64(remaining[i])
        if forward[v] == backward[v] and np.uint64(forward[v]) != _NONE:
            group[v] = forward[v] if label == _NONE else label


@parallel
def assign(remaining, count, label, forward, backward, group):
    """Give vertices that both searches of a seed reached the component `label`, or that of the seed."""
    listed = count[_ZERO]
    for r in prange(chunk_count(listed, CHUNK)):
        first, last = chunk_of(r, 0, listed, CHUNK)
        _assign_chunk(remaining, np.uint64(label), forward, backward, group, first, last)
