"""Edges to CSR: count the rows, hand each edge to the bucket of its row, sort every bucket in cache.

A *record* is an edge in one direction, packed as ``row << 32 | target`` (uint64). A *bucket* is a range of
rows whose records fit the cache. Rows and targets are uint32, positions uint64, all unsigned. A graph
without weights is one whose weight arrays have length 0, so that both kinds share one compilation.
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

ZERO, ONE, TWO = np.uint64(0), np.uint64(1), np.uint64(2)
HALF = np.uint64(32)
LOW_HALF = np.uint64(0xFFFFFFFF)

# Rows up to this long are sorted by insertion, longer ones by digits: 16, 24, 32, 48, 64 took 0.31, 0.30,
# 0.30, 0.31, 0.33 s to build R-MAT 20.
INSERTION = np.uint64(32)
# Digits of a row shorter than LONG_ROW have at most 8 bits, of a longer one 11: clearing and summing 2048
# counters costs as much as moving about 1000 entries.
LONG_ROW = np.uint64(4096)
SHORT_DIGIT, LONG_DIGIT = np.uint64(8), np.uint64(11)
DIGITS = 2048


# ---- count and scatter ------------------------------------------------------------------------------


@inline_step
def slice_bound(m, part, parts):
    """First edge of part `part` when `m` edges are cut into `parts` equal slices."""
    return np.uint64(m) * np.uint64(part) // np.uint64(parts)


@inline_step
def _count_slice(src, dst, first, last, shift, symmetrise, loops, counts):
    for e in range(first, last):
        u, v = np.uint64(src[e]), np.uint64(dst[e])
        apart = np.uint64(u != v)
        counts[u >> shift] += apart | loops
        counts[v >> shift] += apart & symmetrise


@parallel
def count_rows(src, dst, shift, symmetrise, loops, counts):
    """Count the records of groups of ``2**shift`` rows, each thread its slice: ``counts[thread, group]``.

    `symmetrise` and `loops` are 0 or 1: whether edges count in both directions, whether self-loops count.
    """
    threads = len(counts)
    for t in prange(threads):
        first, last = slice_bound(len(src), t, threads), slice_bound(len(src), t + 1, threads)
        _count_slice(src, dst, first, last, shift, symmetrise, loops, counts[t])


@inline_step
def _scatter_slice(
    src, dst, weights, first, last, shift, symmetrise, loops, buckets, nowhere, cursors, records, carried
):
    weighted = len(weights) > 0
    for e in range(first, last):
        u, v = np.uint64(src[e]), np.uint64(dst[e])
        # Without a branch: a record that is not of this pass goes to a slot overwritten each time.
        bucket = np.uint64(buckets[u >> shift])
        bucket = nowhere if (u == v) & (loops == ZERO) else bucket
        where = cursors[bucket]
        cursors[bucket] = where + np.uint64(bucket < nowhere)
        records[where] = (u << HALF) | v
        if weighted:
            carried[where] = weights[e]
        if symmetrise != ZERO:
            bucket = np.uint64(buckets[v >> shift])
            bucket = nowhere if u == v else bucket
            where = cursors[bucket]
            cursors[bucket] = where + np.uint64(bucket < nowhere)
            records[where] = (v << HALF) | u
            if weighted:
                carried[where] = weights[e]


@parallel
def scatter_records(src, dst, weights, shift, symmetrise, loops, buckets, nowhere, cursors, records, carried):
    """Write the records of this slice of edges to their buckets, each thread at its own cursors.

    ``buckets[row >> shift]`` is the bucket of a row, from `nowhere` on for rows of another pass: their
    entries of ``cursors[thread, bucket]`` never move.
    """
    threads = len(cursors)
    for t in prange(threads):
        first, last = slice_bound(len(src), t, threads), slice_bound(len(src), t + 1, threads)
        _scatter_slice(
            src,
            dst,
            weights,
            first,
            last,
            shift,
            symmetrise,
            loops,
            buckets,
            nowhere,
            cursors[t],
            records,
            carried,
        )


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
    """One stable pass of a radix sort, from ``source[start:]`` to ``into[begin:]``."""
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
    """Sort ``targets[start:start + length]``, numbers of `bits` bits; weights go along, equals stay in order.

    ``spare[begin:]`` and ``spare_weights[w_begin:]`` are working room. Returns whether the sorted row lies
    there; `counters` (DIGITS,) uint64 is scratch.
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
def _sort_weights(weights, first, last):
    """Shell sort, for the weights of parallel edges: seldom many, never quadratic."""
    gap = (last - first) >> ONE
    while gap > ZERO:
        for i in range(first + gap, last):
            value = weights[i]
            j = i
            while j >= first + gap and weights[j - gap] > value:
                weights[j] = weights[j - gap]
                j -= gap
            weights[j] = value
        gap = ONE if gap == TWO else gap * np.uint64(5) // np.uint64(11)


