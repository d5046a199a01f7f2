"""Rows of distinct neighbours, also those of vertices of other partitions, to compare the rows of vertices.

Idea: a vertex keeps each neighbour once, and not itself. With oriented rows, it keeps the neighbours that
come before it in the order of descending degree. A hub then has a short row, and each triangle is found once,
at the vertex of lowest degree. The rows of mirrors are fetched from their owners in batches, so that they
never need more memory than the rows of the partition itself. If one element stores an undirected graph
without self-loops and repeated edges, its edges are the rows.

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
from evener.graph.arrays import read_only
from evener.kernels.kernel import KernelFile
from evener.partition.gpu_build import on_gpu
from evener.primitives.partition_messages import exchange

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from evener.engine.engine import Engine
    from evener.partition.partition import Edges

    # Offsets, targets and their marks.
    Rows = tuple[PartitionedArray, PartitionedArray, PartitionedArray]

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
        offsets, targets, self.mutual = self._rows(oriented=oriented)
        self.offsets, self.targets = _constant(offsets), _constant(targets)

    def _rows(self, *, oriented: bool) -> Rows:
        """Return the offsets, the targets and their marks: those of the stored edges, if they are equal."""
        engine, order = self._engine, (oriented, *self._order)
        stored = None if oriented or self._has_mutual else _ascending_edges(engine)
        if stored is None or "distinct" not in stored.derived:
            lengths = engine.owned_array("uint32")
            engine.compute(kernels.count_neighbours, *self._edges, *order, lengths)
            written = self._allocate(lengths)
            if stored is None or len(written[1][0]) < stored.count:
                return self._written(order, written, lengths)
            stored.derived["distinct"] = True  # for later runs
        return engine.out[0], PartitionedArray([on_gpu(stored.targets)]), engine.local_array(0, "uint8")

    def _written(self, order: Any, written: Rows, lengths: PartitionedArray) -> Rows:
        """Return rows that are written to allocated memory, and copied if that leaves gaps."""
        engine = self._engine
        engine.compute(kernels.write_neighbours, *self._edges, *order, *written, lengths)
        rows = self._allocate(lengths)
        if list(map(len, written[1])) == list(map(len, rows[1])):
            return written
        engine.compute(kernels.close_gaps, *written, *rows)
        return rows

    def _allocate(self, lengths: PartitionedArray) -> Rows:
        """Return offsets, and memory for the targets and their marks, of rows with these lengths."""
        offsets, elements = self._offsets(lengths), self._engine.elements
        ends = [int(e.download(part[-1:])[0]) for e, part in zip(elements, offsets, strict=True)]
        targets = [e.allocate(end, "uint32") for e, end in zip(elements, ends, strict=True)]
        marks = [e.allocate(end * self._has_mutual, "uint8") for e, end in zip(elements, ends, strict=True)]
        return offsets, PartitionedArray(targets), PartitionedArray(marks)

    def links(self) -> PartitionedArray:
        """Return the number of links of each owned vertex to distinct neighbours, uint32.

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
            mirrors = [part_of(cuts, batch) for cuts in bounds]
            wanted = [numbers[part] for numbers, part in zip(vertices, mirrors, strict=True)]
            rows, _ = self.fetch(wanted)  # mirrors are grouped by owner
            yield rows._replace(first=PartitionedArray([part.start for part in mirrors]))

    def lengths_of(self, wanted: Sequence[NDArray[np.uint32]]) -> list[NDArray[np.uint32]]:
        """Return the lengths of rows, given numbers of vertices in the graph for each partition of this rank.

        This is a collective operation; all ranks must call it.
        """
        places, requests = _requests(self._engine, wanted)
        asked = exchange(self._engine, requests)
        listed = self._engine.upload([np.concatenate(messages) for messages in asked])
        lengths = self._lengths_of(listed)
        cuts = [np.cumsum([0, *map(len, messages)]) for messages in asked]
        answers = self._engine.download(self._send(lengths, cuts))
        return [answer[place] for answer, place in zip(answers, places, strict=True)]

    def _lengths_of(self, listed: PartitionedArray) -> PartitionedArray:
        sizes = zip(self._engine.elements, listed, strict=True)
        lengths = PartitionedArray([element.allocate(len(part), "uint32") for element, part in sizes])
        self._engine.compute(kernels.lengths_of, self.offsets, listed, lengths)
        return lengths

    def fetch(
        self, wanted: Sequence[NDArray[np.uint32]], *, numbers: bool = False, ascending: bool = False
    ) -> tuple[RowBatch, list[NDArray[np.int64]]]:
        """Return rows of any vertices, and the place of the row of each vertex among them.

        This is a collective operation; all ranks must call it. The rows move through the memory of the host.

        Parameters
        ----------
        wanted : sequence of ndarray of uint32
            For each partition of this rank, the numbers of vertices in the graph. Vertices that are grouped
            by their owners, in ascending order of these, have their rows at the same places.
        numbers : bool, default False
            Whether targets are numbers of the graph instead of local numbers.
        ascending : bool, default False
            Whether to sort the targets of each row. Otherwise they are in the order of their owners.
        """
        engine = self._engine
        places, requests = _requests(engine, wanted)
        asked = exchange(engine, requests)
        listed = engine.upload([np.concatenate(messages) for messages in asked])
        lengths = self._lengths_of(listed)
        begins, targets, marks = self._allocate(lengths)
        engine.compute(
            kernels.pack_rows, self.offsets, self.targets, self.mutual, engine.vertices, listed, begins,
            targets, marks,
        )  # fmt: skip
        row_cuts = [np.cumsum([0, *map(len, messages)]) for messages in asked]
        target_cuts = [part[cuts] for part, cuts in zip(engine.download(begins), row_cuts, strict=True)]
        offsets = self._offsets(self._send(lengths, row_cuts))
        received = self._send(targets, target_cuts)
        mutual = self._send(marks, target_cuts) if self._has_mutual else self.mutual
        if not numbers:
            engine.compute(kernels.to_local, *self._numbers, received)
        if ascending:
            engine.compute(kernels.sort_rows, offsets, received)
        return RowBatch(engine.scalar(0), _constant(offsets), _constant(received), mutual), places

    def _send(self, array: PartitionedArray, cuts: Sequence[NDArray[Any]]) -> PartitionedArray:
        """Send the parts of an array between cuts, one to each partition, and return the received values."""
        pairs = zip(self._engine.download(array), cuts, strict=True)
        messages = [np.split(values, ends[1:-1].astype(np.int64)) for values, ends in pairs]
        return self._engine.upload(list(map(np.concatenate, exchange(self._engine, messages))))

    def _offsets(self, lengths: PartitionedArray) -> PartitionedArray:
        """Return the offsets of rows with these lengths."""
        pairs = zip(self._engine.elements, lengths, strict=True)
        offsets = PartitionedArray([element.allocate(len(part) + 1, "uint64") for element, part in pairs])
        self._engine.compute("scan.offsets_of", lengths, offsets)
        return offsets

    @cached_property
    def _numbers(self) -> tuple[PartitionedArray, PartitionedArray]:
        """The numbers of the local vertices in the graph, ascending, and their local numbers."""
        vertices = self._engine.download(self._engine.vertices)
        order = [np.argsort(numbers).astype(np.uint32) for numbers in vertices]
        ascending = [numbers[places] for numbers, places in zip(vertices, order, strict=True)]
        return self._engine.upload(ascending), self._engine.upload(order)


def _ascending_edges(engine: Engine) -> Edges | None:
    """Return the stored edges if one element has all edges of an undirected graph, in ascending rows."""
    if not engine.single or engine.partitioned.graph.directed:
        return None
    edges = engine.partitions[0].out
    return edges if edges is not None and edges.host_edges == 0 else None


def _constant(array: PartitionedArray) -> PartitionedArray:
    """Return read-only views of host arrays, as placed graphs have: kernels are compiled for one type."""
    return PartitionedArray([read_only(part) if isinstance(part, np.ndarray) else part for part in array])


def _requests(
    engine: Engine, wanted: Sequence[NDArray[np.uint32]]
) -> tuple[list[NDArray[np.int64]], list[list[NDArray[np.uint32]]]]:
    """Return the place of each vertex among those grouped by owner, and the local numbers for each owner."""
    owners, numbers = engine.partitioned.places_of(np.concatenate(wanted))
    cuts = np.cumsum(list(map(len, wanted)))[:-1]
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
