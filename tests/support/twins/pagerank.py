"""CPU twin of a kernel in ``algorithms/pagerank/kernels.cu``: finish an iteration over column blocks.

`evener.algorithms.pagerank.kernels_cpu` describes the arrays.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.algorithms.pagerank.kernels_cpu import finish_row
from evener.kernels.cpu.column_blocks import LANES
from evener.kernels.cpu.jit import inline_step, parallel

__all__ = ["finish"]


@inline_step
def _finish_tile(
    row, width, place, end, partial, connected, out_degree, damping, jump, teleport, rank, next_contribution
):
    error = 0.0
    dangling = 0.0
    rows = LANES // width
    for v in range(row, min(row + rows, connected)):
        pulled = 0.0
        for i in range(place + (v - row), end, rows):
            pulled += partial[i]
        change, own = finish_row(v, pulled, out_degree, damping, jump, teleport, rank, next_contribution)
        error += change
        dangling += own
    return error, dangling


@parallel
def finish(
    tile_row, tile_width, tile_places, partial, connected, out_degree, damping, jump, teleport, rank,
    next_contribution,
):  # fmt: skip
    """Finish an iteration from the sums of `kernels/cuda/pull.cu`; return the values of `iterate`.

    ``partial[tile_places[t]:tile_places[t + 1]]`` holds a sum for each row of the tile and each column block.
    """
    error = 0.0
    dangling = 0.0
    for t in prange(len(tile_row)):
        e, d = _finish_tile(
            np.int64(tile_row[t]), np.int64(tile_width[t]), np.int64(tile_places[t]),
            np.int64(tile_places[t + 1]), partial, np.int64(connected), out_degree, damping, jump, teleport,
            rank, next_contribution,
        )  # fmt: skip
        error += e
        dangling += d
    return error, dangling
