"""The tree of shortest paths: a parent for each vertex whose distance is known and whose parent is not.

Arrays are those of `sssp`, and what its threads do by turns they do here too. A parent is nearer than its
child, except on a plateau: a vertex reached only over edges of no length has no nearer neighbour, and any two
of its neighbours might name each other. So a plateau is searched breadth first from its vertices that have a
parent, the `rooted` ones; `rooted` and `waiting` are bitmaps over L + M, and a mirror is waiting when its
owner is to look for a parent. Rare, and one pass over the plateaus' edges: one thread does.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.bits import is_set, range_mask, trailing_zeros
from evener.kernels.cpu.jit import inline_step, parallel, serial
from evener.kernels.cpu.simd import LANES
from evener.kernels.cpu.work_queue import SHARES, first_turn, take

__all__ = ["adopt", "begin_plateaus", "find_parents"]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_SIX = np.uint64(6)
_LOW_BITS = np.uint64(63)
_LANES = np.uint64(LANES)
_NOBODY = np.uint32(0xFFFFFFFF)


@inline_step
def _find_parents_run(offsets, targets, weights, out_degree, source, far, distance, parent, first, last):
    left = _ZERO
    beyond = _ZERO
    edges = _ZERO
    for v in range(first, last):
        mine = distance[v]
        edges += np.uint64(out_degree[v]) if mine < far else _ZERO
        if v == np.uint64(source):
            parent[v] = source
        if parent[v] != _NOBODY:
            continue
        # Without a branch on each edge, neighbours are fetched many at a time.
        e = offsets[v]
        stop = offsets[v + _ONE]
        found = stop
        while e < stop and found == stop:
            for i in range(e, min(e + _LANES, stop)):
                near = distance[targets[i]]
                tight = (near + weights[i] == mine) | (mine == far)
                found = i if tight & (near < mine) else found
            e += _LANES
        if mine == far:
            beyond += np.uint64(found != stop)
        elif found != stop:
            parent[v] = targets[found]
        else:
            left += _ONE
    return left, beyond, edges


@inline_step
def _find_parents_share(offsets, targets, weights, blocks, out_degree, source, far, distance, parent, turn):
    left = _ZERO
    beyond = _ZERO
    edges = _ZERO
    b = take(turn, _ONE)
    while b + _ONE < np.uint64(len(blocks)):
        x, y, z = _find_parents_run(
            offsets, targets, weights, out_degree, source, far, distance, parent, np.uint64(blocks[b]),
            np.uint64(blocks[b + _ONE]),
        )  # fmt: skip
        left += x
        beyond += y
        edges += z
        b = take(turn, _ONE)
    return left, beyond, edges


@parallel
def find_parents(offsets, targets, weights, blocks, out_degree, source, far, distance, parent):
    """Give each reached vertex without a parent an in-neighbour that is nearer, if one is as tight.

    Returns how many found none (an edge of no length leads to them), how many unreached vertices have a
    reached in-neighbour (they are too far, or their edge is infinite), and the edges out of reached vertices.
    """
    turn = first_turn()
    left = _ZERO
    beyond = _ZERO
    edges = _ZERO
    for _ in prange(SHARES):
        x, y, z = _find_parents_share(
            offsets, targets, weights, blocks, out_degree, source, far, distance, parent, turn
        )
        left += x
        beyond += y
        edges += z
    return left, beyond, edges


# ---- plateaus: edges of no length ---------------------------------------------------------------


@inline_step
def _set(bits, v):
    bits[v >> _SIX] |= _ONE << (v & _LOW_BITS)


@serial
def begin_plateaus(owned, far, distance, parent, rooted, waiting):
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
