"""Kernels that verify a tree of shortest paths.

A block is a range of rows with about equal edges. ``first[b]`` receives the first wrong vertex of block
``b``, or `NO_VERTEX`. `parent` is unsigned; `NO_VERTEX` means "no parent".
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.jit import inline_step, parallel
from evener.kernels.vertex import NO_VERTEX
from evener.spec.verification_tree_cpu import edge_position, row_and_end

__all__ = ["find_shorter_path", "find_wrong_parent"]

_ZERO = np.uint64(0)
_ONE = np.uint64(1)


@inline_step
def _find_wrong_parent_in(offsets, targets, weights, undirected, parent, distance, tolerance, start, stop):
    for v in range(start, stop):
        if parent[v] != NO_VERTEX and parent[v] != v:
            tight = False
            row, end = row_and_end(offsets, np.uint64(parent[v]), v, undirected)
            e = edge_position(offsets, targets, row, end)
            while e < offsets[row + _ONE] and targets[e] == end:
                gap = abs(distance[parent[v]] + weights[e] - distance[v])
                tight = tight or gap <= tolerance * abs(distance[v])
                e += _ONE
            if not tight:
                return np.uint32(v)
    return NO_VERTEX


@parallel
def find_wrong_parent(offsets, targets, weights, undirected, parent, distance, tolerance, blocks, first):
    """Find the first vertex whose distance is not the distance of its parent plus the weight of an edge."""
    for b in prange(len(blocks) - 1):
        first[b] = _find_wrong_parent_in(
            offsets, targets, weights, undirected, parent, distance, tolerance, blocks[b], blocks[b + 1]
        )


@inline_step
def _find_shorter_path_in(offsets, targets, weights, distance, limit, tolerance, start, stop):
    for v in range(start, stop):
        if distance[v] < np.inf:
            shorter = _ZERO
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

    Paths longer than `limit` do not count.
    """
    for b in prange(len(blocks) - 1):
        first[b] = _find_shorter_path_in(
            offsets, targets, weights, distance, limit, tolerance, blocks[b], blocks[b + 1]
        )
