"""The tree of shortest paths: find a parent for each vertex that has a distance but no parent.

`evener.algorithms.sssp.kernels_cpu` describes the arrays. A parent is nearer than its child, except on a
*zero-weight level*: vertices of equal distance that edges of weight 0 connect. Two vertices of a
zero-weight level could become each other's parents. A breadth-first search over the zero-weight edges
prevents cycles. It starts at the vertices of the level that have a parent. The bitmap `attached` (L + M bits)
flags vertices that have a parent. The bitmap `candidates` (L + M bits) flags vertices that may have an
attached neighbour. Zero weights are rare, so these kernels use one thread.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.bits import is_set, range_mask, trailing_zeros
from evener.kernels.cpu.jit import inline_step, parallel, serial
from evener.kernels.cpu.simd import LANES, prefetch
from evener.kernels.cpu.work_queue import WORKERS, new_counter, take_chunk
from evener.kernels.vertex import NO_VERTEX

__all__ = ["attach_zero_weight", "begin_zero_weight_levels", "find_parents"]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_SIX = np.uint64(6)
_LOW_BITS = np.uint64(63)
_LANES = np.uint64(LANES)
# Rows between the row that is searched and the row that is prefetched.
_AHEAD = np.uint64(8)


@inline_step
def _find_parents_chunk(offsets, targets, weights, out_degree, far, distance, parent, first, last):
    left = _ZERO
    beyond = _ZERO
    edges = _ZERO
    for v in range(first, last):
        own_distance = distance[v]
        edges += np.uint64(out_degree[v]) if own_distance < far else _ZERO
        ahead = v + _AHEAD
        if ahead < last and parent[ahead] == NO_VERTEX:
            prefetch(targets, offsets[ahead])
            prefetch(targets, offsets[ahead] + _LANES)
            prefetch(weights, offsets[ahead])
        if parent[v] != NO_VERTEX:
            continue
        # The loop has no branch per edge, so that the reads of several distances overlap.
        e = offsets[v]
        stop = offsets[v + _ONE]
        found = stop
        while e < stop and found == stop:
            for i in range(e, min(e + _LANES, stop)):
                neighbour_distance = distance[targets[i]]
                tight = (neighbour_distance + weights[i] == own_distance) | (own_distance == far)
                found = i if tight & (neighbour_distance < own_distance) else found
            e += _LANES
        if own_distance == far:
            beyond += np.uint64(found != stop)
        elif found != stop:
            parent[v] = targets[found]
        else:
            left += _ONE
    return left, beyond, edges


@inline_step
def _find_parents_worker(offsets, targets, weights, blocks, out_degree, far, distance, parent, counter):
    left = _ZERO
    beyond = _ZERO
    edges = _ZERO
    b = take_chunk(counter, _ONE)
    while b + _ONE < np.uint64(len(blocks)):
        x, y, z = _find_parents_chunk(
            offsets, targets, weights, out_degree, far, distance, parent, np.uint64(blocks[b]),
            np.uint64(blocks[b + _ONE]),
        )  # fmt: skip
        left += x
        beyond += y
        edges += z
        b = take_chunk(counter, _ONE)
    return left, beyond, edges


@parallel
def find_parents(offsets, targets, weights, blocks, out_degree, sources, far, distance, parent):
    """Give each reached vertex without a parent a nearer in-neighbour on a shortest path.

    Each source becomes its own parent.

    Returns (left, beyond, edges): the reached vertices still without a parent, the unreached vertices with a
    reached in-neighbour, and the out-edges of the reached vertices. A vertex is left if only zero-weight
    edges reach it. A vertex is beyond if its distance cannot be represented or its edge has infinite weight.
    """
    counter = new_counter()
    left = _ZERO
    beyond = _ZERO
    edges = _ZERO
    for s in sources:
        parent[s] = s
    for _ in prange(WORKERS):
        x, y, z = _find_parents_worker(
            offsets, targets, weights, blocks, out_degree, far, distance, parent, counter
        )
        left += x
        beyond += y
        edges += z
    return left, beyond, edges


# ---- zero-weight levels -------------------------------------------------------------------------


@inline_step
def _set(bits, v):
    bits[v >> _SIX] |= _ONE << (v & _LOW_BITS)


@serial
def begin_zero_weight_levels(owned, far, distance, parent, attached, candidates):
    """Flag the vertices with a parent as attached, and the other reached vertices as candidates."""
    for v in range(np.uint64(owned)):
        if parent[v] != NO_VERTEX:
            _set(attached, v)
        elif distance[v] != far:
            _set(candidates, v)


@inline_step
def _attached_neighbour(offsets, targets, weights, distance, attached, v):
    for e in range(offsets[v], offsets[v + _ONE]):
        u = targets[e]
        if distance[u] == distance[v] and is_set(attached, u) and distance[u] + weights[e] == distance[v]:
            return u
    return NO_VERTEX


@serial
def attach_zero_weight(
    in_offsets, in_targets, in_weights, offsets, targets, weights, owned, distance, parent, attached,
    candidates, queue,
):  # fmt: skip
    """Attach each candidate with an attached neighbour on its level, then all vertices that it leads to.

    Sets the parent of each vertex that it attaches. Mirrors that it reaches become candidates. Returns the
    number of vertices that it attached.
    """
    owned = np.uint64(owned)
    length = _ZERO
    for w in range((owned + _LOW_BITS) >> _SIX):
        mask = range_mask(w, _ZERO, owned)
        word = candidates[w] & mask & ~attached[w]
        candidates[w] &= ~mask
        while word != _ZERO:
            v = (w << _SIX) + trailing_zeros(word)
            word &= word - _ONE
            u = _attached_neighbour(in_offsets, in_targets, in_weights, distance, attached, v)
            if u != NO_VERTEX:
                parent[v] = u
                _set(attached, v)
                queue[length] = v
                length += _ONE
    head = _ZERO
    while head < length:
        u = np.uint64(queue[head])
        head += _ONE
        for e in range(offsets[u], offsets[u + _ONE]):
            v = np.uint64(targets[e])
            if is_set(attached, v) or distance[v] != distance[u] or distance[u] + weights[e] != distance[v]:
                continue
            _set(attached, v)
            if v >= owned:
                _set(candidates, v)
                continue
            parent[v] = u
            queue[length] = v
            length += _ONE
    return length
