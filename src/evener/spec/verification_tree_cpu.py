"""A kernel that verifies the edges of the trees of BFS and SSSP.

A block is a range of rows with about equal edges. ``first[b]`` receives the first wrong vertex of block
``b``, or `NO_VERTEX`. `parent` has local numbers, `NO_VERTEX` for no parent. A root is its own parent.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.jit import inline_step, parallel
from evener.kernels.vertex import NO_VERTEX

__all__ = ["find_wrong_parent"]

_ONE = np.uint64(1)


@inline_step
def _edge_position(offsets, targets, tail, head):
    """Return the position of the first edge from `tail` to `head` in its ascending row.

    If the row has no edge to `head`, return the position where it would be inserted.
    """
    low = offsets[tail]
    high = offsets[tail + _ONE]
    while low < high:
        middle = (low + high) >> _ONE
        if targets[middle] < head:
            low = middle + _ONE
        else:
            high = middle
    return low


@inline_step
def _find_wrong_parent_in(
    offsets, targets, weights, by_head, parent, distance, tolerance, equal, start, stop
):
    for v in range(start, stop):
        u = np.uint64(parent[v])
        if u != NO_VERTEX and u != v:
            if by_head:
                e, row, end = offsets[v], v, u
            else:
                e, row, end = _edge_position(offsets, targets, u, v), u, v
            joined = False
            while not joined and e < offsets[row + _ONE] and (by_head or targets[e] == end):
                if targets[e] == end:
                    through = distance[u] + (weights[e] if len(weights) > 0 else np.uint8(1))
                    gap = through - distance[v] if through > distance[v] else distance[v] - through
                    joined = gap <= tolerance * distance[v]
                e += _ONE
            if not joined:
                return np.uint32(v)
            if distance[v] <= distance[u]:
                equal[0] = True
    return NO_VERTEX


@parallel
def find_wrong_parent(offsets, targets, weights, by_head, parent, distance, tolerance, equal, blocks, first):
    """Find the first vertex whose distance is not the distance of its parent plus the weight of an edge.

    Rows have the in-edges of a vertex if `by_head` is true, else its out-edges with ascending targets. If
    `weights` is empty, each edge has weight 1. ``equal[0]`` becomes true if a parent is not nearer than its
    child, so that parents may form a cycle.
    """
    for b in prange(len(blocks) - 1):
        first[b] = _find_wrong_parent_in(
            offsets, targets, weights, by_head, parent, distance, tolerance, equal, blocks[b], blocks[b + 1]
        )
