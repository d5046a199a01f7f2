"""Sort: a parallel radix sort of records by key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from evener.programs.mapreduce import kernels_cpu as kernels
from evener.programs.mapreduce.records import Sorted, words_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.elements import Element

__all__ = ["sort_records"]

# Bits of a digit. Each of its values is a place in memory that a thread writes to.
_DIGIT_BITS = 8
_NO_ORDER = np.empty(0, np.uint64)


def sort_records(element: Element, keys: NDArray[Any], columns: list[NDArray[Any]]) -> Sorted:
    """Return records sorted by key. The given arrays are used as temporary memory.

    One column is moved with the keys. With several columns, the positions of the records are moved instead.
    """
    moved = len(columns) == 1
    words = words_of(columns[0]) if moved else np.arange(len(keys), dtype=np.uint64)
    least, largest = (int(keys.min()), int(keys.max())) if len(keys) else (0, 0)
    bits = (largest - least).bit_length()
    passes = -(-bits // _DIGIT_BITS)
    width = -(-bits // max(passes, 1))
    spare = [element.allocate(len(keys), one.dtype) for one in (keys, words)] if passes else []
    slices = numba.get_num_threads()
    for number in range(passes):
        digit = (
            np.uint64(least & 0xFFFFFFFFFFFFFFFF), np.uint64(number * width), np.uint64((1 << width) - 1)
        )  # fmt: skip
        counts = np.zeros((slices, 1 << width), np.uint64)
        kernels.count_digits(keys, *digit, counts)
        if counts.sum(axis=0).max() == len(keys):
            continue  # all digits are equal
        kernels.scatter_digits(keys, words, *digit, _begins(counts), *spare)
        (keys, words), spare = spare, [keys, words]
    if moved:
        return Sorted(keys, _NO_ORDER, [words.view(columns[0].dtype)])
    return Sorted(keys, words, columns)


def _begins(counts: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return where each slice writes each digit: by digit, then by slice."""
    by_digit = counts.T.ravel()
    begins = np.cumsum(by_digit, dtype=np.uint64) - by_digit
    return np.ascontiguousarray(begins.reshape(counts.T.shape).T)
