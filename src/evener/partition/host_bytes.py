"""Bytes of host memory that placing a graph needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from evener.elements import Element
    from evener.graph.graph import Graph

__all__ = ["bytes_needed", "edge_bytes", "share_on_host"]


def share_on_host(elements: list[Element], shares: NDArray[np.float64], stored: int) -> float:
    """Return the smallest share of the edges in host memory: the CPU's, and the edges that fit no GPU.

    `stored` is the bytes of the edges of all partitions.
    """
    rooms = (element.room() for element in elements)
    return float(
        sum(
            share if room is None else max(0.0, share - room / max(stored, 1))
            for room, share in zip(rooms, shares, strict=True)
        )
    )


def _stored_adjacencies(graph: Graph, directions: str) -> int:
    """Return the number of adjacencies that the partitions store."""
    return 2 if graph.directed and directions == "both" else 1


def edge_bytes(graph: Graph, directions: str) -> int:
    """Return the bytes of the edges of all partitions."""
    return _adjacency_bytes(graph) * _stored_adjacencies(graph, directions)


def _adjacency_bytes(graph: Graph) -> int:
    """Return the bytes of all targets and weights of one adjacency."""
    return graph.m * (4 + (0 if graph.weight_dtype is None else graph.weight_dtype.itemsize))


def bytes_needed(graph: Graph, directions: str, on_host: float = 1.0) -> int:
    """Return the bytes of the partitions without mirrors, and of the temporary arrays to build them.

    The share `on_host` of the edges stays in host memory.
    """
    edges = _adjacency_bytes(graph)
    # A direction that the graph does not store is built from the other one, a third at a time.
    wanted = ("out", "in") if directions == "both" else (directions,)
    missing = [one for one in wanted if graph.directed and one not in graph.stored_directions]
    reverse_bytes = len(missing) * (edges + graph.n * 8) + ((graph.m * 4 + edges) // 3 if missing else 0)
    # Per vertex: an offset for each adjacency, and 30 bytes of degrees, numbers and orders. One direction
    # of a directed graph needs a second degree and a second order.
    second = 12 if graph.directed and directions != "both" else 0
    vertices = (_stored_adjacencies(graph, directions) * 8 + 30 + second) * graph.n
    return int(edge_bytes(graph, directions) * on_host) + reverse_bytes + vertices
