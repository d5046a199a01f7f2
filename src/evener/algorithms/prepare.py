"""What every algorithm does before it starts: place the graph, and find its source among the partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from evener.engine import Spread
from evener.errors import ArgumentError, UnknownVertexError
from evener.partition import PartitionedGraph

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Unpack

    from evener.graph import Graph

__all__ = ["NOBODY", "Wanted", "placed", "source_in"]

# Stands where there is no local vertex; no partition has this many.
NOBODY = np.uint32(0xFFFFFFFF)


class Wanted(TypedDict):
    """Where a caller wants a graph: arguments of `partition`, with the policy "auto" besides its own."""

    on: str | Sequence[str] | None
    policy: str
    alpha: float | None
    gpu_memory: str | int | None
    directions: str


def placed(
    graph: Graph | PartitionedGraph,
    algorithm: str,
    *,
    passes: float = 1.0,
    enough: str | None = None,
    **wanted: Unpack[Wanted],
) -> PartitionedGraph:
    """The graph on its elements, placed now unless it already is.

    `passes` is how many the run may have, where that is far more than PageRank has iterations; `enough`
    is a direction that the algorithm can make do with, though it is placed with the `directions` wanted.

    Raises
    ------
    ArgumentError
        If the graph is already placed and `on`, `alpha` or `gpu_memory` ask for another placement, or if the
        edges that the algorithm follows were left out of it.
    """
    if not isinstance(graph, PartitionedGraph):
        # Plans go by how fast the algorithms run, so what makes them stands above this.
        from evener.auto import place_by_plan

        return place_by_plan(graph, algorithm, passes=passes, **wanted)
    if any(one is not None for one in (wanted["on"], wanted["alpha"], wanted["gpu_memory"])):
        msg = (
            "the graph is already placed, so on=, alpha= and gpu_memory= have no effect; give them to "
            "partition() instead"
        )
        raise ArgumentError(msg)
    directions = wanted["directions"]
    if graph.graph.directed and graph.directions not in ("both", directions, enough):
        msg = (
            f'the algorithm needs edges in direction "{directions}" and the graph was placed with '
            f'"{graph.directions}" only; place it with directions="{directions}" or "both"'
        )
        raise ArgumentError(msg)
    return graph


def source_in(pg: PartitionedGraph, source: Any) -> Spread:
    """The local number of the vertex with the id `source` where it is owned, `NOBODY` elsewhere.

    Raises
    ------
    ArgumentError
        If it is not one id.
    UnknownVertexError
        If there is no such vertex.
    """
    if np.ndim(source) != 0:
        msg = f"source is the id of one vertex, not {source!r}; run once for each"
        raise ArgumentError(msg)
    try:
        (number,) = pg.graph.numbers_of([source])
    except UnknownVertexError as error:
        msg = f"{error}; give one that is as source= (--source on the command line)"
        raise UnknownVertexError(msg) from None
    owner, local = pg.place_of(int(number))
    return Spread([np.uint32(local) if p == owner else NOBODY for p in range(len(pg.partitions))])
