"""The layout of edges in column blocks, for sums that a GPU computes one block at a time.

A *tile* is a range of rows, from ``tile_row[t]`` on. It has `LANES` lanes, ``tile_width[t]`` for each row.
Edge ``e`` of a row, counted from the row's first edge, belongs to lane ``e % tile_width`` of the row. A
*block* is `columns` consecutive columns: block ``k`` has the targets from ``k * columns`` on. The bitmap
`local` (uint32 words per tile) marks the blocks in which a tile has many edges. All other edges of the tile
are its *remainder*. A *band* is a longer range of columns, of owned vertices or of mirrors.

An *item* is the edges of a tile in one of its local blocks, or in consecutive bands of its remainder. The
lanes of an item are sorted by their number of steps, longest first. Every 32 lanes form a *slice*, which is
as long as its longest lane. Slice ``s`` of item ``i`` ends before step ``ends[8 i + s]``. Step ``j`` of item
``i`` is 32 words, one for each lane of the slice, from word ``32 (starts[i] + j)`` on. The lane at place
``p`` of slice ``s`` is ``order[256 i + 8 p + s]``. In a local item, a word holds two columns of the block;
the number `columns` means "no edge". In a remainder, a word holds one target or `NO_TARGET`.

Only GPUs use these tables. The kernels are in ``kernels/cuda/column_blocks.cu`` and ``kernels/cuda/pull.cu``.
"""

from __future__ import annotations

import numpy as np

__all__ = ["LANES", "NO_TARGET", "PLACES", "SLICES"]

# Lanes of a tile, slices of an item, and places of a slice (the threads of a warp).
LANES, SLICES, PLACES = 256, 8, 32
NO_TARGET = np.uint32(0xFFFFFFFF)
