"""Neighbour sample: positions of some vertices and their neighbours in an order, to estimate mirrors.

With a policy that orders by degree, such as `high`, a partition owns a run of the vertices in descending
degree. With `contiguous`, it owns a run of the vertex numbers. A vertex has a mirror in the partition if one
of its neighbours is in the run. In a grid or a road network, neighbours are near each other in both orders,
which degrees alone do not show.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evener.partition.policy import find_policy

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    from numpy.typing import NDArray

    from evener.graph.graph import Graph
    from evener.partition.sizes import Degrees

    class _Order(Protocol):
        def of(self, vertices: NDArray[np.integer]) -> NDArray[np.float64]: ...


__all__ = ["NeighbourSample"]

# Vertices in a sample: a share estimated from them has a standard error below 0.01.
_SAMPLED = 4096
# Neighbours of one vertex in a sample, at equal distances in its row.
_NEIGHBOURS = 256
# Vertices drawn to find the position of a vertex among those of its degree.
_RANKED = 1 << 14


@dataclass(frozen=True, slots=True, eq=False)
class NeighbourSample:
    """The positions of sampled vertices and of their neighbours.

    The position of a vertex is the share of the stored edges, 0 to 1, before it in the order. `weight` is the
    relative number of connected vertices that each sampled vertex represents. `keys` are k plus the position
    of each neighbour of the k-th vertex, ascending. `bounds` has the first key of each vertex.
    """

    position: NDArray[np.float64]
    weight: NDArray[np.float64]
    keys: NDArray[np.float64]
    bounds: NDArray[np.int64]

    @classmethod
    def of(
        cls, graph: Graph, directions: str, degree: NDArray[np.unsignedinteger], degrees: Degrees
    ) -> NeighbourSample | None:
        """Sample a graph. Return None if it has no edges or the rows needed are not in memory.

        Its partitions will store edges in `directions`. A policy orders the vertices by `degree`, their
        stored edges.
        """
        rows = _followed_rows(graph, directions)
        if not rows:
            return None
        vertices, weight = _sample(rows[0], degree, float(degrees.connected @ degrees.count))
        return cls._of(rows, vertices, weight, _Positions(degree, degrees))

    @classmethod
    def by_number(cls, graph: Graph, directions: str) -> NeighbourSample | None:
        """Sample a graph in the order of vertex numbers; return None in the cases of `of`.

        Some milliseconds are enough, because no array of all vertices is read.
        """
        rows = _followed_rows(graph, directions)
        if not rows:
            return None
        vertices = np.arange(graph.n)
        if graph.n > _SAMPLED // 2:
            vertices = np.random.default_rng(0).integers(0, graph.n, _SAMPLED // 2)
        order = _NumberPositions(graph, directions, rows)
        lengths = [one.offsets[vertices + 1] - one.offsets[vertices] for one in (*rows, *order.rows)]
        return cls._of(rows, vertices, np.any(lengths, axis=0).astype(np.float64), order)

    @classmethod
    def _of(
        cls, rows: list[Graph], vertices: NDArray[np.int64], weight: NDArray[np.float64], order: _Order
    ) -> NeighbourSample:
        keys = np.sort(np.concatenate([_keys(each, vertices, order) for each in rows]))
        bounds = np.searchsorted(keys, np.arange(len(vertices) + 1))
        return cls(order.of(vertices), weight, keys, bounds)

    @property
    def neighbours(self) -> NDArray[np.int64]:
        """The number of sampled neighbours of each vertex."""
        return np.diff(self.bounds)

    def mirrored(self, policy: str, shares: Sequence[float]) -> NDArray[np.float64] | None:
        """Return, for partitions p and q, the share of p's connected vertices with a mirror in q.

        The share is NaN for a partition without a sampled vertex. Return None for a policy that does not
        order by degree.
        """
        rule = find_policy(policy)
        if not rule.degrees_only or rule.order is None:
            return None
        return self.between(shares, lowest_first=rule.order(np.arange(2, dtype=np.uint32), 0)[0] == 1)

    def between(self, shares: Sequence[float], *, lowest_first: bool = False) -> NDArray[np.float64]:
        """Return the shares of `mirrored` if the order, or its reverse, is cut at these shares."""
        cuts = np.cumsum(shares)[:-1]
        if lowest_first:
            cuts = 1 - cuts[::-1]
        numbers, parts = np.arange(len(self.position)), len(shares)
        below = [np.searchsorted(self.keys, numbers + cut) for cut in cuts]
        there = np.diff([self.bounds[:-1], *below, self.bounds[1:]], axis=0).T > 0
        owner = np.searchsorted(cuts, self.position, side="right")
        if lowest_first:
            there, owner = there[:, ::-1], parts - 1 - owner
        weight = np.zeros((parts, len(self.position)))
        weight[owner, numbers] = self.weight
        with np.errstate(invalid="ignore"):
            found: NDArray[np.float64] = (weight @ there) / weight.sum(axis=1, keepdims=True)
        found[:, ~weight.any(axis=1)] = np.nan
        np.fill_diagonal(found, 0)
        return found


class _NumberPositions:
    """Positions of vertices by their numbers, in stored edges; without them in memory, in edges of `rows`."""

    def __init__(self, graph: Graph, directions: str, rows: Sequence[Graph]) -> None:
        if directions in graph.stored_directions and graph.directed:
            stored = graph if directions == "out" else graph.reverse
            rows = [stored] if "out" in stored.host_directions else rows
        self.rows, self._edges = rows, sum(one.m for one in rows)

    def of(self, vertices: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return the middles of the intervals that these vertices cover."""
        ends = np.zeros(len(vertices))
        for one in self.rows:
            ends += one.offsets[vertices]
            ends += one.offsets[vertices + np.uint32(1)]
        found: NDArray[np.float64] = np.clip(ends / (2 * self._edges), 0, 1 - 1e-9)
        return found


