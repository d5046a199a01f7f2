"""Scores of pairs of vertices, from the common neighbours of their rows.

Arrays are those of `neighbour_rows_cpu`. Rows ascend. Consecutive pairs with the same longer row share a
table of it. For a single short row, its targets are searched in the longer row, with steps of doubling
length.

- `weights` (L + M,) float64: the weight of a common neighbour; empty if each has weight 1.
- `measure`: 0 for the sum of the weights, 1 for Jaccard's coefficient, 2 for the overlap coefficient.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.jit import inline_step, parallel, vertex_step
from evener.kernels.cpu.work_queue import WORKERS, new_counter, take_chunk
from evener.primitives.common_neighbours_cpu import common_neighbours, enter_row, leave_row, new_table
from evener.primitives.neighbour_rows_cpu import longest_row

__all__ = ["score_pairs", "weigh_neighbours"]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
# Pairs in a chunk.
_CHUNK = np.uint64(1 << 8)
# Targets that a table is filled with in the time of a search in a row.
_SEARCH = np.uint64(8)


@inline_step
def _weight(length, logarithm):
    if length == 0 or (logarithm and length == 1):
        return 0.0
    return 1 / np.log(length) if logarithm else 1 / length


@parallel
def weigh_neighbours(lengths, logarithm, weights):
    """Write one over the length of each row, or over its logarithm; 0 if the divisor is 0."""
    for v in prange(np.int64(len(weights))):
        weights[v] = _weight(np.float64(lengths[v]), logarithm)


@vertex_step
def _common(targets, begin, end, others, low, high, weights):
    """Return the sum of the weights of the targets ``begin:end`` that are among the others ``low:high``."""
    total = 0.0
    for e in range(begin, end):
        target = targets[e]
        step = _ONE
        while low + step < high and others[low + step] < target:
            low += step
            step += step
        last = min(low + step, high)
        while low < last:
            middle = (low + last) >> _ONE
            if others[middle] < target:
                low = middle + _ONE
            else:
                last = middle
        if low == high:
            break
        if others[low] == target:
            total += weights[target] if len(weights) > 0 else 1.0
    return total


@vertex_step
def score_of(common, length, other, measure):
    """Return the score of two rows with these lengths."""
    if measure == 0:
        return common
    total = length + other - common if measure == 1 else min(length, other) + 0.0
    return common / total if total > 0 else 0.0


@inline_step
def _score_group(
    row_offsets, row_targets, first, other_offsets, other_targets, second, weights, measure, scores, begin,
    end, table,
):  # fmt: skip
    """Write the scores of consecutive pairs with the same first vertex, by a table if they are enough."""
    u = np.uint64(first[begin])
    from_u, to_u = row_offsets[u], row_offsets[u + _ONE]
    total = _ZERO
    for i in range(begin, end):
        v = np.uint64(second[i])
        total += other_offsets[v + _ONE] - other_offsets[v]
    entered = total * _SEARCH > to_u - from_u
    mask = enter_row(row_targets, from_u, to_u, table) if entered else _ZERO
    for i in range(begin, end):
        v = np.uint64(second[i])
        from_v, to_v = other_offsets[v], other_offsets[v + _ONE]
        if to_u - from_u < to_v - from_v:
            common = _common(row_targets, from_u, to_u, other_targets, from_v, to_v, weights)
        elif entered:
            count = common_neighbours(other_targets, from_v, to_v, mask, table)
            common = np.float64(count)
            if len(weights) > 0:
                common = 0.0
                for k in range(count):
                    common += weights[row_targets[from_u + table.found[k]]]
        else:
            common = _common(other_targets, from_v, to_v, row_targets, from_u, to_u, weights)
        scores[i] = score_of(common, np.float64(to_u - from_u), np.float64(to_v - from_v), measure)
    if entered:
        leave_row(row_targets, from_u, to_u, table)


@inline_step
def _score_by_worker(
    row_offsets, row_targets, first, other_offsets, other_targets, second, weights, measure, scores, longest,
    counter,
):  # fmt: skip
    count = np.uint64(len(first))
    table = new_table(longest)
    begin = take_chunk(counter, _CHUNK)
    while begin < count:
        last = min(begin + _CHUNK, count)
        while begin < last:
            end = begin + _ONE
            while end < last and first[end] == first[begin]:
                end += _ONE
            _score_group(
                row_offsets, row_targets, first, other_offsets, other_targets, second, weights, measure,
                scores, begin, end, table,
            )  # fmt: skip
            begin = end
        begin = take_chunk(counter, _CHUNK)


@parallel
def score_pairs(
    row_offsets, row_targets, first, other_offsets, other_targets, second, weights, measure, scores
):
    """Write the score of each pair of an owned vertex and of a vertex with one of the other rows.

    Pairs with the same first vertex should follow each other, and their first row should be the longer.
    """
    longest = max(longest_row(row_offsets), longest_row(other_offsets))
    counter = new_counter()
    for _ in prange(WORKERS):
        _score_by_worker(
            row_offsets, row_targets, first, other_offsets, other_targets, second, weights, measure, scores,
            longest, counter,
        )  # fmt: skip
