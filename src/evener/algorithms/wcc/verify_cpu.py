"""Kernels that verify weakly connected components."""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.jit import inline_step, parallel, serial
from evener.kernels.vertex import NO_VERTEX

__all__ = ["find_label_mismatch", "union_find"]

_ZERO = np.uint64(0)
_ONE = np.uint64(1)


@inline_step
def _find_label_mismatch_in(offsets, targets, label, start, stop):
    for v in range(start, stop):
        mine = label[v]
        differing = _ZERO
        for e in range(offsets[v], offsets[v + _ONE]):
            differing += np.uint64(label[targets[e]] != mine)
        if differing != _ZERO:
            return np.uint32(v)
    return NO_VERTEX


@parallel
def find_label_mismatch(offsets, targets, label, blocks, first):
    """Find the first vertex of each block with a neighbour of another label.

    A block is a range of rows with about equal edges. ``first[b]`` receives the vertex of block ``b``, or
    `NO_VERTEX`.
    """
    for b in prange(len(blocks) - 1):
        first[b] = _find_label_mismatch_in(offsets, targets, label, blocks[b], blocks[b + 1])


@inline_step
def _root_of(root, v):
    while root[v] != v:
        root[v] = root[root[v]]
        v = root[v]
    return v


@serial
def union_find(offsets, targets, root):
    """Unite the vertices of every edge.

    `root`, at first 0 to n - 1, ends as the smallest vertex of each component.
    """
    for v in range(np.uint64(len(root))):
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
