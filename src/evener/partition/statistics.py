"""Statistics of partitions: edges, vertices, mirrors, bytes, β (T13 §3.4) and load imbalance (S13 §IV.E)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from evener.elements import Element
    from evener.partition.partition import Partition
    from evener.system.world import World

__all__ = [
    "PartitionStatistics",
    "Statistics",
    "imbalance",
    "side_of_alpha",
    "statistics_of",
    "statistics_of_one_part",
]


@dataclass(frozen=True, slots=True)
class PartitionStatistics:
    """Sizes of one partition.

    Attributes
    ----------
    element : str
    vertices, mirrors : int
    edges : int
        Stored edges in all directions.
    boundary_edges : int
        Stored edges to mirrors.
    edge_share : float
        Share of the stored edges of all partitions.
    nbytes : int
        Bytes of all arrays, without the state of a run.
    host_bytes : int
        Bytes of a GPU's edges in host memory.
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
        """Bytes in the element's own memory."""
        return self.nbytes - self.host_bytes


@dataclass(frozen=True, slots=True)
class Statistics:
    """Sizes of all partitions.

    Attributes
    ----------
    partitions : tuple of PartitionStatistics
    alpha : float
        Share of the stored edges on the CPU side. If all elements are CPUs, or all are GPUs, that side is the
        first element.
    beta : float
        Share of the edges that cross partitions: the messages of an exchange without aggregation.
    beta_aggregated : float
        Mirrors divided by edges: the messages of an exchange that reduces at the source.
    """

    partitions: tuple[PartitionStatistics, ...]
    alpha: float
    beta: float
    beta_aggregated: float

    @property
    def nbytes(self) -> int:
        """Bytes of all partitions."""
        return sum(p.nbytes for p in self.partitions)

    @property
    def edge_imbalance(self) -> float:
        """Load imbalance of the edges: see `imbalance`."""
        return imbalance([p.edges for p in self.partitions])

    @property
    def vertex_imbalance(self) -> float:
        """Load imbalance of the owned vertices: see `imbalance`."""
        return imbalance([p.vertices for p in self.partitions])


def side_of_alpha(elements: Sequence[str]) -> str:
    """Return in words where the edges are that α counts, given the names of the elements of all ranks.

    Examples
    --------
    >>> side_of_alpha(["rank 0 cpu", "rank 0 cuda:0"]), side_of_alpha(["cpu:1", "cpu:1"])
    ('on the CPU side', 'on the first element')
    """
    if len(elements) == 1:
        return "on the only element"
    kinds = {name.rpartition(" ")[2].startswith("cpu") for name in elements}
    return "on the CPU side" if len(kinds) > 1 else "on the first element"


def imbalance(loads: ArrayLike) -> float:
    """Return the load imbalance of S13 §IV.E: the largest load less the mean, divided by the mean.

    Examples
    --------
    >>> imbalance([3, 1, 2])
    0.5
    """
    of_all = np.asarray(loads, dtype=np.float64)
    mean = float(of_all.mean())
    return (float(of_all.max()) - mean) / mean if mean else 0.0


def statistics_of_one_part(
    element: Element, n: int, m: int, *, directions: int, edge_bytes: int
) -> Statistics:
    """Return the statistics of the only partition of a graph of `n` vertices and `m` stored edges."""
    edges = directions * m
    # A number and a degree of 4 bytes for each vertex, and an offset of 8 bytes in each direction.
    nbytes = edges * edge_bytes + n * (8 + 8 * directions)
    own = PartitionStatistics(element.name, n, 0, edges, 0, 1.0 if edges else 0.0, nbytes)
    return Statistics((own,), alpha=own.edge_share, beta=0.0, beta_aggregated=0.0)


def statistics_of(partitions: Sequence[Partition], elements: Sequence[Element], world: World) -> Statistics:
    """Return the statistics of the partitions of all ranks.

    This is a collective operation; all ranks must call it.
    """
    prefix = f"rank {world.rank} " if world.size > 1 else ""
    own = [
        PartitionStatistics(
            element=f"{prefix}{element.name}",
            vertices=p.owned,
            mirrors=p.mirrors,
            edges=sum(e.count for e in p.directions),
            boundary_edges=sum(e.boundary for e in p.directions),
            edge_share=0.0,
            nbytes=p.nbytes,
            host_bytes=p.host_bytes,
        )
        for element, p in zip(elements, partitions, strict=True)
    ]
    of_ranks = world.allgather((own, [element.kind == "cpu" for element in elements]))
    found = [one for rows, _ in of_ranks for one in rows]
    on_cpu = [cpu for _, kinds in of_ranks for cpu in kinds]
    total = sum(one.edges for one in found)
    rows = tuple(replace(one, edge_share=one.edges / total if total else 0.0) for one in found)
    mixed = any(on_cpu) and not all(on_cpu)
    cpu_side = on_cpu if mixed else [True] + [False] * (len(rows) - 1)
    return Statistics(
        partitions=rows,
        alpha=sum(row.edge_share for row, cpu in zip(rows, cpu_side, strict=True) if cpu),
        beta=sum(row.boundary_edges for row in rows) / total if total else 0.0,
        beta_aggregated=sum(row.mirrors for row in rows) / total if total else 0.0,
    )
