"""Merged rows: the rows of the vertices of each label, merged into one row in the memory of an element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from evener.graph.arrays import read_only
from evener.graph.csr import CSR
from evener.kernels.kernel import KernelFile
from evener.partition.degrees import by_descending_degree, places_in
from evener.partition.distributed.graph import DistributedGraph
from evener.partition.distributed.rows import RowRanges
from evener.partition.partition import Edges, Numbering, Partition, partition_of, work_blocks
from evener.partition.partitioned import PartitionedGraph

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.elements import Element

__all__ = ["MergedRows", "Merger", "graph_on_element"]

kernels = KernelFile(__package__, "contract")


class MergedRows:
    """Merged rows with gaps: see `contract_cpu`."""

    def __init__(self, begins: Any, targets: Any, weights: Any, lengths: Any) -> None:
        self.begins, self.targets, self.weights, self.lengths = begins, targets, weights, lengths

    def in_order(self, element: Element, order: Any, local: Any) -> tuple[Any, Any, Any]:
        """Return offsets, targets and weights of rows without gaps.

        `order` lists the new vertices by local number, and `local` has the local number of each.
        """
        lengths = element.allocate(len(order), "uint32")
        offsets = element.allocate(len(order) + 1, "uint64")
        element.run(element.kernel(kernels.take_lengths), self.lengths, order, lengths)
        element.run(element.kernel("scan.offsets_of"), lengths, offsets)
        edges = int(element.download(offsets[-1:])[0])
        targets, weights = element.allocate(edges, "uint32"), element.allocate(edges, "float64")
        element.run(
            element.kernel(kernels.finish_rows), self.begins, self.targets, self.weights, local, order,
            offsets, targets, weights,
        )  # fmt: skip
        return offsets, targets, weights


class Merger:
    """Merges the rows of the owned vertices of a partition, given the new vertex of each vertex."""

    def __init__(self, element: Element, directed: bool, vertex: Any, owned: int, size: int) -> None:  # noqa: FBT001
        self._element, self._undirected, self._vertex, self._size = element, not directed, vertex, size
        counts_of = min(numba.get_num_threads(), max(1, 4 * owned // max(size, 1)))
        counts = element.allocate(counts_of * size, "uint32", 0).reshape(counts_of, size)
        lengths = element.allocate(size, "uint32")
        self._bounds = element.allocate(size + 1, "uint64")
        self._members = element.allocate(owned, "uint32")
        self._run("count_members", vertex, np.uint64(owned), counts)
        self._run("total_members", counts, lengths)
        element.run(element.kernel("scan.offsets_of"), lengths, self._bounds)
        self._run("place_members", vertex, self._bounds, counts, self._members)

    def _run(self, name: str, *args: Any) -> Any:
        return self._element.run(self._element.kernel(getattr(kernels, name)), *args)

    def rows(self, edges: Edges) -> MergedRows:
        """Return the merged rows of edges in one direction."""
        element = self._element
        lengths = element.allocate(self._size, "uint32")
        begins = element.allocate(self._size + 1, "uint64")
        self._run("count_edges", edges.offsets, self._bounds, self._members, lengths)
        element.run(element.kernel("scan.offsets_of"), lengths, begins)
        targets = element.allocate(edges.count + self._size, "uint32")
        weights = element.allocate(edges.count + self._size, "float64")
        self._run(
            "merge_rows", edges.offsets, edges.targets, edges.weights, self._undirected, self._vertex,
            self._bounds, self._members, begins, targets, weights, lengths,
        )  # fmt: skip
        return MergedRows(begins, targets, weights, lengths)

    def closed_rows(self, edges: Edges) -> CSR:
        """Return the merged rows of edges in one direction, in host memory."""
        element, merged = self._element, self.rows(edges)
        order = np.arange(self._size, dtype=np.uint32)
        own = element.upload(order)
        offsets, targets, weights = merged.in_order(element, own, own)
        return CSR(element.download(offsets), element.download(targets), element.download(weights), None)


def graph_on_element(
    element: Element, old: PartitionedGraph, rows: dict[str, MergedRows], size: int
) -> tuple[PartitionedGraph, Any]:
    """Return the graph of merged rows on one element, and the local number of each new vertex."""
    directed = old.graph.directed
    degrees = [element.download(own.lengths) for own in rows.values()]
    order = by_descending_degree(np.sum(degrees, axis=0, dtype=np.uint64))
    local = places_in(order)
    here = element.upload(local)
    stored = {}
    for direction, own in rows.items():
        offsets, targets, weights = own.in_order(element, order, here)
        constant = read_only(offsets)
        stored[direction] = Edges(
            constant, read_only(targets), read_only(weights), read_only(work_blocks(constant)),
            int(np.searchsorted(constant, constant[-1])), 0,
        )  # fmt: skip
    out_degree = degrees[0][order] if "out" in rows else _opposite_degree(stored["in"], size)
    mirror_bounds = np.full(2, size, np.int64)
    partition = partition_of(
        0, read_only(order), mirror_bounds, read_only(out_degree), stored, directed=directed
    )
    numbering = Numbering(np.zeros(size, np.uint8), local, order, np.array([0, size], np.uint64))
    graph = _graph_in_element(old, partition, size)
    new = PartitionedGraph(
        graph, [element], [partition], [], numbering, policy=old.policy, directions=old.directions,
        world=old.world,
    )  # fmt: skip
    return new, here


def _opposite_degree(edges: Edges, size: int) -> NDArray[np.uint32]:
    """Return how many edges lead to each vertex."""
    targets: Any = edges.targets
    return np.bincount(targets, minlength=size).astype(np.uint32)


def _graph_in_element(old: PartitionedGraph, partition: Partition, size: int) -> DistributedGraph:
    """Return a graph whose edges are only in the memory of the element."""
    edges = partition.directions[0]
    return DistributedGraph(
        old.world, n=size, m=edges.count, directed=old.graph.directed, weight_dtype=np.dtype(np.float64),
        weight_range=(0.0, float("inf")), weight_sample=np.empty(0), block_ids=None,
        ranges=RowRanges(size, 0, np.array([0, size])), rows={}, out_degrees=np.empty(0, np.uint64),
        degrees=np.empty(0, np.uint64), strength=None,
    )  # fmt: skip
