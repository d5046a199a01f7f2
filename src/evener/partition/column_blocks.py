"""Column blocks: a second copy of a partition's edges, in blocks whose values fit a GPU's shared memory.

To gather a value of 4 bytes from its L2 cache, a GPU moves 32 bytes. If many rows have an edge in a block of
columns, a copy of the block's values in shared memory moves fewer bytes. The kernel gathers values from the
copy and writes one sum per row and block. Vertices are numbered by degree, so most edges of a graph
with hubs are *local* to such blocks. Values of the *remainder* are gathered from global memory, one *band* of
columns after another, so that the values of a band stay in the L2 cache.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evener.errors import DeviceOutOfMemory
from evener.kernels.cpu.column_blocks import LANES, PLACES, SLICES
from evener.partition.footprint import column_block_bytes, run_bytes
from evener.partition.kept_arrays import free_arrays

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.elements import Element
    from evener.partition.partition import Edges, Partition
    from evener.partition.partitioned import PartitionedGraph

__all__ = ["ColumnBlocks", "Items", "build_column_blocks", "column_blocks_of", "spare"]

# Smallest number of edges for which column blocks are built.
MIN_EDGES = 1 << 25
# Smallest number of edges of a tile in a local block.
MIN_TILE_EDGES = 128
# Smallest number of steps of all tiles in a block that is loaded.
MIN_BLOCK_STEPS = 128
# Smallest and largest number of edges per lane.
LANE_EDGES = (64, 1024)
# Columns of a band: their values fit a part of the L2 cache.
BAND_COLUMNS = 1 << 22
# Smallest number of edges of an item of a remainder, unless it ends with the last band.
MIN_BAND_EDGES = 128
# Edges of a graph per edge of a lane.
_EDGES_PER_LANE_EDGE = 1 << 18
# Largest number of steps of an item, which is the work of one warp.
_MAX_ITEM_STEPS = 1 << 15
# Limit of steps, plus 16 per item, that kernels/cuda/pull.cu counts in 32 bits.
_MAX_STEPS = 1 << 32
# Largest number of blocks that kernels/cuda/column_blocks.cu reads.
_MAX_BLOCKS = 8192
# Blocks per word of the bitmaps.
_BITS = 32
# One more than the largest column.
_END_COLUMN = 1 << 32


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """The edges of tiles in local blocks or in the remainder: see `evener.kernels.cpu.column_blocks`.

    Attributes
    ----------
    width : ndarray of uint32, shape (I,)
        The width of the item's tile.
    starts : ndarray of uint64, shape (I + 1,)
    ends : ndarray of uint32, shape (8 I,)
    order : ndarray of uint8, shape (256 I,)
    places : ndarray of uint64, shape (I,)
        The first sum of each item in `ColumnBlocks.partial`.
    words : ndarray of uint32
        Pairs of columns, or targets.
    """

    width: NDArray[np.uint32]
    starts: NDArray[np.uint64]
    ends: NDArray[np.uint32]
    order: NDArray[np.uint8]
    places: NDArray[np.uint64]
    words: NDArray[np.uint32]

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(getattr(self, one.name).nbytes for one in fields(self))


@dataclass(frozen=True, slots=True, eq=False)
class ColumnBlocks:
    """Edges of a partition in column blocks, in an element's memory.

    Attributes
    ----------
    tile_row, tile_width : ndarray of uint32, shape (T,)
        First row and width of each tile: see `evener.kernels.cpu.column_blocks`.
    tile_places : ndarray of uint64, shape (T + 1,)
        The first sum of each tile in `partial`.
    partial : ndarray of float32
        Sums of each tile's rows over each local block and over the remainder.
    local : Items
    own_remainder, remainder : Items
        The edges to bands of owned vertices, and other edges; sorted by their last band, longest first.
    block_items : ndarray of uint32
        The first local item of each block.
    columns : int
        Columns per block.
    taken : ndarray of uint32, shape (blocks + 1,)
        Counters of the kernels in ``kernels/cuda/pull.cu``.
    """

    tile_row: NDArray[np.uint32]
    tile_width: NDArray[np.uint32]
    tile_places: NDArray[np.uint64]
    partial: NDArray[np.float32]
    local: Items
    own_remainder: Items
    remainder: Items
    block_items: NDArray[np.uint32]
    columns: int
    taken: NDArray[np.uint32]

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(getattr(getattr(self, one.name), "nbytes", 0) for one in fields(self))

    def pull(self, element: Element, values: NDArray[np.float32]) -> None:
        """Write sums of the values of each row's neighbours to `partial`."""
        self.pull_own(element, values)
        self.pull_rest(element, values)

    def pull_own(self, element: Element, values: NDArray[np.float32]) -> None:
        """Write the sums of `pull` that need no values of mirrors."""
        self._pull_remainder(element, self.own_remainder, values)

    def pull_rest(self, element: Element, values: NDArray[np.float32]) -> None:
        """Write the sums of `pull` that `pull_own` does not write."""
        local = self.local
        if len(local.width):
            element.kernel("pull.local_sums")(
                self.block_items, local.width, local.starts, local.ends, local.order, local.places,
                local.words, self.columns, values, self.partial, self.taken,
            )  # fmt: skip
        self._pull_remainder(element, self.remainder, values)

    def _pull_remainder(self, element: Element, rest: Items, values: NDArray[np.float32]) -> None:
        if len(rest.width):
            element.kernel("pull.remainder_sums")(
                rest.width, rest.starts, rest.ends, rest.order, rest.places, rest.words, values, self.partial
            )


