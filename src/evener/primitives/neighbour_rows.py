"""Rows of distinct neighbours, also those of vertices of other partitions, to compare the rows of vertices.

Idea: a vertex keeps each neighbour once, and not itself. With oriented rows, it keeps the neighbours that
come before it in the order of descending degree. A hub then has a short row, and each triangle is found once,
at the vertex of lowest degree. The rows of mirrors are fetched from their owners in batches, so that they
never need more memory than the rows of the partition itself.

Encoding: `offsets` uint64 and `targets` uint32, as CSR in local numbers, ascending in each row; `mutual`
uint8, 1 for a target with edges in both directions.

Chiba, Nishizeki: Arboricity and subgraph listing algorithms (1985); Sanders, Uhl: Engineering a
distributed-memory triangle counting algorithm (2023).
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.engine.array import PartitionedArray
from evener.kernels.kernel import KernelFile
from evener.primitives.partition_messages import exchange

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from evener.engine.engine import Engine

__all__ = ["NeighbourRows", "RowBatch", "cut", "part_of"]

kernels = KernelFile(__package__, "neighbour_rows")

# Targets. A batch of rows of mirrors has at least as many, if there are enough.
MIN_BATCH = 1 << 20


class RowBatch(NamedTuple):
    """Rows of some vertices of each partition, as arguments of a kernel.

    Attributes
    ----------
    first : PartitionedArray
        The local number of the first vertex, for rows of consecutive vertices.
    offsets, targets : PartitionedArray
        The rows as CSR in local numbers. A neighbour that the partition does not have is 2^32 - 1.
    mutual : PartitionedArray
        Whether each target has edges in both directions, uint8; empty unless the rows were made with it.
    """

    first: PartitionedArray
    offsets: PartitionedArray
    targets: PartitionedArray
    mutual: PartitionedArray


class NeighbourRows:
    """Rows of the distinct neighbours of each owned vertex, ascending in local numbers.

    The constructor and the methods are collective operations; all ranks must call them. A directed graph must
    be placed with the edges of both directions. A row has the ends of in-edges and of out-edges.

    Parameters
    ----------
    engine : Engine
    oriented : bool
        Whether a row has only the neighbours with a higher degree, or with an equal degree and a smaller
        number. See `degree`.
    mutual : bool, default False
        Whether to mark the targets that have edges in both directions.

    Attributes
    ----------
    offsets, targets, mutual : PartitionedArray
        uint64 of shape (L + 1,), uint32 and uint8, for L owned vertices. `mutual` is empty unless requested.
    degree : PartitionedArray
        The stored edges of each vertex and mirror in all directions, uint32.
    """

    def __init__(self, engine: Engine, *, oriented: bool, mutual: bool = False) -> None:
        self._engine, self._has_mutual = engine, mutual
        both = engine.partitioned.graph.directed
        edges = self._edges = (*engine.out[:2], *(engine.in_ if both else engine.out)[:2], both)
        self.degree = engine.array("uint32")
        engine.compute(kernels.row_lengths, edges[0], edges[2], both, self.degree)
        engine.pull(self.degree)
        self._order = (self.degree, engine.vertices)
        order = (oriented, *self._order)
        lengths = engine.owned_array("uint32")
        engine.compute(kernels.count_neighbours, *edges, *order, lengths)
        written = self._allocate(lengths)
        engine.compute(kernels.write_neighbours, *edges, *order, *written, lengths)
        rows = self._allocate(lengths)
        if [len(own) for own in written[1]] == [len(own) for own in rows[1]]:
            rows = written
        else:
            engine.compute(kernels.close_gaps, *written, *rows)
        self.offsets, self.targets, self.mutual = rows

    def _allocate(
        self, lengths: PartitionedArray
    ) -> tuple[PartitionedArray, PartitionedArray, PartitionedArray]:
        """Return offsets, and memory for the targets and their marks, of rows with these lengths."""
        offsets, elements = self._offsets(lengths), self._engine.elements
        ends = [int(e.download(own[-1:])[0]) for e, own in zip(elements, offsets, strict=True)]
        targets = [e.allocate(end, "uint32") for e, end in zip(elements, ends, strict=True)]
        marks = [e.allocate(end * self._has_mutual, "uint8") for e, end in zip(elements, ends, strict=True)]
        return offsets, PartitionedArray(targets), PartitionedArray(marks)

    @property
    def links(self) -> PartitionedArray:
        """The number of links of each owned vertex to distinct neighbours, uint32.

        An edge in both directions counts twice in a directed graph.
        """
        links = self._engine.owned_array("uint32")
        self._engine.compute(kernels.count_neighbours, *self._edges, 0, *self._order, links)
        return links

    def lengths(self) -> PartitionedArray:
        """Return the length of the row of each owned vertex and each mirror, uint32."""
        engine = self._engine
        lengths = engine.array("uint32")
        engine.compute(kernels.row_lengths, self.offsets, self.offsets, 0, lengths)
        engine.pull(lengths)
        return lengths

    def batches(self) -> Iterator[RowBatch]:
        """Yield the rows of the owned vertices, then those of mirrors in batches.

        A batch has the rows of consecutive mirrors. It has at most as many targets as the rows
        of the owned vertices of a partition, or a million.
        """
        engine = self._engine
        yield RowBatch(engine.scalar(0), self.offsets, self.targets, self.mutual)
        if not engine.has_mirrors:
            return
        vertices = engine.download(engine.vertices)
        bounds = [
            cut(lengths, owned, max(len(targets), MIN_BATCH))
            for lengths, owned, targets in zip(
                engine.download(self.lengths()), engine.owned, self.targets, strict=True
            )
        ]
        for batch in range(max(map(len, engine.gather(bounds))) - 1):
            mirrors = [part_of(own, batch) for own in bounds]
            wanted = [numbers[own] for numbers, own in zip(vertices, mirrors, strict=True)]
            rows, _ = self.fetch(wanted)  # mirrors are grouped by owner
            yield rows._replace(first=PartitionedArray([own.start for own in mirrors]))

    def lengths_of(self, wanted: Sequence[NDArray[np.uint32]]) -> list[NDArray[np.uint32]]:
        """Return the lengths of rows, given numbers of vertices in the graph for each partition of this rank.

        This is a collective operation; all ranks must call it.
        """
        places, requests = _requests(self._engine, wanted)
        asked = exchange(self._engine, requests)
        listed = self._engine.upload([np.concatenate(own) for own in asked])
        lengths = self._lengths_of(listed)
        cuts = [np.cumsum([0, *map(len, own)]) for own in asked]
        answers = self._engine.download(self._send(lengths, cuts))
        return [answer[place] for answer, place in zip(answers, places, strict=True)]

    def _lengths_of(self, listed: PartitionedArray) -> PartitionedArray:
        sizes = zip(self._engine.elements, listed, strict=True)
        lengths = PartitionedArray([element.allocate(len(own), "uint32") for element, own in sizes])
        self._engine.compute(kernels.lengths_of, self.offsets, listed, lengths)
        return lengths

    def fetch(
        self, wanted: Sequence[NDArray[np.uint32]], *, numbers: bool = False
    ) -> tuple[RowBatch, list[NDArray[np.int64]]]:
        """Return rows of any vertices, and the place of the row of each vertex among them.

        This is a collective operation; all ranks must call it. The rows move through the memory of the host.
        Their targets are in the order of their owners, so they do not ascend.

        Parameters
        ----------
        wanted : sequence of ndarray of uint32
            For each partition of this rank, the numbers of vertices in the graph. Vertices that are grouped
            by their owners, in ascending order of these, have their rows at the same places.
        numbers : bool, default False
            Whether targets are numbers of the graph instead of local numbers.
        """
        engine = self._engine
        places, requests = _requests(engine, wanted)
        asked = exchange(engine, requests)
        listed = engine.upload([np.concatenate(own) for own in asked])
        lengths = self._lengths_of(listed)
        begins, targets, marks = self._allocate(lengths)
        engine.compute(
            kernels.pack_rows, self.offsets, self.targets, self.mutual, engine.vertices, listed, begins,
            targets, marks,
        )  # fmt: skip
        rows = [np.cumsum([0, *map(len, own)]) for own in asked]
        ends = [part[own] for part, own in zip(engine.download(begins), rows, strict=True)]
        own_lengths, own_targets = self._send(lengths, rows), self._send(targets, ends)
        own_marks = self._send(marks, ends) if self._has_mutual else self.mutual
        offsets = self._offsets(own_lengths)
        if not numbers:
            engine.compute(kernels.to_local, *self._numbers, own_targets)
        return RowBatch(engine.scalar(0), offsets, own_targets, own_marks), places

    def _send(self, array: PartitionedArray, cuts: Sequence[NDArray[Any]]) -> PartitionedArray:
        """Send the parts of an array between cuts, one to each partition, and return the received values."""
        pairs = zip(self._engine.download(array), cuts, strict=True)
        parts = [np.split(values, own[1:-1].astype(np.int64)) for values, own in pairs]
        return self._engine.upload([np.concatenate(own) for own in exchange(self._engine, parts)])

    def _offsets(self, lengths: PartitionedArray) -> PartitionedArray:
        """Return the offsets of rows with these lengths."""
        pairs = zip(self._engine.elements, lengths, strict=True)
        offsets = PartitionedArray([element.allocate(len(own) + 1, "uint64") for element, own in pairs])
        self._engine.compute("scan.offsets_of", lengths, offsets)
        return offsets

    @cached_property
    def _numbers(self) -> tuple[PartitionedArray, PartitionedArray]:
        """The numbers of the local vertices in the graph, ascending, and their local numbers."""
        vertices = self._engine.download(self._engine.vertices)
        order = [np.argsort(own).astype(np.uint32) for own in vertices]
        ascending = [own[places] for own, places in zip(vertices, order, strict=True)]
        return self._engine.upload(ascending), self._engine.upload(order)


def _requests(
    engine: Engine, wanted: Sequence[NDArray[np.uint32]]
) -> tuple[list[NDArray[np.int64]], list[list[NDArray[np.uint32]]]]:
    """Return the place of each vertex among those grouped by owner, and the local numbers for each owner."""
    owners, numbers = engine.partitioned.places_of(np.concatenate(wanted))
    cuts = np.cumsum([len(own) for own in wanted])[:-1]
    places, requests = [], []
    for owner, local in zip(np.split(owners, cuts), np.split(numbers, cuts), strict=True):
        order = np.argsort(owner, kind="stable")
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        counts = np.bincount(owner, minlength=len(engine.partitioned.ranks))
        places.append(place)
        requests.append(np.split(local[order], np.cumsum(counts)[:-1]))
    return places, requests


def cut(lengths: NDArray[np.uint32], first: int, most: int) -> list[int]:
    """Return bounds of batches of the rows from `first` on, each with at most `most` targets or one row."""
    ends, bounds = np.cumsum(lengths, dtype=np.int64), [first]
    while bounds[-1] < len(lengths):
        before = ends[bounds[-1] - 1] if bounds[-1] else 0
        bounds.append(max(bounds[-1] + 1, int(np.searchsorted(ends, before + most, side="right"))))
    return bounds


def part_of(bounds: Sequence[int], batch: int) -> slice:
    """Return the rows of a batch, of which there are none after the last batch."""
    last = len(bounds) - 1
    return slice(bounds[min(batch, last)], bounds[min(batch + 1, last)])
