"""Upload: write a partition to its element's memory, with the edges in one memory or in two.

Edges are written in steps, directly to their final place. The host therefore holds no second copy of the
edges of a GPU's partition.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.graph.arrays import constant, read_only
from evener.kernels.cpu import partition as kernels
from evener.partition.footprint import IN_ONE_MEMORY, PREFIX_EDGES, Tiers, whole_rows
from evener.partition.partition import EDGES_PER_BLOCK, PendingEdges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.elements import Element
    from evener.partition.partition import Edges, Partition

__all__ = ["edges_on_host", "upload_partition"]

# The number of edges in host memory is a multiple of this: a cache line of a GPU.
_EDGES_TOGETHER = 32
# Edges per write. With the rest of its last block, a write fits a power of two, as page-locked memory does.
_EDGES_WRITTEN = (1 << 25) - EDGES_PER_BLOCK
# Edges per write to a CPU are an eighth of its edges within these limits. The sort of rows needs a buffer of
# this length.
_LEAST_WRITTEN_TO_CPU, _MOST_WRITTEN_TO_CPU = 1 << 18, 1 << 22


def upload_partition(partition: Partition, element: Element, tiers: Tiers = IN_ONE_MEMORY) -> Partition:
    """Return the same partition with its arrays in the memory of an element, and write its edges there."""

    def upload_edges(edges: Edges | None, max_prefixes: int) -> Edges | None:
        if edges is None:
            return None
        if not isinstance(edges.targets, PendingEdges):
            return edges  # in the memory of the element
        # Kernels read several edges at once, so an aligned run of edges must not span two memories.
        lines = -(-int(edges.count * tiers.host_share) // _EDGES_TOGETHER)
        on_host = min(edges.count, lines * _EDGES_TOGETHER)
        targets, weights = _write_edges(edges.targets, element, on_host)
        uploaded = replace(
            edges,
            offsets=constant(element.upload(edges.offsets)),
            targets=constant(targets),
            weights=constant(weights),
            blocks=constant(element.upload(edges.blocks)),
            derived={},
        )
        if prefixes := min(max_prefixes, whole_rows(edges.offsets, uploaded.host_edges)):
            first = _row_prefixes(edges.offsets, targets.host_part, prefixes, element)
            uploaded = replace(uploaded, targets=targets.with_prefixes(first))
        return uploaded

    both = partition.in_ is partition.out
    out = upload_edges(partition.out, tiers.max_prefixes if both else 0)
    in_ = out if both else upload_edges(partition.in_, tiers.max_prefixes)
    element.prepare_workspace(max(edges.count for edges in partition.directions))
    return replace(
        partition,
        vertices=constant(element.upload(partition.vertices)),
        out_degree=constant(element.upload(partition.out_degree)),
        out=out,
        in_=in_,
    )


def edges_on_host(array: Any, element: Element) -> NDArray[Any]:
    """Return the targets or weights of a placed partition in host memory."""
    if not hasattr(array, "host_part"):
        return element.download(array)
    on_device = element.download(array.device_part)
    return np.concatenate([array.host_part, on_device]) if len(array.host_part) else on_device


def _write_edges(edges: PendingEdges, element: Element, on_host: int) -> tuple[Any, Any]:
    """Write targets and weights to an element's memory, the first `on_host` of each to host memory."""
    graph, weights = edges.graph, None
    if edges.in_place and element.memory == "host" and len(edges):
        begin = int(graph.offsets[edges.owned[0]])
        targets = graph.targets[begin : begin + len(edges)]
        weights = None if graph.weights is None else graph.weights[begin : begin + len(edges)]
    else:
        targets = element.allocate_edges(len(edges), np.dtype(np.uint32), on_host)
        if graph.weights is not None:
            weights = element.allocate_edges(len(edges), graph.weights.dtype, on_host)
    # Rows begin with hubs, because searches leave a row at the first hit.
    # Column blocks need ascending rows, because they are found by bisection.
    ascend = element.table_columns and not on_host
    # Weights are only moved, so their bits will do: one compilation serves all types of one width.
    none = np.empty(0, np.uint32)
    order, position = edges.order, edges.position
    if ascend and len(order):
        position = np.empty_like(edges.position)
        kernels.gather_values(read_only(order), read_only(edges.position), position)
        order = none
    given = read_only(none if graph.weights is None else _bits(graph.weights))
    ends = edges.bounds[edges.blocks]
    step = _EDGES_WRITTEN
    if element.kind == "cpu":
        step = min(step, _MOST_WRITTEN_TO_CPU, max(_LEAST_WRITTEN_TO_CPU, len(edges) >> 3))
    steps = np.arange(0, len(edges), step, dtype=np.uint64)
    cuts = np.unique(np.append(np.searchsorted(ends, steps), len(ends) - 1))
    longest = int(np.diff(ends[cuts]).max(initial=0))
    spare = np.empty(longest, np.uint32)
    spare_weights = none if weights is None else np.empty(longest, given.dtype)
    bits = np.uint64(max(1, (edges.vertices - 1).bit_length()))
    for one, other in pairwise(cuts.tolist()):
        begin, end = int(ends[one]), int(ends[other])
        out = element.begin_write(targets, begin, end)
        out_weights = none if weights is None else element.begin_write(weights, begin, end)
        kernels.renumber_rows(
            read_only(graph.offsets), read_only(graph.targets), given,
            read_only(edges.owned), edges.bounds, position, edges.blocks[one : other + 1], read_only(order),
            bits, out, _bits(out_weights), spare, spare_weights,
        )  # fmt: skip
        element.end_write(targets, begin, out)
        if weights is not None:
            element.end_write(weights, begin, out_weights)
    return targets, weights


def _bits(weights: NDArray[Any]) -> NDArray[Any]:
    return weights.view(f"u{weights.itemsize}")


def _row_prefixes(
    offsets: NDArray[np.uint64], targets: NDArray[np.uint32], rows: int, element: Element
) -> NDArray[np.uint32]:
    """Write the first few edges of each row to an element's memory, in steps."""
    prefixes = element.allocate_edges(rows * PREFIX_EDGES, np.dtype(np.uint32), 0)
    for begin in range(0, rows, _EDGES_WRITTEN // PREFIX_EDGES):
        end = min(rows, begin + _EDGES_WRITTEN // PREFIX_EDGES)
        written = element.begin_write(prefixes, begin * PREFIX_EDGES, end * PREFIX_EDGES)
        kernels.row_prefixes(offsets[begin:], targets, written.reshape(-1, PREFIX_EDGES))
        element.end_write(prefixes, begin * PREFIX_EDGES, written)
    on_device: NDArray[np.uint32] = prefixes.device_part
    return on_device.reshape(-1, PREFIX_EDGES)
