"""Neighbours: where in the order of degrees those of some vertices lie, to foresee how many mirrors come.

By policies `high` and `low` a partition owns a run of the vertices in descending degree, and a vertex has a
mirror there if one of its neighbours lies in that run. Whether neighbours lie near each other, as in a grid
or a network of roads, degrees do not tell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evener.graph.graph import Graph
    from evener.planning.model import Degrees

__all__ = ["Neighbours"]

# Vertices that are drawn: a share of them is off by half a hundredth.
_DRAWN = 4096
# Neighbours of one vertex that are looked at; of hubs, every so manyth.
_LOOKED_AT = 256
# Vertices that tell how those of one degree are spread.
_RANKED = 1 << 14


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """Vertices that were drawn, and where they and their neighbours lie.

    A place in the order of descending degree is the part of all edges, 0 to 1, that come with the vertices
    before it.

    Attributes
    ----------
    place : ndarray of float64, shape (S,)
        Of each vertex drawn.
    stands_for : ndarray of float64, shape (S,)
        How many vertices it stands for, beside the others.
    keys : ndarray of float64
        The place of each neighbour of the vertex number k, plus k, ascending.
    bounds : ndarray of int64, shape (S + 1,)
        Where those of each vertex begin among them.
    """

    place: NDArray[np.float64]
    stands_for: NDArray[np.float64]
    keys: NDArray[np.float64]
    bounds: NDArray[np.int64]

    @classmethod
    def of(
        cls, graph: Graph, directions: str, degree: NDArray[np.unsignedinteger], degrees: Degrees
    ) -> Neighbours | None:
        """Draw some of a graph; None where the rows that tell are not in memory, or there are no edges.

        Parameters
        ----------
        graph : Graph
        directions : {"in", "out", "both"}
            What its partitions will store.
        degree : ndarray, shape (n,)
            That by which its vertices will be dealt out.
        degrees : Degrees
            The same, counted.
        """
        if graph.m == 0:
            return None
        # A partition that stores in-edges has mirrors of those that have an out-edge into it.
        followed = {"in": ("out",), "out": ("in",), "both": ("out", "in")}[directions]
        if not graph.directed:
            rows = [graph]
        elif set(followed) <= set(graph.stored_directions):
            rows = [graph if one == "out" else graph.reverse for one in followed]
        else:
            return None  # to make them takes as much memory as the graph, and a plan alone needs little
        vertices, stands_for = _drawn(rows[0], degree, int(degrees.count[degrees.degree > 0].sum()))
        places = _Places(degree, degrees)
        keys = np.sort(np.concatenate([_keys(each, vertices, places) for each in rows]))
        bounds = np.searchsorted(keys, np.arange(len(vertices) + 1))
        return cls(places.of(vertices), stands_for, keys, bounds)

    def mirrored(self, policy: str, shares: Sequence[float]) -> NDArray[np.float64] | None:
        """Of the vertices that partition p owns and that have an edge, the part that has a mirror at q.

        Returns
        -------
        ndarray of float64, shape (P, P), or None
            NaN for partitions that none of the vertices drawn belongs to. None for a policy that does not
            order by degree.
        """
        if policy not in ("high", "low"):
            return None
        cuts = np.cumsum(shares)[:-1]
        if policy == "low":
            cuts = 1 - cuts[::-1]
        numbers, parts = np.arange(len(self.place)), len(shares)
        below = [np.searchsorted(self.keys, numbers + cut) for cut in cuts]
        there = np.diff([self.bounds[:-1], *below, self.bounds[1:]], axis=0).T > 0
        owner = np.searchsorted(cuts, self.place, side="right")
        if policy == "low":
            there, owner = there[:, ::-1], parts - 1 - owner
        stand_for = np.zeros((parts, len(self.place)))
        stand_for[owner, numbers] = self.stands_for
        with np.errstate(invalid="ignore"):
            found: NDArray[np.float64] = (stand_for @ there) / stand_for.sum(axis=1, keepdims=True)
        found[:, ~stand_for.any(axis=1)] = np.nan
        np.fill_diagonal(found, 0)
        return found


class _Places:
    """Where vertices lie in descending degree, those of one degree in ascending number.

    How many of its degree come before one is told by some that are drawn, or by all where they are few.
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
        """The places of these, each in the middle of what it takes up."""
        kind = self._kind(vertices)
        first, seen = self._bounds[kind], np.diff(self._bounds)[kind]
        before = np.searchsorted(self._ranked, kind * self._n + vertices) - first
        # Of a degree that was not drawn, vertices are taken to be spread evenly over all.
        within = np.where(seen > 0, (before + 0.5) / np.maximum(seen, 1), (vertices + 0.5) / self._n)
        return np.clip(self._begin[kind] + self._width[kind] * within, 0, 1 - 1e-9)

    def _kind(self, vertices: NDArray[np.integer]) -> NDArray[np.int64]:
        """Which of the degrees there are these have, from the least on."""
        kind: NDArray[np.int64] = np.searchsorted(self._ascending, self._degree[vertices].astype(np.int64))
        return kind


def _drawn(
    rows: Graph, degree: NDArray[np.unsignedinteger], connected: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Vertices that have an edge: all, or half of them drawn as such and half by an edge out of them."""
    if rows.n <= _DRAWN:
        vertices = np.flatnonzero(degree)
        return vertices, np.ones(len(vertices))
    rng = np.random.default_rng(0)
    any_of_all = rng.integers(0, rows.n, 4 * _DRAWN)
    plain = any_of_all[degree[any_of_all] > 0][: _DRAWN // 2]
    edges = rng.integers(0, rows.m, _DRAWN - len(plain), dtype=np.uint64)
    vertices = np.concatenate([plain, np.searchsorted(rows.offsets, edges, side="right") - 1])
    lengths = (rows.offsets[vertices + 1] - rows.offsets[vertices]).astype(np.float64)
    chances = len(plain) / max(connected, 1) + len(edges) * lengths / rows.m
    return vertices, 1 / chances


def _keys(rows: Graph, vertices: NDArray[np.int64], places: _Places) -> NDArray[np.float64]:
    """For each neighbour that is looked at, the number of the vertex among those drawn, plus its place."""
    begins = rows.offsets[vertices].astype(np.int64)
    lengths = rows.offsets[vertices + 1].astype(np.int64) - begins
    taken = np.minimum(lengths, _LOOKED_AT)
    numbers = np.repeat(np.arange(len(vertices)), taken)
    turn = np.arange(len(numbers)) - np.repeat(np.cumsum(taken) - taken, taken)
    step = (lengths / np.maximum(taken, 1))[numbers]
    targets = rows.targets[begins[numbers] + (turn * step).astype(np.int64)]
    return numbers + places.of(targets)
