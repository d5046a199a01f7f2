"""Build the partitions of a rank in host memory.

The steps are the same for a graph in one process and for a graph in parts: mark the remote targets of each
partition, group them by owner, and map targets to local numbers. The numbering supplies the facts about
vertices, from arrays or from other ranks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evener.graph.arrays import read_only
from evener.graph.bitmap import Bitmap
from evener.kernels.cpu import partition as kernels
from evener.partition.degrees import by_descending_degree, replace_by_places
from evener.partition.numbering import joined
from evener.partition.partition import mirrors_below, partition_of, pending_edges, work_blocks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from evener.graph.csr import CSR
    from evener.graph.graph import Graph
    from evener.partition.numbering import Numbering
    from evener.partition.partition import Partition

__all__ = ["HostBuilt", "Rows", "build_on_host", "rows_of_graph"]


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
    own : ndarray of uint32, shape (L,)
        The row of each owned vertex in `stored`.
    targets : ndarray of uint32, optional
        The vertex of each value in the rows. Default: the values are vertices.
    """

    p: int
    stored: Mapping[str, Graph | CSR]
    own: NDArray[np.uint32]
    targets: NDArray[np.uint32] | None = None


def rows_of_graph(p: int, graph: Graph, directions: str, numbering: Numbering) -> Rows:
    """Return the rows of a partition of a graph in one process."""
    stored = {} if graph.directed and directions == "in" else {"out": graph}
    if graph.directed and directions != "out":
        stored["in"] = graph.reverse
    return Rows(p, stored, numbering.owned_by(p))


def build_on_host(
    of_parts: list[Rows], numbering: Numbering, out_degree: NDArray[np.uint32], *, directed: bool
) -> list[HostBuilt]:
    """Return the partitions with some rows; `upload.upload_partition` writes their edges.

    `out_degree` has the out-degrees of vertices by number. For a graph in parts, this is a collective
    operation; all ranks must call it, with the out-degrees of the vertices of the rank.
    """
    parts = [_Part(rows, numbering.bounds) for rows in of_parts]
    of_each = numbering.numbers_of_each([rows.targets for rows in of_parts])
    for part in parts:
        part.mark(of_each.pop(0))
    cuts = np.cumsum([len(part.mirrors) for part in parts])[:-1]
    found = numbering.fetch(joined([part.mirrors for part in parts]), out_degree)
    built = []
    for part, *mirrors in zip(parts, *(np.split(values, cuts) for values in found), strict=True):
        own = numbering.owned_range(part.rows.p)
        owned = numbering.vertices[own], out_degree[own]
        built.append(part.finish(*owned, *mirrors, directed=directed))
    return built


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
        self._position, rows.targets = numbers, None
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
        self,
        vertices: NDArray[np.uint32],
        out_degree: NDArray[np.uint32],
        mirrors: NDArray[np.uint32],
        degrees: NDArray[np.uint32],
        *,
        directed: bool,
    ) -> HostBuilt:
        """Map targets to local numbers, given vertices and out-degrees, first those of owned vertices."""
        rows, order = self.rows, np.empty(0, np.uint32)
        if len(mirrors):  # owned vertices are in descending degree
            vertices = np.concatenate([vertices, mirrors])
            order = by_descending_degree(np.concatenate([out_degree, degrees]))
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
        built = partition_of(rows.p, vertices, bounds, out_degree, stored, directed=directed)
        return HostBuilt(built, self.mirrors)
