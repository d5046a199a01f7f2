"""Chunks of a parallel loop over many values."""

from __future__ import annotations

import numpy as np

from evener.kernels.cpu.jit import inline_step

__all__ = ["CHUNK", "CHUNK_WORDS", "chunk_count"]

# Values, and words of flags, per chunk of a loop that only copies.
CHUNK = np.uint64(1 << 13)
CHUNK_WORDS = np.uint64(1 << 7)
_ONE = np.uint64(1)


@inline_step
def chunk_count(length, size):
    """Return how many chunks of `size` values cover `length` values."""
    return np.int64((np.uint64(length) + size - _ONE) // size)
