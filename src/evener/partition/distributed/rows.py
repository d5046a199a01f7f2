"""Rows: each rank holds the rows of a range of vertices, and the ranges have about equal edges.

Ranks read edges in any order and send them, chunk by chunk, to the rank of their row. A rank receives its
rows in rounds, so that only the edges of one round are in memory twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numba
import numpy as np

from evener.graph import csr
from evener.graph.arrays import read_only
from evener.kernels.cpu import build as build_kernels
from evener.kernels.cpu import ranks as kernels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from evener.graph.csr import CSR, EdgeSource
    from evener.system.world import World

    Chunk = tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[Any]]
    Consume = Callable[[NDArray[np.uint64], NDArray[Any]], None]

__all__ = [
    "EdgeChunks",
    "RowPiece",
    "RowRanges",
    "build_rows",
    "chunk_length",
    "chunks_of_pieces",
    "count_opposite",
    "cut_ranges",
    "degrees_of",
    "empty_ranges",
    "row_ranges",
]

# Edges that a rank sends in one step.
_MIN_CHUNK, _MAX_CHUNK = 1 << 16, 1 << 20
# Steps in which a rank sends all of its edges, unless chunks would be too small or too large.
_STEPS = 1 << 5
# Groups of vertices: bounds of ranges lie between groups.
_GROUPS = 1 << 14
# Memory of a vertex of a range, as a number of edges.
_EDGES_PER_VERTEX = 4
# Records in a cache line of a processor.
_CACHE_LINE = 8
# Records of a rank in one round, in bytes, and the largest number of rounds.
_ROUND_BYTES = 1 << 25
_MAX_ROUNDS = 2


class RowPiece(NamedTuple):
    """Consecutive rows: row ``i`` of `rows` is that of vertex ``first + i``; targets are global numbers."""

    first: int
    rows: CSR


@dataclass
class RowRanges:
    """The ranges of `n` vertices whose rows each rank holds.

    Groups have ``2**shift`` vertices; `groups` are the bounds of the ranges in groups, shape (ranks + 1,).
    """

    n: int
    shift: int
    groups: NDArray[np.int64]

    @property
    def bounds(self) -> NDArray[np.int64]:
        """Bounds of the ranges in vertices, shape (ranks + 1,)."""
        return self.vertices(self.groups)

    def vertices(self, groups: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the first vertex of groups."""
        return np.asarray(np.minimum(groups << self.shift, self.n))

    @property
    def group_count(self) -> int:
        """Number of groups."""
        return max(1, -(-self.n >> self.shift))


