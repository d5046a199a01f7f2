"""Offsets of rows from their lengths: an exclusive prefix sum."""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.chunks import CHUNK, chunk_count
from evener.kernels.cpu.jit import inline_step, parallel

__all__ = ["offsets_of"]


@inline_step
def _sum(lengths, first, last):
    total = np.uint64(0)
    for v in range(first, last):
        total += np.uint64(lengths[v])
    return total


@inline_step
def _add_up(lengths, offsets, before, first, last):
    for v in range(first, last):
        before += np.uint64(lengths[v])
        offsets[v + np.uint64(1)] = before


@parallel
def offsets_of(lengths, offsets):
    """Write the offset of each row, and the sum of all lengths (L,) after them to ``offsets[L]``."""
    rows = np.uint64(len(lengths))
    chunks = chunk_count(rows, CHUNK)
    before = np.zeros(chunks + 1, np.uint64)
    for r in prange(chunks):
        first = np.uint64(r) * CHUNK
        before[r + 1] = _sum(lengths, first, min(first + CHUNK, rows))
    for r in range(chunks):
        before[r + 1] += before[r]
    offsets[0] = 0
    for r in prange(chunks):
        first = np.uint64(r) * CHUNK
        _add_up(lengths, offsets, before[r], first, min(first + CHUNK, rows))
