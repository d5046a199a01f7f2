"""Checks of CSR rows, degrees, and sums of weights; `parts` is the number of equal slices of an array."""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.atomics import fetch_add
from evener.kernels.cpu.build import slice_bound
from evener.kernels.cpu.jit import inline_step, parallel, serial

__all__ = ["check_targets", "count_descents", "in_degree", "row_sums", "target_sums"]

ZERO, ONE = np.uint64(0), np.uint64(1)


@inline_step
def _check_slice(targets, first, last):
    highest = targets[first]
    descents = ZERO
    for e in range(first, last):
        highest = max(highest, targets[e])
        descents += np.uint64(targets[e - np.uint64(e > ZERO)] > targets[e])
    return np.uint64(highest), descents


@parallel
def check_targets(targets, offsets, highest, descents, row_descents, parts):
    """Write, per part, the largest target, the number of descents, and the descents at row starts.

    All rows ascend if the sums of `descents` and `row_descents` are equal. Neither array may be empty, and
    `offsets` must ascend. `highest`, `descents` and `row_descents` are (parts,) uint64.
    """
    for p in prange(parts):
        highest[p], descents[p] = _check_slice(
            targets, slice_bound(len(targets), p, parts), slice_bound(len(targets), p + 1, parts)
        )
        row_descents[p] = _row_descents(
            targets, offsets, slice_bound(len(offsets), p, parts), slice_bound(len(offsets), p + 1, parts)
        )


@inline_step
def _row_descents(targets, offsets, first, last):
    descents = ZERO
    m = np.uint64(len(targets))
    n = np.uint64(len(offsets)) - ONE
    for v in range(first, last):
        start = offsets[v]
        # Empty rows start at the same edge as the next row; count only the last of these rows.
        if v < n and start > ZERO and start < m and start < offsets[v + ONE]:
            descents += np.uint64(targets[start - ONE] > targets[start])
    return descents


@inline_step
def _descents_of_row(offsets, targets, row):
    count = ZERO
    if offsets[row] < offsets[row + ONE]:
        for edge in range(offsets[row] + ONE, offsets[row + ONE]):
            count += np.uint64(targets[edge] < targets[edge - ONE])
    return count


@parallel
def count_descents(offsets, targets):
    """Return how many targets are smaller than their predecessor in the row."""
    count = ZERO
    for row in prange(np.uint64(len(offsets)) - ONE):
        count += _descents_of_row(offsets, targets, np.uint64(row))
    return count


@parallel
def in_degree(targets, degree):
    """Add the number of in-edges of each vertex to `degree` (n,) uint64."""
    for e in prange(len(targets)):
        fetch_add(degree, targets[e], ONE)


@inline_step
def _row_sum(offsets, weights, v):
    total = 0.0
    for e in range(offsets[v], offsets[v + ONE]):
        total += weights[e]
    return total


@parallel
def row_sums(offsets, weights, sums):
    """``sums[v]``: the sum of the weights in row v, in float64."""
    for v in prange(len(sums)):
        sums[v] = _row_sum(offsets, weights, np.uint64(v))


@serial
def target_sums(targets, weights, sums):
    """Add to ``sums[v]`` the weights of the edges whose target is v; one thread, so in a fixed order."""
    for e in range(len(targets)):
        sums[targets[e]] += weights[e]
