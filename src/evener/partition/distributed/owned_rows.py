"""Owned rows: send each row from the rank that has it to the rank of its owner."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError
from evener.graph.arrays import read_only
from evener.graph.csr import CSR
from evener.kernels.cpu import ranks as kernels
from evener.partition.distributed.rows import chunk_length, degrees_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from evener.partition.distributed.graph import DistributedGraph
    from evener.partition.distributed.numbers import DistributedNumbers
    from evener.partition.distributed.rows import RowPiece
    from evener.system.world import World

__all__ = ["OwnedRows", "send_rows"]


@dataclass(frozen=True, eq=False)
class OwnedRows:
    """The rows and degrees of the vertices that the partitions of a rank own, by partition and local number.

    `rows` has the rows by direction, "out" or "in"; their targets are global numbers.
    """

    vertices: NDArray[np.uint32]
    out_degree: NDArray[np.uint32]
    strength: NDArray[np.float64] | None
    rows: dict[str, CSR]

    def strength_of(self, bounds: NDArray[np.int64]) -> list[NDArray[np.float64]] | None:
        """Return `strength` by partition, given sums of the vertices of this rank's partitions."""
        if self.strength is None:
            return None
        return [self.strength[begin:end] for begin, end in pairwise((bounds - bounds[0]).tolist())]


def send_rows(graph: DistributedGraph, numbers: DistributedNumbers, ranks: Sequence[int]) -> OwnedRows:
    """Send all rows of a graph to the ranks of their owners, and return those of this rank.

    The graph has no rows afterwards. Raises ArgumentError if it had none, because it was placed before. This
    is a collective operation; all ranks must call it.
    """
    world = graph.world
    if not graph.rows:
        msg = "partition: the edges of this graph were placed before and freed; give the path or spec again"
        raise ArgumentError(msg)
    to = np.array(ranks)[numbers.owner].astype(np.uint16)
    owned, places, offsets = _send_vertices(graph, numbers, ranks, to)
    for direction in sorted(graph.rows):
        pieces = graph.rows.pop(direction)
        owned.rows[direction] = _send(world, pieces, to, places, offsets[direction], graph.weight_dtype)
    return owned


def _send_vertices(
    graph: DistributedGraph, numbers: DistributedNumbers, ranks: Sequence[int], to: NDArray[np.uint16]
) -> tuple[OwnedRows, list[NDArray[np.uint32]], dict[str, NDArray[np.uint64]]]:
    """Send the number, the degrees and the strength of each vertex to the rank of its owner, `to`.

    This is a collective operation; all ranks must call it. Returns the vertices without rows, the places of
    the vertices that each rank sends, and the offsets of the rows by direction.
    """
    world, bounds = graph.world, numbers.bounds
    starts = bounds[[ranks.index(rank) for rank in range(world.size)]]
    order = np.argsort(to, kind="stable")
    cuts = np.cumsum(np.bincount(to, minlength=world.size))[:-1]
    begin, end = graph.ranges.bounds[world.rank : world.rank + 2]

    def sent(values: NDArray[Any]) -> list[NDArray[Any]]:
        return world.alltoall(np.split(values[order], cuts))

    places = sent((bounds[numbers.owner] - starts[to] + numbers.local).astype(np.uint32))
    owned = sum(len(part) for part in places)

    def placed(values: NDArray[Any]) -> NDArray[Any]:
        found = np.empty(owned, values.dtype)
        for at, part in zip(places, sent(values), strict=True):
            found[at] = part
        return found

    vertices = placed(np.arange(begin, end, dtype=np.uint32))
    out_degree = placed(graph.out_degrees.astype(np.uint32))
    strength = None if graph.strength is None else placed(graph.strength)
    offsets = {direction: np.zeros(owned + 1, np.uint64) for direction in graph.rows}
    for direction, pieces in graph.rows.items():
        lengths = out_degree if direction == "out" else placed(degrees_of(pieces))
        np.cumsum(lengths, out=offsets[direction][1:])
    return OwnedRows(vertices, out_degree, strength, {}), places, offsets


