"""Columns: a partition's edges once more, in blocks of columns whose values fit a GPU's shared memory.

A value gathered from a GPU's L2 cache moves 32 bytes for 4. Where each of many rows has an edge or more in a
block of columns, it is less to copy the block's values to shared memory, gather them there, and write down
the row's sum over the block. Vertices are numbered by degree, so on a graph with hubs that is most edges: of
R-MAT 24, nine in ten. The others, *far* ones, are gathered as before.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from evener.errors import DeviceOutOfMemory
from evener.kernels.cpu.column_blocks import LANES, PLACES, SLICES
from evener.partition.footprint import columns_bytes, run_bytes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.elements import Element
    from evener.partition.partition import Edges, Partition

__all__ = ["BYTES_AN_EDGE", "Columns", "Items", "build_columns", "columns_of", "spare"]

# Fewer edges are pulled as fast as they are. An iteration on an H200, without and with blocks of columns:
# R-MAT 20, 31 million edges, 0.17 ms and 0.17; R-MAT 21 0.31 and 0.24; R-MAT 26, 2.1 billion, 15.4 and 6.8.
FEWEST_EDGES = 1 << 25
# What an edge takes in blocks of columns, at most: those of R-MAT graphs take two bytes and more.
BYTES_AN_EDGE = 4
# The edges of a tile that make a block near. An item takes a multiprocessor of an H200 about 70 ns beside its
# edges, all of them together 0.5 ns and as much to write and read sums; 128 gathers take them 1 ns.
FEWEST_IN_TILE = 128
# The steps of all tiles that make a block worth loading: that takes a multiprocessor some 5 us.
FEWEST_IN_BLOCK = 128
# Edges to a lane, at least and at most: many make items that are worth their own cost, few make enough items
# for all warps. Best of powers of two are 128 and 256 on R-MAT 22, 1024 on R-MAT 24 and 26.
LANE_EDGES = (64, 1024)
# The edges of a graph for each of those.
_EDGES_FOR_EACH = 1 << 18
# An item is one warp's work, so none may be as long as this: some ms.
_LONGEST_ITEM = 1 << 15
# Steps, and 16 for each item, that kernels/cuda/pull.cu counts in 32 bits.
_MOST_STEPS = 1 << 32
# Blocks that kernels/cuda/column_blocks.cu looks at.
_MOST_BLOCKS = 8192
# Blocks to a word of the bitmaps.
_BITS = 32


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """What tiles have in blocks, or far: see `evener.kernels.cpu.column_blocks`.

    Attributes
    ----------
    width : ndarray of uint32, shape (I,)
        That of the item's tile.
    starts : ndarray of uint64, shape (I + 1,)
    ends : ndarray of uint32, shape (8 I,)
    order : ndarray of uint8, shape (256 I,)
    places : ndarray of uint64, shape (I,)
        Where the item's sums go.
    words : ndarray of uint32
        Pairs of columns, or targets.
    """

    width: NDArray[np.uint32]
    starts: NDArray[np.uint64]
    ends: NDArray[np.uint32]
    order: NDArray[np.uint8]
    places: NDArray[np.uint64]
    words: NDArray[np.uint32]


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Edges of a partition in blocks of columns, in an element's memory.

    Attributes
    ----------
    tile_row, tile_width : ndarray of uint32, shape (T,)
        The tiles, see `evener.kernels.cpu.column_blocks`.
    tile_places : ndarray of uint64, shape (T + 1,)
        Where each tile's sums begin in `partial`.
    partial : ndarray of float32
        Sums of each tile's rows, in one block after another and over far edges.
    near, far : Items
    block_items : ndarray of uint32
        Where the near items of each block begin.
    columns : int
        Columns of a block.
    taken : ndarray of uint32, shape (blocks + 1,)
        See ``kernels/cuda/pull.cu``.
    """

    tile_row: NDArray[np.uint32]
    tile_width: NDArray[np.uint32]
    tile_places: NDArray[np.uint64]
    partial: NDArray[np.float32]
    near: Items
    far: Items
    block_items: NDArray[np.uint32]
    columns: int
    taken: NDArray[np.uint32]

    def pull(self, element: Element, values: NDArray[np.float32]) -> None:
        """Let `partial` become sums of the values that rows' edges lead to."""
        near, far = self.near, self.far
        if len(near.width):
            element.kernel("pull.local_sums")(
                self.block_items, near.width, near.starts, near.ends, near.order, near.places, near.words,
                self.columns, values, self.partial, self.taken,
            )  # fmt: skip
        if len(far.width):
            element.kernel("pull.remainder_sums")(
                far.width, far.starts, far.ends, far.order, far.places, far.words, values, self.partial
            )


