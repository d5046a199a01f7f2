"""Shortest paths over a narrow frontier: one thread takes the nearest vertex first, as Dijkstra does.

Arrays are those of `algorithms/sssp/kernels_cpu.py`.
"""

from __future__ import annotations

import numpy as np

from evener.kernels.cpu.bits import population, range_mask, trailing_zeros, words_of
from evener.kernels.cpu.heap import drop_first, push
from evener.kernels.cpu.jit import inline_step, serial

__all__ = ["settle"]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_SIX = np.uint64(6)
_LOW_BITS = np.uint64(63)
_NOBODY = np.uint32(0xFFFFFFFF)


@inline_step
def _pending_in_heap(owned, distance, pending, keys, vertices, most):
    """Put the pending vertices into a heap; returns how many there are, or `most` + 1 if there are more."""
    held = _ZERO
    for w in range(words_of(owned)):
        held += population(pending[w] & range_mask(w, _ZERO, owned))
        if held > most:
            return most + _ONE
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
def settle(offsets, targets, weights, owned, most, most_edges, distance, parent, pending):
    """Relax the pending vertices by one thread, the nearest first (Dijkstra), while they are few.

    Gives up when more than `most` of them wait, those that were lowered again counted again, before a vertex
    with more edges than that, and after `most_edges` in all. What is left is pending. Returns (waiting,
    edges).
    """
    owned = np.uint64(owned)
    most = np.uint64(most)
    keys = np.empty(most + _ONE, distance.dtype)
    vertices = np.empty(most + _ONE, np.uint32)
    held = _pending_in_heap(owned, distance, pending, keys, vertices, most)
    edges = _ZERO
    while _ZERO < held <= most and edges <= np.uint64(most_edges):
        u = np.uint64(vertices[_ZERO])
        so_far = keys[_ZERO]
        bit = _ONE << (u & _LOW_BITS)
        if not pending[u >> _SIX] & bit or distance[u] < so_far:
            drop_first(keys, vertices, held)  # it was nearer, and is relaxed
            held -= _ONE
            continue
        first = offsets[u]
        last = offsets[u + _ONE]
        if last - first > most:
            break
        drop_first(keys, vertices, held)
        held -= _ONE
        pending[u >> _SIX] &= ~bit
        parent[u] = _NOBODY
        edges += last - first
        for e in range(first, last):
            v = np.uint64(targets[e])
            through = so_far + weights[e]
            if not through < distance[v]:
                continue
            distance[v] = through
            pending[v >> _SIX] |= _ONE << (v & _LOW_BITS)
            if held < most:
                push(keys, vertices, held, distance[v], v)
                held += _ONE
            else:
                held = most + _ONE  # one too many, which is pending all the same
    return held, edges
