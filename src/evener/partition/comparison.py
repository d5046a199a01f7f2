"""Comparison: the sizes that partitions would have, counted from the owners. No partition is built."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from evener.graph.arrays import read_only
from evener.kernels.cpu.comparison import count_parts
from evener.partition.sizes import PartitionSizes
from evener.partition.statistics import imbalance
from evener.partition.streams import neighbour_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.graph.graph import Graph

__all__ = ["PartCounts", "count_partitions"]


@dataclass(frozen=True, slots=True)
class PartCounts:
    """The sizes of the partitions of some owners; `boundary_edges` are all stored edges to mirrors."""

    sizes: tuple[PartitionSizes, ...]
    boundary_edges: int

    @property
    def edges(self) -> int:
        """Stored edges of all partitions."""
        return sum(one.edges for one in self.sizes)

    @property
    def beta(self) -> float:
        """Share of the edges that cross partitions."""
        return self.boundary_edges / max(1, self.edges)

    @property
    def beta_aggregated(self) -> float:
        """Mirrors divided by edges."""
        return sum(one.mirrors for one in self.sizes) / max(1, self.edges)

    @property
    def edge_imbalance(self) -> float:
        """Load imbalance of the edges."""
        return imbalance([one.edges for one in self.sizes])

    @property
    def vertex_imbalance(self) -> float:
        """Load imbalance of the owned vertices."""
        return imbalance([one.vertices for one in self.sizes])


def count_partitions(
    graph: Graph, directions: str, owner: NDArray[Any], degree: NDArray[Any], elements: int
) -> PartCounts:
    """Count the sizes of partitions that store edges in `directions`, given the owner of each vertex.

    Mirrors that `partition` adds to fill nearly full runs are not counted.
    """
    # An out-edge is stored with its tail, so the rows of its heads list the owners that store it.
    rows = neighbour_rows(graph, {"out": "in", "in": "out"}.get(directions, directions))
    threads = numba.get_num_threads()
    counts = np.zeros((threads, 4, elements), np.uint64)
    count_parts(*rows, read_only(owner), np.zeros((threads, elements), np.uint64), counts)
    edges, boundary, mirrors, remote = counts.sum(axis=0).astype(int)
    owned = np.bincount(owner, minlength=elements)
    connected = np.bincount(owner[np.asarray(degree) > 0], minlength=elements)
    columns = (owned, connected, mirrors, remote, edges)
    sizes = tuple(PartitionSizes(*row) for row in zip(*(one.tolist() for one in columns), strict=True))
    return PartCounts(sizes, int(boundary.sum()))
