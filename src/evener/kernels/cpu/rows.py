"""Rows of the edges of a CSR graph."""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.build import slice_bound
from evener.kernels.cpu.jit import inline_step, parallel

__all__ = ["expand_rows"]

ZERO, ONE = np.uint64(0), np.uint64(1)


@inline_step
def _expand_part(offsets, start, first, last, out):
    """Write the rows of edges ``start + first : start + last``: bisection, then a linear scan."""
    low, high = ZERO, np.uint64(len(offsets)) - ONE
    while low < high:
        middle = (low + high) >> ONE
        if offsets[middle + ONE] <= start + first:
            low = middle + ONE
        else:
            high = middle
    row = low
    for e in range(first, last):
        while offsets[row + ONE] <= start + e:
            row += ONE
        out[e] = np.uint32(row)


@parallel
def expand_rows(offsets, start, out, parts):
    """Write the row of each edge, from edge `start` on, to `out`."""
    for p in prange(parts):
        _expand_part(
            offsets, start, slice_bound(len(out), p, parts), slice_bound(len(out), p + 1, parts), out
        )
