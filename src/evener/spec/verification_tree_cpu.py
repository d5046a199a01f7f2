"""Kernels that verify the trees of BFS and SSSP.

A block is a range of rows with about equal edges. ``first[b]`` receives the first wrong vertex of block
``b``, or `NO_VERTEX`. `parent` has local numbers, `NO_VERTEX` for no parent. A root is its own parent. If
`weights` is empty, each edge has weight 1.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.jit import inline_step, parallel
from evener.kernels.vertex import NO_VERTEX

__all__ = ["find_shorter_path", "find_wrong_parent"]

_ZERO = np.uint64(0)
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

    Rows have the in-edges of a vertex if `by_head` is true, else its out-edges with ascending targets.
    ``equal[0]`` becomes true if a parent is not nearer than its child, so that parents may form a cycle.
    """
    for b in prange(len(blocks) - 1):
        first[b] = _find_wrong_parent_in(
            offsets, targets, weights, by_head, parent, distance, tolerance, equal, blocks[b], blocks[b + 1]
        )


@inline_step
def _find_shorter_path_in(offsets, targets, weights, distance, limit, tolerance, start, stop):
    weighted = len(weights) > 0
    for v in range(start, stop):
        shorter = _ZERO
        if not weighted:
            through = distance[v] + np.uint8(1)
            if through <= limit:
                longest = through + tolerance * through
                for e in range(offsets[v], offsets[v + _ONE]):
                    shorter += np.uint64(distance[targets[e]] > longest)
        elif distance[v] < np.inf:
            for e in range(offsets[v], offsets[v + _ONE]):
                through = distance[v] + weights[e]
                found = distance[targets[e]]
                longer = found > through + tolerance * through
                # The sum of finite numbers may be infinite, and its vertex then looks unreached.
                beyond = (found == np.inf) & (through == np.inf) & (weights[e] < np.inf)
                shorter += np.uint64((longer | beyond) & (through <= limit))
        if shorter != _ZERO:
            return np.uint32(v)
    return NO_VERTEX


@parallel
def find_shorter_path(offsets, targets, weights, distance, limit, tolerance, blocks, first):
    """Find the first reached vertex with an edge that would shorten the distance of a neighbour.

    Rows have the out-edges of a vertex. Paths longer than `limit` do not count.
    """
    for b in prange(len(blocks) - 1):
        first[b] = _find_shorter_path_in(
            offsets, targets, weights, distance, limit, tolerance, blocks[b], blocks[b + 1]
        )
