"""CPU twins of the kernels in ``kernels/cuda/column_blocks.cu``: sort edges into column blocks.

`evener.kernels.cpu.column_blocks` describes the layout.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.column_blocks import LANES, NO_TARGET, PLACES, SLICES
from evener.kernels.cpu.jit import inline_step, parallel

__all__ = [
    "choose",
    "count_remainder",
    "fill_local",
    "fill_remainder",
    "high_column",
    "low_column",
    "measure_local",
    "measure_remainder",
    "pair_of",
    "widths",
]

# One more than the largest column.
_END = 1 << 32


@inline_step
def pair_of(low, high):
    """Pack two columns of a block into one word, as in ``kernels/cuda/tiles.cuh``."""
    both = np.uint32(low) | np.uint32(high) << np.uint32(16)
    return np.uint32(both << np.uint32(2)) | both >> np.uint32(30)


@inline_step
def low_column(pair):
    """Return the first column of a pair."""
    return pair >> np.uint32(2) & np.uint32(0xFFFF)


@inline_step
def high_column(pair):
    """Return the second column of a pair."""
    return (pair >> np.uint32(18) | pair << np.uint32(14)) & np.uint32(0xFFFF)


@parallel
def widths(offsets, lane_edges, columns, width):
    """Write the number of lanes per row for each run of `LANES` rows.

    With this number, a lane has at most about `lane_edges` edges in a block.
    """
    rows = len(offsets) - 1
    for run in prange(len(width)):
        longest = 0
        for v in range(run * LANES, min((run + 1) * LANES, rows)):
            longest = max(longest, np.int64(offsets[v + 1]) - np.int64(offsets[v]))
        longest = min(longest, np.int64(columns))
        lanes = 1
        while lanes < LANES and lanes * np.int64(lane_edges) < longest:
            lanes *= 2
        width[run] = lanes


@parallel
def choose(offsets, targets, tile_row, tile_width, columns, blocks, fewest, local):
    """Set the bit of each block in which a tile has at least `fewest` edges. Clear the other bits."""
    rows = len(offsets) - 1
    words = (np.int64(blocks) + 31) // 32
    for t in prange(len(tile_row)):
        count = np.zeros(words * 32, np.int64)
        last = min(np.int64(tile_row[t]) + LANES // np.int64(tile_width[t]), rows)
        for e in range(np.int64(offsets[tile_row[t]]), np.int64(offsets[last])):
            k = np.int64(targets[e]) // np.int64(columns)
            if k < np.int64(blocks):
                count[k] += 1
        for word in range(words):
            bits = 0
            for k in range(32):
                if count[word * 32 + k] >= np.int64(fewest):
                    bits |= 1 << k
            local[t * words + word] = bits


@inline_step
def _first_from(targets, begin, end, column):
    while begin < end:
        middle = (begin + end) // 2
        if np.int64(targets[middle]) < column:
            begin = middle + 1
        else:
            end = middle
    return begin


@inline_step
def _lane_edges(offsets, targets, row, width, lane, begin, end):
    """Return a lane's edges to the columns ``begin:end``: (first, end); the stride is `width`."""
    v = row + lane // width
    if v + 1 >= len(offsets):
        return 0, 0
    start, stop = np.int64(offsets[v]), np.int64(offsets[v + 1])
    first = start if begin == 0 else _first_from(targets, start, stop, begin)
    last = stop if end >= _END else _first_from(targets, first, stop, end)
    return first + (lane % width - (first - start) % width) % width, last


@inline_step
def _ranked(steps):
    """Return the lanes sorted by steps, most steps first. The sort is stable."""
    place = np.empty(LANES, np.int64)
    for lane in range(LANES):
        before = 0
        for other in range(LANES):
            if steps[other] > steps[lane] or (steps[other] == steps[lane] and other < lane):
                before += 1
        place[before] = lane
    return place


@inline_step
def _put_ends(item, steps, ends):
    lanes = _ranked(steps)
    end = 0
    for s in range(SLICES):
        end += steps[lanes[s * PLACES]]
        ends[item * SLICES + s] = end


@inline_step
def _measure_local_item(offsets, targets, row, width, begin, end, item, ends):
    steps = np.zeros(LANES, np.int64)
    for lane in range(LANES):
        first, last = _lane_edges(offsets, targets, row, width, lane, begin, end)
        steps[lane] = (len(range(first, last, width)) + 1) // 2
    _put_ends(item, steps, ends)


@parallel
def measure_local(offsets, targets, tile_row, tile_width, tile, block, columns, ends):
    """Write where the slices of each local item end, in steps of two edges per lane."""
    for item in prange(len(tile)):
        row, width = np.int64(tile_row[tile[item]]), np.int64(tile_width[tile[item]])
        begin = np.int64(block[item]) * np.int64(columns)
        end = begin + np.int64(columns)
        _measure_local_item(offsets, targets, row, width, begin, end, np.int64(item), ends)


