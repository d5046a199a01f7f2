"""Out-strength: the sum of the weights of a vertex's out-edges.

Weighted PageRank divides the rank by it. The largest one bounds the eigenvalues of the adjacency matrix.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from evener.engine.array import PartitionedArray
from evener.errors import ArgumentError, DeviceOutOfMemory
from evener.graph.arrays import read_only
from evener.graph.gpu_edges import GpuEdges
from evener.kernels.cpu import check as kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.graph.graph import Graph
    from evener.partition.partition import Edges
    from evener.partition.partitioned import PartitionedGraph

__all__ = ["out_strength", "placed_strength"]

# Bounds of a sum of weights, so that rank / sum neither overflows float64 nor loses digits.
_SMALLEST, _LARGEST = 1e-250, 1e250


def out_strength(graph: Graph) -> NDArray[np.float64]:
    """Return the sum of the weights of each vertex's out-edges, shape (n,).

    Raises
    ------
    ArgumentError
        If a sum is too large or too small to divide by.
    """
    sums = _sums_on_gpu(graph)
    if sums is None:
        sums = _sums_on_host(graph)
    usable = (sums == 0) | ((sums >= _SMALLEST) & (sums <= _LARGEST))
    if not usable.all():
        v = int(np.argmin(usable))
        msg = (
            f"the weights of the edges from vertex {graph.ids[v]} sum to {sums[v]:g}; expected sums of 0, "
            f"or from {_SMALLEST:g} to {_LARGEST:g}; scale the weights"
        )
        raise ArgumentError(msg)
    return sums


def _sums_on_gpu(graph: Graph) -> NDArray[np.float64] | None:
    """Return the sums of a graph of arrays on a GPU; None for other graphs, or without memory on the GPU."""
    if not isinstance(graph.gpu_edges, GpuEdges):
        return None
    try:
        return graph.gpu_edges.host_weight_sums()
    except DeviceOutOfMemory:
        return None


def _sums_on_host(graph: Graph) -> NDArray[np.float64]:
    sums = np.zeros(graph.n)
    if "out" in graph.stored_directions:
        weights = read_only(cast("NDArray[Any]", graph.weights))
        kernels.row_sums(read_only(graph.offsets), weights, sums)
    else:
        rows = graph.reverse
        kernels.target_sums(read_only(rows.targets), read_only(cast("NDArray[Any]", rows.weights)), sums)
    return sums


def _check_sums(pg: PartitionedGraph) -> None:
    """Raise on all ranks if a sum of weights is too large or too small to divide by."""
    positive = [part[part != 0] for part in pg.strength or ()]
    smallest = min((float(part.min()) for part in positive if len(part)), default=1.0)
    largest = max((float(part.max()) for part in positive if len(part)), default=1.0)
    smallest, largest = pg.world.allreduce(smallest, "min"), pg.world.allreduce(largest, "max")
    if smallest < _SMALLEST or largest > _LARGEST:
        found = smallest if smallest < _SMALLEST else largest
        msg = (
            f"the weights of the edges from a vertex sum to {found:g}; expected sums of 0, or from "
            f"{_SMALLEST:g} to {_LARGEST:g}; scale the weights"
        )
        raise ArgumentError(msg)


def placed_strength(pg: PartitionedGraph) -> PartitionedArray:
    """Return the out-strength of each partition's owned vertices, computed once per placement."""
    derived = [cast("Edges", partition.in_).derived for partition in pg.partitions]
    if any("out_strength" not in own for own in derived):
        if pg.strength is None:
            sums = out_strength(pg.graph)
            parts = [sums[vertices] for vertices in pg.owned_vertices()]
        else:
            parts = pg.strength
            _check_sums(pg)
        for own, element, part in zip(derived, pg.elements, parts, strict=True):
            own["out_strength"] = element.upload(part)
    return PartitionedArray([own["out_strength"] for own in derived])
