"""CSR build: count the rows, scatter each edge to the bucket of its row, sort each bucket in cache.

A *record* is an edge in one direction, packed as ``row << 32 | target`` (uint64). A *bucket* is a range of
rows whose records fit the cache. Rows and targets are uint32, positions uint64. Weights are the bits of the
weights, as unsigned integers of the same width: types of one width share a compilation. Graphs without
weights have weight arrays of length 0.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.jit import inline_step, parallel
from evener.kernels.cpu.work_queue import WORKERS, new_counter, take_chunk

__all__ = [
    "count_rows",
    "expand_rows",
    "place_buckets",
    "scatter_records",
    "slice_bound",
    "sort_buckets",
    "sort_row",
]

ZERO, ONE, TWO, EIGHT = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(8)
HALF = np.uint64(32)
LOW_HALF = np.uint64(0xFFFFFFFF)

# Longest row, in edges, for insertion sort; longer rows use radix sort.
INSERTION = np.uint64(32)
# Rows of at least this length, in edges, use radix digits of 11 bits, shorter rows 8 bits.
LONG_ROW = np.uint64(4096)
SHORT_DIGIT, LONG_DIGIT = np.uint64(8), np.uint64(11)
DIGITS = 2048


# ---- count and scatter ------------------------------------------------------------------------------


@inline_step
def slice_bound(m, part, parts):
    """Return the first edge of slice `part`, for `m` edges in `parts` equal slices."""
    return np.uint64(m) * np.uint64(part) // np.uint64(parts)


@inline_step
def _count_slice(src, dst, first, last, shift, symmetrise, loops, counts):
    for e in range(first, last):
        u, v = np.uint64(src[e]), np.uint64(dst[e])
        apart = np.uint64(u != v)
        counts[u >> shift] += apart | loops
        if symmetrise != ZERO:  # otherwise a target may be larger than all rows
            counts[v >> shift] += apart


@parallel
def count_rows(src, dst, shift, symmetrise, loops, counts):
    """Count the records per group of ``2**shift`` rows and per thread, in ``counts[thread, group]``.

    `symmetrise` is 1 to count both directions of an edge, and `loops` is 1 to count self-loops.
    """
    threads = len(counts)
    for t in prange(threads):
        first, last = slice_bound(len(src), t, threads), slice_bound(len(src), t + 1, threads)
        _count_slice(src, dst, first, last, shift, symmetrise, loops, counts[t])


@inline_step
def _scatter_slice(
    src, dst, weights, first, last, shift, symmetrise, loops, buckets, discard, cursors, records,
    record_weights,
):  # fmt: skip
    weighted = len(weights) > 0
    for e in range(first, last):
        u, v = np.uint64(src[e]), np.uint64(dst[e])
        # No branch: a record outside this pass goes to a discard slot.
        bucket = np.uint64(buckets[u >> shift])
        bucket = discard if (u == v) & (loops == ZERO) else bucket
        where = cursors[bucket]
        cursors[bucket] = where + np.uint64(bucket < discard)
        records[where] = (u << HALF) | v
        if weighted:
            record_weights[where] = weights[e]
        if symmetrise != ZERO:
            bucket = np.uint64(buckets[v >> shift])
            bucket = discard if u == v else bucket
            where = cursors[bucket]
            cursors[bucket] = where + np.uint64(bucket < discard)
            records[where] = (v << HALF) | u
            if weighted:
                record_weights[where] = weights[e]


@parallel
def scatter_records(
    src, dst, weights, shift, symmetrise, loops, buckets, discard, cursors, records, record_weights
):
    """Write the records of a slice of edges to their buckets, each thread at its own cursors.

    ``buckets[row >> shift]`` is the bucket of a row. Values from `discard` on mark rows outside the pass;
    their entries of ``cursors[thread, bucket]`` do not advance.
    """
    threads = len(cursors)
    for t in prange(threads):
        first, last = slice_bound(len(src), t, threads), slice_bound(len(src), t + 1, threads)
        _scatter_slice(
            src, dst, weights, first, last, shift, symmetrise, loops, buckets, discard, cursors[t], records,
            record_weights,
        )  # fmt: skip


# ---- sort a bucket ----------------------------------------------------------------------------------


@inline_step
def _sort_by_insertion(targets, weights, first, last):
    weighted = len(weights) > 0
    for i in range(first + ONE, last):
        value = targets[i]
        j = i
        if weighted:
            weight = weights[i]
            while j > first and targets[j - ONE] > value:
                targets[j] = targets[j - ONE]
                weights[j] = weights[j - ONE]
                j -= ONE
            weights[j] = weight
        else:
            while j > first and targets[j - ONE] > value:
                targets[j] = targets[j - ONE]
                j -= ONE
        targets[j] = value


@inline_step
def _sort_by_digit(
    source, source_weights, start, w_start, into, into_weights, begin, w_into, length, low, mask, counters
):
    """Sort by one digit, stably, from ``source[start:]`` to ``into[begin:]``."""
    weighted = len(source_weights) > 0
    for digit in range(mask + ONE):
        counters[digit] = ZERO
    for i in range(start, start + length):
        counters[(np.uint64(source[i]) >> low) & mask] += ONE
    total = ZERO
    for digit in range(mask + ONE):
        count = counters[digit]
        counters[digit] = total
        total += count
    for i in range(length):
        value = source[start + i]
        digit = (np.uint64(value) >> low) & mask
        where = counters[digit]
        counters[digit] = where + ONE
        into[begin + where] = value
        if weighted:
            into_weights[w_into + where] = source_weights[w_start + i]


@inline_step
def sort_row(targets, weights, start, length, spare, spare_weights, begin, w_begin, bits, counters):
    """Sort ``targets[start:start + length]`` of `bits` bits and its weights, stably.

    ``spare[begin:]`` and ``spare_weights[w_begin:]`` are buffers, and `counters` (DIGITS,) uint64 is scratch.
    Returns True if the sorted row is in the buffers, False if it is in `targets`.
    """
    in_spare = False
    if length <= INSERTION:
        _sort_by_insertion(targets, weights, start, start + length)
        return in_spare
    widest = LONG_DIGIT if length >= LONG_ROW else SHORT_DIGIT
    passes = (bits + widest - ONE) // widest
    width = (bits + passes - ONE) // passes
    mask = (ONE << width) - ONE
    low = ZERO
    for _ in range(passes):
        if in_spare:
            _sort_by_digit(
                spare, spare_weights, begin, w_begin, targets, weights, start, start, length, low, mask,
                counters,
            )  # fmt: skip
        else:
            _sort_by_digit(
                targets, weights, start, start, spare, spare_weights, begin, w_begin, length, low, mask,
                counters,
            )  # fmt: skip
        in_spare = not in_spare
        low += width
    return in_spare


@inline_step
def _sort_weights(weights, first, last, signs):
    """Sort the weights of parallel edges with Shell sort, which is never quadratic.

    `signs` (2,) holds the bits to flip in weights with a clear and with a set highest bit. The bits of the
    weights then ascend as the weights do.
    """
    top = np.uint64(weights.itemsize) * EIGHT - ONE
    gap = (last - first) >> ONE
    while gap > ZERO:
        for i in range(first + gap, last):
            value = weights[i]
            key = value ^ signs[value >> top]
            j = i
            while j >= first + gap and weights[j - gap] ^ signs[weights[j - gap] >> top] > key:
                weights[j] = weights[j - gap]
                j -= gap
            weights[j] = value
        gap = ONE if gap == TWO else gap * np.uint64(5) // np.uint64(11)


@inline_step
def _write_row(
    source, source_weights, start, w_start, length, into, into_weights, begin, w_begin, drop, signs
):  # fmt: skip
    """Copy a sorted row, parallel edges sorted by weight or reduced to the lightest; return its length."""
    weighted = len(source_weights) > 0
    count = ZERO
    i = ZERO
    while i < length:
        value = source[start + i]
        end = i + ONE
        while end < length and source[start + end] == value:
            end += ONE
        if weighted and end - i > ONE:
            _sort_weights(source_weights, w_start + i, w_start + end, signs)
        kept = ONE if drop else end - i
        for k in range(kept):
            into[begin + count + k] = value
            if weighted:
                into_weights[w_begin + count + k] = source_weights[w_start + i + k]
        count += kept
        i = end
    return count


@inline_step
def _sort_bucket(
    records, halves, record_weights, first, last, row, row_end, base, bits, drop, signs, targets, weights,
    offsets,
):  # fmt: skip
    """Sort records ``first:last`` into `halves` and `record_weights`; write row ends to `offsets`.

    ``targets[base + first:]`` is a buffer. Returns the number of edges.
    """
    weighted = len(weights) > 0
    counters = np.empty(DIGITS, np.uint64)
    for r in range(row, row_end):
        offsets[r + ONE] = ZERO
    for i in range(first, last):
        offsets[(records[i] >> HALF) + ONE] += ONE
    position = base + first
    for r in range(row, row_end):
        count = offsets[r + ONE]
        offsets[r + ONE] = position
        position += count
    for i in range(first, last):
        record = records[i]
        r = (record >> HALF) + ONE
        where = offsets[r]
        offsets[r] = where + ONE
        targets[where] = np.uint32(record & LOW_HALF)
        if weighted:
            weights[where] = record_weights[i]

    # The records are no longer needed. Their memory holds the finished rows, and after them the buffer for
    # the current row.
    start = base + first
    done = ZERO
    for r in range(row, row_end):
        end = offsets[r + ONE]
        length = end - start
        here = start - base - first
        spare = first * TWO + here
        w_spare = first + here
        in_spare = sort_row(
            targets, weights, start, length, halves, record_weights, spare, w_spare, bits, counters
        )  # fmt: skip
        if in_spare:
            done += _write_row(
                halves, record_weights, spare, w_spare, length, halves, record_weights, first * TWO + done,
                first + done, drop, signs,
            )  # fmt: skip
        else:
            done += _write_row(
                targets, weights, start, start, length, halves, record_weights, first * TWO + done,
                first + done, drop, signs,
            )  # fmt: skip
        offsets[r + ONE] = done
        start = end
    return done


@parallel
def sort_buckets(
    records, halves, record_weights, starts, rows, base, bits, drop, signs, targets, weights, offsets, sizes
):
    """Sort each bucket by row and target, and drop duplicates if `drop`; ``sizes[b]`` edges remain.

    Bucket ``b`` holds records ``starts[b]:starts[b + 1]`` and rows ``rows[b]:rows[b + 1]``. `halves` is the
    uint32 view of `records`; `bits` is the number of bits of a target. `signs` is as for `_sort_weights`.
    """
    counter = new_counter()
    for _ in prange(WORKERS):
        b = take_chunk(counter, ONE)
        while b < np.uint64(len(sizes)):
            sizes[b] = _sort_bucket(
                records, halves, record_weights, starts[b], starts[b + ONE], rows[b], rows[b + ONE], base,
                bits, drop, signs, targets, weights, offsets,
            )  # fmt: skip
            b = take_chunk(counter, ONE)


@inline_step
def _place_bucket(halves, record_weights, first, size, row, row_end, position, targets, weights, offsets):
    for i in range(size):
        targets[position + i] = halves[first * TWO + i]
    if len(weights) > 0:
        for i in range(size):
            weights[position + i] = record_weights[first + i]
    for r in range(row, row_end):
        offsets[r + ONE] += position


@parallel
def place_buckets(halves, record_weights, starts, rows, sizes, positions, targets, weights, offsets):
    """Copy each sorted bucket to ``targets[positions[b]:]``, and add the position to its row ends."""
    counter = new_counter()
    for _ in prange(WORKERS):
        b = take_chunk(counter, ONE)
        while b < np.uint64(len(sizes)):
            _place_bucket(
                halves, record_weights, starts[b], sizes[b], rows[b], rows[b + ONE], positions[b], targets,
                weights, offsets,
            )  # fmt: skip
            b = take_chunk(counter, ONE)


# ---- rows of edges ------------------------------------------------------------------------------------


@inline_step
def _expand_part(offsets, start, first, last, out):
    """Write the rows of edges ``start + first : start + last``: bisection, then a linear scan."""
    low, high = ZERO, np.uint64(len(offsets)) - ONE
    while low < high:
        middle = (low + high) >> ONE
        if offsets[middle + ONE] <= start + first:
            low = middle + ONE
        else:
            high = middle
    row = low
    for e in range(first, last):
        while offsets[row + ONE] <= start + e:
            row += ONE
        out[e] = np.uint32(row)


@parallel
def expand_rows(offsets, start, out, parts):
    """Write the row of each edge, from edge `start` on, to `out`."""
    for p in prange(parts):
        _expand_part(
            offsets, start, slice_bound(len(out), p, parts), slice_bound(len(out), p + 1, parts), out
        )