class EdgeChunks:
    """Edges in chunks; the next chunk overwrites the buffers.

    Each source comes with the vertex from which the numbers of its heads count. `dtype` is that of the
    weights. `symmetrise` and `loops` say whether to store the reverse of each edge, and self-loops.
    """

    def __init__(
        self,
        sources: list[tuple[EdgeSource, int]],
        dtype: np.dtype[Any] | None,
        *,
        symmetrise: bool = False,
        loops: bool = True,
    ) -> None:
        self._sources, self.weight_dtype = sources, dtype
        self.symmetrise, self.loops = symmetrise, loops
        # The records of all ranks by the group of their row, by direction, once they are counted.
        self.counts: dict[str, NDArray[np.int64]] = {}
        self._chunk = chunk_length(sum(source.m for source, _ in sources))
        self.chunk_count = sum(-(-source.m // self._chunk) for source, _ in sources)
        self.longest = min(self._chunk, max((source.m for source, _ in sources), default=0))

    def release(self) -> None:
        """Free the edges, unless others refer to them."""
        self._sources, self.chunk_count = [], 0

    def chunks(self, *, weights: bool) -> Iterator[Chunk]:
        """Yield tails, heads and weights; without weights, the array of weights is empty."""
        src, dst = np.empty(self.longest, np.uint32), np.empty(self.longest, np.uint32)
        own = np.empty(self.longest if weights else 0, self.weight_dtype or np.float32)
        for source, first in self._sources:
            for start in range(0, source.m, self._chunk):
                stop = min(start + self._chunk, source.m)
                count = stop - start
                source.fill(start, stop, src[:count], dst[:count])
                if first:
                    dst[:count] += np.uint32(first)
                if weights:
                    source.fill_weights(start, stop, own[:count])
                yield src[:count], dst[:count], own[:count]


def chunk_length(edges: int) -> int:
    """Return how many of a rank's edges are sent in one step."""
    return min(_MAX_CHUNK, max(_MIN_CHUNK, edges // _STEPS))


def chunks_of_pieces(pieces: list[RowPiece], dtype: np.dtype[Any] | None) -> EdgeChunks:
    """Return the edges of rows in reverse: from each target to the vertex of the row."""
    return EdgeChunks([(csr.ReverseEdges(*piece.rows[:3]), piece.first) for piece in pieces], dtype)


def row_ranges(world: World, n: int, edges: EdgeChunks) -> RowRanges:
    """Return ranges with about equal edges in both directions.

    This is a collective operation; all ranks must call it.
    """
    ranges = empty_ranges(n)
    count = _count_by_group(world, ranges, edges)
    if not edges.symmetrise:
        count = count + _count_by_group(world, ranges, edges, turned=True)
    return cut_ranges(world, ranges, count)


def empty_ranges(n: int) -> RowRanges:
    """Return ranges whose bounds are not known yet."""
    shift = max(0, max(n - 1, 0).bit_length() - _GROUPS.bit_length() + 1)
    return RowRanges(n, shift, np.zeros(1, np.int64))


def cut_ranges(world: World, ranges: RowRanges, edges: NDArray[np.int64]) -> RowRanges:
    """Return ranges that need about equal memory, given the edges of each group."""
    vertices = np.diff(ranges.vertices(np.arange(ranges.group_count + 1)))
    ends = np.cumsum(edges + _EDGES_PER_VERTEX * vertices)
    cuts = np.searchsorted(ends, [int(ends[-1]) * rank // world.size for rank in range(1, world.size)])
    ranges.groups = np.concatenate([[0], cuts, [ranges.group_count]])
    return ranges


def _count_by_group(
    world: World, ranges: RowRanges, edges: EdgeChunks, *, turned: bool = False
) -> NDArray[np.int64]:
    """Return the records of all ranks by the group of their row."""
    direction = "in" if turned else "out"
    if direction in edges.counts:
        return edges.counts[direction]
    counts = np.zeros((numba.get_num_threads(), ranges.group_count), np.uint64)
    flags = np.uint64(ranges.shift), np.uint64(edges.symmetrise), np.uint64(edges.loops)
    for src, dst, _ in edges.chunks(weights=False):
        ends = (dst, src) if turned else (src, dst)
        build_kernels.count_rows(*ends, *flags, counts)
    own = counts.sum(axis=0).astype(np.int64)
    edges.counts[direction] = np.asarray(np.sum(world.allgather(own), axis=0))
    return edges.counts[direction]


def build_rows(
    world: World,
    ranges: RowRanges,
    edges: EdgeChunks,
    *,
    duplicates: str,
    turned: bool = False,
) -> list[RowPiece]:
    """Return the rows of this rank, given the edges that each rank has, and release the edges.

    This is a collective operation; all ranks must call it. With `turned`, an edge is stored in the row of its
    head instead of its tail.
    """
    counts = _count_by_group(world, ranges, edges, turned=turned)
    ends = np.concatenate([[0], np.cumsum(counts)])
    dtype, me = edges.weight_dtype, world.rank
    width = 8 + (0 if dtype is None else dtype.itemsize)
    largest = int(np.diff(ends[ranges.groups]).max()) * width
    rounds = min(_MAX_ROUNDS, -(-largest // _ROUND_BYTES)) or 1
    first, last = ranges.groups[:-1], ranges.groups[1:]
    cuts = [first]
    for turn in range(1, rounds):
        wanted = ends[first] + (ends[last] - ends[first]) * turn // rounds
        cuts.append(np.clip(np.searchsorted(ends, wanted), cuts[-1], last))
    cuts.append(last)
    pieces = []
    # All rounds write to the same memory, so the system provides its pages once.
    received = _Records(max(int(ends[end[me]] - ends[begin[me]]) for begin, end in pairwise(cuts)), dtype)
    for begin, end in pairwise(cuts):
        ranks = np.full(ranges.group_count, world.size, np.uint16)
        for rank in range(world.size):
            ranks[begin[rank] : end[rank]] = rank
        rows = ranges.vertices(begin)
        received.m, received.n = 0, int(ranges.vertices(end)[me] - rows[me])
        _exchange(world, edges, ranges.shift, ranks, rows, received.add, turned=turned)
        if end is cuts[-1]:
            edges.release()
        if dtype is None and duplicates == "keep":
            own = received.grouped()
        else:
            own = csr.from_source(received, symmetrise=False, duplicates=duplicates, targets=max(ranges.n, 1))
        pieces.append(RowPiece(int(rows[me]), own))
    return pieces


class _Records:
    """The records of one round; an `evener.graph.csr.EdgeSource`."""

    def __init__(self, capacity: int, dtype: np.dtype[Any] | None) -> None:
        self.n, self.m, self.weight_dtype = 0, 0, dtype
        self._records = np.empty(capacity, np.uint64)
        self._weights = np.empty(0 if dtype is None else capacity, dtype)

    def add(self, records: NDArray[np.uint64], weights: NDArray[Any]) -> None:
        end = self.m + len(records)
        self._records[self.m : end] = records
        self._weights[self.m : end][: len(weights)] = weights
        self.m = end

    def grouped(self) -> CSR:
        """Return the rows without sorting their targets: owners sort them in local numbers."""
        records, threads = self._records[: self.m], numba.get_num_threads()
        offsets = np.zeros(self.n + 1, np.uint64)
        steps = np.arange(threads + 1, dtype=np.uint64)
        kernels.count_by_row(records, steps * np.uint64(self.n) // np.uint64(threads), offsets)
        np.cumsum(offsets, out=offsets)
        bounds = np.searchsorted(offsets, steps * np.uint64(self.m) // np.uint64(threads)).astype(np.uint64)
        bounds[0], bounds[-1] = 0, self.n
        targets = np.empty(self.m, np.uint32)
        kernels.place_by_row(records, bounds, offsets[:-1].copy(), targets)
        return csr.CSR(offsets, targets, None, None)

    def fill(self, start: int, stop: int, src: NDArray[np.uint32], dst: NDArray[np.uint32]) -> None:
        kernels.unpack_records(self._records[start:stop], src, dst, numba.get_num_threads())

    def fill_weights(self, start: int, stop: int, weights: NDArray[Any]) -> None:
        weights[:] = self._weights[start:stop]


def count_opposite(
    world: World, ranges: RowRanges, pieces: list[RowPiece], dtype: np.dtype[Any] | None
) -> tuple[NDArray[np.uint64], NDArray[np.float64] | None]:
    """Return how many edges lead to each vertex of this rank's range, and the sum of their weights.

    This is a collective operation; all ranks must call it.
    """
    bounds = ranges.bounds
    length = int(bounds[world.rank + 1] - bounds[world.rank])
    degree = np.zeros(length, np.uint64)
    sums = None if dtype is None else np.zeros(length)

    def add(records: NDArray[np.uint64], weights: NDArray[Any]) -> None:
        kernels.count_targets(records, degree)
        if sums is not None:
            kernels.add_weights(records, weights, sums)

    ranks = np.repeat(np.arange(world.size, dtype=np.uint16), np.diff(ranges.groups))
    edges = chunks_of_pieces(pieces, dtype)
    _exchange(world, edges, ranges.shift, ranks, bounds[:-1], add)
    return degree, sums


def _exchange(
    world: World,
    edges: EdgeChunks,
    shift: int,
    ranks: NDArray[np.uint16],
    rows: NDArray[np.int64],
    consume: Consume,
    *,
    turned: bool = False,
) -> None:
    """Send each edge to the ranks of its rows in chunks, and call `consume` with the records received.

    `ranks` has the rank of each group, and `rows` the first row of each rank.
    """
    threads, size, weighted = numba.get_num_threads(), world.size, edges.weight_dtype is not None
    flags = np.uint64(shift), np.uint64(edges.symmetrise), np.uint64(edges.loops)
    first_rows = np.append(rows, 0).astype(np.uint64)
    most = edges.longest * (2 if edges.symmetrise else 1)
    # Each thread has a place, in its own cache line, for records that are not wanted.
    unwanted = most + _CACHE_LINE * np.arange(threads, dtype=np.uint64)
    records = np.empty(0, np.uint64)
    nothing = np.empty(0, edges.weight_dtype or np.float32)
    record_weights = nothing
    chunks = edges.chunks(weights=weighted)
    for _ in range(world.allreduce(edges.chunk_count, "max")):
        src, dst, weights = next(chunks, (np.empty(0, np.uint32), np.empty(0, np.uint32), nothing))
        src, dst = (dst, src) if turned else (src, dst)
        of_groups = np.zeros((threads, len(ranks)), np.uint64)
        build_kernels.count_rows(src, dst, *flags, of_groups)
        counts = np.array([np.bincount(ranks, own, size + 1) for own in of_groups]).astype(np.uint64)
        by_rank = counts[:, :size].sum(axis=0)
        ends = np.cumsum(by_rank)
        cursors = np.cumsum(counts, axis=0) - counts
        cursors[:, :size] += ends - by_rank
        cursors[:, size] = unwanted
        if not len(records):
            records = np.empty(most + _CACHE_LINE * threads, np.uint64)
            record_weights = np.empty(len(records) if weighted else 0, nothing.dtype)
        # Kernels move the bits of weights, so one compilation serves all types of one width.
        own_bits, packed_bits = (own.view(f"u{own.itemsize}") for own in (weights, record_weights))
        kernels.pack_records(src, dst, own_bits, *flags, ranks, first_rows, cursors, records, packed_bits)
        cuts = ends.astype(np.int64)
        received = world.alltoall(np.split(records[: cuts[-1]], cuts[:-1]))
        own_weights = [nothing] * size
        if weighted:
            own_weights = world.alltoall(np.split(record_weights[: cuts[-1]], cuts[:-1]))
        for part, part_weights in zip(received, own_weights, strict=True):
            consume(part, part_weights)


def degrees_of(pieces: list[RowPiece]) -> NDArray[np.uint64]:
    """Return the length of each row."""
    return np.concatenate([np.diff(read_only(piece.rows.offsets)) for piece in pieces])
