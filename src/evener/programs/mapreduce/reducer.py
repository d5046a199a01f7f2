"""Reducers: what a job does with sorted records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from evener.kernels.cpu.work_queue import WORKERS
from evener.programs.mapreduce import kernels_cpu as kernels
from evener.programs.mapreduce.records import Sorted, SortedRun, columns_of
from evener.programs.steps import exception_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evener.elements import Element

__all__ = ["Combine", "Reduce", "Reducer"]

# Slices of the records for each thread.
_SLICES_PER_THREAD = 4


class Reducer:
    """How a job reduces records."""

    # Whether a run has each key once, so that the union of runs may be shorter than the runs.
    shrinks: bool

    def run_of(self, element: Element, found: Sorted) -> SortedRun:
        """Return the run that represents sorted records until all records are known."""
        raise NotImplementedError

    def rows_of(self, element: Element, run: SortedRun) -> SortedRun:  # noqa: ARG002 - for reducers of all values
        """Return one row for each key, from the run that represents all its records."""
        return run


class Combine(Reducer):
    """Joins two payloads at a time, by a kernel of `make_combine`; some of the records have a payload too."""

    shrinks = True

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel

    def run_of(self, element: Element, found: Sorted) -> SortedRun:
        """Return one row for each key."""
        keys, order, columns = found
        heads = np.zeros(_SLICES_PER_THREAD * numba.get_num_threads(), np.uint64)
        kernels.count_heads(keys, heads)
        dtypes = [column.dtype for column in columns]
        out_keys = element.allocate(int(heads.sum()), keys.dtype)
        out = columns_of(element, len(out_keys), dtypes)
        carry = [np.empty(len(heads), dtype) for dtype in dtypes]
        rows = np.cumsum(heads, dtype=np.uint64) - heads
        failed = np.zeros(len(heads), bool)
        self._kernel(keys, order, tuple(columns), rows, out_keys, tuple(out), tuple(carry), failed)
        if failed.any():
            raise exception_of("combine")
        return SortedRun(out_keys, out)


class Reduce(Reducer):
    """Gives all values of a key to the user's function, by a kernel of `make_reduce`.

    The columns of a row have the given types.
    """

    shrinks = False

    def __init__(self, kernel: Any, dtypes: Sequence[np.dtype[Any]]) -> None:
        self._kernel, self._dtypes = kernel, dtypes

    def run_of(self, element: Element, found: Sorted) -> SortedRun:
        """Return all records."""
        return found.in_order(element)

    def rows_of(self, element: Element, run: SortedRun) -> SortedRun:
        """Return one row for each key."""
        first = np.ones(len(run.keys), bool)
        np.not_equal(run.keys[1:], run.keys[:-1], out=first[1:])
        begins = np.flatnonzero(first)
        out_keys = run.keys[begins]
        out = columns_of(element, len(out_keys), self._dtypes)
        bounds = np.append(begins, len(run.keys)).astype(np.uint64)
        failed = np.zeros(WORKERS, bool)
        self._kernel(out_keys, bounds, tuple(run.columns), tuple(out), failed)
        if failed.any():
            raise exception_of("reduce")
        return SortedRun(out_keys, out)