def column_blocks_of(pg: PartitionedGraph, p: int, direction: Literal["in_", "out"]) -> ColumnBlocks | None:
    """Return the edges of a partition of this rank in column blocks, which the first call builds.

    Before it builds, it frees the arrays that the placement keeps for other algorithms.
    Return None on a CPU, or for a small graph. Also return None with edges in host memory, or without room
    for a second copy. Kernels then read the edges row by row.
    """
    partition, element = pg.partitions[p], pg.elements[p]
    columns, edges = element.table_columns, getattr(partition, direction)
    if edges is None or not columns or partition.host_edges or edges.count < MIN_EDGES:
        return None
    if "column_blocks" not in edges.derived:
        free_arrays(pg)
        room = spare(partition, element, pg.mirrors_of(p))
        if edges.derived.get("column_block_bytes", 0) <= room:
            try:
                built = build_column_blocks(partition, edges, element, columns, room)
                edges.derived["column_blocks"] = built
            except DeviceOutOfMemory as error:  # a later run may find more room
                edges.derived["column_block_bytes"] = error.needed
    blocks: ColumnBlocks | None = edges.derived.get("column_blocks")
    return blocks


def build_column_blocks(
    partition: Partition, edges: Edges, element: Element, columns: int, room: float
) -> ColumnBlocks | None:
    """Sort a partition's in-edges or out-edges into blocks of `columns` columns.

    Return None if an item is too long. Raises DeviceOutOfMemory if the blocks need more than `room` bytes.
    """
    tile_row, tile_width = _tiles(edges, element, columns)
    tiles, blocks = len(tile_row), min(-(-len(partition.vertices) // columns), _MAX_BLOCKS)
    uploaded = (element.upload(tile_row), element.upload(tile_width))
    words = -(-blocks // _BITS)

    def run(kernel: str, *args: Any) -> None:
        element.run(element.kernel(f"column_blocks.{kernel}"), edges.offsets, edges.targets, *uploaded, *args)

    def measure(kernel: str, count: int, *args: Any) -> NDArray[np.uint32]:
        ends = element.allocate(count * SLICES, np.uint32)
        run(kernel, *args, ends)
        return element.download(ends).reshape(-1, SLICES)

    def require(needed: int) -> None:
        if needed > room:
            msg = f"{element.name} has too little memory for column blocks"
            raise DeviceOutOfMemory(msg, needed=needed, available=int(room))

    # Stop early if the result cannot fit: it has at least two bytes per edge. Counts of bands come before.
    bounds, own_bands = _bands(partition)
    bands = len(bounds) - 1
    require(column_block_bytes(tiles, blocks, 0, 0, 0) + max(2 * edges.count, 4 * tiles * bands))
    bitmaps = element.allocate(tiles * words, np.uint32)
    run("choose", columns, blocks, MIN_TILE_EDGES, bitmaps)
    chosen = element.download(bitmaps).reshape(tiles, words)
    tile, block = _set_bits(chosen)
    ends = measure("measure_local", len(tile), element.upload(tile), element.upload(block), columns)
    # The edges of a block that few tiles use go to the remainder.
    steps = np.bincount(block, weights=ends[:, -1], minlength=blocks)
    worth = np.zeros(words * _BITS, np.bool_)
    worth[:blocks] = steps >= MIN_BLOCK_STEPS
    stays = worth[block]
    tile, block, ends = tile[stays], block[stays], ends[stays]
    chosen &= np.packbits(worth, bitorder="little").view(np.uint32)
    bitmaps = element.upload(chosen.reshape(-1))
    counts = element.allocate(tiles * bands, np.uint32)
    run("count_remainder", columns, blocks, bitmaps, partition.owned, BAND_COLUMNS, own_bands, counts)
    rest, first_band, end_band = _band_items(element.download(counts).reshape(tiles, -1))
    del counts  # its memory is for the blocks
    columns_of = (bounds[first_band], bounds[end_band])

    def bands_of(some: Any) -> list[Any]:
        """Return the arguments of kernels for some items of the remainder."""
        return [*(element.upload(one[some]) for one in columns_of), columns, blocks, bitmaps]

    rest_ends = measure("measure_remainder", len(rest), element.upload(rest), *bands_of(slice(None)))
    # Bands in order, because their values share the cache. Long items first.
    order = np.lexsort((-rest_ends[:, -1].astype(np.int64), end_band))
    own, others = np.split(order, [np.count_nonzero(end_band <= own_bands)])

    place, tile_places = _places(np.concatenate([tile, rest]), LANES // tile_width)
    local_steps, rest_steps = (int(e[:, -1].sum(dtype=np.int64)) for e in (ends, rest_ends))
    needed = column_block_bytes(tiles, blocks, len(place), local_steps + rest_steps, int(tile_places[-1]))
    longest = max(int(e[:, -1].max(initial=0)) for e in (ends, rest_ends))
    if longest > _MAX_ITEM_STEPS or local_steps + 16 * len(tile) >= _MAX_STEPS:
        return None
    require(needed)

    def items(
        kernel: str, own: NDArray[np.uint32], ends: NDArray[np.uint32], places: NDArray[np.uint64], *args: Any
    ) -> Items:
        starts = np.zeros(len(own) + 1, np.uint64)
        np.cumsum(ends[:, -1], out=starts[1:])
        built = Items(
            width=element.upload(tile_width[own]),
            starts=element.upload(starts),
            ends=element.upload(ends.reshape(-1)),
            order=element.allocate(len(own) * LANES, np.uint8),
            places=element.upload(places),
            words=element.allocate(int(starts[-1]) * PLACES, np.uint32),
        )
        run(kernel, element.upload(own), *args, built.starts, built.order, built.words)
        return built

    def remainder(some: NDArray[np.int64]) -> Items:
        places = place[len(tile) + some]
        return items("fill_remainder", rest[some], rest_ends[some], places, *bands_of(some))

    first = np.zeros(blocks + 1, np.uint32)
    np.cumsum(np.bincount(block, minlength=blocks), out=first[1:])
    built = ColumnBlocks(
        tile_row=uploaded[0],
        tile_width=uploaded[1],
        tile_places=element.upload(tile_places),
        # Zeros, because kernels also add the unused places between the sums of two tiles.
        partial=element.allocate(int(tile_places[-1]), np.float32, 0),
        local=items("fill_local", tile, ends, place[: len(tile)], element.upload(block), columns),
        own_remainder=remainder(own),
        remainder=remainder(others),
        block_items=element.upload(first),
        columns=columns,
        taken=element.allocate(blocks + 1, np.uint32, 0),
    )
    element.wait()
    return built


def _tiles(edges: Edges, element: Element, columns: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the first row of each tile and the number of lanes per row."""
    rows = len(edges.offsets) - 1
    lane_edges = 1 << max(1, edges.count // _EDGES_PER_LANE_EDGE).bit_length() - 1
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


def _bands(partition: Partition) -> tuple[NDArray[np.uint64], int]:
    """Return the bounds of the bands, and the number of bands of owned vertices."""
    own = np.arange(0, partition.owned, BAND_COLUMNS)
    mirrors = np.arange(partition.owned, len(partition.vertices), BAND_COLUMNS)
    return np.concatenate([own, mirrors, [_END_COLUMN]]).astype(np.uint64), len(own)


def _band_items(
    counts: NDArray[np.uint32],
) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64]]:
    """Return the tile, the first band and the end of the bands of each item, ordered by this end.

    `counts` has the edges of each tile in each band. An item gets bands until it has enough edges.
    """
    tiles, bands = counts.shape
    begin, held = np.zeros(tiles, np.int64), np.zeros(tiles, np.int64)
    found: list[tuple[NDArray[np.int64], NDArray[np.int64], int]] = []
    for band in range(bands):
        held += counts[:, band]
        (full,) = np.nonzero(held >= (MIN_BAND_EDGES if band < bands - 1 else 1))
        found.append((full, begin[full], band + 1))
        begin[full], held[full] = band + 1, 0
    tile, first, ends = zip(*found, strict=True)
    sizes = [len(one) for one in tile]
    return np.concatenate(tile).astype(np.uint32), np.concatenate(first), np.repeat(ends, sizes)


def _set_bits(bitmaps: NDArray[np.uint32]) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the tile and the block of each set bit, ordered by block, then by tile."""
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
    """Return the first sum of each item and of each tile. The sums of a tile are contiguous.

    Tiles begin at multiples of a slice, so that a GPU reads and writes four aligned sums at a time.
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
    """Return the bytes left for a second copy of edges, after the bytes that runs need."""
    copies = [edges.derived.get("column_blocks") for edges in partition.directions]
    room = element.room_after(partition.nbytes + sum(one.nbytes for one in copies if one is not None))
    return math.inf if room is None else room - run_bytes(partition, elsewhere)
