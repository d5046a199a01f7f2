"""Mix the bits of a word: the finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014)."""

from __future__ import annotations

import numpy as np

from evener.kernels.cpu.jit import inline_step

__all__ = ["mix"]

_MULTIPLIER_A, _MULTIPLIER_B = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFT_A, _SHIFT_B, _SHIFT_C = np.uint64(30), np.uint64(27), np.uint64(31)


@inline_step
def mix(word):
    """Return a word (uint64) whose bits each depend on all bits of the given word."""
    word = (word ^ (word >> _SHIFT_A)) * _MULTIPLIER_A
    word = (word ^ (word >> _SHIFT_B)) * _MULTIPLIER_B
    return word ^ (word >> _SHIFT_C)
