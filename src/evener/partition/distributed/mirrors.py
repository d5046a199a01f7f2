"""Mirrors: the partitions of a rank, from the rows of its owned vertices.

A rank marks the targets of a partition in a bitmap with a bit for each vertex of the graph. It asks the ranks
that numbered these vertices for owners and local numbers. So no rank has the numbers of all vertices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from evener.graph.arrays import read_only
from evener.kernels.cpu import numbering
from evener.kernels.cpu import ranks as kernels
from evener.partition.block_exchange import fetch_in_rounds
from evener.partition.degrees import by_descending_degree, replace_by_places
from evener.partition.partition import LONG_RUN, NEARLY_ALL, Partition, partition_of, pending_edges

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evener.graph.csr import CSR
    from evener.partition.distributed.graph import DistributedGraph
    from evener.partition.distributed.numbers import DistributedNumbers
    from evener.partition.distributed.owned_rows import OwnedRows
    from evener.system.world import World

__all__ = ["DistributedNumbering", "build_own_partitions"]


class DistributedNumbering:
    """The owned vertices of this rank's partitions, and where all vertices are; it replaces `Numbering`."""

    def __init__(
        self,
        graph: DistributedGraph,
        numbers: DistributedNumbers,
        owned: dict[int, NDArray[np.uint32]],
        mirrors: dict[int, NDArray[np.uint32]],
    ) -> None:
        self.bounds = numbers.bounds
        self._graph, self._numbers, self._owned, self._mirrors = graph, numbers, owned, mirrors

    def owned_by(self, p: int) -> NDArray[np.uint32]:
        """Return the vertices of a partition of this rank by local number."""
        return self._owned[p]

    def mirror_numbers(self, partition: Partition) -> NDArray[np.uint32]:
        """Return the local number, on its owner, of each mirror of a partition of this rank."""
        return self._mirrors[partition.index]

    def place_of(self, vertex: int) -> tuple[int, int]:
        """Return the owner and the local number of a vertex, which is the same on all ranks.

        This is a collective operation; all ranks must call it.
        """
        world = self._graph.world
        begin, end = self._graph.ranges.bounds[world.rank : world.rank + 2]
        found = -1, -1
        if begin <= vertex < end:
            at = vertex - int(begin)
            found = int(self._numbers.owner[at]), int(self._numbers.local[at])
        owner, local = world.allreduce(found, "max")
        return int(owner), int(local)

    def places_of(self, vertices: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.uint32]]:
        """Return the owners and the local numbers of vertices, which differ by rank.

        This is a collective operation; all ranks must call it.
        """
        blocks = [self._numbers.owner, self._numbers.local]
        owner, local = fetch_in_rounds(self._graph.world, self._graph.ranges.bounds, vertices, blocks)
        return owner, local


def build_own_partitions(
    graph: DistributedGraph,
    numbers: DistributedNumbers,
    owned: OwnedRows,
    ranks: Sequence[int],
) -> tuple[dict[int, Partition], DistributedNumbering]:
    """Return the partitions of this rank with pending edges, and the numbering.

    This is a collective operation; all ranks must call it.
    """
    world, bounds = graph.world, numbers.bounds
    mine = [p for p, rank in enumerate(ranks) if rank == world.rank]
    base = int(bounds[mine[0]])
    partitions: dict[int, Partition] = {}
    mirrors: dict[int, NDArray[np.uint32]] = {}
    own: dict[int, NDArray[np.uint32]] = {
        p: owned.vertices[int(bounds[p]) - base : int(bounds[p + 1]) - base] for p in mine
    }
    out_degrees = graph.out_degrees.astype(np.uint32)
    graph.release()  # its other arrays are not needed
    for step in range(max(ranks.count(rank) for rank in range(world.size))):
        p = mine[step] if step < len(mine) else None
        begin, end = (0, 0) if p is None else (int(bounds[p]) - base, int(bounds[p + 1]) - base)
        neighbours = _number_targets(graph.n, owned.rows, begin, end)
        owner, local = fetch_in_rounds(world, graph.ranges.bounds, neighbours, [numbers.owner, numbers.local])
        found = _Mirrors(neighbours, owner, local, p, bounds)
        del neighbours, owner, local  # so that `found` can free them
        found.fill_gaps(world, ranks, own)
        found.order_neighbours(world, graph.ranges.bounds, out_degrees, owned.out_degree[begin:end])
        if p is not None:
            partitions[p] = _partition(p, graph, owned, begin, end, found, own[p])
            mirrors[p] = found.local
    return partitions, DistributedNumbering(graph, numbers, own, mirrors)


