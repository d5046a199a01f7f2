"""Two whole-graph checks of CSR rows read from a file: whether they ascend and whether they are symmetric.

Symmetry is asked by a sum (a multiset hash): every edge (u, v, w) adds h(u, v, w) - h(v, u, w) modulo 2^64,
which is 0 for a symmetric graph and, for any other, 0 with a chance of about 2^-64. It needs no memory,
where a transpose needs as much as the graph.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.jit import inline_step, parallel

__all__ = ["asymmetry", "descents"]

_ONE = np.uint64(1)
_SHIFT = np.uint64(32)
# Multipliers of splitmix64's finaliser (Steele, Lea and Flood 2014).
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_BY_30, _BY_27, _BY_31 = np.uint64(30), np.uint64(27), np.uint64(31)


@inline_step
def _mixed(value):
    value = (value ^ (value >> _BY_30)) * _FIRST
    value = (value ^ (value >> _BY_27)) * _SECOND
    return value ^ (value >> _BY_31)


@inline_step
def _row_asymmetry(offsets, targets, marks, row):
    total = np.uint64(0)
    tail = np.uint64(row)
    for edge in range(offsets[row], offsets[row + _ONE]):
        head = np.uint64(targets[edge])
        mark = np.uint64(marks[edge]) if len(marks) > 0 else np.uint64(0)
        total += _mixed(_mixed(tail << _SHIFT | head) + mark) - _mixed(_mixed(head << _SHIFT | tail) + mark)
    return total


@inline_step
def _row_descents(offsets, targets, row):
    count = np.uint64(0)
    if offsets[row] < offsets[row + _ONE]:
        for edge in range(offsets[row] + _ONE, offsets[row + _ONE]):
            count += np.uint64(targets[edge] < targets[edge - _ONE])
    return count


@parallel
def asymmetry(offsets, targets, marks):
    """0 if every edge has its opposite, with the same entry of `marks` (uint64[m], or empty)."""
    total = np.uint64(0)
    for row in prange(np.uint64(len(offsets)) - _ONE):
        total += _row_asymmetry(offsets, targets, marks, np.uint64(row))
    return total


@parallel
def descents(offsets, targets):
    """How many targets are smaller than the one before them in their row."""
    count = np.uint64(0)
    for row in prange(np.uint64(len(offsets)) - _ONE):
        count += _row_descents(offsets, targets, np.uint64(row))
    return count
