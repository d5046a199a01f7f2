"""Runs: how a parallel loop over many values is cut for threads to take."""

from __future__ import annotations

import numpy as np

from evener.kernels.cpu.jit import inline_step

__all__ = ["RUN", "RUN_WORDS", "runs"]

# Values, and words of flags, handed to a thread at a time, where each is moved and no more: long enough that
# the hand-out costs nothing beside it.
RUN = np.uint64(1 << 13)
RUN_WORDS = np.uint64(1 << 7)
_ONE = np.uint64(1)


@inline_step
def runs(length, run):
    """How many runs of `run` values there are among `length`."""
    return np.int64((np.uint64(length) + run - _ONE) // run)
