"""Records: keys and columns of payloads, as the stages of a job pass them on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numba

from evener.programs.mapreduce import kernels_cpu as kernels

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from evener.elements import Element

__all__ = ["Grouped", "Sorted", "SortedRun", "columns_of", "words_of"]


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
