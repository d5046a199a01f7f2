"""The best of all pairs of vertices that are two steps apart.

A worker walks two steps from each vertex, and adds the weights of common neighbours at the ends. It keeps the
best pairs in a heap, with the worst of them at the root. Arrays are those of `neighbour_rows_cpu` and
`pair_scores_cpu`.

- `place` (L + M,) uint32: the row of each neighbour among the other rows, whose targets are numbers of the
graph.
- `degree` (n,) uint32: the length of the row of each vertex of the graph.
- `best` (workers, k) float64 with `firsts` and `seconds` uint32: a heap of each worker; `held` (workers,)
uint64 is
  its size.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.jit import inline_step, parallel, vertex_step
from evener.kernels.cpu.work_queue import new_counter, take_chunk
from evener.primitives.pair_scores_cpu import score_of

__all__ = ["count_paths", "keep_best"]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
# Vertices in a chunk.
_CHUNK = np.uint64(1 << 4)


@parallel
def count_paths(row_offsets, row_targets, lengths, paths):
    """Write the number of paths of two edges from each owned vertex."""
    for v in prange(np.int64(len(paths))):
        total = _ZERO
        for e in range(row_offsets[v], row_offsets[v + 1]):
            total += np.uint64(lengths[row_targets[e]])
        paths[v] = total


@vertex_step
def _is_worse(best, firsts, seconds, i, score, first, second):
    """Return whether the pair at place `i` is worse than another pair."""
    if best[i] != score:
        return best[i] < score
    if firsts[i] != first:
        return firsts[i] > first
    return seconds[i] > second


@vertex_step
def _set(best, firsts, seconds, i, score, first, second):
    best[i] = score
    firsts[i] = first
    seconds[i] = second


@inline_step
def _insert(best, firsts, seconds, size, score, first, second):
    """Insert a pair into a heap that is not full, or in place of its worst pair. Return the new size."""
    capacity = np.uint64(len(best))
    if size < capacity:
        at = size
        while at > _ZERO:
            above = (at - _ONE) >> _ONE
            if _is_worse(best, firsts, seconds, above, score, first, second):
                break
            _set(best, firsts, seconds, at, best[above], firsts[above], seconds[above])
            at = above
        _set(best, firsts, seconds, at, score, first, second)
        return size + _ONE
    at = _ZERO
    below = _ONE
    while below < capacity:
        other = below + _ONE
        if other < capacity and _is_worse(
            best, firsts, seconds, other, best[below], firsts[below], seconds[below]
        ):
            below = other
        if not _is_worse(best, firsts, seconds, below, score, first, second):
            break
        _set(best, firsts, seconds, at, best[below], firsts[below], seconds[below])
        at = below
        below = at + at + _ONE
    _set(best, firsts, seconds, at, score, first, second)
    return size


@inline_step
def _keep_best_of(
    u, row_offsets, row_targets, vertices, place, other_offsets, other_targets, weights, degree, measure,
    common, ends, best, firsts, seconds, size,
):  # fmt: skip
    """Insert the pairs of a vertex and of larger numbers. Return the size of the heap."""
    number = np.uint64(vertices[u])
    count = _ZERO
    for e in range(row_offsets[u], row_offsets[u + _ONE]):
        row = np.uint64(place[row_targets[e]])
        weight = weights[row_targets[e]] if len(weights) > 0 else 1.0
        for f in range(other_offsets[row], other_offsets[row + _ONE]):
            w = np.uint64(other_targets[f])
            if w > number:
                if common[w] == 0.0:
                    ends[count] = w
                    count += _ONE
                common[w] += weight
    for e in range(row_offsets[u], row_offsets[u + _ONE]):
        common[vertices[row_targets[e]]] = 0.0
    for i in range(count):
        w = np.uint64(ends[i])
        if common[w] > 0.0:
            score = score_of(common[w], np.float64(degree[number]), np.float64(degree[w]), measure)
            if size < len(best) or _is_worse(best, firsts, seconds, _ZERO, score, number, w):
                size = _insert(best, firsts, seconds, size, score, number, w)
        common[w] = 0.0
    return size


@inline_step
def _keep_by_worker(
    first, last, row_offsets, row_targets, vertices, place, other_offsets, other_targets, weights, degree,
    measure, best, firsts, seconds, size, counter,
):  # fmt: skip
    common = np.zeros(len(degree), np.float64)
    ends = np.empty(len(degree), np.uint32)
    begin = first + take_chunk(counter, _CHUNK)
    while begin < last:
        for u in range(begin, min(begin + _CHUNK, last)):
            size = _keep_best_of(
                u, row_offsets, row_targets, vertices, place, other_offsets, other_targets, weights, degree,
                measure, common, ends, best, firsts, seconds, size,
            )  # fmt: skip
        begin = first + take_chunk(counter, _CHUNK)
    return size


@parallel
def keep_best(
    first, last, row_offsets, row_targets, vertices, place, other_offsets, other_targets, weights, degree,
    measure, best, firsts, seconds, held,
):  # fmt: skip
    """Keep the best pairs of the owned vertices ``first:last`` and of vertices with larger numbers."""
    counter = new_counter()
    for t in prange(np.int64(len(held))):
        held[t] = _keep_by_worker(
            np.uint64(first), np.uint64(last), row_offsets, row_targets, vertices, place, other_offsets,
            other_targets, weights, degree, measure, best[t], firsts[t], seconds[t], held[t], counter,
        )  # fmt: skip
