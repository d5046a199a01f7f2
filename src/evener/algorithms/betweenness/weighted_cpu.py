"""Betweenness with weights: count shortest paths along tight edges, then add dependencies back.

An edge is *tight* if the distance of its tail plus its weight is the distance of its head. Weights are above
0, so tight edges have no cycle. A vertex is ready when all its tight in-edges have been counted.

Arrays for L owned vertices and M mirrors:

- `distance` (L + M,) uint32 or float64, as in `evener.algorithms.sssp.kernels_cpu`; `far` if unreached.
- `value` (L + M,) float64: the shortest paths to a vertex that have been counted. The backward phase replaces
  it by ``(1 + dependency) / paths``. Mirrors hold what their owners have not received.
- `waiting` (L + M,) uint32: the tight in-edges of an owned vertex that have not been counted. Mirrors hold 0
  minus the edges whose owners have not been notified.
- `reached`, `counted`: bitmaps of L + M bits. Both flag the mirrors with values for their owners.
- `order` (L,) uint32: the ready vertices, level by level. Level ``i`` is ``order[bounds[i]:bounds[i + 1]]``.
- `arriving` (L,) float64: temporary memory of the GPU kernels, zero between levels.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.atomics import fetch_add, fetch_or
from evener.kernels.cpu.bits import range_mask, trailing_zeros, words_of
from evener.kernels.cpu.frontier import BUFFER, append
from evener.kernels.cpu.jit import inline_step, parallel, serial, vertex_step
from evener.kernels.cpu.work_queue import WORKERS, new_counter, queue_chunk, take_chunk
from evener.kernels.vertex import NO_VERTEX
from evener.primitives.source_paths_cpu import MAX_PATHS

__all__ = ["add_dependencies", "add_edge_dependencies", "append_ready", "begin_paths", "count_paths"]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_SIX = np.uint64(6)
_LOW_BITS = np.uint64(63)
# Largest chunk of a level, in vertices. A smaller level runs on one thread.
_CHUNK = np.uint64(16)
# Minus one, modulo 2^32.
_LESS = np.uint32(0xFFFFFFFF)


# ---- forward: count shortest paths --------------------------------------------------------------


@inline_step
def _count_tight_rows(offsets, targets, weights, far, limit, distance, waiting, first, last):
    beyond = _ZERO
    absorbed = _ZERO
    for v in range(first, last):
        own = distance[v]
        if own != far and own >= limit:
            beyond += _ONE
        tight = _ZERO
        for e in range(offsets[v], offsets[v + _ONE]):
            near = distance[targets[e]]
            if near == far:
                continue
            if own == far:
                beyond += _ONE
            elif near + weights[e] == own:
                tight += _ONE
                absorbed += np.uint64(near == own)
        waiting[v] = tight
    return beyond, absorbed


@inline_step
def _count_tight_by_worker(offsets, targets, weights, blocks, far, limit, distance, waiting, counter):
    beyond = _ZERO
    absorbed = _ZERO
    b = take_chunk(counter, _ONE)
    while b + _ONE < np.uint64(len(blocks)):
        x, y = _count_tight_rows(
            offsets, targets, weights, far, limit, distance, waiting, np.uint64(blocks[b]),
            np.uint64(blocks[b + _ONE]),
        )  # fmt: skip
        beyond += x
        absorbed += y
        b = take_chunk(counter, _ONE)
    return beyond, absorbed


@parallel
def begin_paths(
    offsets, targets, weights, blocks, source, far, limit, distance, value, waiting, reached, counted, order,
    bounds,
):  # fmt: skip
    """Count the tight in-edges of each owned vertex, and let level 0 be `source`.

    `source` is `NO_VERTEX` if another partition owns it. Distances must be below `limit`.

    Returns (beyond, absorbed): the distances of `limit` or more and the edges from reached to unreached
    vertices; and the tight edges whose weight does not change a distance.
    """
    counter = new_counter()
    beyond = _ZERO
    absorbed = _ZERO
    for v in prange(len(value)):
        value[v] = 0.0
        waiting[v] = 0
    for w in range(np.uint64(len(reached))):
        reached[w] = _ZERO
        counted[w] = _ZERO
    for _ in prange(WORKERS):
        x, y = _count_tight_by_worker(
            offsets, targets, weights, blocks, far, limit, distance, waiting, counter
        )
        beyond += x
        absorbed += y
    bounds[_ZERO] = _ZERO
    bounds[_ONE] = _ZERO
    if source != NO_VERTEX:
        value[source] = 1.0
        order[_ZERO] = source
        bounds[_ONE] = _ONE
    return beyond, absorbed


@vertex_step
def _count_row(
    targets, weights, begin, end, owned, near, paths, distance, value, waiting, reached, counted, buffer,
    held, order, length,
):  # fmt: skip
    """Count the paths along the tight edges of a row. Return the number of ready vertices in the buffer."""
    for e in range(begin, end):
        v = np.uint64(targets[e])
        if near + weights[e] != distance[v]:
            continue
        fetch_add(value, v, paths)
        before = fetch_add(waiting, v, _LESS)
        if v >= owned:
            if before == 0:
                fetch_or(reached, v >> _SIX, _ONE << (v & _LOW_BITS))
                fetch_or(counted, v >> _SIX, _ONE << (v & _LOW_BITS))
        elif before == 1:
            if held == BUFFER:
                append(buffer, held, order, length)
                held = 0
            buffer[held] = v
            held += 1
    return held


@inline_step
def _count_by_worker(
    offsets, targets, weights, owned, distance, begin, end, value, waiting, reached, counted, order, length,
    counter, chunk,
):  # fmt: skip
    buffer = np.empty(BUFFER, np.uint32)
    held = 0
    edges = _ZERO
    many = _ZERO
    first = begin + take_chunk(counter, chunk)
    while first < end:
        for i in range(first, min(first + chunk, end)):
            u = np.uint64(order[i])
            paths = value[u]
            many += np.uint64(not paths <= MAX_PATHS)
            edges += offsets[u + _ONE] - offsets[u]
            held = _count_row(
                targets, weights, offsets[u], offsets[u + _ONE], owned, distance[u], paths, distance, value,
                waiting, reached, counted, buffer, held, order, length,
            )  # fmt: skip
        first = begin + take_chunk(counter, chunk)
    append(buffer, held, order, length)
    return edges, many


@parallel
def count_paths(
    offsets, targets, weights, owned, distance, level, most_levels, value, waiting, reached, counted, order,
    bounds,
):  # fmt: skip
    """Count the paths along the tight edges of `level` and, up to `most_levels` levels, of those after it.

    Appends the owned vertices that become ready to `order`. Returns (vertices, levels, edges, many,
    following): the vertices of the levels, the levels that have vertices, their out-edges, the vertices with
    more than `MAX_PATHS` paths, and the vertices of the next level.
    """
    at = np.uint64(level)
    owned = np.uint64(owned)
    begin, end = bounds[at], bounds[at + _ONE]
    vertices = _ZERO
    levels = _ZERO
    edges = _ZERO
    many = _ZERO
    bounds[at + _ONE + _ONE] = end
    while begin < end and levels < np.uint64(most_levels):
        length = bounds[at + _ONE + _ONE :]
        counter = new_counter()
        if end - begin <= _CHUNK:
            x, y = _count_by_worker(
                offsets, targets, weights, owned, distance, begin, end, value, waiting, reached, counted,
                order, length, counter, _CHUNK,
            )  # fmt: skip
            edges += x
            many += y
        else:
            chunk = queue_chunk(offsets, order[begin:], end - begin, _CHUNK)
            for _ in prange(WORKERS):
                x, y = _count_by_worker(
                    offsets, targets, weights, owned, distance, begin, end, value, waiting, reached, counted,
                    order, length, counter, chunk,
                )  # fmt: skip
                edges += x
                many += y
        vertices += end - begin
        levels += _ONE
        at += _ONE
        begin, end = end, bounds[at + _ONE]
        if begin < end and levels < np.uint64(most_levels):
            bounds[at + _ONE + _ONE] = end
    return vertices, levels, edges, many, end - begin


@serial
def append_ready(owned, level, waiting, reached, counted, order, bounds):
    """Append the vertices that became ready by messages of mirrors to `order`, as a part of level `level`.

    Clears `reached` and `counted`. Returns the vertices of the level.
    """
    at = np.uint64(level)
    end = bounds[at + _ONE]
    for w in range(words_of(np.uint64(owned))):
        word = reached[w] & range_mask(w, _ZERO, np.uint64(owned))
        while word != _ZERO:
            v = (w << _SIX) + trailing_zeros(word)
            word &= word - _ONE
            if waiting[v] == 0:
                order[end] = v
                end += _ONE
        reached[w] = _ZERO
        counted[w] = _ZERO
    bounds[at + _ONE] = end
    return end - bounds[at]


# ---- backward: dependencies ---------------------------------------------------------------------


@inline_step
def _add_by_worker(
    offsets, targets, weights, distance, begin, end, weight, order, value, vertex_sums, edge_sums, counter,
    chunk,
):  # fmt: skip
    first = begin + take_chunk(counter, chunk)
    while first < end:
        for i in range(first, min(first + chunk, end)):
            u = np.uint64(order[i])
            near = distance[u]
            paths = value[u]
            through = 0.0
            for e in range(offsets[u], offsets[u + _ONE]):
                v = np.uint64(targets[e])
                if near + weights[e] == distance[v]:
                    through += value[v]
                    if edge_sums is not None:
                        edge_sums[e] += paths * value[v]
            dependency = paths * through
            value[u] = (1.0 + dependency) / paths
            if vertex_sums is not None:
                vertex_sums[u] += dependency * weight
        first = begin + take_chunk(counter, chunk)


@parallel
def _add_levels(
    offsets, targets, weights, distance, level, last, order, bounds, value, vertex_sums, edge_sums
):
    at = np.uint64(level) + _ONE
    vertices = _ZERO
    while at > np.uint64(last):
        at -= _ONE
        begin, end = bounds[at], bounds[at + _ONE]
        vertices += end - begin
        weight = 1.0 if at > _ZERO else 0.0
        counter = new_counter()
        if end - begin <= _CHUNK:
            _add_by_worker(
                offsets, targets, weights, distance, begin, end, weight, order, value, vertex_sums, edge_sums,
                counter, _CHUNK,
            )  # fmt: skip
        else:
            chunk = queue_chunk(offsets, order[begin:], end - begin, _CHUNK)
            for _ in prange(WORKERS):
                _add_by_worker(
                    offsets, targets, weights, distance, begin, end, weight, order, value, vertex_sums,
                    edge_sums, counter, chunk,
                )  # fmt: skip
    return vertices


@serial
def add_dependencies(
    offsets, targets, weights, distance, level, last, order, bounds, arriving, value, centrality  # noqa: ARG001 - the GPU uses `arriving`
):  # fmt: skip
    """Add the dependencies of the vertices of levels `level`, `level` - 1, ..., `last` to `centrality`.

    All levels after `level` are finished, and mirrors have the values of their owners. The dependency of
    level 0, the source, does not count. Returns the vertices of the levels.
    """
    vertices = _add_levels(
        offsets, targets, weights, distance, level, last, order, bounds, value, centrality, None
    )
    return vertices  # noqa: RET504 - the number of results


@serial
def add_edge_dependencies(
    offsets, targets, weights, distance, level, last, order, bounds, arriving, value, edge_centrality  # noqa: ARG001 - as above
):  # fmt: skip
    """Add the dependencies of the out-edges of levels `level`, `level` - 1, ..., `last` to `edge_centrality`.

    `edge_centrality` float64 has a value for each stored out-edge. See `add_dependencies`.
    """
    vertices = _add_levels(
        offsets, targets, weights, distance, level, last, order, bounds, value, None, edge_centrality
    )
    return vertices  # noqa: RET504 - the number of results
