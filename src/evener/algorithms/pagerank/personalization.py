"""The personalization of PageRank: the probability that a jump ends at each vertex."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph

__all__ = ["as_mapping", "jumps_of", "teleport_of"]


def as_mapping(personalization: Any) -> Any:
    """Return an object with items, such as a pandas Series, as a mapping; any other object unchanged.

    Raises
    ------
    ArgumentError
        If a Series names a vertex twice.
    """
    if isinstance(personalization, Mapping) or not hasattr(personalization, "items"):
        return personalization
    by_id: dict[Any, Any] = {}
    for vertex, value in personalization.items():
        if vertex in by_id:
            msg = f"personalization=: expected one value per vertex, found several for {vertex}"
            raise ArgumentError(msg)
        by_id[vertex] = value
    return by_id


def jumps_of(graph: Graph, personalization: Any) -> NDArray[np.float64] | None:
    """Return the probability that a jump ends at each vertex; None if it is equal for all.

    Raises
    ------
    ArgumentError
        For values that are not probabilities up to scale, or a wrong number of values.
    UnknownVertexError
        For a vertex that is not in the graph.
    """
    n = graph.n
    if personalization is None:
        return None
    by_id = hasattr(personalization, "items")
    try:
        given = list(personalization.values()) if by_id else personalization
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = f"personalization=: expected numbers as values: {error}"
        raise ArgumentError(msg) from error
    if by_id:
        if values.ndim != 1:
            msg = f"personalization=: expected one number per vertex, found values of shape {values.shape}"
            raise ArgumentError(msg)
        own, values = values, np.zeros(n)
        values[graph.numbers_of(list(personalization))] = own
    if values.shape != (n,):
        msg = f"personalization=: expected shape ({n},), one value per vertex, found {values.shape}"
        raise ArgumentError(msg)
    if not (np.isfinite(values).all() and (values >= 0).all() and values.any()):
        msg = "personalization=: expected finite values of at least 0, and at least one above 0"
        raise ArgumentError(msg)
    values = values / values.max()  # so that the sum does not overflow
    return np.asarray(values / values.sum())


def teleport_of(pg: PartitionedGraph, jumps: NDArray[np.float64] | None) -> list[NDArray[np.float64]]:
    """Return the probability that a jump ends at each owned vertex, or one value if all are equal."""
    if jumps is None:
        return [np.array([1 / max(pg.graph.n, 1)])] * len(pg.partitions)
    return [jumps[vertices] for vertices in pg.owned_vertices()]
