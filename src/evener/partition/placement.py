"""Placing: the arrays of a partition in its element's memory, its edges there or in two memories.

Edges are written some at a time to where they are to lie: the host never holds them beside the graph unless
the partition is the host's.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from evener.graph.arrays import read_only
from evener.kernels.cpu import partition as kernels
from evener.partition.footprint import HEAD, IN_ONE_MEMORY, Tiers, whole_rows
from evener.partition.partition import EDGES_PER_BLOCK, edges_far

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.elements import Element
    from evener.partition.partition import Edges, Partition, PendingEdges

__all__ = ["place"]

# What one memory holds of the edges is a multiple of so many: a line of a GPU's cache.
_EDGES_TOGETHER = 32
# Edges written at a time: hundreds of blocks for the threads, and little memory beside the partition's. Pages
# for them are locked in powers of two, of which this, and the rest of a block, leave next to nothing unused.
_EDGES_WRITTEN = (1 << 25) - EDGES_PER_BLOCK


def place(partition: Partition, element: Element, tiers: Tiers = IN_ONE_MEMORY) -> Partition:
    """The same partition with its arrays in the memory of an element, its edges written there.

    Parameters
    ----------
    partition : Partition
    element : Element
    tiers : Tiers
        What stays in the host's memory, where the element is a GPU. Default: nothing.
    """

    def held(edges: Edges | None, most_heads: int) -> Edges | None:
        if edges is None:
            return None
        # Kernels read several edges at once, so a run of them does not lie in two memories.
        far = min(edges.count, -(-int(edges.count * tiers.mapped) // _EDGES_TOGETHER) * _EDGES_TOGETHER)
        targets, weights = _written(cast("PendingEdges", edges.targets), element, far)
        far = edges_far(targets)
        if heads := min(most_heads, whole_rows(edges.offsets, far)):
            targets = targets.with_heads(_heads(edges.offsets, targets.host_part, heads, element))
        return replace(
            edges,
            offsets=element.upload(edges.offsets),
            targets=targets,
            weights=weights,
            blocks=element.upload(edges.blocks),
            prepared={},
        )

    both = partition.in_ is partition.out
    out = held(partition.out, tiers.most_heads if both else 0)
    in_ = out if both else held(partition.in_, tiers.most_heads)
    element.prepare_workspace(max(edges.count for edges in partition.directions))
    return replace(
        partition,
        vertices=element.upload(partition.vertices),
        out_degree=element.upload(partition.out_degree),
        out=out,
        in_=in_,
    )


def _written(edges: PendingEdges, element: Element, far: int) -> tuple[Any, Any]:
    """Targets and weights in an element's memory, the first `far` of each in the host's."""
    graph = edges.graph
    targets = element.allocate_edges(len(edges), np.dtype(np.uint32), far)
    weights = None if graph.weights is None else element.allocate_edges(len(edges), graph.weights.dtype, far)
    # What searches look for comes first in a row: with half of R-MAT 26's edges, those of low degree, on 16
    # cores, a step up from hubs took 77 ms with mirrors last, 31 ms with the whole graph there; and a GPU
    # whose heads lacked the CPU's hubs read most rows across the bus to their end, 70 ms of a search's 83.
    # Rows ascend where blocks of columns will be found in them by bisection.
    ascend = element.table_columns and not far
    first = np.uint64(0 if ascend else edges.first)
    none = np.empty(0, np.float32)
    given = read_only(none if graph.weights is None else graph.weights)
    ends = edges.bounds[edges.blocks]
    steps = np.arange(0, len(edges), _EDGES_WRITTEN, dtype=np.uint64)
    cuts = np.unique(np.append(np.searchsorted(ends, steps), len(ends) - 1))
    most = int(np.diff(ends[cuts]).max(initial=0))
    spare = np.empty(most, np.uint32)
    spare_weights = none if weights is None else np.empty(most, given.dtype)
    bits = np.uint64(max(1, (edges.vertices - 1).bit_length()))
    for one, other in pairwise(cuts.tolist()):
        begin, end = int(ends[one]), int(ends[other])
        out = element.begin_write(targets, begin, end)
        out_weights = none if weights is None else element.begin_write(weights, begin, end)
        kernels.renumber_rows(
            read_only(graph.offsets), read_only(graph.targets), given,
            read_only(edges.owned), edges.bounds, edges.position, edges.blocks[one : other + 1], first,
            np.uint64(edges.vertices), bits, out, out_weights, spare, spare_weights,
        )  # fmt: skip
        element.end_write(targets, begin, out)
        if weights is not None:
            element.end_write(weights, begin, out_weights)
    return targets, weights


def _heads(
    offsets: NDArray[np.uint64], targets: NDArray[np.uint32], rows: int, element: Element
) -> NDArray[np.uint32]:
    """The first few edges of each row in an element's memory, written there some at a time."""
    heads = element.allocate_edges(rows * HEAD, np.dtype(np.uint32), 0)
    for begin in range(0, rows, _EDGES_WRITTEN // HEAD):
        end = min(rows, begin + _EDGES_WRITTEN // HEAD)
        written = element.begin_write(heads, begin * HEAD, end * HEAD)
        kernels.row_heads(offsets[begin:], targets, written.reshape(-1, HEAD))
        element.end_write(heads, begin * HEAD, written)
    near: NDArray[np.uint32] = heads.device_part
    return near.reshape(-1, HEAD)
