"""Sizes: vertices, mirrors and edges of partitions, counted or estimated from the degrees of a graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evener.partition.partition import LONG_RUN, NEARLY_ALL
from evener.partition.policy import find_policy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evener.partition.partitioned import PartitionedGraph

__all__ = ["Degrees", "ElementShare", "PartitionSizes", "owned_by_degree", "partition_sizes"]

# `NEARLY_ALL` for estimates without a sample of neighbours: these estimates are too low.
_ESTIMATE_OF_NEARLY_ALL = 0.82


@dataclass(frozen=True, slots=True)
class PartitionSizes:
    """The sizes of a partition.

    Attributes
    ----------
    vertices : int
        Owned vertices.
    connected : int
        Owned vertices with an edge.
    mirrors : int
        Mirrors in this partition of vertices that other partitions own.
    remote_mirrors : int
        Mirrors in other partitions of the owned vertices.
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
        The degrees over all edges, by which policies order vertices, and the vertices of each degree.
    stored : ndarray of float64
        Edges stored with the vertices of each degree.
    targeting : ndarray of float64
        Stored edges whose target has each degree.
    edges : int
        The sum of all degrees.
    """

    degree: NDArray[np.int64]
    count: NDArray[np.int64]
    stored: NDArray[np.float64]
    targeting: NDArray[np.float64]
    edges: int

    @classmethod
    def of(
        cls,
        degree: NDArray[np.unsignedinteger],
        stored: NDArray[np.unsignedinteger] | None = None,
        targeting: NDArray[np.unsignedinteger] | None = None,
    ) -> Degrees:
        """Count the vertices of each degree.

        Parameters
        ----------
        degree : ndarray, shape (n,)
            All edges of each vertex.
        stored, targeting : ndarray, shape (n,), optional
            Edges stored with each vertex, and stored edges that lead to each vertex. Default: `degree`.
        """
        by = degree.astype(np.int64)
        counts = np.bincount(by, minlength=1)
        present = np.flatnonzero(counts)[::-1]
        of_all = (present * counts[present]).astype(np.float64)

        def total(edges: NDArray[np.unsignedinteger] | None) -> NDArray[np.float64]:
            """Return the sum of `edges` over the vertices of each degree."""
            if edges is None:
                return of_all
            return np.bincount(by, edges, minlength=1)[present].astype(np.float64)

        return cls(present, counts[present], total(stored), total(targeting), int(of_all.sum()))

    @property
    def each_stored(self) -> NDArray[np.float64]:
        """Edges stored with one vertex of each degree."""
        return self.stored / self.count


def owned_by_degree(degrees: Degrees, policy: str, shares: Sequence[float]) -> NDArray[np.float64]:
    """Return how many vertices of each degree each partition owns.

    Parameters
    ----------
    degrees : Degrees
    policy : str
    shares : sequence of float, length P
        Share of the edges of each partition.

    Returns
    -------
    ndarray of float64, shape (P, D)
    """
    parts = np.empty((len(shares), len(degrees.count)))
    rule = find_policy(policy)
    if not rule.degrees_only or rule.order is None or degrees.edges == 0:
        parts[:] = np.outer(shares, degrees.count)
    else:
        order = rule.order(np.arange(len(degrees.count), dtype=np.uint32), 0)
        count, each = degrees.count[order].astype(float), degrees.degree[order].astype(float)
        ends = np.cumsum(count * each)
        cuts = np.concatenate([[0.0], np.cumsum(shares)]) * ends[-1]
        cuts[-1] = ends[-1]
        begins = ends - count * each
        for p in range(len(shares)):
            inside = np.minimum(ends, cuts[p + 1]) - np.maximum(begins, cuts[p])
            parts[p, order] = np.where(each > 0, np.maximum(inside, 0) / np.maximum(each, 1), 0)
        # Vertices without edges, of the last degree, belong to the end of the order with the low degrees.
        given = np.flatnonzero(np.asarray(shares) > 0)
        low_end = given[0 if order[0] == len(order) - 1 else -1]
        parts[low_end, degrees.degree == 0] += degrees.count[degrees.degree == 0]
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
        The share of a partition's vertices with a mirror in each other one, from `NeighbourSample.mirrored`.

    Notes
    -----
    Without `mirrored`, the function assumes that the ends of edges are independent. Let f of the M stored
    edges lead to a vertex. A partition of E edges then has no edge to the vertex with probability
    exp(-E f / M).
    """
    mine = owned @ degrees.each_stored
    met = 1 - np.exp(-np.outer(mine, degrees.targeting / degrees.count) / max(degrees.stored.sum(), 1))
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
