"""Build the partitions of a rank in host memory.

The steps are the same for a graph in one process and for a graph in parts: mark the remote targets of each
partition, group them by owner, and map targets to local numbers. The numbering supplies the facts about
vertices, from arrays or from other ranks.
"""

from __future__ import annotations

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

__all__ = ["HostBuilt", "HostPart", "build_on_host", "part_of_graph"]


class HostBuilt(NamedTuple):
    """A partition with pending edges, and the numbers of its mirrors, in host memory."""

    partition: Partition
    mirrors: NDArray[np.uint32]


class HostPart:
    """A partition while the host builds it.

    Parameters
    ----------
    p : int
        The number of the partition.
    stored : dict of Graph or CSR
        Rows by direction, "out" or "in".
    own : ndarray of uint32, shape (L,)
        The row of each owned vertex in `stored`.
    targets : ndarray of uint32, optional
        The vertex of each value in the rows. Default: the values are vertices.
    in_place : bool, default False
        As in `PendingEdges`.
    """

    def __init__(
        self,
        p: int,
        stored: Mapping[str, Graph | CSR],
        own: NDArray[np.uint32],
        targets: NDArray[np.uint32] | None = None,
        *,
        in_place: bool = False,
    ) -> None:
        self.p, self._stored, self._own, self.targets = p, stored, own, targets
        self._in_place = in_place
        self._row_bounds = {}
        for direction, rows in stored.items():
            bounds = self._row_bounds[direction] = np.zeros(len(own) + 1, np.uint64)
            kernels.row_lengths(read_only(rows.offsets), read_only(own), bounds[1:])
            np.cumsum(bounds, out=bounds)

    def mark(self, numbers: NDArray[np.uint32], bounds: NDArray[np.int64]) -> None:
        """Mark the remote targets, and group them by owner.

        `numbers` has the number of each target, and `bounds` the first number of each partition.
        """
        self._numbers, self.targets = numbers, None
        self._range = np.uint64(bounds[self.p]), np.uint64(len(self._own))
        self._boundary = dict.fromkeys(self._stored, 0)
        self._marked = Bitmap(int(bounds[-1]))
        if len(bounds) > 2:
            needed = np.zeros(len(numbers), np.uint8)
            kernels.mark_owned(numbers, *self._range, needed)
            for direction, rows in self._stored.items():
                blocks = work_blocks(self._row_bounds[direction])
                edges = read_only(rows.offsets), read_only(rows.targets)
                self._boundary[direction] = int(kernels.mark_remote(*edges, self._own, blocks, needed))
            self._marked.add(numbers[needed == kernels.NEEDED])
        self._marked.count()
        self._mirror_bounds = len(self._own) + mirrors_below(self._marked, bounds)
        self.mirrors = self._marked.numbers()

    def finish(
        self,
        vertices: NDArray[np.uint32],
        out_degree: NDArray[np.uint32],
        order: NDArray[np.uint32],
        *,
        directed: bool,
    ) -> HostBuilt:
        """Map targets to local numbers, given all vertices and their `PendingEdges.order`."""
        if len(self._mirror_bounds) > 2:
            kernels.number_partition(self._numbers, *self._range, self._marked.words, self._marked.ranks)
            replace_by_places(self._numbers, order)
        stored = {
            direction: pending_edges(
                rows, self._own, self._row_bounds[direction], self._numbers, len(vertices), order,
                self._boundary[direction], in_place=self._in_place,
            )
            for direction, rows in self._stored.items()
        }  # fmt: skip
        built = partition_of(self.p, vertices, self._mirror_bounds, out_degree, stored, directed=directed)
        return HostBuilt(built, self.mirrors)


def part_of_graph(p: int, graph: Graph, directions: str, numbering: Numbering) -> HostPart:
    """Return a partition of a graph in one process, before the first step."""
    stored = {} if graph.directed and directions == "in" else {"out": graph}
    if graph.directed and directions != "out":
        stored["in"] = graph.reverse
    return HostPart(p, stored, numbering.owned_by(p))


def build_on_host(
    parts: list[HostPart], numbering: Numbering, out_degree: NDArray[np.uint32], *, directed: bool
) -> list[HostBuilt]:
    """Return partitions whose edges `upload.upload_partition` writes.

    `out_degree` has the out-degrees of vertices by number. For a graph in parts, this is a collective
    operation; all ranks must call it, with the out-degrees of the vertices of the rank.
    """
    of_each = numbering.numbers_of_each([part.targets for part in parts])
    for part in parts:
        part.mark(of_each.pop(0), numbering.bounds)
    cuts = np.cumsum([len(part.mirrors) for part in parts])[:-1]
    found = [
        np.split(values, cuts) for values in numbering.fetch(joined([p.mirrors for p in parts]), out_degree)
    ]
    built = []
    for part in parts:
        own = numbering.owned_range(part.p)
        vertices, order = numbering.vertices[own], np.empty(0, np.uint32)
        mirrors, degrees = (values.pop(0) for values in found)
        if len(mirrors):  # otherwise the vertices are in descending degree
            vertices = np.concatenate([vertices, mirrors])
            del mirrors  # its memory is for the sort
            degrees = np.concatenate([out_degree[own], degrees])
            order = by_descending_degree(degrees)
            del degrees
        built.append(part.finish(vertices, out_degree[own], order, directed=directed))
    return built
