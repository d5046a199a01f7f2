"""CPU twins of the kernels in ``kernels/cuda/pull.cu``: sum the values of each row's neighbours.

`evener.kernels.cpu.column_blocks` describes the layout of the edges. ``partial[places[i]:]`` receives the
sums of item ``i``, one for each row of its tile. `values` and `partial` are float32. `taken` (blocks + 1,)
contains counters of the GPU kernel: all zero before and after.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.column_blocks import LANES, NO_TARGET, PLACES, SLICES
from evener.kernels.cpu.jit import inline_step, parallel
from support.twins.column_blocks import high_column, low_column

__all__ = ["local_sums", "remainder_sums"]

_ONE = np.uint64(1)


@inline_step
def _put_rows(lanes, width, partial, place):
    """Write the sum of the lanes of each row."""
    for row in range(LANES // width):
        total = 0.0
        for lane in range(row * width, (row + 1) * width):
            total += lanes[lane]
        partial[place + row] = total


@inline_step
def _local_item(item, width, start, ends, order, place, pairs, columns, first, values, partial):
    lanes = np.zeros(LANES, np.float64)
    for position in range(LANES):
        s = position // PLACES
        begin = 0 if s == 0 else np.int64(ends[item * SLICES + s - 1])
        total = 0.0
        for step in range(begin, np.int64(ends[item * SLICES + s])):
            pair = pairs[(start + step) * PLACES + position % PLACES]
            for column in (np.int64(low_column(pair)), np.int64(high_column(pair))):
                if column < columns:
                    total += values[first + column]
        lanes[order[item * LANES + position % PLACES * SLICES + s]] = total
    _put_rows(lanes, width, partial, place)


@parallel
def local_sums(
    block_items, width, starts, ends, order, places, pairs, columns, values, partial, taken  # noqa: ARG001 - OpenMP schedules the items
):  # fmt: skip
    """Write the sums of each local item. Block ``k`` has the items ``block_items[k]:block_items[k + 1]``."""
    for block in range(len(block_items) - 1):
        for item in prange(block_items[block], block_items[block + 1]):
            _local_item(
                np.int64(item), np.int64(width[item]), np.int64(starts[item]), ends, order,
                np.int64(places[item]), pairs, np.int64(columns), block * np.int64(columns), values, partial,
            )  # fmt: skip


@inline_step
def _remainder_item(item, width, start, ends, order, place, singles, values, partial):
    lanes = np.zeros(LANES, np.float64)
    for position in range(LANES):
        s = position // PLACES
        begin = 0 if s == 0 else np.int64(ends[item * SLICES + s - 1])
        total = 0.0
        for step in range(begin, np.int64(ends[item * SLICES + s])):
            column = singles[(start + step) * PLACES + position % PLACES]
            if column != NO_TARGET:
                total += values[column]
        lanes[order[item * LANES + position % PLACES * SLICES + s]] = total
    _put_rows(lanes, width, partial, place)


@parallel
def remainder_sums(width, starts, ends, order, places, singles, values, partial):
    """Write the sums of each remainder."""
    for item in prange(len(width)):
        _remainder_item(
            np.int64(item), np.int64(width[item]), np.int64(starts[item]), ends, order,
            np.int64(places[item]), singles, values, partial,
        )  # fmt: skip
