"""Degrees: the vertices of a graph in descending degree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError
from evener.graph.arrays import read_only
from evener.kernels.cpu import partition as kernels
from evener.partition.policy import Vertices
from evener.system.memory import require

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.graph.graph import Graph

__all__ = [
    "MAX_OUT_DEGREE",
    "by_descending_degree",
    "check_out_degree",
    "descending_degree_on_host",
    "places_in",
    "replace_by_places",
    "stored_degree",
    "vertices_as_stored",
]

# Largest out-degree: partitions store out-degrees as uint32.
MAX_OUT_DEGREE = (1 << 32) - 1


def descending_degree_on_host(
    graph: Graph,
) -> tuple[NDArray[np.uint32], NDArray[np.uint64], NDArray[np.uint32]]:
    """Return the vertices in descending degree, their degrees, and their out-degrees.

    The degree of a vertex of a directed graph counts in-edges and out-edges.
    """
    degree = graph.out_degree()
    check_out_degree(int(degree.max(initial=0)))
    out_degree = degree.astype(np.uint32)
    if graph.directed:
        degree += graph.in_degree()
    return by_descending_degree(degree), degree, out_degree


def check_out_degree(largest: int) -> None:
    """Raise ArgumentError if the largest out-degree is too large."""
    if largest > MAX_OUT_DEGREE:
        msg = (
            f"expected at most {MAX_OUT_DEGREE:,} out-edges of a vertex, found {largest:,}; "
            'read or build the graph with duplicates="drop"'
        )
        raise ArgumentError(msg)


def stored_degree(degree: NDArray[Any], out_degree: NDArray[Any], directions: str) -> NDArray[Any]:
    """Return how many edges partitions store with each vertex of a directed graph, in the type of `degree`.

    `degree` counts in-edges and out-edges; it is returned itself if both directions are stored.
    """
    if directions == "both":
        return degree
    return out_degree.astype(degree.dtype, copy=False) if directions == "out" else degree - out_degree


def vertices_as_stored(
    graph: Graph,
    by_degree: NDArray[np.uint32],
    degree: NDArray[Any],
    out_degree: NDArray[Any],
    directions: str,
) -> Vertices:
    """Return the vertices as a policy sees them, ordered by the edges that partitions store.

    The arrays are those of `descending_degree_on_host`.
    """
    if not graph.directed or directions == "both":
        return Vertices(by_degree, degree, degree, graph)
    stored = stored_degree(degree, out_degree, directions)
    return Vertices(by_descending_degree(stored), stored, degree, graph)


def by_descending_degree(degree: NDArray[np.unsignedinteger[Any]]) -> NDArray[np.uint32]:
    """Return the positions of degrees in descending order; equal degrees keep their order."""
    by_degree = np.empty(len(degree), dtype=np.uint32)
    degrees = int(degree.max(initial=0)) + 2
    require(8 * degrees, "sorting vertices by their degrees")
    kernels.order_by_degree(degree, np.zeros(degrees, dtype=np.uint64), by_degree)
    return by_degree


def places_in(order: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return the place of each local number in an order."""
    places = np.empty_like(order)
    kernels.invert_order(read_only(order), places)
    return places


def replace_by_places(numbers: NDArray[np.uint32], order: NDArray[np.uint32]) -> None:
    """Replace each local number by its place in `order`; an empty order changes nothing.

    Numbers that are not in the order become arbitrary places.
    """
    if len(order):
        kernels.replace_by_place(read_only(places_in(order)), numbers)
