"""Build the partitions of a rank in host memory.

The steps are the same for a graph in one process and for a graph in parts: mark the remote targets of each
partition, group them by owner, and map targets to local numbers. A source supplies the rows and the facts
about vertices, from arrays or from other ranks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from evener.graph.arrays import read_only
from evener.kernels.cpu import partition as kernels
from evener.partition.bitmap import Bitmap
from evener.partition.degrees import by_descending_degree, replace_by_places
from evener.partition.partition import mirrors_below, partition_of, pending_edges, work_blocks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from evener.graph.csr import CSR
    from evener.graph.graph import Graph
    from evener.partition.numbering import Numbering
    from evener.partition.partition import Partition

__all__ = ["HostBuilt", "Rows", "RowsOfGraph", "build_on_host"]


class HostBuilt(NamedTuple):
    """A partition with pending edges, and the numbers of its mirrors, in host memory."""

    partition: Partition
    mirrors: NDArray[np.uint32]


@dataclass(eq=False)
class Rows:
    """The rows of the owned vertices of partition `p`.

    Attributes
    ----------
    stored : dict of Graph or CSR
        The rows by direction, "out" or "in".
    own, vertices, out_degree : ndarray of uint32, shape (L,)
        The row of each owned vertex in `stored`, its global number and its out-degree.
    targets : ndarray of uint32, optional
        The vertex of each value in the rows. Default: the values are vertices.
    """

    p: int
    stored: Mapping[str, Graph | CSR]
    own: NDArray[np.uint32]
    vertices: NDArray[np.uint32]
    out_degree: NDArray[np.uint32]
    targets: NDArray[np.uint32] | None = None


class Source(Protocol):
    """Where the rows of a rank are, and what it knows of the vertices of other partitions."""

    directed: bool
    bounds: NDArray[np.int64]

    def rows_of(self, p: int) -> Rows:
        """Return the rows of a partition."""

    def numbers_of(self, targets: list[NDArray[np.uint32] | None]) -> list[NDArray[np.uint32]]:
        """Return copies of the numbers of vertices; None lists all vertices of the graph."""

    def vertices_of(self, numbers: list[NDArray[np.uint32]]) -> list[list[NDArray[np.uint32]]]:
        """Return the vertices with these numbers, and their out-degrees."""


class RowsOfGraph:
    """A source of rows with all rows of a graph, and the out-degrees of its vertices."""

    def __init__(
        self, graph: Graph, directions: str, numbering: Numbering, out_degree: NDArray[np.uint32]
    ) -> None:
        self.directed, self.bounds = graph.directed, numbering.bounds
        self._graph, self._directions = graph, directions
        self._numbering, self._out_degree = numbering, out_degree

    def rows_of(self, p: int) -> Rows:
        """Return the rows of a partition; an undirected graph has one direction."""
        owned, graph = self._numbering.owned_by(p), self._graph
        stored = {} if graph.directed and self._directions == "in" else {"out": graph}
        if graph.directed and self._directions != "out":
            stored["in"] = graph.reverse
        return Rows(p, stored, owned, owned, _gathered(self._out_degree, owned))

    def numbers_of(self, targets: list[NDArray[np.uint32] | None]) -> list[NDArray[np.uint32]]:
        """Return a copy of the numbers of all vertices for each partition."""
        return [self._numbering.numbers.copy() for _ in targets]

    def vertices_of(self, numbers: list[NDArray[np.uint32]]) -> list[list[NDArray[np.uint32]]]:
        """Return the vertices with these numbers, and their out-degrees."""
        vertices = [_gathered(self._numbering.vertices, own) for own in numbers]
        return [[own, _gathered(self._out_degree, own)] for own in vertices]


def build_on_host(source: Source, mine: Sequence[int]) -> list[HostBuilt]:
    """Return the partitions with the numbers `mine`; `upload.upload_partition` writes their edges.

    If the source is a graph in parts, this is a collective operation; all ranks must call it.
    """
    parts = [_Part(source.rows_of(p), source.bounds) for p in mine]
    for part, numbers in zip(parts, source.numbers_of([part.rows.targets for part in parts]), strict=True):
        part.mark(numbers)
    found = source.vertices_of([part.mirrors for part in parts])
    return [part.finish(*own, directed=source.directed) for part, own in zip(parts, found, strict=True)]


class _Part:
    """One partition while it is built. `bounds` has the first number of each partition."""

    def __init__(self, rows: Rows, bounds: NDArray[np.int64]) -> None:
        self.rows, self._bounds = rows, bounds
        self._row_bounds = {}
        for direction, stored in rows.stored.items():
            own = self._row_bounds[direction] = np.zeros(len(rows.own) + 1, np.uint64)
            kernels.row_lengths(read_only(stored.offsets), read_only(rows.own), own[1:])
            np.cumsum(own, out=own)

    def mark(self, numbers: NDArray[np.uint32]) -> None:
        """Mark the remote targets, and group them by owner. `numbers` has the number of each target."""
        rows, bounds = self.rows, self._bounds
        self._position = numbers
        self._range = np.uint64(bounds[rows.p]), np.uint64(len(rows.own))
        self._boundary = dict.fromkeys(rows.stored, 0)
        self.mirrors = numbers[:0]
        self._mirror_bounds = np.full(len(bounds), len(rows.own))
        if len(bounds) == 2:
            return
        needed = np.zeros(len(numbers), np.uint8)
        kernels.mark_owned(numbers, *self._range, needed)
        for direction, stored in rows.stored.items():
            blocks = work_blocks(self._row_bounds[direction])
            offsets, targets = read_only(stored.offsets), read_only(stored.targets)
            self._boundary[direction] = int(kernels.mark_remote(offsets, targets, rows.own, blocks, needed))
        self._marked = Bitmap(int(bounds[-1]))
        self._marked.add(numbers[needed == kernels.NEEDED])
        self._marked.count()
        self._mirror_bounds += mirrors_below(self._marked, bounds)
        self.mirrors = self._marked.numbers()

    def finish(
        self, mirrors: NDArray[np.uint32], degrees: NDArray[np.uint32], *, directed: bool
    ) -> HostBuilt:
        """Map targets to local numbers, given the vertices and out-degrees of the mirrors."""
        rows, order = self.rows, np.empty(0, np.uint32)
        vertices = rows.vertices
        if len(mirrors):  # without mirrors, numbers differ from local numbers by a constant only
            vertices = np.concatenate([vertices, mirrors])
            order = by_descending_degree(np.concatenate([rows.out_degree, degrees]))
        if len(self._bounds) > 2:
            kernels.number_partition(self._position, *self._range, self._marked.words, self._marked.ranks)
            replace_by_places(self._position, order)
        stored = {
            direction: pending_edges(
                own, rows.own, self._row_bounds[direction], self._position, len(vertices), order,
                self._boundary[direction],
            )
            for direction, own in rows.stored.items()
        }  # fmt: skip
        bounds = self._mirror_bounds
        built = partition_of(rows.p, vertices, bounds, rows.out_degree, stored, directed=directed)
        return HostBuilt(built, self.mirrors)


def _gathered(values: NDArray[Any], places: NDArray[np.uint32]) -> NDArray[Any]:
    """Return the values at some places."""
    found = np.empty(len(places), values.dtype)
    kernels.gather_values(read_only(values), read_only(places), found)
    return found
