"""Verification of betweenness: the sums of dependencies, recomputed on CPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numba
import numpy as np

from evener.primitives import path_verification_cpu as kernels
from evener.spec.answer_parts import NO_WEIGHTS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.graph.graph import Graph
    from evener.spec.answer_parts import AnswerParts, Direction, EdgeRows

__all__ = ["Paths", "path_sums", "paths_in_parts", "tight_edges"]


class Paths(NamedTuple):
    """The shortest paths by weights from a source, for each vertex of a block.

    Attributes
    ----------
    distance : ndarray of float64
        Infinite if unreached.
    paths : ndarray of float64
    share : ndarray of float64
        What a path adds to the tail of its last edge: ``(1 + dependency) / paths``, 0 if unreached.
    dependency : ndarray of float64
    """

    distance: NDArray[np.float64]
    paths: NDArray[np.float64]
    share: NDArray[np.float64]
    dependency: NDArray[np.float64]


def path_sums(
    graph: Graph, sources: NDArray[np.int64], *, weighted: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the sums of Brandes' dependencies on some sources, of each vertex and of each stored edge.

    All sums are infinite if float64 cannot count the paths from a source. Weights must be above 0.
    """
    threads = max(1, min(numba.get_num_threads(), len(sources)))
    shape = threads, graph.n
    vertex_sums, edge_sums = np.zeros(shape), np.zeros((threads, graph.m))
    weights = graph.weights if weighted else None
    kernels.sum_paths(
        graph.offsets,
        graph.targets,
        NO_WEIGHTS if weights is None else weights,
        sources.astype(np.uint32),
        np.empty(shape),
        np.empty(shape, np.uint32),
        np.zeros(shape, np.bool_),
        np.empty(shape),
        np.empty(shape),
        vertex_sums,
        edge_sums,
    )
    return vertex_sums.sum(axis=0), edge_sums.sum(axis=0)


def paths_in_parts(parts: AnswerParts, source: int) -> Paths:
    """Return the shortest paths by weights from a source. Weights must be above 0.

    This is a collective operation; all ranks must call it. Each array is a fixed point of its equation.
    """
    is_source = np.arange(parts.block.start, parts.block.stop) == source
    distance = np.where(is_source, 0.0, np.inf)
    while True:
        nearest = []
        for rows, (own,) in zip(parts.rows("in"), parts.fetch(distance), strict=True):
            nearest.append(np.full(len(rows.offsets) - 1, np.inf))
            np.minimum.at(nearest[-1], _tails(rows), own[rows.targets] + rows.weights)
        nearer = np.minimum(distance, parts.collect(nearest))
        if not parts.reduce(int((nearer < distance).sum()), "sum"):
            break
        distance = nearer

    def sums(values: NDArray[np.float64], direction: Direction) -> NDArray[np.float64]:
        """Return the sums of values over the tight edges of each vertex."""
        found = []
        for rows, (far, own) in zip(parts.rows(direction), parts.fetch(distance, values), strict=True):
            tight, tails = tight_edges(rows, far), _tails(rows)
            found.append(np.bincount(tails[tight], own[rows.targets[tight]], minlength=len(rows.offsets) - 1))
        return parts.collect(found)

    reached = np.isfinite(distance)
    paths, dependency = np.where(is_source, 1.0, 0.0), np.zeros(len(distance))
    while True:
        counted = sums(paths, "in") + is_source
        if not parts.reduce(int((counted != paths).sum()), "sum"):
            break
        paths = counted
    while True:
        share = np.divide(1.0 + dependency, paths, out=np.zeros(len(paths)), where=reached)
        added = sums(share, "out") * paths
        if not parts.reduce(int((added != dependency).sum()), "sum"):
            return Paths(distance, paths, share, dependency)
        dependency = added


def tight_edges(rows: EdgeRows, distance: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return whether each edge is on a shortest path, given the distances of local vertices."""
    tails, heads = _tails(rows), rows.targets
    near, far = (tails, heads) if rows.direction == "out" else (heads, tails)
    tight: NDArray[np.bool_] = distance[near] + rows.weights == distance[far]
    return tight & np.isfinite(distance[near])


def _tails(rows: EdgeRows) -> NDArray[np.int64]:
    """Return the row of each edge."""
    lengths = np.diff(rows.offsets).astype(np.int64)
    return np.repeat(np.arange(len(lengths)), lengths)
