"""Filling large arrays."""

from __future__ import annotations

from numba import prange

from evener.kernels.cpu.jit import parallel

__all__ = ["fill"]


@parallel
def fill(words, word):
    """``words[:] = word``, on all threads: so each first touches pages of its own."""
    for i in prange(len(words)):
        words[i] = word
