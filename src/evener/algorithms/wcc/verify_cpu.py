"""A kernel that verifies weakly connected components."""

from __future__ import annotations

import numpy as np

from evener.kernels.cpu.jit import inline_step, serial

__all__ = ["union_find"]

_ONE = np.uint64(1)


@inline_step
def _root_of(root, v):
    while root[v] != v:
        root[v] = root[root[v]]
        v = root[v]
    return v


@serial
def union_find(offsets, targets, root):
    """Unite the vertices of every edge.

    `root`, at first 0 to n - 1, ends as the smallest vertex of each component. The first vertices have rows.
    """
    for v in range(np.uint64(len(offsets) - 1)):
        mine = _root_of(root, np.uint32(v))
        for e in range(offsets[v], offsets[v + _ONE]):
            theirs = _root_of(root, targets[e])
            if theirs < mine:
                root[mine] = theirs
                mine = theirs
            elif mine < theirs:
                root[theirs] = mine
    for v in range(np.uint64(len(root))):
        root[v] = root[root[v]]
