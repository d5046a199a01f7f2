"""A kernel that verifies shortest paths.

A block is a range of rows with about equal edges. ``first[b]`` receives the first wrong vertex of block
``b``, or `NO_VERTEX`.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.jit import inline_step, parallel
from evener.kernels.vertex import NO_VERTEX

__all__ = ["find_shorter_path"]

_ZERO = np.uint64(0)
_ONE = np.uint64(1)


@inline_step
def _find_shorter_path_in(offsets, targets, weights, distance, limit, tolerance, start, stop):
    for v in range(start, stop):
        if distance[v] < np.inf:
            shorter = _ZERO
            for e in range(offsets[v], offsets[v + _ONE]):
                weight = weights[e] if len(weights) > 0 else np.uint8(1)
                through = distance[v] + weight
                found = distance[targets[e]]
                longer = found > through + tolerance * through
                # The sum of finite numbers may be infinite, and its vertex then looks unreached.
                beyond = (found == np.inf) & (through == np.inf) & (weight < np.inf)
                shorter += np.uint64((longer | beyond) & (through <= limit))
            if shorter != _ZERO:
                return np.uint32(v)
    return NO_VERTEX


@parallel
def find_shorter_path(offsets, targets, weights, distance, limit, tolerance, blocks, first):
    """Find the first reached vertex with an edge that would shorten the distance of a neighbour.

    Paths longer than `limit` do not count. If `weights` is empty, each edge has weight 1.
    """
    for b in prange(len(blocks) - 1):
        first[b] = _find_shorter_path_in(
            offsets, targets, weights, distance, limit, tolerance, blocks[b], blocks[b + 1]
        )