@inline_step
def _write_row(source, source_weights, start, w_start, length, into, into_weights, begin, w_begin, drop):
    """Copy a sorted row, parallel edges by weight or only the lightest; returns the edges written."""
    weighted = len(source_weights) > 0
    count = ZERO
    i = ZERO
    while i < length:
        value = source[start + i]
        end = i + ONE
        while end < length and source[start + end] == value:
            end += ONE
        if weighted and end - i > ONE:
            _sort_weights(source_weights, w_start + i, w_start + end)
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
    records, halves, carried, first, last, row, row_end, base, bits, drop, targets, weights, offsets
):
    """Sort records ``first:last``; the rows come out in `halves` (and `carried`), their ends in `offsets`.

    ``targets[base + first:]`` is working room. Returns the number of edges kept.
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
            weights[where] = carried[i]

    # The bucket's records are spent: their room holds the finished rows in front, and behind those the
    # other side of the sort of the row at hand.
    start = base + first
    done = ZERO
    for r in range(row, row_end):
        end = offsets[r + ONE]
        length = end - start
        here = start - base - first
        spare = first * TWO + here
        w_spare = first + here
        in_spare = sort_row(
            targets, weights, start, length, halves, carried, spare, w_spare, bits, counters
        )  # fmt: skip
        if in_spare:
            done += _write_row(
                halves,
                carried,
                spare,
                w_spare,
                length,
                halves,
                carried,
                first * TWO + done,
                first + done,
                drop,
            )
        else:
            done += _write_row(
                targets,
                weights,
                start,
                start,
                length,
                halves,
                carried,
                first * TWO + done,
                first + done,
                drop,
            )
        offsets[r + ONE] = done
        start = end
    return done


@parallel
def sort_buckets(records, halves, carried, starts, rows, base, bits, drop, targets, weights, offsets, sizes):
    """Sort each bucket by row and target and fold its parallel edges; ``sizes[bucket]`` edges are kept.

    Bucket ``b`` holds records ``starts[b]:starts[b + 1]`` and rows ``rows[b]:rows[b + 1]``. `halves` is
    `records` seen as uint32; `bits` is the number of bits of a target.
    """
    counter = new_counter()
    for _ in prange(WORKERS):
        b = take_chunk(counter, ONE)
        while b < np.uint64(len(sizes)):
            sizes[b] = _sort_bucket(
                records, halves, carried, starts[b], starts[b + ONE], rows[b], rows[b + ONE], base, bits,
                drop, targets, weights, offsets,
            )  # fmt: skip
            b = take_chunk(counter, ONE)


@inline_step
def _place_bucket(halves, carried, first, size, row, row_end, position, targets, weights, offsets):
    for i in range(size):
        targets[position + i] = halves[first * TWO + i]
    if len(weights) > 0:
        for i in range(size):
            weights[position + i] = carried[first + i]
    for r in range(row, row_end):
        offsets[r + ONE] += position


@parallel
def place_buckets(halves, carried, starts, rows, sizes, positions, targets, weights, offsets):
    """Copy each sorted bucket to its final place, ``targets[positions[b]:]``, and move its row ends there."""
    counter = new_counter()
    for _ in prange(WORKERS):
        b = take_chunk(counter, ONE)
        while b < np.uint64(len(sizes)):
            _place_bucket(
                halves, carried, starts[b], sizes[b], rows[b], rows[b + ONE], positions[b], targets, weights,
                offsets,
            )  # fmt: skip
            b = take_chunk(counter, ONE)


# ---- the rows of edges --------------------------------------------------------------------------------


@inline_step
def _expand_part(offsets, start, first, last, out):
    """Rows of edges ``start + first : start + last``, found by bisection and then in step."""
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
    """Write the row of each edge from edge `start` on."""
    for p in prange(parts):
        _expand_part(
            offsets, start, slice_bound(len(out), p, parts), slice_bound(len(out), p + 1, parts), out
        )
