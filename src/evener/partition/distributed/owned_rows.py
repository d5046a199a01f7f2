"""Owned rows: send each row from the rank that has it to the rank of its owner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError
from evener.graph.arrays import read_only
from evener.graph.bitmap import Bitmap
from evener.graph.csr import CSR
from evener.kernels.cpu import ranks as kernels
from evener.partition.block_exchange import BlockExchange
from evener.partition.distributed.rows import chunk_length, degrees_of
from evener.partition.host_build import HostPart

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from evener.partition.distributed.graph import DistributedGraph
    from evener.partition.distributed.numbers import DistributedNumbering
    from evener.partition.distributed.rows import RowPiece

__all__ = ["OwnedRows"]


class OwnedRows:
    """The rows and out-degrees of the vertices that the partitions of this rank own, by number.

    The constructor sends the rows of all ranks to the ranks of their owners, and frees the arrays of the
    graph. It is a collective operation; all ranks must call it. It raises ArgumentError if the graph was
    placed before.
    """

    def __init__(self, graph: DistributedGraph, numbering: DistributedNumbering) -> None:
        if not graph.rows:
            msg = (
                "partition: the edges of this graph were placed before and freed; give the path or spec again"
            )
            raise ArgumentError(msg)
        self._world, self._n, self._numbering = graph.world, graph.n, numbering
        exchange = BlockExchange(self._world, numbering.of_ranks, numbering.numbers)
        begin, end = graph.ranges.bounds[self._world.rank : self._world.rank + 2]
        numbering.vertices = exchange.deliver(np.arange(begin, end, dtype=np.uint32))
        self.out_degree = exchange.deliver(graph.out_degrees.astype(np.uint32))
        self._strength = None if graph.strength is None else exchange.deliver(graph.strength)
        rows, dtype = dict(sorted(graph.rows.items())), graph.weight_dtype
        lengths = {
            direction: self.out_degree if direction == "out" else exchange.deliver(degrees_of(pieces))
            for direction, pieces in rows.items()
        }
        graph.release()
        del exchange
        self._rows = {
            direction: _send(numbering, rows.pop(direction), length, dtype)
            for direction, length in lengths.items()
        }

    def strength_of(self, mine: Sequence[int]) -> list[NDArray[np.float64]] | None:
        """Return the sums of the weights of out-edges by partition, if known."""
        strength = self._strength
        return None if strength is None else [strength[self._numbering.owned_range(p)] for p in mine]

    def part(self, p: int) -> HostPart:
        """Return a partition before the first step. Its targets become positions among distinct targets."""
        own, marked = self._numbering.owned_range(p), Bitmap(self._n)
        edges = [
            rows.targets[int(rows.offsets[own.start]) : int(rows.offsets[own.stop])]
            for rows in self._rows.values()
        ]
        for targets in edges:
            marked.add(targets)
        marked.count()
        for targets in edges:
            marked.replace_by_ranks(targets)
        rows = np.arange(own.start, own.stop, dtype=np.uint32)
        return HostPart(p, self._rows, rows, marked.numbers(), in_place=True)


def _send(
    numbering: DistributedNumbering,
    pieces: list[RowPiece],
    lengths: NDArray[Any],
    dtype: np.dtype[Any] | None,
) -> CSR:
    """Send the rows of pieces in chunks, and return the rows of this rank. The pieces are freed on the way.

    `lengths` has the lengths of the rows of this rank.
    """
    offsets = np.zeros(len(lengths) + 1, np.uint64)
    np.cumsum(lengths, out=offsets[1:])
    targets = np.empty(int(offsets[-1]), np.uint32)
    weights = None if dtype is None else np.empty(len(targets), dtype)
    world, length = numbering.world, chunk_length(sum(len(piece.rows.targets) for piece in pieces))
    steps = world.allreduce(sum(len(_cuts(piece, length)) - 1 for piece in pieces), "max")
    chunks = _chunks(pieces, numbering.numbers, length)
    nothing = (np.empty(0, np.uint32), np.zeros(1, np.uint64), np.empty(0, np.uint32), np.empty(0, dtype))
    for _ in range(steps):
        numbers, begins, own_targets, own_weights = next(chunks, nothing)
        exchange = BlockExchange(world, numbering.of_ranks, numbers)
        sent = np.diff(begins)[exchange.order]
        starts = np.append(np.uint64(0), np.cumsum(sent))
        columns = [(own_targets, targets)] + ([] if weights is None else [(own_weights, weights)])
        for source, target in columns:
            packed = np.empty(int(starts[-1]), source.dtype)
            bits = f"u{source.itemsize}"  # one compilation for all types of one width
            own_bits, packed_bits = read_only(source.view(bits)), packed.view(bits)
            kernels.copy_rows(sent, begins[:-1][exchange.order], starts[:-1], own_bits, packed_bits)
            received = world.alltoall(np.split(packed, starts[exchange.cuts].astype(np.int64)))
            for at, part in zip(exchange.places, received, strict=True):
                own = offsets[at + np.uint32(1)] - offsets[at]
                begin = np.cumsum(own) - own
                part_bits, target_bits = read_only(part.view(bits)), target.view(bits)
                kernels.copy_rows(own, begin, offsets[at], part_bits, target_bits)
    return CSR(offsets, targets, weights, None)


def _cuts(piece: RowPiece, length: int) -> NDArray[np.int64]:
    """Return bounds of chunks of rows with about `length` edges or rows."""
    offsets = piece.rows.offsets
    rows = len(offsets) - 1
    steps = np.arange(length, int(offsets[-1]), length, dtype=np.uint64)
    every = np.arange(0, rows, length)
    return np.unique(np.concatenate([[0], every, np.searchsorted(offsets, steps), [rows]])).astype(np.int64)


def _chunks(
    pieces: list[RowPiece], numbers: NDArray[np.uint32], length: int
) -> Iterator[tuple[NDArray[Any], ...]]:
    """Yield the numbers, the bounds, the targets and the weights of rows, and free the pieces."""
    first = 0
    while pieces:
        piece = pieces.pop(0)
        cuts = _cuts(piece, length)
        offsets, targets, weights, _ = piece.rows
        for begin, end in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
            one, other = int(offsets[begin]), int(offsets[end])
            own = np.empty(0, np.float32) if weights is None else weights[one:other]
            begins = offsets[begin : end + 1] - np.uint64(one)
            yield numbers[first + begin : first + end], begins, targets[one:other], own
        first += len(offsets) - 1
