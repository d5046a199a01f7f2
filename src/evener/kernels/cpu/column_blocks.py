"""Columns: edges sorted into blocks of columns, for sums that a GPU takes one block after another.

A *tile* is rows in a run: ``tile_width[t]`` lanes for each of ``LANES / tile_width[t]`` rows from
``tile_row[t]`` on. Edge ``e`` of a row, counted from its first, is lane ``e % tile_width``'s. A *block* is
`columns` columns: targets ``k * columns`` and those after it. For each tile `near` holds a bitmap in uint32
words, of the blocks in which it has many edges; all its other edges are *far*.

An *item* is what a tile has in one of its near blocks, or all that is far. Its lanes are sorted by how many
steps they have, and each 32 are a slice, as long as its longest: slice ``s`` ends before step
``ends[8 i + s]``, and step ``j`` of the item is 32 words from word ``32 (starts[i] + j)`` on, one for each of
the slice's lanes. The lane at place ``p`` of slice ``s`` is ``order[256 i + 8 p + s]``. A word is two columns
of the block, of which `columns` stands for none, or one target, of which `NOWHERE` does.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.jit import inline_step, parallel

__all__ = [
    "LANES",
    "NOWHERE",
    "PLACES",
    "SLICES",
    "choose",
    "fill_far",
    "fill_near",
    "measure_far",
    "measure_near",
    "pair_of",
    "place_of_high",
    "place_of_low",
    "widths",
]

# Lanes of a tile, slices of an item and places of a slice: a GPU's warp.
LANES, SLICES, PLACES = 256, 8, 32
NOWHERE = np.uint32(0xFFFFFFFF)
# Columns after the last of all.
_END = 1 << 32


@inline_step
def pair_of(low, high):
    """Two columns of a block in one word; see kernels/cuda/tiles.cuh."""
    both = np.uint32(low) | np.uint32(high) << np.uint32(16)
    return np.uint32(both << np.uint32(2)) | both >> np.uint32(30)


@inline_step
def place_of_low(pair):
    """The first of the two."""
    return pair >> np.uint32(2) & np.uint32(0xFFFF)


@inline_step
def place_of_high(pair):
    """The second."""
    return (pair >> np.uint32(18) | pair << np.uint32(14)) & np.uint32(0xFFFF)


@parallel
def widths(offsets, lane_edges, columns, width):
    """How many lanes each row has, for each run of `LANES` rows.

    So many that none has much over `lane_edges` edges in a block.
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
def choose(offsets, targets, tile_row, tile_width, columns, blocks, fewest, near):
    """Set the bits of the blocks in which a tile has `fewest` edges or more, and clear those of others."""
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
            near[t * words + word] = bits


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
    """The edges of a lane to the columns ``begin:end``: from the first to before the last, by `width`."""
    v = row + lane // width
    if v + 1 >= len(offsets):
        return 0, 0
    start, stop = np.int64(offsets[v]), np.int64(offsets[v + 1])
    first = start if begin == 0 else _first_from(targets, start, stop, begin)
    last = stop if end >= _END else _first_from(targets, first, stop, end)
    return first + (lane % width - (first - start) % width) % width, last


@inline_step
def _ranked(steps):
    """The lanes with most steps first, in their own order where they have as many."""
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
def _measure_near_item(offsets, targets, row, width, begin, end, item, ends):
    steps = np.zeros(LANES, np.int64)
    for lane in range(LANES):
        first, last = _lane_edges(offsets, targets, row, width, lane, begin, end)
        steps[lane] = (len(range(first, last, width)) + 1) // 2
    _put_ends(item, steps, ends)


@parallel
def measure_near(offsets, targets, tile_row, tile_width, tile, block, columns, ends):
    """Where the slices of each item end, counted in steps of two edges a lane."""
    for item in prange(len(tile)):
        row, width = np.int64(tile_row[tile[item]]), np.int64(tile_width[tile[item]])
        begin = np.int64(block[item]) * np.int64(columns)
        end = begin + np.int64(columns)
        _measure_near_item(offsets, targets, row, width, begin, end, np.int64(item), ends)


@inline_step
def _fill_near_item(offsets, targets, row, width, begin, columns, item, start, order, pairs):
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
def fill_near(offsets, targets, tile_row, tile_width, tile, block, columns, starts, order, pairs):
    """Write the items that were measured, from step ``starts[i]`` on."""
    for item in prange(len(tile)):
        row, width = np.int64(tile_row[tile[item]]), np.int64(tile_width[tile[item]])
        begin = np.int64(block[item]) * np.int64(columns)
        _fill_near_item(
            offsets, targets, row, width, begin, np.int64(columns), np.int64(item), np.int64(starts[item]),
            order, pairs,
        )  # fmt: skip


@inline_step
def _is_far(target, t, columns, blocks, near):
    k = np.int64(target) // columns
    return k >= blocks or not np.int64(near[t * ((blocks + 31) // 32) + k // 32]) >> (k % 32) & 1


@inline_step
def _far_steps(offsets, targets, row, width, t, columns, blocks, near):
    steps = np.zeros(LANES, np.int64)
    for lane in range(LANES):
        first, last = _lane_edges(offsets, targets, row, width, lane, 0, _END)
        for e in range(first, last, width):
            if _is_far(targets[e], t, columns, blocks, near):
                steps[lane] += 1
    return steps


@parallel
def measure_far(offsets, targets, tile_row, tile_width, tile, columns, blocks, near, ends):
    """Where the slices of each tile's far edges end, counted in steps of one edge a lane."""
    for item in prange(len(tile)):
        t = np.int64(tile[item])
        row, width = np.int64(tile_row[t]), np.int64(tile_width[t])
        steps = _far_steps(offsets, targets, row, width, t, np.int64(columns), np.int64(blocks), near)
        _put_ends(np.int64(item), steps, ends)


@inline_step
def _fill_far_item(offsets, targets, row, width, t, columns, blocks, near, item, start, order, singles):
    steps = _far_steps(offsets, targets, row, width, t, columns, blocks, near)
    lanes = _ranked(steps)
    step = start
    for s in range(SLICES):
        longest = steps[lanes[s * PLACES]]
        for place in range(PLACES):
            lane = lanes[s * PLACES + place]
            order[item * LANES + place * SLICES + s] = lane
            first, last = _lane_edges(offsets, targets, row, width, lane, 0, _END)
            j = step
            for e in range(first, last, width):
                if _is_far(targets[e], t, columns, blocks, near):
                    singles[j * PLACES + place] = targets[e]
                    j += 1
            for empty in range(j, step + longest):
                singles[empty * PLACES + place] = NOWHERE
        step += longest


@parallel
def fill_far(
    offsets, targets, tile_row, tile_width, tile, columns, blocks, near, starts, order, singles
):  # fmt: skip
    """Write the far edges that were measured, from step ``starts[i]`` on."""
    for item in prange(len(tile)):
        t = np.int64(tile[item])
        row, width = np.int64(tile_row[t]), np.int64(tile_width[t])
        _fill_far_item(
            offsets, targets, row, width, t, np.int64(columns), np.int64(blocks), near, np.int64(item),
            np.int64(starts[item]), order, singles,
        )  # fmt: skip
