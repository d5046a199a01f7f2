"""Filling and copying of large arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import prange

from evener.kernels.cpu.jit import parallel

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["copy", "fill", "narrow"]


@parallel
def _copy_bytes(source, target):
    for i in prange(len(source)):
        target[i] = source[i]


def copy(source: NDArray[Any], target: NDArray[Any]) -> None:
    """Copy an array to a contiguous array of the same type on all threads."""
    given = np.ascontiguousarray(source).view(np.uint8)
    given.flags.writeable = False  # one argument type for the kernel
    _copy_bytes(given, target.view(np.uint8))


@parallel
def fill(words, word):
    """Set ``words[:] = word`` on all threads, so that each thread is the first to touch its own pages."""
    for i in prange(len(words)):
        words[i] = word


@parallel
def narrow(source, target):
    """Copy integers to an array of shorter integers that hold them, on all threads."""
    for i in prange(len(source)):
        target[i] = source[i]
