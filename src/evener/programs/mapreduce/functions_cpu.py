"""Kernels with the functions of the user compiled in: map, combine, reduce and, for GIM-V, assign.

The last argument of each function is `numbers`, a tuple of the numbers that functions use from outside.

`emit(source, target, local, weight, value, target_value, degree, n, numbers)` returns a pair (key, payload),
or None, for an edge. `source` and `target` are numbers of vertices in the graph, `local` is the partition's
number of the target. `assign` and `until` have the parameters that `evener.gimv` describes.

Records are sorted by key. Columns are sorted too, or `order` has the position of each record in them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import prange, types
from numba.extending import intrinsic

from evener.kernels.cpu.build import slice_bound
from evener.kernels.cpu.jit import guarded, inline_step, inlined, uncached_parallel
from evener.kernels.cpu.work_queue import WORKERS, new_counter, take_chunk

if TYPE_CHECKING:
    from evener.programs.payload import Payload

__all__ = [
    "make_assign", "make_combine", "make_emit", "make_map", "make_merge", "make_reduce", "without_none",
]  # fmt: skip

_ZERO, _ONE, _TWO = np.uint64(0), np.uint64(1), np.uint64(2)
# The end of a piece for which `emit` raised an exception.
_FAILED = np.uint64(0xFFFFFFFFFFFFFFFF)
# Keys, and vertices, that a thread takes at a time.
_KEYS_PER_CHUNK = np.uint64(16)
_VERTICES_PER_PIECE = 1 << 12


@intrinsic
def without_none(typingctx, value):  # noqa: ARG001 - Numba's signature for an intrinsic
    """Return the value of an optional that is not None."""
    if not isinstance(value, types.Optional):
        return value(value), lambda context, builder, signature, args: args[0]  # noqa: ARG005 - as above

    def codegen(context, builder, signature, args):  # noqa: ARG001 - as above
        return context.make_helper(builder, value, value=args[0]).data

    return value.type(value), codegen


@inline_step
def _row_of(offsets, e):
    """Return the row of an edge, by bisection; `np.searchsorted` would take five times as long to compile."""
    row, end = _ZERO, np.uint64(len(offsets) - 1)
    while row + _ONE < end:
        middle = (row + end) // _TWO
        if offsets[middle] <= e:
            row = middle
        else:
            end = middle
    return row


def make_emit(wide: Any, combine2: Any) -> Any:
    """Return the function `emit` of GIM-V: the message of the source, with the local target as key.

    `combine2` sees weights as `wide`.
    """

    @inlined
    def emit(source, target, local, weight, value, target_value, degree, n, numbers):  # noqa: ARG001 - as map functions
        return local, combine2(wide(weight), value, degree, source, n, numbers)

    return emit


def make_map(
    emit: Any, *, payload: Payload, value: Payload, weight: Any, reads_value: bool, reads_target: bool
) -> Any:
    """Return the kernel `map_edges`, with the function `emit` compiled into it.

    `payload` is that of the pair that `emit` returns, and `value` the value of a vertex. `weight` is
    ``np.float64`` or ``np.int64``, or None if edges have no weights. `emit` may read the value of the source,
    and that of the target.
    """
    weighted = weight is not None
    wide = weight if weighted else np.int64
    store, load = payload.store, value.load

    @inline_step
    def map_piece(
        numbers, begin, end, at, offsets, targets, weights, vertices, degree, values, n, keys, columns
    ):
        row = _row_of(offsets, begin)
        e = begin
        while e < end:
            stop = min(offsets[row + _ONE], end)
            source, own_degree = np.int64(vertices[row]), np.int64(degree[row])
            own = load(values, row if reads_value else _ZERO)
            for i in range(e, stop):
                local = np.uint64(targets[i])
                pair = emit(
                    source,
                    np.int64(vertices[local]),
                    local,
                    wide(weights[i]) if weighted else wide(1),
                    own,
                    load(values, local if reads_target else _ZERO),
                    own_degree,
                    n,
                    numbers,
                )
                if pair is not None:
                    found = without_none(pair)
                    keys[at] = found[0]
                    store(columns, at, found[1])
                    at += _ONE
            e = stop
            row += _ONE
        return at

    guarded_piece = guarded(map_piece, failed=_FAILED)

    @uncached_parallel
    def map_edges(
        numbers, begin, end, step, offsets, targets, weights, vertices, degree, values, n, keys, columns,
        counts,
    ):  # fmt: skip
        """Write the pairs of the edges ``begin:end``; ``counts[k]`` is the number of pairs of piece ``k``.

        It is more than `step` if `emit` raised an exception.
        """
        for k in prange(len(counts)):
            at = np.uint64(k) * step
            first = begin + at
            last = min(first + step, end)
            counts[k] = (
                guarded_piece(
                    numbers,
                    first,
                    last,
                    at,
                    offsets,
                    targets,
                    weights,
                    vertices,
                    degree,
                    values,
                    n,
                    keys,
                    columns,
                )
                - at
            )

    return map_edges


def make_combine(combine: Any, *, payload: Payload, ordered: bool) -> Any:
    """Return the kernel `combine_records`, with the function `combine` compiled into it.

    If `ordered`, `order` has the positions of the records in the columns. Each thread has an equal slice of
    the records, so several threads share a key with many records.
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


