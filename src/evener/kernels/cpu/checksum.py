"""Checksums of edges and weights that do not depend on their order, to compare the graphs of ranks."""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.build import slice_bound
from evener.kernels.cpu.jit import inline_step, parallel
from evener.kernels.cpu.mixing import mix

__all__ = ["edge_checksums"]

_ZERO, _ONE, _HALF = np.uint64(0), np.uint64(1), np.uint64(32)
# Odd numbers with random bits, from SplitMix64 and MurmurHash3.
_MULTIPLIER_A, _MULTIPLIER_B = np.uint64(0x94D049BB133111EB), np.uint64(0xFF51AFD7ED558CCD)


@inline_step
def _row_of(offsets, edge):
    """Return the row of an edge."""
    low, high = _ZERO, np.uint64(len(offsets)) - _ONE
    while high - low > _ONE:
        middle = (low + high) // np.uint64(2)
        if offsets[middle] <= edge:
            low = middle
        else:
            high = middle
    return low


@inline_step
def _edge_word(key, head):
    """Return a word of an edge, given the mixed number of its tail. A sum needs no mixed low bits."""
    word = (key ^ head) * _MULTIPLIER_A
    return (word ^ (word >> _HALF)) * _MULTIPLIER_B


@inline_step
def _row_sums(targets, bits, row, turned, weighted, first, last):
    edges, weights = _ZERO, _ZERO
    key = mix(row)
    for e in range(first, last):
        other = np.uint64(targets[e])
        word = _edge_word(mix(other), row) if turned else _edge_word(key, other)
        edges += word
        if weighted:
            weights += mix(word ^ mix(np.uint64(bits[e])))
    return edges, weights


@inline_step
def _slice_sums(offsets, targets, bits, turned, weighted, first, last):
    edges, weights = _ZERO, _ZERO
    row = _row_of(offsets, first)
    while first < last:
        end = min(offsets[row + _ONE], last)
        of_edges, of_weights = _row_sums(targets, bits, row, turned, weighted, first, end)
        edges += of_edges
        weights += of_weights
        first = end
        row += _ONE
    return edges, weights


@parallel
def edge_checksums(offsets, targets, bits, turned, weighted, edges, weights, parts):
    """Write, per part, the sum of the mixed edges and the sum of the mixed edges with weights.

    `bits` (m,) are the weights as unsigned integers, not read unless `weighted`. If `turned`, the rows are
    in-edges. `edges` and `weights` are (parts,) uint64.
    """
    for p in prange(parts):
        edges[p], weights[p] = _slice_sums(
            offsets,
            targets,
            bits,
            turned,
            weighted,
            slice_bound(len(targets), p, parts),
            slice_bound(len(targets), p + 1, parts),
        )
