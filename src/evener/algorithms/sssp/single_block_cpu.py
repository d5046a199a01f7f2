"""Shortest paths for a narrow frontier: Dijkstra's algorithm on one thread.

`evener.algorithms.sssp.kernels_cpu` describes the arrays.
"""

from __future__ import annotations

import numpy as np

from evener.kernels.cpu.bits import population, range_mask, trailing_zeros, words_of
from evener.kernels.cpu.heap import drop_first, push
from evener.kernels.cpu.jit import inline_step, serial
from evener.kernels.vertex import NO_VERTEX

__all__ = ["dijkstra"]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_SIX = np.uint64(6)
_LOW_BITS = np.uint64(63)


@inline_step
def _pending_in_heap(owned, distance, pending, keys, vertices, max_pending):
    """Push the pending vertices to a heap. Return their number, at most `max_pending` + 1."""
    held = _ZERO
    for w in range(words_of(owned)):
        held += population(pending[w] & range_mask(w, _ZERO, owned))
        if held > max_pending:
            return max_pending + _ONE
    held = _ZERO
    for w in range(words_of(owned)):
        word = pending[w] & range_mask(w, _ZERO, owned)
        while word != _ZERO:
            v = (w << _SIX) + trailing_zeros(word)
            word &= word - _ONE
            push(keys, vertices, held, distance[v], v)
            held += _ONE
    return held


@serial
def dijkstra(offsets, targets, weights, owned, max_pending, max_edges, distance, parent, pending):
    """Relax the pending vertices in the order of their distances, while they are few.

    The kernel stops when the heap would have more than `max_pending` entries, or after `max_edges` edges. It
    also stops before a vertex with more than `max_pending` edges. The remaining vertices are pending. A
    vertex whose distance falls twice has two entries. Returns (relaxed, entries, edges): the relaxed
    vertices, the entries of the heap and the relaxed edges.
    """
    owned = np.uint64(owned)
    max_pending = np.uint64(max_pending)
    keys = np.empty(max_pending + _ONE, distance.dtype)
    vertices = np.empty(max_pending + _ONE, np.uint32)
    held = _pending_in_heap(owned, distance, pending, keys, vertices, max_pending)
    relaxed = _ZERO
    edges = _ZERO
    while _ZERO < held <= max_pending and edges <= np.uint64(max_edges):
        u = np.uint64(vertices[_ZERO])
        own_distance = keys[_ZERO]
        bit = _ONE << (u & _LOW_BITS)
        if not pending[u >> _SIX] & bit or distance[u] < own_distance:
            drop_first(keys, vertices, held)  # an old entry of a vertex that has been relaxed
            held -= _ONE
            continue
        first = offsets[u]
        last = offsets[u + _ONE]
        if last - first > max_pending:
            break
        drop_first(keys, vertices, held)
        held -= _ONE
        pending[u >> _SIX] &= ~bit
        parent[u] = NO_VERTEX
        relaxed += _ONE
        edges += last - first
        for e in range(first, last):
            v = np.uint64(targets[e])
            candidate = own_distance + weights[e]
            if not candidate < distance[v]:
                continue
            distance[v] = candidate
            pending[v >> _SIX] |= _ONE << (v & _LOW_BITS)
            if held < max_pending:
                push(keys, vertices, held, distance[v], v)
                held += _ONE
            else:
                held = max_pending + _ONE  # the heap is full; the vertex is pending
    return relaxed, held, edges
