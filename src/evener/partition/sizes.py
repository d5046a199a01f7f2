"""Sizes: vertices, mirrors and edges of partitions, counted or estimated from the degrees of a graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evener.partition.partition import LONG_RUN, NEARLY_ALL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evener.partition.partitioned import PartitionedGraph

__all__ = ["Degrees", "ElementShare", "PartitionSizes", "owned_by_degree", "partition_sizes"]

# `NEARLY_ALL` for estimates without a sample of neighbours, which are too low.
_ESTIMATE_OF_NEARLY_ALL = 0.82


@dataclass(frozen=True, slots=True)
class PartitionSizes:
    """The sizes of a partition.

    Attributes
    ----------
    vertices : int
        Vertices that it owns.
    connected : int
        Owned vertices with an edge.
    mirrors : int
        Its mirrors of vertices that other partitions own.
    remote_mirrors : int
        Mirrors of its vertices in other partitions.
    edges : int
        Stored edges in all directions.
    """

    vertices: int
    connected: int
    mirrors: int
    remote_mirrors: int
    edges: int


@dataclass(frozen=True, slots=True)
class ElementShare:
    """The part of a graph that one element gets.

    Attributes
    ----------
    element : str
        Its name.
    kind : str
        "cpu" or "cuda".
    threads : int
        Threads of a CPU element.
    sizes : PartitionSizes
    host_edges : int
        Edges of a GPU's partition that stay in host memory.
    """

    element: str
    kind: str
    threads: int
    sizes: PartitionSizes
    host_edges: int = 0

    @classmethod
    def all_of(cls, placed: PartitionedGraph) -> list[ElementShare]:
        """Return the share of each element of a placed graph."""
        return [
            cls(
                element.name,
                element.kind,
                element.threads,
                PartitionSizes(own.owned, own.connected, own.mirrors, placed.mirrors_of(p), own.stored_edges),
                own.host_edges,
            )
            for p, (element, own) in enumerate(zip(placed.elements, placed.partitions, strict=True))
        ]


@dataclass(frozen=True, slots=True)
class Degrees:
    """The degrees of a graph in descending order, with the number of vertices and edges of each.

    Attributes
    ----------
    degree, count : ndarray of int64
        Degrees over all edges, by which policies order vertices, and vertices of each degree.
    stored : ndarray of float64
        Edges stored with the vertices of each degree.
    met : ndarray of float64
        Stored edges that lead to the vertices of each degree.
    edges : int
        The sum of all degrees.
    """

    degree: NDArray[np.int64]
    count: NDArray[np.int64]
    stored: NDArray[np.float64]
    met: NDArray[np.float64]
    edges: int

    @classmethod
    def of(
        cls,
        degree: NDArray[np.unsignedinteger],
        stored: NDArray[np.unsignedinteger] | None = None,
        met: NDArray[np.unsignedinteger] | None = None,
    ) -> Degrees:
        """Count the vertices of each degree; `stored` and `met` default to `degree`."""
        by = degree.astype(np.int64)
        counts = np.bincount(by, minlength=1)
        present = np.flatnonzero(counts)[::-1]
        of_all = (present * counts[present]).astype(np.float64)
        own = of_all if stored is None else np.bincount(by, stored, minlength=1)[present].astype(np.float64)
        others = of_all if met is None else np.bincount(by, met, minlength=1)[present].astype(np.float64)
        return cls(present, counts[present], own, others, int(of_all.sum()))

    @property
    def each_stored(self) -> NDArray[np.float64]:
        """Edges stored with one vertex of each degree."""
        return self.stored / self.count


def owned_by_degree(degrees: Degrees, policy: str, shares: Sequence[float]) -> NDArray[np.float64]:
    """Return how many vertices of each degree each partition owns.

    Parameters
    ----------
    degrees : Degrees
    policy : {"random", "high", "low"}
    shares : sequence of float, length P
        Share of the edges of each partition.

    Returns
    -------
    ndarray of float64, shape (P, D)
    """
    parts = np.empty((len(shares), len(degrees.count)))
    if policy == "random" or degrees.edges == 0:
        parts[:] = np.outer(shares, degrees.count)
    else:
        order = slice(None) if policy == "high" else slice(None, None, -1)
        count, each = degrees.count[order].astype(float), degrees.degree[order].astype(float)
        ends = np.cumsum(count * each)
        cuts = np.concatenate([[0.0], np.cumsum(shares)]) * ends[-1]
        cuts[-1] = ends[-1]
        begins = ends - count * each
        for p in range(len(shares)):
            inside = np.minimum(ends, cuts[p + 1]) - np.maximum(begins, cuts[p])
            parts[p] = np.where(each > 0, np.maximum(inside, 0) / np.maximum(each, 1), 0)[order]
        # Vertices without edges belong to the end with the low degrees.
        given = np.flatnonzero(np.asarray(shares) > 0)
        parts[given[-1 if policy == "high" else 0], degrees.degree == 0] += degrees.count[degrees.degree == 0]
    return parts


def partition_sizes(
    degrees: Degrees, owned: NDArray[np.float64], mirrored: NDArray[np.float64] | None = None
) -> list[PartitionSizes]:
    """Estimate the sizes of partitions from the degrees of their vertices.

    Parameters
    ----------
    degrees : Degrees
    owned : ndarray of float64, shape (P, D)
        Vertices of each degree in each partition, from `owned_by_degree`.
    mirrored : ndarray of float64, shape (P, P), optional
        The part of a partition's vertices with a mirror in each other one, from `NeighbourSample.mirrored`.

    Notes
    -----
    Without `mirrored`, the ends of edges are taken to be independent. If f of the M stored edges lead to a
    vertex, none of the E edges of a partition does with probability exp(-E f / M).
    """
    mine = owned @ degrees.each_stored
    met = 1 - np.exp(-np.outer(mine, degrees.met / degrees.count) / max(degrees.stored.sum(), 1))
    mirrors = owned @ met.T  # [p, q]: mirrors of the vertices of p in q
    np.fill_diagonal(mirrors, 0)
    connected = owned[:, degrees.degree > 0].sum(axis=1)
    enough = _ESTIMATE_OF_NEARLY_ALL
    if mirrored is not None:
        enough = NEARLY_ALL
        mirrors = np.where(np.isnan(mirrored), mirrors, mirrored * connected[:, None])
    # Where nearly all of a long run of vertices have a mirror, all of them get one.
    filled = (mirrors >= LONG_RUN) & (mirrors >= enough * connected[:, None])
    mirrors = np.where(filled, connected[:, None], mirrors)
    return [
        PartitionSizes(
            round(own.sum()),
            round(connected[p]),
            round(mirrors[:, p].sum()),
            round(mirrors[p].sum()),
            round(float(mine[p])),
        )
        for p, own in enumerate(owned)
    ]
