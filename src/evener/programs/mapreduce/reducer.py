"""Reducers: what a job does with sorted records, on CPUs and on GPUs."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numba
import numpy as np

from evener.kernels.cpu.work_queue import WORKERS
from evener.kernels.kernel import Kernel
from evener.programs.mapreduce import kernels_cpu as kernels
from evener.programs.mapreduce.records import SHUFFLE, Sorted, SortedRun, addresses, columns_of, gathered
from evener.programs.steps import exception_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.elements import Element
    from evener.programs.mapreduce.compilation import UserKernel

__all__ = ["Combine", "Reduce", "Reducer"]

# Slices of the records for each thread of a CPU.
_SLICES_PER_THREAD = 4
# Payloads of a key that a thread of a GPU combines.
_SEGMENT = 32


class Combine:
    """Joins two payloads at a time, by `combine_kernel`; some of the records have a payload too.

    A run has each key once, so the union of runs may be shorter than the runs.
    """

    shrinks = True

    def __init__(self, function: UserKernel) -> None:
        self._function = function

    def run_of(self, element: Element, records: Sorted) -> SortedRun:
        """Return one row for each key."""
        return self._on_gpu(element, *records) if element.kind == "cuda" else self._on_cpu(element, *records)

    def rows_of(self, element: Element, run: SortedRun) -> SortedRun:  # noqa: ARG002 - as for `Reduce`
        """Return one row for each key, from a run of all its records."""
        return run

    def _on_cpu(
        self, element: Element, keys: NDArray[Any], order: NDArray[Any], columns: list[NDArray[Any]]
    ) -> SortedRun:
        heads = np.zeros(_SLICES_PER_THREAD * numba.get_num_threads(), np.uint64)
        kernels.count_heads(keys, heads)
        dtypes = [column.dtype for column in columns]
        out_keys = element.allocate(int(heads.sum()), keys.dtype)
        out = columns_of(element, len(out_keys), dtypes)
        carry = [np.empty(len(heads), dtype) for dtype in dtypes]
        rows = np.cumsum(heads, dtype=np.uint64) - heads
        failed = np.zeros(len(heads), bool)
        self._function.kernel(keys, order, tuple(columns), rows, out_keys, tuple(out), tuple(carry), failed)
        if failed.any():
            raise exception_of("combine")
        return SortedRun(out_keys, out)

    def _on_gpu(self, element: Element, keys: Any, order: Any, columns: list[Any]) -> SortedRun:
        """Let each thread combine a segment of the payloads of a key, so several threads share a long key.

        The results of segments are payloads again, until each key has one.
        """
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
        kernel = element.kernel(Kernel(cuda=self._function.file, name="combine_segments"))
        ordered = 1
        for (begins, ends), size in zip(pairwise(levels), sizes, strict=True):
            out = columns_of(element, size, [column.dtype for column in columns])
            kernel(
                begins, ends, _SEGMENT, order, ordered, addresses(element, columns), addresses(element, out)
            )
            columns, ordered = out, 0
        return SortedRun(out_keys, columns)


class Reduce:
    """Gives all values of a key to the user's function, by `reduce_kernel`; a run has all records."""

    shrinks = False

    def __init__(self, function: UserKernel) -> None:
        self._function = function

    def run_of(self, element: Element, records: Sorted) -> SortedRun:
        """Return all records."""
        return records.in_order(element)

    def rows_of(self, element: Element, run: SortedRun) -> SortedRun:
        """Return one row for each key, from a run of all its records."""
        if element.kind == "cuda":
            bounds = _bounds(element, run.keys)
            out_keys = gathered(element, run.keys, bounds, len(bounds) - 1)
            out = columns_of(element, len(out_keys), self._function.payload.dtypes)
            element.kernel(Kernel(cuda=self._function.file, name="reduce_rows"))(
                out_keys, bounds, addresses(element, run.columns), addresses(element, out)
            )
            return SortedRun(out_keys, out)
        first = np.ones(len(run.keys), bool)
        np.not_equal(run.keys[1:], run.keys[:-1], out=first[1:])
        begins = np.flatnonzero(first)
        out_keys = run.keys[begins]
        out = columns_of(element, len(out_keys), self._function.payload.dtypes)
        bounds = np.append(begins, len(run.keys)).astype(np.uint64)
        failed = np.zeros(WORKERS, bool)
        self._function.kernel(out_keys, bounds, tuple(run.columns), tuple(out), failed)
        if failed.any():
            raise exception_of("reduce")
        return SortedRun(out_keys, out)


Reducer: TypeAlias = Combine | Reduce


def _bounds(element: Element, keys: Any) -> Any:
    """Return where each key begins among sorted keys of a GPU, and the number of keys at the end."""
    heads = element.allocate(len(keys) + 1, np.uint8)
    element.kernel(SHUFFLE.mark_heads)(keys, heads)
    return cast("Any", element).positions(heads)
