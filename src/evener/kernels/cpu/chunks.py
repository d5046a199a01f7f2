"""Chunks of a parallel loop over many values."""

from __future__ import annotations

import numpy as np

from evener.kernels.cpu.jit import inline_step

__all__ = ["RUN", "RUN_WORDS", "runs"]

# Values, and words of flags, per chunk of a loop that only copies.
RUN = np.uint64(1 << 13)
RUN_WORDS = np.uint64(1 << 7)
_ONE = np.uint64(1)


@inline_step
def runs(length, run):
    """Return how many chunks of `run` values cover `length` values."""
    return np.int64((np.uint64(length) + run - _ONE) // run)
