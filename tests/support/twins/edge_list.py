"""CPU twins of the kernels in ``kernels/cuda/edge_list.cu``: build a graph from edges on a GPU."""

from __future__ import annotations

import numpy as np

from evener.kernels.cpu.jit import serial

__all__ = [
    "append_keys",
    "append_weighted",
    "count_groups",
    "count_loops",
    "count_rows",
    "largest",
    "lengths_of_keys",
    "mark_first",
    "mark_ids",
    "mark_other_ends",
    "number_ids",
    "order_ends",
    "split_keys",
    "sum_rows",
    "take",
    "weight_keys",
]


@serial
def largest(values, mask):
    found = np.uint64(0)
    for i in range(len(values)):
        found = max(found, np.uint64(values[i]) & np.uint64(mask))
    return ~found


@serial
def mark_ids(ids, flags):
    for i in range(len(ids)):
        flags[ids[i]] = 1


@serial
def number_ids(ids, up_to, numbers):
    for i in range(len(ids)):
        numbers[i] = up_to[ids[i]] - 1


@serial
def count_loops(tails, heads):
    loops = 0
    for e in range(len(tails)):
        loops += tails[e] == heads[e]
    return loops


@serial
def count_rows(tails, heads, both, lengths):
    for e in range(len(tails)):
        if both < 2 or heads[e] != tails[e]:
            lengths[tails[e]] += 1
        if both and heads[e] != tails[e]:
            lengths[heads[e]] += 1


@serial
def count_groups(tails, heads, both, shift, counts):
    for e in range(len(tails)):
        if both < 2 or heads[e] != tails[e]:
            counts[tails[e] >> np.uint32(shift)] += 1
        if both and heads[e] != tails[e]:
            counts[heads[e] >> np.uint32(shift)] += 1


@serial
def _row_and_column(tails, heads, both, local, i):
    """Return edge, row and column in another order than that of the edges; the edge -1 without a row."""
    e = len(tails) - 1 - i // 2
    tail, head = (heads[e], tails[e]) if i % 2 else (tails[e], heads[e])
    there = both and tail != head if i % 2 else both < 2 or tail != head
    if len(local):
        tail, head = local[tail], local[head]
    return e if there else -1, tail, head


@serial
def append_keys(tails, heads, both, local, first, last, length, keys):
    for i in range(2 * len(tails)):
        e, row, column = _row_and_column(tails, heads, both, local, i)
        if e >= 0 and first <= row < last:
            keys[length[0]] = np.uint64(row - first) << np.uint64(32) | np.uint64(column)
            length[0] += 1


@serial
def append_weighted(tails, heads, weights, both, local, first, last, length, keys, given):
    for i in range(2 * len(tails)):
        e, row, column = _row_and_column(tails, heads, both, local, i)
        if e >= 0 and first <= row < last:
            keys[length[0]] = np.uint64(row - first) << np.uint64(32) | np.uint64(column)
            given[length[0]] = weights[e]
            length[0] += 1


@serial
def weight_keys(weights, clear, set, keys):  # noqa: A002 - the name in CUDA
    top = np.uint64(8 * weights.itemsize - 1)
    for i in range(len(weights)):
        flips = set if np.uint64(weights[i]) >> top else clear
        keys[i] = np.uint64(weights[i]) ^ np.uint64(flips)


@serial
def take(values, order, taken):
    for i in range(len(order)):
        taken[i] = values[order[i]]


@serial
def sum_rows(offsets, weights, sums):
    for v in range(len(sums)):
        sums[v] = 0
        for e in range(offsets[v], offsets[v + 1]):
            sums[v] += weights[e]


@serial
def order_ends(tails, heads):
    for e in range(len(tails)):
        tails[e], heads[e] = min(tails[e], heads[e]), max(tails[e], heads[e])


@serial
def mark_other_ends(tails, heads, flags):
    for e in range(len(tails)):
        flags[e] = tails[e] != heads[e]


@serial
def mark_first(keys, flags):
    for i in range(len(keys)):
        flags[i] = i == 0 or keys[i] != keys[i - 1]


@serial
def lengths_of_keys(keys, lengths):
    lengths[:] = 0
    for key in keys:
        lengths[key >> np.uint64(32)] += 1


@serial
def split_keys(keys, tails, heads):
    for i in range(len(keys)):
        tails[i] = keys[i] >> np.uint64(32)
        heads[i] = keys[i]
