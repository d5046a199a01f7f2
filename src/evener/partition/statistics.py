"""What a partitioning looks like: edges, vertices, mirrors, β and bytes of each partition (T13 §3.4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evener.elements import Element
    from evener.partition.partition import Partition

__all__ = ["PartitionStatistics", "Statistics", "statistics_of"]


@dataclass(frozen=True, slots=True)
class PartitionStatistics:
    """One partition in numbers.

    Attributes
    ----------
    element : str
    vertices, mirrors : int
    edges : int
        Stored edges, both directions of a directed graph where both are kept.
    boundary_edges : int
        Those that lead to a mirror.
    edge_share : float
        Of all partitions' edges.
    nbytes : int
        Of all arrays; what a run keeps for each vertex comes to them.
    host_bytes : int
        Those of them that are edges in the host's memory, though the element is a GPU.
    """

    element: str
    vertices: int
    mirrors: int
    edges: int
    boundary_edges: int
    edge_share: float
    nbytes: int
    host_bytes: int = 0

    @property
    def own_bytes(self) -> int:
        """What lies in the element's own memory."""
        return self.nbytes - self.host_bytes


@dataclass(frozen=True, slots=True)
class Statistics:
    """All partitions in numbers.

    Attributes
    ----------
    partitions : tuple of PartitionStatistics
    alpha : float
        Share of the edges on the CPU side: on the first element where all are CPUs.
    beta : float
        Share of the edges that cross partitions: messages an exchange would carry without aggregation.
    beta_aggregated : float
        Mirrors over edges: messages it carries when those to one vertex are reduced at the source.
    """

    partitions: tuple[PartitionStatistics, ...]
    alpha: float
    beta: float
    beta_aggregated: float

    @property
    def nbytes(self) -> int:
        """Bytes of all partitions."""
        return sum(p.nbytes for p in self.partitions)


def statistics_of(partitions: Sequence[Partition], elements: Sequence[Element]) -> Statistics:
    """Count the partitions."""
    edges = [sum(e.count for e in p.directions) for p in partitions]
    boundary = [sum(e.boundary for e in p.directions) for p in partitions]
    total = sum(edges)
    rows = tuple(
        PartitionStatistics(
            element=element.name,
            vertices=p.owned,
            mirrors=p.mirrors,
            edges=count,
            boundary_edges=crossing,
            edge_share=count / total if total else 0.0,
            nbytes=p.nbytes,
            host_bytes=p.host_bytes,
        )
        for element, p, count, crossing in zip(elements, partitions, edges, boundary, strict=True)
    )
    on_cpu = [e.kind == "cpu" for e in elements]
    cpu_side = [True] + [False] * (len(rows) - 1) if all(on_cpu) else on_cpu
    return Statistics(
        partitions=rows,
        alpha=sum(row.edge_share for row, cpu in zip(rows, cpu_side, strict=True) if cpu),
        beta=sum(boundary) / total if total else 0.0,
        beta_aggregated=sum(p.mirrors for p in partitions) / total if total else 0.0,
    )
