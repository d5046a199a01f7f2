"""A kernel that verifies the levels of a breadth-first tree.

A block is a range of rows with about equal edges. ``first[b]`` receives the first wrong vertex of block
``b``, or `NO_VERTEX`.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.jit import inline_step, parallel
from evener.kernels.vertex import NO_VERTEX

__all__ = ["UNREACHED", "find_level_gap"]

# Level of an unreached vertex.
UNREACHED = NO_VERTEX
_ZERO = np.uint64(0)
_ONE = np.uint64(1)


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
