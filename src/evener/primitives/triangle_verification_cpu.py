"""Triangles of simple edges, counted by merging sorted rows, for verifiers."""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.jit import inline_step, parallel

__all__ = ["merge_rows"]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)


@inline_step
def _merge(targets, mutual, u, begin, end, e, others, other_mutual, i, last, weighting, low, high):
    """Add the common targets of a row and of the row of the target `e` in it."""
    k = begin
    while k < end and i < last:
        if targets[k] < others[i]:
            k += _ONE
        elif others[i] < targets[k]:
            i += _ONE
        else:
            to_v, to_w, between = np.int64(1), np.int64(1), np.int64(1)
            if weighting > 0:
                to_v += mutual[e]
                to_w += mutual[k]
                between += other_mutual[i]
            if weighting == 1:
                to_v = to_w = between = to_v * to_w * between
            low[u] += between
            high[e] += to_w
            high[k] += to_v
            k += _ONE
            i += _ONE


@inline_step
def _merge_rows(
    offsets, targets, mutual, u, first, other_offsets, others, other_mutual, weighting, low, high
):
    begin, end = offsets[u], offsets[u + _ONE]
    for e in range(begin, end):
        v = np.uint64(targets[e]) - first
        if v < np.uint64(len(other_offsets) - 1):
            i, last = other_offsets[v], other_offsets[v + _ONE]
            _merge(targets, mutual, u, begin, end, e, others, other_mutual, i, last, weighting, low, high)


@parallel
def merge_rows(offsets, targets, mutual, first, other_offsets, others, other_mutual, weighting, low, high):
    """Add the triangles of rows whose second vertex has one of the other rows.

    ``low[u]`` counts those of the first vertex, and ``high[e]`` those of the target `e`. With `weighting` 1,
    a triangle counts once for each choice of directions. With 2, it counts once for each direction of the
    edge opposite to the vertex.
    """
    for u in prange(np.int64(len(offsets) - 1)):
        _merge_rows(
            offsets, targets, mutual, np.uint64(u), np.uint64(first), other_offsets, others, other_mutual,
            weighting, low, high,
        )  # fmt: skip
