"""Exact integer weights, which float64 rounds beyond 2^53.

The parser reads weights as float64, and keeps integers beyond 2^53 apart with their rows.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.graph.formats.edges import narrow_integers

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

__all__ = ["BigIntegers", "first_not_representable"]

# float64 represents every integer below this exactly.
_EXACT = 2**53


class BigIntegers:
    """Integers beyond 2^53, with their rows."""

    def __init__(self) -> None:
        self._parts: list[tuple[NDArray[np.intp], NDArray[Any]]] = []
        self._fit = True  # all integers fit 64 bits

    def add(self, rows: NDArray[np.intp], words: NDArray[np.bytes_]) -> None:
        """Add integers, given as text."""
        for dtype in (np.int64, np.uint64):
            with suppress(OverflowError):
                self._parts.append((rows, words.astype(dtype)))
                return
        self._fit = False

    def as_integers(self, weights: NDArray[np.float64]) -> NDArray[Any]:
        """Return the weights as exact integers, or as floats if no 64-bit type holds all of them."""
        if not self._parts:
            return narrow_integers(weights)
        largest = max(int(values.max()) for _, values in self._parts)
        smallest = min(int(values.min()) for _, values in self._parts)
        smallest = min(smallest, -1) if weights.min() < 0 else smallest
        ranges = [np.iinfo(dtype) for dtype in (np.int64, np.uint64)]
        types = [r.dtype for r in ranges if r.min <= smallest and largest <= r.max]
        if not types or not self._fit:
            return weights
        for rows, _ in self._parts:
            weights[rows] = 0.0  # the rounded value may exceed the type
        whole = weights.astype(types[0])
        for rows, values in self._parts:
            whole[rows] = values
        return whole


def first_not_representable(weights: NDArray[Any], dtype: DTypeLike) -> int | None:
    """Return the position of the first weight that `dtype` cannot represent, or None.

    An integer type represents no float of 2^53 or more, because the float may be rounded already. A float
    type represents every finite weight that does not become infinite.
    """
    target = np.dtype(dtype)
    if target == weights.dtype or not len(weights):
        return None
    if target.kind == "f":
        with np.errstate(over="ignore"):
            wrong = np.isinf(weights.astype(target)) & np.isfinite(weights)
    else:
        span = np.iinfo(target)
        wrong = (weights < span.min) | (weights > span.max)
        if weights.dtype.kind == "f":
            wrong |= (weights != np.floor(weights)) | (np.abs(weights) >= _EXACT)
    return int(wrong.argmax()) if wrong.any() else None
