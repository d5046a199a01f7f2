"""Weights that are whole numbers: exact in 64 bits, where a float64 rounds beyond 2^53, and of a type given.

Weights are parsed as floats. The few files with larger whole numbers keep these aside, with their rows.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.graph.formats.edges import narrowed

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

__all__ = ["LargeWeights", "misfit"]

# Every whole number below is a float64 of its own.
_EXACT = 2**53


class LargeWeights:
    """Whole numbers beyond 2^53, as they are written, with the rows they belong in."""

    def __init__(self) -> None:
        self._kept: list[tuple[NDArray[np.intp], NDArray[Any]]] = []
        self._fit = True  # into 64 bits

    def add(self, rows: NDArray[np.intp], words: NDArray[np.bytes_]) -> None:
        """Keep some."""
        for dtype in (np.int64, np.uint64):
            with suppress(OverflowError):
                self._kept.append((rows, words.astype(dtype)))
                return
        self._fit = False

    def among(self, weights: NDArray[np.float64]) -> NDArray[Any]:
        """Give whole weights as integers, the large ones exact; as floats if no type of 64 bits holds all."""
        if not self._kept:
            return narrowed(weights)
        most = max(int(values.max()) for _, values in self._kept)
        least = min(int(values.min()) for _, values in self._kept)
        least = min(least, -1) if weights.min() < 0 else least
        types = [t for t in (np.int64, np.uint64) if np.iinfo(t).min <= least and most <= np.iinfo(t).max]
        if not types or not self._fit:
            return weights
        for rows, _ in self._kept:
            weights[rows] = 0.0  # rounded, it might be one too large for the type
        whole = weights.astype(types[0])
        for rows, values in self._kept:
            whole[rows] = values
        return whole


def misfit(weights: NDArray[Any], dtype: DTypeLike) -> int | None:
    """Find the place of the first weight that another type would make infinite, round to an integer, or wrap.

    Weights that are floats of 2^53 or more may have been rounded, so a type of integers does not fit them.
    """
    wanted = np.dtype(dtype)
    if wanted == weights.dtype or not len(weights):
        return None
    if wanted.kind == "f":
        with np.errstate(over="ignore"):
            wrong = np.isinf(weights.astype(wanted)) & np.isfinite(weights)
    else:
        span = np.iinfo(wanted)
        wrong = (weights < span.min) | (weights > span.max)
        if weights.dtype.kind == "f":
            wrong |= (weights != np.floor(weights)) | (np.abs(weights) >= _EXACT)
    return int(wrong.argmax()) if wrong.any() else None
