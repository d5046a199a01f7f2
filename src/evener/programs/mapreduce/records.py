"""Records: keys and columns of payloads in the memory of an element, and a radix sort of them on CPUs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numba
import numpy as np

from evener.kernels.kernel import KernelFile
from evener.programs.mapreduce import kernels_cpu as kernels

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from evener.elements import Element

__all__ = [
    "SHUFFLE", "Grouped", "Sorted", "SortedRun", "addresses", "columns_of", "gathered", "sort_records",
    "words_of",
]  # fmt: skip

SHUFFLE = KernelFile("evener.programs", "mapreduce_shuffle")
# Bits of a digit. Each of its values is a place in memory that a thread writes to.
_DIGIT_BITS = 8
# If a record is one word, a thread writes to half as many places.
_PACKED_DIGIT_BITS = 10
_HALF = 32
_NO_ORDER = np.empty(0, np.uint64)


class Grouped(NamedTuple):
    """The records of one element, those for each element next to each other."""

    keys: NDArray[Any]
    columns: list[NDArray[Any]]
    bounds: NDArray[np.int64]  # records for element e of all ranks are at bounds[e]:bounds[e + 1]

    def part(self, element: int) -> list[NDArray[Any]]:
        """Return the keys and columns for an element."""
        part = slice(int(self.bounds[element]), int(self.bounds[element + 1]))
        return [array[part] for array in (self.keys, *self.columns)]


class SortedRun(NamedTuple):
    """Records sorted by key."""

    keys: NDArray[Any]
    columns: list[NDArray[Any]]

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return int(self.keys.nbytes + sum(column.nbytes for column in self.columns))


class Sorted(NamedTuple):
    """Sorted keys. Columns are sorted too, or `order` has the positions of the records in them."""

    keys: NDArray[Any]
    order: NDArray[np.uint64]
    columns: list[NDArray[Any]]

    def in_order(self, element: Element) -> SortedRun:
        """Return the records with sorted columns."""
        if element.kind == "cuda":
            columns = [gathered(element, column, self.order, len(self.keys)) for column in self.columns]
            return SortedRun(self.keys, columns)
        if not len(self.order):
            return SortedRun(self.keys, self.columns)
        columns = [element.allocate(len(self.keys), column.dtype) for column in self.columns]
        for column, out in zip(self.columns, columns, strict=True):
            kernels.gather_words(words_of(column), self.order, numba.get_num_threads(), words_of(out))
        return SortedRun(self.keys, columns)


def words_of(column: NDArray[Any]) -> NDArray[Any]:
    """Return a column as words, so that columns of one width share compiled kernels."""
    return column.view(f"u{column.itemsize}")


def columns_of(element: Element, length: int, dtypes: Sequence[np.dtype[Any]]) -> list[NDArray[Any]]:
    """Return undefined columns."""
    return [element.allocate(length, dtype) for dtype in dtypes]


def gathered(element: Element, array: Any, order: Any, count: int) -> Any:
    """Return the values of an array of a GPU at the first `count` positions of an order."""
    out = element.allocate(count, array.dtype)
    element.kernel(SHUFFLE.gather_words)(array.view(np.uint64), order, out.view(np.uint64))
    return out


def addresses(element: Element, columns: Sequence[Any]) -> Any:
    """Return the addresses of columns of a GPU, as an array of the GPU."""
    return element.upload(np.array([column.data.ptr for column in columns], np.uint64))


def sort_records(element: Element, keys: NDArray[Any], columns: list[NDArray[Any]]) -> Sorted:
    """Return the records sorted by key. The sort may overwrite the given arrays.

    A key and a column of 4 bytes each are moved as one word. Another single column is moved with the keys.
    With several columns, the positions of the records are moved instead.
    """
    least, largest = (int(keys.min()), int(keys.max())) if len(keys) else (0, 0)
    bits = (largest - least).bit_length()
    if len(columns) == 1 and keys.itemsize == columns[0].itemsize == 4:
        return _sort_packed(element, keys, columns[0], least, bits)
    moved = len(columns) == 1
    words = words_of(columns[0]) if moved else np.arange(len(keys), dtype=np.uint64)
    spare = [element.allocate(len(keys), moved_array.dtype) for moved_array in (keys, words)] if bits else []
    for digit in _digits(least, bits, _DIGIT_BITS):
        begins = _begins(keys, digit)
        if begins is not None:
            kernels.scatter_digits(keys, words, *digit, begins, *spare)
            (keys, words), spare = spare, [keys, words]
    if moved:
        return Sorted(keys, _NO_ORDER, [words.view(columns[0].dtype)])
    return Sorted(keys, words, columns)


def _sort_packed(element: Element, keys: NDArray[Any], column: NDArray[Any], least: int, bits: int) -> Sorted:
    records, spare = (element.allocate(len(keys), np.uint64) for _ in range(2))
    kernels.pack(keys, words_of(column), numba.get_num_threads(), records)
    for digit in _digits(least << _HALF, bits, _PACKED_DIGIT_BITS, first=_HALF):
        begins = _begins(records, digit)
        if begins is not None:
            kernels.scatter_packed(records, *digit, begins, spare)
            records, spare = spare, records
    low, high = (0, 1) if sys.byteorder == "little" else (1, 0)
    halves = records.view(np.uint32)
    return Sorted(halves[high::2], _NO_ORDER, [halves[low::2].view(column.dtype)])


def _digits(least: int, bits: int, width: int, first: int = 0) -> Iterator[tuple[np.uint64, ...]]:
    """Yield (least key, shift, mask) for digits of equal widths, the least significant digit first."""
    passes = -(-bits // width)
    width = -(-bits // max(passes, 1))
    for number in range(passes):
        yield (
            np.uint64(least & 0xFFFFFFFFFFFFFFFF),
            np.uint64(first + number * width),
            np.uint64((1 << width) - 1),
        )


def _begins(keys: NDArray[Any], digit: tuple[np.uint64, ...]) -> NDArray[np.uint64] | None:
    """Return where each slice writes each digit: by digit, then by slice. None if all digits are equal."""
    counts = np.zeros((numba.get_num_threads(), int(digit[2]) + 1), np.uint64)
    kernels.count_digits(keys, *digit, counts)
    if counts.sum(axis=0).max() == len(keys):
        return None
    by_digit = counts.T.ravel()
    begins = np.cumsum(by_digit, dtype=np.uint64) - by_digit
    return np.ascontiguousarray(begins.reshape(counts.T.shape).T)