def columns_of(partition: Partition, element: Element, elsewhere: int = 0) -> Columns | None:
    """The in-edges of a partition in blocks of columns, made when they are first asked for.

    `elsewhere` is the number of mirrors that other elements have of its vertices.

    None where kernels had better take the edges as they are: on a CPU, where the graph is small or has no
    hubs, where some of the edges are the host's, or where there is no room for them a second time.
    """
    edges = partition.in_
    columns = element.table_columns
    if edges is None or not columns or partition.mapped_edges or edges.count < FEWEST_EDGES:
        return None
    if "columns" not in edges.prepared:
        # What was free a moment ago may be another process's by now, and ours when the next run looks.
        with suppress(DeviceOutOfMemory):
            room = spare(partition, element, elsewhere)
            edges.prepared["columns"] = build_columns(partition, element, columns, room)
    return edges.prepared.get("columns")


def build_columns(partition: Partition, element: Element, columns: int, spare: float) -> Columns | None:
    """Sort a partition's in-edges into blocks of `columns` columns.

    None where most edges are far or an item is too long, and where it takes more than `spare` bytes.
    """
    edges = cast("Edges", partition.in_)
    tile_row, tile_width = _tiles(edges, element, columns)
    tiles, blocks = len(tile_row), min(-(-len(partition.vertices) // columns), _MOST_BLOCKS)
    held = (element.upload(tile_row), element.upload(tile_width))
    words = -(-blocks // _BITS)

    def run(kernel: str, *args: Any) -> None:
        element.run(element.kernel(f"column_blocks.{kernel}"), edges.offsets, edges.targets, *held, *args)

    def measured(kernel: str, count: int, *args: Any) -> NDArray[np.uint32]:
        ends = element.allocate(count * SLICES, np.uint32)
        run(kernel, *args, ends)
        return element.download(ends).reshape(-1, SLICES)

    # It takes two bytes an edge or more, so this much is not too much to find out.
    if columns_bytes(tiles, blocks, 0, 0, 0) + 2 * edges.count > spare:
        return None
    bitmaps = element.allocate(tiles * words, np.uint32)
    run("choose", columns, blocks, FEWEST_IN_TILE, bitmaps)
    chosen = element.download(bitmaps).reshape(tiles, words)
    tile, block = _listed(chosen)
    ends = measured("measure_local", len(tile), element.upload(tile), element.upload(block), columns)
    # A block that few tiles use is left to the far edges.
    steps = np.bincount(block, weights=ends[:, -1], minlength=blocks)
    worth = np.zeros(words * _BITS, np.bool_)
    worth[:blocks] = steps >= FEWEST_IN_BLOCK
    stays = worth[block]
    tile, block, ends = tile[stays], block[stays], ends[stays]
    chosen &= np.packbits(worth, bitorder="little").view(np.uint32)
    bitmaps = element.upload(chosen.reshape(-1))
    far = np.arange(tiles, dtype=np.uint32)
    far_ends = measured("measure_remainder", tiles, element.upload(far), columns, blocks, bitmaps)
    # The longest first, and none that are empty.
    order = np.argsort(-far_ends[:, -1].astype(np.int64), kind="stable")
    order = order[: np.count_nonzero(far_ends[:, -1])]
    far, far_ends = far[order], far_ends[order]

    place, tile_places = _places(np.concatenate([tile, far]), LANES // tile_width)
    near_steps, far_steps = (int(e[:, -1].sum(dtype=np.int64)) for e in (ends, far_ends))
    needed = columns_bytes(tiles, blocks, len(place), near_steps + far_steps, int(tile_places[-1]))
    longest = max(int(e[:, -1].max(initial=0)) for e in (ends, far_ends))
    if (
        2 * PLACES * far_steps > edges.count
        or longest > _LONGEST_ITEM
        or near_steps + 16 * len(tile) >= _MOST_STEPS
        or needed > spare
    ):
        return None

    def items(
        kernel: str, own: NDArray[np.uint32], ends: NDArray[np.uint32], places: NDArray[np.uint64], *args: Any
    ) -> Items:
        starts = np.zeros(len(own) + 1, np.uint64)
        np.cumsum(ends[:, -1], out=starts[1:])
        made = Items(
            width=element.upload(tile_width[own]),
            starts=element.upload(starts),
            ends=element.upload(ends.reshape(-1)),
            order=element.allocate(len(own) * LANES, np.uint8),
            places=element.upload(places),
            words=element.allocate(int(starts[-1]) * PLACES, np.uint32),
        )
        run(kernel, element.upload(own), *args, made.starts, made.order, made.words)
        return made

    first = np.zeros(blocks + 1, np.uint32)
    np.cumsum(np.bincount(block, minlength=blocks), out=first[1:])
    made = Columns(
        tile_row=held[0],
        tile_width=held[1],
        tile_places=element.upload(tile_places),
        # Between the sums of some tiles there are places of none, and they are added up as well.
        partial=element.allocate(int(tile_places[-1]), np.float32, 0),
        near=items("fill_local", tile, ends, place[: len(tile)], element.upload(block), columns),
        far=items("fill_remainder", far, far_ends, place[len(tile) :], columns, blocks, bitmaps),
        block_items=element.upload(first),
        columns=columns,
        taken=element.allocate(blocks + 1, np.uint32, 0),
    )
    element.wait()
    return made


def _tiles(edges: Edges, element: Element, columns: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """The first row of each tile and the lanes that each of its rows has."""
    rows = len(edges.offsets) - 1
    lane_edges = 1 << max(1, edges.count // _EDGES_FOR_EACH).bit_length() - 1
    lane_edges = min(max(lane_edges, LANE_EDGES[0]), LANE_EDGES[1])
    of_run = element.allocate(-(-rows // LANES), np.uint32)
    element.run(element.kernel("column_blocks.widths"), edges.offsets, lane_edges, columns, of_run)
    width = element.download(of_run)
    # A run of LANES rows of `width` lanes is `width` tiles.
    tile_width = np.repeat(width, width)
    first = np.cumsum(width, dtype=np.int64) - width
    number = np.arange(len(tile_width)) - np.repeat(first, width)
    tile_row = np.repeat(np.arange(len(width)) * LANES, width) + number * (LANES // tile_width)
    there = tile_row < rows
    return tile_row[there].astype(np.uint32), tile_width[there]


def _listed(bitmaps: NDArray[np.uint32]) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """The tile and the block of each bit that is set, blocks in order and in each its tiles."""
    tiles, words = np.nonzero(bitmaps)
    bits = np.unpackbits(bitmaps[tiles, words].view(np.uint8), bitorder="little").reshape(-1, _BITS)
    which, bit = np.nonzero(bits)
    tile, word = tiles[which], words[which]
    block = word * _BITS + bit
    order = np.argsort(block.astype(np.uint16), kind="stable")
    return tile[order].astype(np.uint32), block[order].astype(np.uint32)


def _places(
    tile: NDArray[np.uint32], rows: NDArray[np.uint32]
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Where the sums of each item begin, those of a tile together; and where each tile's do.

    No four that a GPU reads or writes at a time are apart, for tiles begin at multiples of a slice.
    """
    count = np.bincount(tile, minlength=len(rows))
    tile_places = np.zeros(len(rows) + 1, np.uint64)
    np.cumsum(-(-count * rows.astype(np.int64) // PLACES) * PLACES, out=tile_places[1:])
    order = np.argsort(tile, kind="stable")
    rank = np.empty(len(tile), np.int64)
    rank[order] = np.arange(len(tile)) - np.repeat(np.cumsum(count) - count, count)
    place = tile_places[tile] + (rank * rows[tile]).astype(np.uint64)
    return place, tile_places


def spare(partition: Partition, element: Element, elsewhere: int = 0) -> float:
    """Bytes that an element has for edges a second time: what else runs on the partition keeps its room."""
    room = element.room_after(partition.nbytes)
    return math.inf if room is None else room - run_bytes(partition, elsewhere)
