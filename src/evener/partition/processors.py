"""Processors: the elements of all ranks, and the edges that fit each element."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from evener.partition.footprint import bytes_excluding_edges, window_bytes
from evener.partition.host_bytes import edge_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evener.elements import Element
    from evener.graph.graph import Graph
    from evener.system.world import World

__all__ = ["all_elements", "most_edges"]


def all_elements(
    elements: Sequence[Element], world: World
) -> tuple[list[float], list[bool], list[int], list[int | None]]:
    """Return the weight of each element of all ranks, whether it is a CPU, its rank, and its room in bytes.

    This is a collective operation; all ranks must call it.
    """
    facts = world.allgather([(element.weight, element.kind == "cpu", element.room()) for element in elements])
    ranks = [rank for rank, own in enumerate(facts) for _ in own]
    weights, on_cpu, rooms = zip(*(one for own in facts for one in own), strict=True)
    return list(weights), list(on_cpu), ranks, list(rooms)


def most_edges(
    graph: Graph,
    directions: str,
    shares: NDArray[np.float64],
    rooms: Sequence[int | None],
    ranks: Sequence[int],
) -> list[float]:
    """Return the stored edges that fit each element with its share of the vertices and all mirrors.

    `shares`, `rooms` and `ranks` have the share, the room in bytes and the rank of each element.
    """
    stored = 1 + (graph.directed and directions == "both")
    edge = edge_bytes(graph, directions) / max(1, graph.m * stored)
    others = len(shares) - 1
    fitting = []
    for share, room, rank in zip(shares.tolist(), rooms, ranks, strict=True):
        owned, edges = round(share * graph.n), round(share * graph.m) * stored
        needed = bytes_excluding_edges(owned, graph.n - owned, owned * others, edges, directions=stored)
        far = np.asarray(ranks) != rank
        needed += window_bytes(round(float(shares[far].sum()) * graph.n), owned * int(far.sum()))
        fitting.append(math.inf if room is None else max(0.0, (room - needed) / max(1.0, edge)))
    return fitting
