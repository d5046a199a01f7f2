"""Pull: for each row the sums of its neighbours' values, near blocks of columns and far edges apart.

Edges are those that `evener.kernels.cpu.column_blocks` lays out. ``partial[places[i]:]`` receives the sums
over item ``i``, one for each row of its tile; `values` and sums are float32. In `taken` (blocks + 1,) the
threads of a GPU count the items of each block that they have taken: all zero, before and after.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.column_blocks import LANES, NOWHERE, PLACES, SLICES, place_of_high, place_of_low
from evener.kernels.cpu.jit import inline_step, parallel

__all__ = ["far", "near"]

_ONE = np.uint64(1)


@inline_step
def _put_rows(lanes, width, partial, place):
    """Add up the lanes of each row."""
    for row in range(LANES // width):
        total = 0.0
        for lane in range(row * width, (row + 1) * width):
            total += lanes[lane]
        partial[place + row] = total


@inline_step
def _near_item(item, width, start, ends, order, place, pairs, columns, first, values, partial):
    lanes = np.zeros(LANES, np.float64)
    for position in range(LANES):
        s = position // PLACES
        begin = 0 if s == 0 else np.int64(ends[item * SLICES + s - 1])
        total = 0.0
        for step in range(begin, np.int64(ends[item * SLICES + s])):
            pair = pairs[(start + step) * PLACES + position % PLACES]
            for column in (np.int64(place_of_low(pair)), np.int64(place_of_high(pair))):
                if column < columns:
                    total += values[first + column]
        lanes[order[item * LANES + position % PLACES * SLICES + s]] = total
    _put_rows(lanes, width, partial, place)


@parallel
def near(
    block_items, width, starts, ends, order, places, pairs, columns, values, partial, taken  # noqa: ARG001 - Numba deals items out
):  # fmt: skip
    """The sums over the edges of each item; block ``k`` has ``block_items[k]:block_items[k + 1]``."""
    for block in range(len(block_items) - 1):
        for item in prange(block_items[block], block_items[block + 1]):
            _near_item(
                np.int64(item), np.int64(width[item]), np.int64(starts[item]), ends, order,
                np.int64(places[item]), pairs, np.int64(columns), block * np.int64(columns), values, partial,
            )  # fmt: skip


@inline_step
def _far_item(item, width, start, ends, order, place, singles, values, partial):
    lanes = np.zeros(LANES, np.float64)
    for position in range(LANES):
        s = position // PLACES
        begin = 0 if s == 0 else np.int64(ends[item * SLICES + s - 1])
        total = 0.0
        for step in range(begin, np.int64(ends[item * SLICES + s])):
            column = singles[(start + step) * PLACES + position % PLACES]
            if column != NOWHERE:
                total += values[column]
        lanes[order[item * LANES + position % PLACES * SLICES + s]] = total
    _put_rows(lanes, width, partial, place)


@parallel
def far(width, starts, ends, order, places, singles, values, partial):
    """The sums over the far edges of each item."""
    for item in prange(len(width)):
        _far_item(
            np.int64(item), np.int64(width[item]), np.int64(starts[item]), ends, order,
            np.int64(places[item]), singles, values, partial,
        )  # fmt: skip
