"""Kernels that verify PageRank: sums over rows in float64."""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.jit import inline_step, parallel

__all__ = ["sums", "weighted_sums"]

_ONE = np.uint64(1)


@inline_step
def _sums_in(offsets, targets, contribution, total, start, stop):
    for v in range(start, stop):
        row = 0.0
        for e in range(offsets[v], offsets[v + _ONE]):
            row += contribution[targets[e]]
        total[v] = row


@parallel
def sums(offsets, targets, contribution, total, blocks):
    """Set ``total[v]`` to the sum of `contribution` (float64) over the targets of row v."""
    for b in prange(len(blocks) - 1):
        _sums_in(offsets, targets, contribution, total, blocks[b], blocks[b + 1])


@inline_step
def _weighted_sums_in(offsets, targets, weights, contribution, total, start, stop):
    for v in range(start, stop):
        row = 0.0
        for e in range(offsets[v], offsets[v + _ONE]):
            row += contribution[targets[e]] * weights[e]
        total[v] = row


@parallel
def weighted_sums(offsets, targets, weights, contribution, total, blocks):
    """Set ``total[v]`` to the sum of `contribution` (float64) times the weight over the edges of row v."""
    for b in prange(len(blocks) - 1):
        _weighted_sums_in(offsets, targets, weights, contribution, total, blocks[b], blocks[b + 1])
