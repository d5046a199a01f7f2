"""Kernels that verify the trees of BFS and SSSP.

`parent` (n,) uint32 contains vertex numbers, `NO_VERTEX` for no parent. A root is its own parent.
"""

from __future__ import annotations

import numpy as np

from evener.kernels.cpu.jit import inline_step, serial
from evener.kernels.vertex import NO_VERTEX

__all__ = ["edge_position", "find_cycle", "row_and_end"]

_ZERO = np.uint64(0)
_ONE = np.uint64(1)


@inline_step
def edge_position(offsets, targets, tail, head):
    """Return the position of the first edge from `tail` to `head` in its sorted row.

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
def row_and_end(offsets, tail, head, undirected):
    """Return the row to search for an edge, and the target of the edge in this row.

    An undirected edge is in the rows of both its vertices. The shorter row is faster to search.
    """
    if undirected and offsets[head + _ONE] - offsets[head] < offsets[tail + _ONE] - offsets[tail]:
        return head, tail
    return tail, head


@serial
def find_cycle(parent, walk):
    """Return the first vertex from which the parents lead into a cycle, or `NO_VERTEX`.

    `walk` (n,) uint32, zero at first, records the walk that visited each vertex first.
    """
    for start in range(np.uint32(len(parent))):
        v = np.uint32(start)
        if parent[v] != NO_VERTEX:
            stamp = np.uint32(start + 1)
            while walk[v] == np.uint32(0):
                walk[v] = stamp
                if parent[v] == v:
                    break
                v = parent[v]
            if walk[v] == stamp and parent[v] != v:
                return v
    return NO_VERTEX
