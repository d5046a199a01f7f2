"""Bitmaps on the host: flags to words of 64 bits, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["pack", "unpack"]


def pack(flags: ArrayLike) -> NDArray[np.uint64]:
    """Return flags as words: flag ``v`` is bit ``v % 64`` of word ``v // 64``."""
    given = np.asarray(flags, bool)
    bits = np.zeros((len(given) + 63) // 64 * 64, bool)
    bits[: len(given)] = given
    return np.packbits(bits, bitorder="little").view("<u8").astype(np.uint64)


def unpack(words: NDArray[Any], length: int) -> NDArray[np.bool_]:
    """Return the first `length` flags of words."""
    return np.unpackbits(words.astype("<u8").view(np.uint8), bitorder="little")[:length].astype(bool)
