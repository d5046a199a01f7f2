"""Check that a graph is symmetric, by a multiset hash.

Every edge (u, v, w) adds h(u, v, w) - h(v, u, w) modulo 2^64. The sum is 0 for a symmetric graph. For other
graphs, it is 0 with a probability of about 2^-64. Unlike a transpose, the hash needs no memory.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.jit import inline_step, parallel
from evener.kernels.cpu.mixing import mix

__all__ = ["asymmetry"]

_ONE = np.uint64(1)
_SHIFT = np.uint64(32)


@inline_step
def _row_asymmetry(offsets, targets, marks, row):
    total = np.uint64(0)
    tail = np.uint64(row)
    for edge in range(offsets[row], offsets[row + _ONE]):
        head = np.uint64(targets[edge])
        mark = np.uint64(marks[edge]) if len(marks) > 0 else np.uint64(0)
        total += mix(mix(tail << _SHIFT | head) + mark) - mix(mix(head << _SHIFT | tail) + mark)
    return total


@parallel
def asymmetry(offsets, targets, marks):
    """Return 0 if every edge has an opposite edge with the same entry of `marks` (uint64[m], or empty)."""
    total = np.uint64(0)
    for row in prange(np.uint64(len(offsets)) - _ONE):
        total += _row_asymmetry(offsets, targets, marks, np.uint64(row))
    return total
