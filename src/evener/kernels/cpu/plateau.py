"""Parents across edges of no length: a breadth-first search over each plateau of equal distances.

A vertex reached only over such edges has no nearer neighbour, and any two of its neighbours might name each
other as parents. So a plateau is entered from its vertices that have a parent, the `rooted` ones. Arrays are
those of `sssp`; `rooted` and `waiting` are bitmaps over L + M. A mirror is waiting when its owner is to look
for a parent. Rare, and one pass over the plateaus' edges: one thread does.
"""

from __future__ import annotations

import numpy as np

from evener.kernels.cpu.bits import is_set, range_mask, trailing_zeros
from evener.kernels.cpu.jit import inline_step, serial

__all__ = ["adopt", "begin"]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_SIX = np.uint64(6)
_LOW_BITS = np.uint64(63)
_NOBODY = np.uint32(0xFFFFFFFF)


@inline_step
def _set(bits, v):
    bits[v >> _SIX] |= _ONE << (v & _LOW_BITS)


@serial
def begin(owned, far, distance, parent, rooted, waiting):
    """Mark the reached vertices that have a parent as rooted, the others as waiting."""
    for v in range(np.uint64(owned)):
        if parent[v] != _NOBODY:
            _set(rooted, v)
        elif distance[v] != far:
            _set(waiting, v)


@inline_step
def _rooted_neighbour(offsets, targets, weights, distance, rooted, v):
    for e in range(offsets[v], offsets[v + _ONE]):
        u = targets[e]
        if distance[u] == distance[v] and is_set(rooted, u) and distance[u] + weights[e] == distance[v]:
            return u
    return _NOBODY


@serial
def adopt(
    in_offsets, in_targets, in_weights, offsets, targets, weights, owned, distance, parent, rooted, waiting,
    queue,
):  # fmt: skip
    """Root the waiting vertices that have a rooted neighbour on their plateau, and all they lead to.

    Returns how many became rooted; mirrors that should become so are waiting.
    """
    owned = np.uint64(owned)
    length = _ZERO
    for w in range((owned + _LOW_BITS) >> _SIX):
        mask = range_mask(w, _ZERO, owned)
        word = waiting[w] & mask & ~rooted[w]
        waiting[w] &= ~mask
        while word != _ZERO:
            v = (w << _SIX) + trailing_zeros(word)
            word &= word - _ONE
            u = _rooted_neighbour(in_offsets, in_targets, in_weights, distance, rooted, v)
            if u != _NOBODY:
                parent[v] = u
                _set(rooted, v)
                queue[length] = v
                length += _ONE
    head = _ZERO
    while head < length:
        u = np.uint64(queue[head])
        head += _ONE
        for e in range(offsets[u], offsets[u + _ONE]):
            v = np.uint64(targets[e])
            if is_set(rooted, v) or distance[v] != distance[u] or distance[u] + weights[e] != distance[v]:
                continue
            _set(rooted, v)
            if v >= owned:
                _set(waiting, v)
                continue
            parent[v] = u
            queue[length] = v
            length += _ONE
    return length
