"""Kernels that verify a breadth-first tree.

A block is a range of rows with about equal edges. ``first[b]`` receives the first wrong vertex of block
``b``, or `NO_VERTEX`. `level` and `parent` are unsigned. The level of an unreached vertex is `UNREACHED`,
and its parent is `NO_VERTEX`.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.jit import inline_step, parallel
from evener.kernels.vertex import NO_VERTEX
from evener.spec.verification_tree_cpu import edge_position, row_and_end

__all__ = ["UNREACHED", "find_level_gap", "find_missing_edge", "find_wrong_level"]

# Level of an unreached vertex. It equals `NO_VERTEX`, so a kernel may compare a level with a parent.
UNREACHED = NO_VERTEX
_ZERO = np.uint64(0)
_ONE = np.uint64(1)


@inline_step
def _find_missing_edge_in(offsets, targets, undirected, parent, start, stop):
    for v in range(start, stop):
        if parent[v] != NO_VERTEX and parent[v] != v:
            row, end = row_and_end(offsets, np.uint64(parent[v]), v, undirected)
            e = edge_position(offsets, targets, row, end)
            if e == offsets[row + _ONE] or targets[e] != end:
                return np.uint32(v)
    return NO_VERTEX


@parallel
def find_missing_edge(offsets, targets, undirected, parent, blocks, first):
    """Find the first vertex without an edge from its parent. A vertex that is its own parent is a root."""
    for b in prange(len(blocks) - 1):
        first[b] = _find_missing_edge_in(offsets, targets, undirected, parent, blocks[b], blocks[b + 1])


@inline_step
def _find_level_gap_in(offsets, targets, level, end, start, stop):
    for v in range(start, stop):
        if level[v] < end:
            limit = np.uint64(level[v]) + _ONE
            above = _ZERO
            for e in range(offsets[v], offsets[v + _ONE]):
                above += np.uint64(level[targets[e]] > limit)
            if above != _ZERO:
                return np.uint32(v)
    return NO_VERTEX


@parallel
def find_level_gap(offsets, targets, level, end, blocks, first):
    """Find the first vertex on a level before `end` with an edge that leads more than one level deeper.

    `level` is unsigned, of any width. The level of an unreached vertex exceeds the deepest level by at least
    2. The search ended at level `end`, or `end` is the level of an unreached vertex.
    """
    for b in prange(len(blocks) - 1):
        first[b] = _find_level_gap_in(offsets, targets, level, end, blocks[b], blocks[b + 1])


@inline_step
def _find_wrong_level_in(level, parent, start, stop):
    for v in range(start, stop):
        u = parent[v]
        if u == v:
            held = level[v] == np.uint32(0)
        elif level[v] == UNREACHED or u == NO_VERTEX:
            held = level[v] == u
        else:
            held = level[u] != UNREACHED and level[u] + np.uint32(1) == level[v]
        if not held:
            return np.uint32(v)
    return NO_VERTEX


@parallel
def find_wrong_level(level, parent, blocks, first):
    """Find the first vertex that is not one level deeper than its parent.

    A vertex that is its own parent must have level 0. An unreached vertex must have neither a level nor a
    parent. If no vertex is wrong, the parents of every reached vertex lead to a vertex of level 0.
    """
    for b in prange(len(blocks) - 1):
        first[b] = _find_wrong_level_in(level, parent, blocks[b], blocks[b + 1])