def make_merge(combine: Any, *, payload: Payload) -> Any:
    """Return the kernel `merge_rows`, with the function `combine` compiled into it."""
    load, store = payload.load, payload.store

    @inline_step
    def merge_slice(numbers, begin, end, index, columns, merged):
        for i in range(begin, end):
            at = np.uint64(index[i])
            store(merged, at, combine(load(merged, at), load(columns, i), numbers))
        return False

    guarded_slice = guarded(merge_slice, failed=True)

    @uncached_parallel
    def merge_rows(numbers, index, columns, merged, failed):
        """Combine each payload of `columns` into ``merged[index]``; `index` has each position once.

        ``failed[t]`` becomes true if `combine` raises an exception for slice ``t``.
        """
        slices = len(failed)
        for t in prange(slices):
            begin, end = slice_bound(len(index), t, slices), slice_bound(len(index), t + 1, slices)
            failed[t] = guarded_slice(numbers, begin, end, index, columns, merged)

    return merge_rows


def make_reduce(reduce: Any, *, values: Payload, result: Payload) -> Any:
    """Return the kernel `reduce_rows`, with a function compiled into it that reduces `values` to `result`.

    The function gets all values of a key at once.
    """
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


def make_assign(assign: Any, until: Any, *, value: Payload, message: Payload) -> Any:
    """Return the kernel `assign_values`, with the operators compiled into it, for what they see.

    Values, first values and messages are tuples of arrays, one for each field.
    """
    load, store, load_message = value.load, value.store, message.load
    size_of, distance = value.size, value.distance

    @inline_step
    def assign_piece(numbers, begin, end, messages, degree, vertices, n, total, initial, values):
        change = 0.0
        size = 0.0
        converged = np.int64(0)
        for v in range(begin, end):
            own_degree, vertex = np.int64(degree[v]), np.int64(vertices[v])
            old, start = load(values, v), load(initial, v)
            message = load_message(messages, v)
            store(values, v, assign(old, message, own_degree, vertex, n, total, start, numbers))
            new = load(values, v)
            size += size_of(new)
            change += distance(old, new)
            if until(old, new, own_degree, vertex, n, total, start, numbers):
                converged += 1
        return converged, change, size

    guarded_piece = guarded(assign_piece, failed=(np.int64(0), np.nan, np.nan))

    @uncached_parallel
    def assign_values(numbers, messages, degree, vertices, n, total, initial, values):
        """Write the next value of each vertex.

        Returns (converged vertices, sum of all changes, sum of the absolute values). The sums are NaN if an
        operator raises an exception.
        """
        change = 0.0
        size = 0.0
        converged = np.int64(0)
        vertices_here = len(values[0])
        for k in prange((vertices_here + _VERTICES_PER_PIECE - 1) // _VERTICES_PER_PIECE):
            begin = np.uint64(k * _VERTICES_PER_PIECE)
            end = min(begin + np.uint64(_VERTICES_PER_PIECE), np.uint64(vertices_here))
            ready, moved, own_size = guarded_piece(
                numbers, begin, end, messages, degree, vertices, n, total, initial, values
            )
            converged += ready
            change += moved
            size += own_size
        return converged, change, size

    return assign_values
