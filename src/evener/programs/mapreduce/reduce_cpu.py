"""The reduce stage: one payload for all records of a key, which are next to each other.

`make_combine` joins two payloads at a time. Each thread has an equal slice of the records, so several threads
share a key with many records. `make_reduce` gives all values of a key to the user's function at once.

Records are sorted by key. Columns are sorted too, or `order` has the position of each record in them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import prange

from evener.kernels.cpu.build import slice_bound
from evener.kernels.cpu.jit import guarded, inline_step, inlined, uncached_parallel
from evener.kernels.cpu.work_queue import WORKERS, new_counter, take_chunk

if TYPE_CHECKING:
    from evener.programs.payload import Payload

__all__ = ["make_combine", "make_reduce"]

_ZERO, _ONE = np.uint64(0), np.uint64(1)
# Keys that a thread takes at a time.
_KEYS_PER_CHUNK = np.uint64(16)


def make_combine(combine: Any, *, payload: Payload, ordered: bool) -> Any:
    """Return the kernel `combine_records`, with the function `combine` compiled into it.

    If `ordered`, `order` has the positions of the records in the columns.
    """
    load, store, cast = payload.load, payload.store, payload.cast

    @inlined
    def position(order, i):
        return np.uint64(order[i]) if ordered else i

    @inline_step
    def fold(numbers, keys, order, columns, i, end):
        """Return the combined payload of the records from `i` on with one key, and the first other record."""
        key = keys[i]
        joined = load(columns, position(order, i))
        i += _ONE
        while i < end and keys[i] == key:
            joined = cast(combine(joined, load(columns, position(order, i)), numbers))
            i += _ONE
        return joined, i

    @inline_step
    def combine_slice(numbers, keys, order, columns, begin, end, row, out_keys, out_columns, carry, t):
        i = begin
        if _ZERO < i < end and keys[i] == keys[i - _ONE]:  # a key of the slice before
            joined, i = fold(numbers, keys, order, columns, i, end)
            store(carry, t, joined)
        while i < end:
            out_keys[row] = keys[i]
            joined, i = fold(numbers, keys, order, columns, i, end)
            store(out_columns, row, joined)
            row += _ONE
        return False

    guarded_slice = guarded(combine_slice, failed=True)

    @uncached_parallel
    def combine_records(numbers, keys, order, columns, rows, out_keys, out_columns, carry, failed):
        """Write one row for each key; ``rows[t]`` is the number of keys that begin before slice ``t``.

        ``failed[t]`` becomes true if `combine` raises an exception for slice ``t``.
        """
        slices = len(rows)
        for t in prange(slices):
            begin, end = slice_bound(len(keys), t, slices), slice_bound(len(keys), t + 1, slices)
            # `t` is int64 or uint64, because Numba compiles a parallel loop twice.
            failed[t] = guarded_slice(
                numbers, keys, order, columns, begin, end, rows[t], out_keys, out_columns, carry, np.uint64(t)
            )
        for t in range(1, slices):
            begin, end = slice_bound(len(keys), t, slices), slice_bound(len(keys), t + 1, slices)
            if _ZERO < begin < end and keys[begin] == keys[begin - _ONE]:
                row = rows[t] - _ONE
                store(out_columns, row, combine(load(out_columns, row), load(carry, np.uint64(t)), numbers))

    return combine_records


def make_reduce(reduce: Any, *, values: Payload, result: Payload) -> Any:
    """Return the kernel `reduce_rows`, with a function compiled into it that reduces `values` to `result`."""
    cut, store = values.slice, result.store

    @inline_step
    def reduce_share(numbers, out_keys, bounds, columns, out_columns, counter):
        rows = np.uint64(len(out_keys))
        first = take_chunk(counter, _KEYS_PER_CHUNK)
        while first < rows:
            for row in range(first, min(first + _KEYS_PER_CHUNK, rows)):
                found = cut(columns, bounds[row], bounds[row + _ONE])
                store(out_columns, row, reduce(np.int64(out_keys[row]), found, numbers))
            first = take_chunk(counter, _KEYS_PER_CHUNK)
        return False

    guarded_share = guarded(reduce_share, failed=True)

    @uncached_parallel
    def reduce_rows(numbers, out_keys, bounds, columns, out_columns, failed):
        """Write one row for each key; the values of row ``r`` are at ``bounds[r]:bounds[r + 1]``.

        A value of `failed`, of shape (WORKERS,), becomes true if `reduce` raises an exception.
        """
        counter = new_counter()
        for w in prange(WORKERS):
            failed[w] = guarded_share(numbers, out_keys, bounds, columns, out_columns, counter)

    return reduce_rows
