"""A kernel of verifiers: sums over rows in float64."""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.jit import inline_step, parallel

__all__ = ["row_sums"]

_ONE = np.uint64(1)


@inline_step
def _row_sums_in(offsets, targets, weights, values, total, start, stop):
    weighted = len(weights) > 0
    for v in range(start, stop):
        row = 0.0
        if weighted:
            for e in range(offsets[v], offsets[v + _ONE]):
                row += values[targets[e]] * weights[e]
        else:
            for e in range(offsets[v], offsets[v + _ONE]):
                row += values[targets[e]]
        total[v] = row


@parallel
def row_sums(offsets, targets, weights, values, total, blocks):
    """Set ``total[v]`` to the sum of `values` (float64) times the weight over the edges of row v.

    If `weights` is empty, each edge has weight 1.
    """
    for b in prange(len(blocks) - 1):
        _row_sums_in(offsets, targets, weights, values, total, blocks[b], blocks[b + 1])
