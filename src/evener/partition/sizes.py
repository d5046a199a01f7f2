"""Sizes: vertices, mirrors and edges of partitions, counted or estimated from the degrees of a graph."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.partition.partition import LONG_RUN, NEARLY_ALL
from evener.partition.policy import find_policy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evener.partition.partitioned import PartitionedGraph

__all__ = ["Degrees", "ElementShare", "Groups", "PartitionSizes", "owned_by_degree", "partition_sizes"]

# `NEARLY_ALL` for estimates without a sample of neighbours: these estimates are too low.
_ESTIMATE_OF_NEARLY_ALL = 0.82
# More than the bits of a number of edges.
_BITS = 64


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
    """The part of a graph that one element gets, with its name and its kind, "cpu" or "cuda".

    `host_edges` are edges of a GPU's partition that stay in host memory.
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
class Groups:
    """The vertices of each degree, grouped by the number of stored edges that lead to them.

    If one direction is stored, vertices of a degree can differ in the edges that lead to them. A group has
    the vertices whose numbers of these edges have equally many bits.

    `first` is the first group of each degree. `share` is the part of the vertices of its degree in each
    group, and `targeting` the number of stored edges that lead to one vertex of the group.
    """

    first: NDArray[np.int64]
    share: NDArray[np.float64]
    targeting: NDArray[np.float64]

    @classmethod
    def of(cls, place: NDArray[np.int64], opposite: NDArray[np.unsignedinteger]) -> Groups:
        """Group vertices, given the place of their degree and the edges that lead to each."""
        keys = place * _BITS + np.frexp(opposite.astype(np.float64))[1]
        counts = np.bincount(keys)
        there = np.flatnonzero(counts)
        targeting = np.bincount(keys, opposite)[there] / counts[there]
        first = np.flatnonzero(np.diff(there // _BITS, prepend=-1))
        of_degree = np.add.reduceat(counts[there], first)
        return cls(first, counts[there] / of_degree[there // _BITS], targeting)

    @classmethod
    def of_equal(cls, degree: NDArray[np.int64] | NDArray[np.float64]) -> Groups:
        """Group vertices to which as many edges lead as are stored with them."""
        return cls(np.arange(len(degree)), np.ones(len(degree)), degree.astype(np.float64))

    def mean(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return the mean over the vertices of each degree, given a value for each group in the last axis."""
        found: NDArray[np.float64] = np.add.reduceat(values * self.share, self.first, axis=-1)
        return found


@dataclass(frozen=True, slots=True)
class Degrees:
    """The degrees of a graph in descending order, with the number of vertices of each.

    A degree counts the edges that are stored with a vertex, by which policies order vertices. `edges` is the
    sum of all degrees.
    """

    degree: NDArray[np.int64] | NDArray[np.float64]
    count: NDArray[np.int64]
    groups: Groups
    edges: int

    @classmethod
    def of(
        cls,
        degree: NDArray[np.unsignedinteger],
        opposite: NDArray[np.unsignedinteger] | None = None,
    ) -> Degrees:
        """Count the vertices of each degree; `opposite` counts the stored edges that lead to each vertex.

        By default, as many edges lead to a vertex as are stored with it.
        """
        by = degree.astype(np.int64)
        counts = np.bincount(by, minlength=1)
        present = np.flatnonzero(counts)[::-1]
        count = counts[present]
        edges = int((present * count).sum())
        if opposite is None:
            return cls(present, count, Groups.of_equal(present), edges)
        place = np.empty(len(counts), np.int64)
        place[present] = np.arange(len(present))
        return cls(present, count, Groups.of(place[by], opposite), edges)

    @property
    def connected(self) -> NDArray[np.float64]:
        """The share of the vertices of each degree that have an edge, stored or not."""
        return np.where(self.degree > 0, 1.0, self.groups.mean(self.groups.targeting > 0))


def owned_by_degree(degrees: Degrees, policy: str, shares: Sequence[float]) -> NDArray[np.float64]:
    """Return how many vertices of each degree each partition owns, shape (P, D), given its share of edges."""
    parts = np.empty((len(shares), len(degrees.count)))
    rule = find_policy(policy)
    if not rule.degrees_only or rule.order is None or degrees.edges == 0:
        parts[:] = np.outer(shares, degrees.count)
    else:
        order = rule.order(np.arange(len(degrees.count), dtype=np.uint32), 0)
        count, each = degrees.count[order].astype(float), degrees.degree[order].astype(float)
        edges, vertices = np.cumsum(count * each), np.cumsum(count)
        wanted = np.cumsum(shares) * edges[-1]
        astride = np.minimum(np.searchsorted(edges, wanted), len(order) - 1)
        # As in `orders.cut_positions`, a vertex at a cut goes to the side with more of its edges.
        missing = (edges[astride] - wanted) / np.maximum(each[astride], 1)
        cuts = np.where(wanted > 0, vertices[astride] - np.floor(missing + 0.5), 0)
        cuts[np.flatnonzero(shares)[-1] :] = vertices[-1]
        for p, (first, last) in enumerate(pairwise([0.0, *cuts])):
            begin, end = np.maximum(vertices - count, first), np.minimum(vertices, last)
            parts[p, order] = np.maximum(end - begin, 0)
    return parts


def partition_sizes(
    degrees: Degrees, owned: NDArray[np.float64], mirrored: NDArray[np.float64] | None = None
) -> list[PartitionSizes]:
    """Estimate the sizes of partitions from `owned_by_degree`, and perhaps `NeighbourSample.mirrored`.

    Without `mirrored`, the function assumes that the ends of edges are independent. Let f of the M stored
    edges lead to a vertex. A partition of E edges then has no edge to the vertex with probability
    exp(-E f / M).
    """
    mine = owned @ degrees.degree
    groups = degrees.groups
    met = groups.mean(1 - np.exp(-np.outer(mine, groups.targeting / max(degrees.edges, 1))))
    mirrors = owned @ met.T  # [p, q]: mirrors of the vertices of p in q
    np.fill_diagonal(mirrors, 0)
    connected = owned @ degrees.connected
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
