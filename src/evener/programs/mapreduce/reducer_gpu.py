"""Reducers on GPUs, by kernels with the function of the user linked in; see reducer.py for CPUs."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from evener.kernels.kernel import Kernel
from evener.programs.mapreduce.records import Sorted, SortedRun, columns_of
from evener.programs.mapreduce.reducer import Combine, Reduce
from evener.programs.mapreduce.worker_gpu import SHUFFLE, addresses, gathered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evener.elements import Element
    from evener.kernels.kernel import LinkedFile

__all__ = ["GpuCombine", "GpuReduce"]

# Payloads of a key that a thread combines.
_SEGMENT = 32


class GpuCombine(Combine):
    """Joins two payloads at a time, with the file of `linked_combine`.

    Each thread combines a segment of the payloads of a key, so several threads share a key with many records.
    The results of segments are payloads again, until each key has one.
    """

    def __init__(self, file: LinkedFile) -> None:
        super().__init__(Kernel(cuda=file, name="combine_segments"))

    def run_of(self, element: Element, found: Sorted) -> SortedRun:
        """Return one row for each key."""
        keys, order, columns = found
        bounds = _bounds(element, keys)
        rows = len(bounds) - 1
        out_keys = gathered(element, keys, bounds, rows)
        levels, sizes = [bounds], list[int]()
        # The sizes of all levels are read before the first one is combined, which takes longer.
        while not sizes or sizes[-1] > rows:
            segments = element.allocate(rows + 1, np.uint64)
            element.kernel(SHUFFLE.count_segments)(levels[-1], _SEGMENT, segments)
            levels.append(cast("Any", element).running_sum(segments))
            sizes.append(int(element.download(levels[-1][-1:])[0]))
        ordered = 1
        for (begins, ends), size in zip(pairwise(levels), sizes, strict=True):
            out = columns_of(element, size, [column.dtype for column in columns])
            element.kernel(self._kernel)(
                begins, ends, _SEGMENT, order, ordered, addresses(element, columns), addresses(element, out)
            )
            columns, ordered = out, 0
        return SortedRun(out_keys, columns)


class GpuReduce(Reduce):
    """Gives all values of a key to the user's function, one key to each thread: see `linked_reduce`."""

    def __init__(self, file: LinkedFile, dtypes: Sequence[np.dtype[Any]]) -> None:
        super().__init__(Kernel(cuda=file, name="reduce_rows"), dtypes)

    def run_of(self, element: Element, found: Sorted) -> SortedRun:
        """Return all records."""
        keys, order, columns = found
        return SortedRun(keys, [gathered(element, column, order, len(keys)) for column in columns])

    def rows_of(self, element: Element, run: SortedRun) -> SortedRun:
        """Return one row for each key."""
        bounds = _bounds(element, run.keys)
        out_keys = gathered(element, run.keys, bounds, len(bounds) - 1)
        out = columns_of(element, len(out_keys), self._dtypes)
        element.kernel(self._kernel)(
            out_keys, bounds, addresses(element, run.columns), addresses(element, out)
        )
        return SortedRun(out_keys, out)


def _bounds(element: Element, keys: Any) -> Any:
    """Return where each key begins among sorted keys, and the number of keys at the end."""
    heads = element.allocate(len(keys) + 1, np.uint8)
    element.kernel(SHUFFLE.mark_heads)(keys, heads)
    return cast("Any", element).positions(heads)