@inline_step
def _fill_local_item(offsets, targets, row, width, begin, columns, item, start, order, pairs):
    first = np.zeros(LANES, np.int64)
    last = np.zeros(LANES, np.int64)
    steps = np.zeros(LANES, np.int64)
    for lane in range(LANES):
        first[lane], last[lane] = _lane_edges(offsets, targets, row, width, lane, begin, begin + columns)
        steps[lane] = (len(range(first[lane], last[lane], width)) + 1) // 2
    lanes = _ranked(steps)
    step = start
    for s in range(SLICES):
        longest = steps[lanes[s * PLACES]]
        for place in range(PLACES):
            lane = lanes[s * PLACES + place]
            order[item * LANES + place * SLICES + s] = lane
            e = first[lane]
            for j in range(longest):
                low, high = columns, columns
                if e < last[lane]:
                    low = np.int64(targets[e]) - begin
                if e + width < last[lane]:
                    high = np.int64(targets[e + width]) - begin
                e += 2 * width
                pairs[(step + j) * PLACES + place] = pair_of(low, high)
        step += longest


@parallel
def fill_local(offsets, targets, tile_row, tile_width, tile, block, columns, starts, order, pairs):
    """Write the words and the lane order of each local item, from step ``starts[i]`` on."""
    for item in prange(len(tile)):
        row, width = np.int64(tile_row[tile[item]]), np.int64(tile_width[tile[item]])
        begin = np.int64(block[item]) * np.int64(columns)
        _fill_local_item(
            offsets, targets, row, width, begin, np.int64(columns), np.int64(item), np.int64(starts[item]),
            order, pairs,
        )  # fmt: skip


@inline_step
def _in_remainder(target, t, columns, blocks, local):
    k = np.int64(target) // columns
    return k >= blocks or not np.int64(local[t * ((blocks + 31) // 32) + k // 32]) >> (k % 32) & 1


@inline_step
def _remainder_steps(offsets, targets, row, width, t, begin, end, columns, blocks, local):
    steps = np.zeros(LANES, np.int64)
    for lane in range(LANES):
        first, last = _lane_edges(offsets, targets, row, width, lane, begin, end)
        for e in range(first, last, width):
            if _in_remainder(targets[e], t, columns, blocks, local):
                steps[lane] += 1
    return steps


@parallel
def count_remainder(
    offsets, targets, tile_row, tile_width, columns, blocks, local, owned, band, own_bands, counts
):  # fmt: skip
    """Write the number of edges in the remainder of each tile, for each band of columns.

    A band has `band` columns. The first `own_bands` bands have the columns before `owned`.
    """
    rows, bands = len(offsets) - 1, len(counts) // len(tile_row)
    counts[:] = 0
    for t in prange(len(tile_row)):
        last = min(np.int64(tile_row[t]) + LANES // np.int64(tile_width[t]), rows)
        for e in range(np.int64(offsets[tile_row[t]]), np.int64(offsets[last])):
            if _in_remainder(targets[e], np.int64(t), np.int64(columns), np.int64(blocks), local):
                target = np.int64(targets[e])
                if target < np.int64(owned):
                    number = target // np.int64(band)
                else:
                    number = np.int64(own_bands) + (target - np.int64(owned)) // np.int64(band)
                counts[t * bands + number] += 1


@parallel
def measure_remainder(
    offsets, targets, tile_row, tile_width, tile, first_column, end_column, columns, blocks, local, ends
):  # fmt: skip
    """Write where the slices of each remainder item end, in steps of one edge per lane.

    Item ``i`` has the edges to the columns ``first_column[i]:end_column[i]``.
    """
    for item in prange(len(tile)):
        t = np.int64(tile[item])
        row, width = np.int64(tile_row[t]), np.int64(tile_width[t])
        steps = _remainder_steps(
            offsets, targets, row, width, t, np.int64(first_column[item]), np.int64(end_column[item]),
            np.int64(columns), np.int64(blocks), local,
        )  # fmt: skip
        _put_ends(np.int64(item), steps, ends)


@inline_step
def _fill_remainder_item(
    offsets, targets, row, width, t, begin, end, columns, blocks, local, item, start, order, singles
):
    steps = _remainder_steps(offsets, targets, row, width, t, begin, end, columns, blocks, local)
    lanes = _ranked(steps)
    step = start
    for s in range(SLICES):
        longest = steps[lanes[s * PLACES]]
        for place in range(PLACES):
            lane = lanes[s * PLACES + place]
            order[item * LANES + place * SLICES + s] = lane
            first, last = _lane_edges(offsets, targets, row, width, lane, begin, end)
            j = step
            for e in range(first, last, width):
                if _in_remainder(targets[e], t, columns, blocks, local):
                    singles[j * PLACES + place] = targets[e]
                    j += 1
            for empty in range(j, step + longest):
                singles[empty * PLACES + place] = NO_TARGET
        step += longest


@parallel
def fill_remainder(
    offsets, targets, tile_row, tile_width, tile, first_column, end_column, columns, blocks, local, starts,
    order, singles,
):  # fmt: skip
    """Write the words and the lane order of each remainder item, from step ``starts[i]`` on."""
    for item in prange(len(tile)):
        t = np.int64(tile[item])
        row, width = np.int64(tile_row[t]), np.int64(tile_width[t])
        _fill_remainder_item(
            offsets, targets, row, width, t, np.int64(first_column[item]), np.int64(end_column[item]),
            np.int64(columns), np.int64(blocks), local, np.int64(item), np.int64(starts[item]),
            order, singles,
        )  # fmt: skip