def _number_targets(n: int, rows: dict[str, CSR], begin: int, end: int) -> NDArray[np.uint32]:
    """Return the distinct targets of rows in ascending order, and replace targets by their positions."""
    threads = numba.get_num_threads()
    parts = [
        own.targets[int(own.offsets[begin]) : int(own.offsets[end])] for own in rows.values() if end > begin
    ]
    bitmap = np.zeros(-(-n // 64) if parts else 0, np.uint64)
    for targets in parts:
        numbering.mark_ids(read_only(targets), bitmap, threads)
    places = np.zeros(len(bitmap), np.uint32)
    counts = np.bitwise_count(bitmap)
    np.cumsum(counts[:-1], out=places[1:], dtype=np.uint32)
    neighbours = np.empty(int(counts.sum(dtype=np.int64)), np.uint32)
    numbering.list_marked_ids(bitmap, places, neighbours)
    for targets in parts:
        numbering.number_by_bitmap(read_only(targets), bitmap, places, targets, threads)
    return neighbours


class _Mirrors:
    """The mirrors of one partition, grouped by owner and sorted by the owner's numbering.

    `vertices` and `local` have the global number of each mirror and its local number on its owner. `position`
    has the local number of each neighbour, which `_partition` replaces by the place in `order`. `bounds` and
    `order` are as `Partition.mirror_bounds` and `PendingEdges.order`.
    """

    def __init__(
        self,
        neighbours: NDArray[np.uint32],
        owner: NDArray[Any],
        local: NDArray[np.uint32],
        p: int | None,
        bounds: NDArray[np.int64],
    ) -> None:
        self._p = p
        self._neighbours, self._neighbour_local = neighbours, local
        self._owned = np.diff(bounds)
        # First and last needed vertex of each owner whose run gets mirrors without gaps.
        self._full: dict[int, tuple[int, int]] = {}
        self._where = {
            q: np.flatnonzero(owner == q).astype(np.uint32)
            for q in range(len(self._owned))
            if q != p and len(neighbours)
        }

    def fill_gaps(self, world: World, ranks: Sequence[int], own: dict[int, NDArray[np.uint32]]) -> None:
        """Find the mirrors. If nearly all vertices of a long run are needed, all of them get mirrors.

        This is a collective operation; all ranks must call it.
        """
        for q, where in self._where.items():
            if len(where) >= LONG_RUN:
                mine = self._neighbour_local[where]
                first, last = int(mine.min()), int(mine.max()) + 1
                if NEARLY_ALL * (last - first) <= len(where) < last - first:
                    self._full[q] = first, last
        asked = world.allgather(self._full)
        nothing = np.empty(0, np.uint32)
        answers = [
            np.concatenate(
                [nothing]
                + [own[q][first:last] for q, (first, last) in runs.items() if ranks[q] == world.rank]
            )
            for runs in asked
        ]
        runs = world.alltoall(answers)
        at = [0] * world.size
        full = {}
        for q, (first, last) in self._full.items():
            rank = ranks[q]
            full[q] = runs[rank][at[rank] : at[rank] + last - first]
            at[rank] += last - first
        self._arrange(full, 0 if self._p is None else int(self._owned[self._p]))

    def order_neighbours(
        self,
        world: World,
        ranges: NDArray[np.int64],
        out_degrees: NDArray[np.uint32],
        owned_degrees: NDArray[np.uint32],
    ) -> None:
        """Find the order of neighbours, given the out-degrees of this rank's range and of the owned vertices.

        This is a collective operation; all ranks must call it.
        """
        [degrees] = fetch_in_rounds(world, ranges, self.vertices, [out_degrees])
        self.order = np.empty(0, np.uint32)
        if len(degrees):
            self.order = by_descending_degree(np.concatenate([owned_degrees, degrees]))

    def _arrange(self, full: dict[int, NDArray[np.uint32]], owned: int) -> None:
        threads = numba.get_num_threads()
        counts = [len(full[q]) if q in full else len(self._where.get(q, ())) for q in range(len(self._owned))]
        self.bounds = owned + np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        self.vertices = np.empty(sum(counts), np.uint32)
        self.local = np.empty(sum(counts), np.uint32)
        self.position = self._neighbour_local  # of owned vertices; mirrors follow
        for q, where in self._where.items():
            begin, end = (int(bound) - owned for bound in self.bounds[q : q + 2])
            mine = self._neighbour_local[where]
            if q in full:
                first, last = self._full[q]
                self.vertices[begin:end] = full[q]
                self.local[begin:end] = np.arange(first, last, dtype=np.uint32)
                place = mine - np.uint32(first)
            else:
                bitmap = np.zeros(-(-int(self._owned[q]) // 64), np.uint64)
                numbering.mark_ids(read_only(mine), bitmap, threads)
                before = np.zeros(len(bitmap), np.uint32)
                np.cumsum(np.bitwise_count(bitmap)[:-1], out=before[1:], dtype=np.uint32)
                place = np.empty(len(mine), np.uint32)
                numbering.number_by_bitmap(read_only(mine), bitmap, before, place, threads)
                self.vertices[begin + place] = self._neighbours[where]
                self.local[begin + place] = mine
            self.position[where] = place + np.uint32(begin + owned)
        del self._neighbours, self._neighbour_local, self._where


def _partition(
    p: int,
    graph: DistributedGraph,
    owned: OwnedRows,
    begin: int,
    end: int,
    mirrors: _Mirrors,
    own_vertices: NDArray[np.uint32],
) -> Partition:
    """Return a partition with pending edges."""
    vertices = np.concatenate([own_vertices, mirrors.vertices])
    del mirrors.vertices
    boundary = {
        direction: _count_remote(rows, begin, end, mirrors.position) for direction, rows in owned.rows.items()
    }
    replace_by_places(mirrors.position, mirrors.order)
    own_rows = np.arange(begin, end, dtype=np.uint32)
    stored = {}
    for direction, rows in owned.rows.items():
        bounds = rows.offsets[begin : end + 1] - rows.offsets[begin]
        stored[direction] = pending_edges(
            rows, own_rows, bounds, mirrors.position, len(vertices), mirrors.order, boundary[direction]
        )
    degree = owned.out_degree[begin:end]
    return partition_of(p, vertices, mirrors.bounds, degree, stored, directed=graph.directed)


def _count_remote(rows: CSR, begin: int, end: int, position: NDArray[np.uint32]) -> int:
    """Return how many edges of rows lead to mirrors."""
    targets = rows.targets[int(rows.offsets[begin]) : int(rows.offsets[end])]
    threads = numba.get_num_threads()
    return int(kernels.count_remote(read_only(targets), position, np.uint32(end - begin), threads))