def _send(
    world: World,
    pieces: list[RowPiece],
    to: NDArray[np.uint16],
    places: list[NDArray[np.uint32]],
    offsets: NDArray[np.uint64],
    dtype: np.dtype[Any] | None,
) -> CSR:
    """Send the rows of pieces in chunks. The pieces are freed on the way.

    `to` has the rank of each row, and `places` the rows of this rank that each rank sends.
    """
    targets = np.empty(int(offsets[-1]), np.uint32)
    weights = None if dtype is None else np.empty(len(targets), dtype)
    done = [0] * world.size
    length = chunk_length(sum(len(piece.rows.targets) for piece in pieces))
    chunks = _chunks(pieces, to, length)
    steps = world.allreduce(sum(len(_cuts(piece, length)) - 1 for piece in pieces), "max")
    nothing = (np.empty(0, np.uint16), np.empty(0, np.uint64), np.empty(0, np.uint32), np.empty(0, dtype))
    for _ in range(steps):
        own_to, begins, own_targets, own_weights = next(chunks, nothing)
        order = np.argsort(own_to, kind="stable")
        lengths = np.diff(begins)[order] if len(begins) else np.empty(0, np.uint64)
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint64)
        counts = np.bincount(own_to, minlength=world.size)
        cuts = starts[np.cumsum(counts)].astype(np.int64)
        numbers = world.alltoall(list(counts.astype(np.int64).reshape(-1, 1)))
        columns = [(own_targets, targets)] + ([] if weights is None else [(own_weights, weights)])
        for source, target in columns:
            packed = np.empty(int(starts[-1]), source.dtype)
            bits = f"u{source.itemsize}"  # one compilation for all types of one width
            own_bits, packed_bits = read_only(source.view(bits)), packed.view(bits)
            kernels.copy_rows(lengths, begins[:-1][order], starts[:-1], own_bits, packed_bits)
            received = world.alltoall(np.split(packed, cuts[:-1]))
            for rank, part in enumerate(received):
                at = places[rank][done[rank] : done[rank] + int(numbers[rank][0])]
                own = offsets[at + np.uint32(1)] - offsets[at]
                ends = np.cumsum(own)
                part_bits, target_bits = read_only(part.view(bits)), target.view(bits)
                kernels.copy_rows(own, (ends - own).astype(np.uint64), offsets[at], part_bits, target_bits)
        done = [before + int(count[0]) for before, count in zip(done, numbers, strict=True)]
    return CSR(offsets, targets, weights, None)


def _cuts(piece: RowPiece, length: int) -> NDArray[np.int64]:
    """Return bounds of chunks of rows with about `length` edges or rows."""
    offsets = piece.rows.offsets
    rows = len(offsets) - 1
    steps = np.arange(length, int(offsets[-1]), length, dtype=np.uint64)
    every = np.arange(0, rows, length)
    return np.unique(np.concatenate([[0], every, np.searchsorted(offsets, steps), [rows]])).astype(np.int64)


def _chunks(
    pieces: list[RowPiece], to: NDArray[np.uint16], length: int
) -> Iterator[tuple[NDArray[Any], ...]]:
    """Yield the ranks, the bounds, the targets and the weights of rows, and free the pieces."""
    first = 0
    while pieces:
        piece = pieces.pop(0)
        cuts = _cuts(piece, length)
        offsets, targets, weights, _ = piece.rows
        for begin, end in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
            one, other = int(offsets[begin]), int(offsets[end])
            own = np.empty(0, np.float32) if weights is None else weights[one:other]
            begins = offsets[begin : end + 1] - np.uint64(one)
            yield to[first + begin : first + end], begins, targets[one:other], own
        first += len(offsets) - 1