class _Positions:
    """Positions of vertices by descending degree, then by ascending number.

    A sample estimates how many vertices of the same degree precede a vertex.
    """

    def __init__(self, degree: NDArray[np.unsignedinteger], degrees: Degrees) -> None:
        self._degree, self._n = degree, len(degree)
        self._ascending = degrees.degree[::-1]
        edges = self._ascending * degrees.count[::-1]
        self._width = edges / degrees.edges
        self._begin = 1 - np.cumsum(edges) / degrees.edges
        drawn = np.arange(self._n)
        if self._n > _RANKED:
            drawn = np.random.default_rng(1).integers(0, self._n, _RANKED)
        self._ranked = np.sort(self._kind(drawn) * self._n + drawn)
        self._bounds = np.searchsorted(self._ranked, np.arange(len(edges) + 1) * self._n)

    def of(self, vertices: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return the middles of the intervals that these vertices cover."""
        kind = self._kind(vertices)
        first, seen = self._bounds[kind], np.diff(self._bounds)[kind]
        before = np.searchsorted(self._ranked, kind * self._n + vertices) - first
        # Assume that the vertices of a degree without a sample are spread evenly over all numbers.
        within = np.where(seen > 0, (before + 0.5) / np.maximum(seen, 1), (vertices + 0.5) / self._n)
        return np.clip(self._begin[kind] + self._width[kind] * within, 0, 1 - 1e-9)

    def _kind(self, vertices: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the index of each vertex's degree among the degrees, ascending."""
        kind: NDArray[np.int64] = np.searchsorted(self._ascending, self._degree[vertices].astype(np.int64))
        return kind


def _followed_rows(graph: Graph, directions: str) -> list[Graph]:
    """Return the rows that lead from a vertex to its mirrors; none if some are not in memory."""
    if graph.m == 0:
        return []
    # A partition that stores in-edges mirrors the vertices with an out-edge into it.
    followed = {"in": ("out",), "out": ("in",), "both": ("out", "in")}[directions]
    if not graph.directed:
        followed = ("out",)
    elif not set(followed) <= set(graph.stored_directions):
        return []  # building the missing rows needs as much memory as the graph
    rows = [graph if one == "out" else graph.reverse for one in followed]
    return rows if all("out" in one.host_directions for one in rows) else []


def _sample(
    rows: Graph, degree: NDArray[np.unsignedinteger], connected: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return connected vertices and their weights: all vertices of a small graph, else a sample.

    Half of the sample is drawn from the vertices, and half from the sources of random edges.
    """
    if rows.n <= _SAMPLED:
        vertices = np.flatnonzero((degree > 0) | (np.diff(rows.offsets) > 0))
        return vertices, np.ones(len(vertices))
    rng = np.random.default_rng(0)
    any_of_all = rng.integers(0, rows.n, 4 * _SAMPLED)
    there = (degree[any_of_all] > 0) | (rows.offsets[any_of_all + 1] > rows.offsets[any_of_all])
    plain = any_of_all[there][: _SAMPLED // 2]
    edges = rng.integers(0, rows.m, _SAMPLED - len(plain), dtype=np.uint64)
    vertices = np.concatenate([plain, np.searchsorted(rows.offsets, edges, side="right") - 1])
    lengths = (rows.offsets[vertices + 1] - rows.offsets[vertices]).astype(np.float64)
    chances = len(plain) / max(connected, 1) + len(edges) * lengths / rows.m
    return vertices, 1 / chances


def _keys(rows: Graph, vertices: NDArray[np.int64], positions: _Order) -> NDArray[np.float64]:
    """Return, for each sampled neighbour, the index of its vertex plus the neighbour's position."""
    begins = rows.offsets[vertices].astype(np.int64)
    lengths = rows.offsets[vertices + 1].astype(np.int64) - begins
    taken = np.minimum(lengths, _NEIGHBOURS)
    numbers = np.repeat(np.arange(len(vertices)), taken)
    turn = np.arange(len(numbers)) - np.repeat(np.cumsum(taken) - taken, taken)
    step = (lengths / np.maximum(taken, 1))[numbers]
    targets = rows.targets[begins[numbers] + (turn * step).astype(np.int64)]
    return numbers + positions.of(targets)
