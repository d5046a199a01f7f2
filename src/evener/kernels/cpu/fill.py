"""Filling large arrays."""

from __future__ import annotations

from numba import prange

from evener.kernels.cpu.jit import parallel

__all__ = ["fill"]


@parallel
def fill(words, word):
    """Set ``words[:] = word`` on all threads, so that each thread is the first to touch its own pages."""
    for i in prange(len(words)):
        words[i] = word
