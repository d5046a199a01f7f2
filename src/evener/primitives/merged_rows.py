"""Merged rows: the rows of the vertices of each label, merged into one row in the memory of an element."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from evener.elements.cuda.memory import TieredArray
from evener.elements.protocols import is_gpu
from evener.graph.arrays import constant
from evener.graph.csr import CSR
from evener.kernels.kernel import KernelFile
from evener.partition.degrees import by_descending_degree, places_in
from evener.partition.distributed.graph import DistributedGraph
from evener.partition.distributed.rows import RowRanges
from evener.partition.gpu_build import work_blocks_on_gpu
from evener.partition.gpu_vertices import order_by_degree
from evener.partition.numbering import Numbering
from evener.partition.partition import Edges, Partition, partition_of, work_blocks
from evener.partition.partitioned import PartitionedGraph
from evener.partition.upload import edges_on_host
from evener.primitives.edge_weights import unit_weights, unsigned_weights

if TYPE_CHECKING:
    from evener.elements import Element

__all__ = ["MergedRows", "Merger", "graph_on_element"]

kernels = KernelFile(__package__, "contract")

# Edges of the shortest row in each list of a GPU, the last two of rows and of their pieces; and members of a
# piece: see merged_rows.cuh.
_FEWEST, _PIECE = (1 << 7, 1 << 8, 1 << 10, 1 << 10), 1 << 10


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
        self._on_gpu = element.kind != "cpu"
        parts = 1 if self._on_gpu else min(numba.get_num_threads(), max(1, 4 * owned // max(size, 1)))
        counts = element.allocate(parts * size, "uint32", 0)
        lengths = element.allocate(size, "uint32")
        self._bounds = element.allocate(size + 1, "uint64")
        self._members = element.allocate(owned, "uint32")
        self._run("count_members", vertex, owned, parts, counts)
        self._run("total_members", parts, counts, lengths)
        element.run(element.kernel("scan.offsets_of"), lengths, self._bounds)
        self._run("place_members", vertex, parts, self._bounds, counts, self._members)

    def _run(self, name: str, *args: Any) -> Any:
        return self._element.run(self._element.kernel(getattr(kernels, name)), *args)

    def rows(self, edges: Edges) -> MergedRows:
        """Return the merged rows of edges in one direction."""
        element = self._element
        lengths = element.allocate(self._size, "uint32")
        begins = element.allocate(self._size + 1, "uint64")
        self._run("count_edges", edges.offsets, self._vertex, self._bounds, self._members, lengths)
        element.run(element.kernel("scan.offsets_of"), lengths, begins)
        places = int(element.download(begins[-1:])[0])
        targets, weights = element.allocate(places, "uint32"), element.allocate(places, "float64")
        given = unit_weights(element) if edges.weights is None else unsigned_weights(edges.weights)
        self._run(
            "merge_rows", edges.offsets, edges.targets, given, self._undirected, self._vertex, self._bounds,
            self._members, begins, targets, weights, lengths, *self._lists(edges.count),
        )  # fmt: skip
        return MergedRows(begins, targets, weights, lengths)

    def _lists(self, edges: int) -> tuple[Any, Any]:
        """Return memory for the lists of rows of a GPU, and for their lengths; none on a CPU."""
        length = 0
        if self._on_gpu:
            length = sum(edges // fewest + 1 for fewest in _FEWEST) + len(self._members) // _PIECE + 1
        return self._element.allocate(length, "uint32"), self._element.allocate(8 if length else 0, "uint64")

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
    degree = next(iter(rows.values())).lengths
    if len(rows) > 1:
        degree = element.run(operator.add, degree, rows["in"].lengths)
    order, local = _by_degree(element, degree)
    stored = {direction: _edges(element, own, order, local) for direction, own in rows.items()}
    out_degree = element.allocate(size, "uint32")
    if "out" in rows:
        element.run(element.kernel(kernels.take_lengths), rows["out"].lengths, order, out_degree)
    else:
        heads = edges_on_host(stored["in"].targets, element)
        out_degree = element.upload(np.bincount(heads, minlength=size).astype(np.uint32))
    arrays = constant(order), np.full(2, size, np.int64), constant(out_degree)
    partition = partition_of(0, *arrays, stored, directed=old.graph.directed, element=element)
    element.prepare_workspace(max(own.count for own in stored.values()))
    new = PartitionedGraph(
        _graph_in_element(old, partition, size), [element], [partition], [],
        Numbering(order, local, element=element), policy=old.policy,
        directions=old.directions, world=old.world,
    )  # fmt: skip
    return new, local


def _by_degree(element: Element, degree: Any) -> tuple[Any, Any]:
    """Return the new vertices in descending degree, and the place of each in this order."""
    if not is_gpu(element):
        order = by_descending_degree(degree)
        return order, places_in(order)
    return order_by_degree(element, degree)


def _edges(element: Element, own: MergedRows, order: Any, local: Any) -> Edges:
    """Return merged rows as the edges of a partition in one direction."""
    offsets, targets, weights = own.in_order(element, order, local)
    blocks, rows = _blocks(element, offsets, len(targets))
    return Edges(constant(offsets), _as_edges(targets), _as_edges(weights), constant(blocks), rows, 0)


def _blocks(element: Element, offsets: Any, edges: int) -> tuple[Any, int]:
    """Return the bounds of blocks of rows, and the number of rows up to the last one with an edge."""
    if not is_gpu(element):
        return work_blocks(offsets), int(np.searchsorted(offsets, offsets[-1]))
    rows, blocks, _ = work_blocks_on_gpu(element, offsets, edges)
    return element.upload(blocks), rows


def _as_edges(array: Any) -> Any:
    """Return values of edges in the form that kernels of the element read."""
    return constant(array) if isinstance(array, np.ndarray) else TieredArray(np.empty(0, array.dtype), array)


def _graph_in_element(old: PartitionedGraph, partition: Partition, size: int) -> DistributedGraph:
    """Return a graph whose edges are only in the memory of the element."""
    edges = partition.directions[0]
    return DistributedGraph(
        old.world, n=size, m=edges.count, directed=old.graph.directed, weight_dtype=np.dtype(np.float64),
        weight_range=(0.0, float("inf")), weight_sample=np.empty(0), block_ids=None,
        ranges=RowRanges(size, 0, np.array([0, size])), rows={}, out_degrees=np.empty(0, np.uint64),
        degrees=np.empty(0, np.uint64), strength=None,
    )  # fmt: skip
