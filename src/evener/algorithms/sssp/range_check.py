"""The range of distances: a reached vertex has a distance that float64 represents.

A sum beyond the largest float64 is infinite, so its vertex looks unreached. Sums of integer weights from 2^53
on may be rounded. Both need huge weights, so most searches end without these checks.
"""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from evener.errors import ArgumentError
from evener.partition.upload import edges_on_host

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.engine.array import PartitionedArray
    from evener.partition.partition import Edges
    from evener.partition.partitioned import PartitionedGraph

__all__ = ["EXACT", "check_range"]

# Integers below this number are exact in float64.
EXACT = 2.0**53
# Edges that a check reads at a time.
_PIECE = 1 << 22


def check_range(pg: PartitionedGraph, distance: PartitionedArray, *, limit: float) -> None:
    """Raise an error on all ranks if a distance is beyond float64, or a sum of integers is not exact.

    This is a collective operation; all ranks must call it.

    Parameters
    ----------
    pg : PartitionedGraph
    distance : PartitionedArray of float64
        Of owned vertices and mirrors.
    limit : float
        The largest distance of the result. Vertices that are farther away look unreached.

    Raises
    ------
    ArgumentError
        With the first such vertex.
    """
    heaviest, dtype = pg.graph.weight_range[1], pg.graph.weight_dtype
    longest = heaviest * max(pg.graph.n - 1, 1)
    if dtype is not None and dtype.kind in "iu" and longest >= EXACT:
        _raise_first(
            pg,
            [
                np.flatnonzero((own >= EXACT) & np.isfinite(own))
                for own in (
                    element.download(part)[: partition.owned]
                    for element, partition, part in zip(pg.elements, pg.partitions, distance, strict=True)
                )
            ],
            "is 2^53 or more, where float64 rounds integers; scale the weights, or give them as float64",
        )
    if longest > sys.float_info.max and limit == math.inf:
        _raise_first(
            pg,
            [_beyond(pg, p, distance[p]) for p in range(len(pg.partitions))],
            "is above the largest float64; scale the weights",
        )


def _beyond(pg: PartitionedGraph, p: int, distance: Any) -> NDArray[np.int64]:
    """Return the owned vertices of a partition that look unreached and have an edge from a reached vertex."""
    element, partition = pg.elements[p], pg.partitions[p]
    edges = cast("Edges", partition.in_)
    own = element.download(distance)
    offsets = element.download(edges.offsets)
    targets, weights = edges_on_host(edges.targets, element), edges_on_host(edges.weights, element)
    found = []
    for begin in range(0, len(targets), _PIECE):
        end = min(begin + _PIECE, len(targets))
        rows = np.searchsorted(offsets, np.arange(begin, end), side="right") - 1
        near, weight = own[targets[begin:end]], weights[begin:end]
        with np.errstate(over="ignore"):
            infinite = np.isinf(near + weight) & np.isfinite(near) & np.isfinite(weight)
        found.append(rows[infinite & np.isinf(own[rows])])
    return np.unique(np.concatenate(found)) if found else np.empty(0, np.int64)


def _raise_first(pg: PartitionedGraph, wrong: list[NDArray[np.int64]], text: str) -> None:
    """Raise an error on all ranks that names the first vertex, given local numbers of each partition."""
    numbers = [
        int(vertices[own].min()) for vertices, own in zip(pg.owned_vertices(), wrong, strict=True) if len(own)
    ]
    first = pg.world.allreduce(min(numbers, default=pg.graph.n), "min")
    if first < pg.graph.n:
        (vertex,) = pg.graph.ids_of(np.array([first]))
        msg = f"sssp: the distance of vertex {vertex} {text}"
        raise ArgumentError(msg)
