"""What every algorithm does before it starts: place the graph, and find its source among the partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.engine import Spread
from evener.errors import ArgumentError
from evener.partition import PartitionedGraph

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evener.graph import Graph

__all__ = ["NOBODY", "placed", "source_in"]

# Stands where there is no local vertex; no partition has this many.
NOBODY = np.uint32(0xFFFFFFFF)


def placed(
    graph: Graph | PartitionedGraph,
    algorithm: str,
    *,
    on: str | Sequence[str] | None,
    policy: str,
    alpha: float | None,
    gpu_memory: str | int | None,
    directions: str,
) -> PartitionedGraph:
    """The graph on its elements, placed now unless it already is.

    Raises
    ------
    ArgumentError
        If the graph is already placed and `on`, `alpha` or `gpu_memory` ask for another placement, or if the
        edges that the algorithm follows were left out of it.
    """
    if not isinstance(graph, PartitionedGraph):
        # Plans go by how fast the algorithms run, so what makes them stands above this.
        from evener.auto import place_by_plan

        return place_by_plan(
            graph,
            algorithm,
            on=on,
            policy=policy,
            alpha=alpha,
            gpu_memory=gpu_memory,
            directions=directions,
        )
    if on is not None or alpha is not None or gpu_memory is not None:
        msg = (
            "the graph is already placed, so on=, alpha= and gpu_memory= have no effect; give them to "
            "partition() instead"
        )
        raise ArgumentError(msg)
    if graph.graph.directed and graph.directions not in ("both", directions):
        msg = (
            f'the algorithm needs edges in direction "{directions}" and the graph was placed with '
            f'"{graph.directions}" only; place it with directions="{directions}" or "both"'
        )
        raise ArgumentError(msg)
    return graph


def source_in(pg: PartitionedGraph, source: Any) -> Spread:
    """The local number of the vertex with the id `source` where it is owned, `NOBODY` elsewhere."""
    owner, local = pg.place_of(int(pg.graph.numbers_of([source])[0]))
    return Spread([np.uint32(local) if p == owner else NOBODY for p in range(len(pg.partitions))])
