"""Edge arrays of NetworkX graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.errors import ArgumentError
from evener.graph.arrays import string_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["NumberedEdges", "edges_from_networkx"]


class NumberedEdges(NamedTuple):
    """Edges by vertex number, their weights, and the id of each vertex.

    Attributes
    ----------
    src, dst : ndarray of uint32, shape (edges,)
    weights : ndarray, shape (edges,), or None
    ids : ndarray, shape (n,), or None
        Ascending; None if the ids are ``0..n-1``.
    """

    src: NDArray[np.uint32]
    dst: NDArray[np.uint32]
    weights: NDArray[Any] | None
    ids: NDArray[Any] | None


def edges_from_networkx(graph: Any, weight: str | None) -> NumberedEdges:
    """Return the edges of a NetworkX graph, each once, with nodes numbered in ascending order.

    Parameters
    ----------
    graph : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
    weight : str or None
        The edge attribute that holds the weight; an edge without it has weight 1.

    Raises
    ------
    ArgumentError
        If the object is not a NetworkX graph, or its nodes are not all non-negative integers or all strings.
        Also if no edge has the attribute, unless the attribute is "weight".
    """
    if not hasattr(graph, "is_directed") or not hasattr(graph, "edges"):
        msg = f"graph: expected a NetworkX graph, found {type(graph).__name__}"
        raise ArgumentError(msg)
    nodes = list(graph)
    strings = all(isinstance(node, str) for node in nodes)
    if not strings and not all(_is_id(node) for node in nodes):
        msg = (
            "graph: expected nodes that are all non-negative integers or all strings; rename them with "
            "networkx.relabel_nodes"
        )
        raise ArgumentError(msg)
    nodes.sort()
    number = {node: i for i, node in enumerate(nodes)}
    ends = np.array([(number[u], number[v]) for u, v in graph.edges()], dtype=np.uint32).reshape(-1, 2)
    custom_ids = nodes != list(range(len(nodes)))
    ids = None
    if custom_ids:
        ids = string_array(nodes) if strings else np.array(nodes, dtype=np.int64)
    return NumberedEdges(ends[:, 0], ends[:, 1], _weights(graph, weight), ids)


def _weights(graph: Any, weight: str | None) -> NDArray[Any] | None:
    attributes = [edge for *_, edge in graph.edges(data=True)]
    if weight is None or not attributes:
        return None
    if any(weight in edge for edge in attributes):
        return np.array([edge.get(weight, 1) for edge in attributes])
    if weight != "weight":
        names = ", ".join(map(repr, sorted(map(str, attributes[0]))))
        found = f"the attributes {names}" if names else "no attributes"
        msg = f"expected edges with the attribute {weight!r} as weight; the first edge has {found}"
        raise ArgumentError(msg)
    return None


def _is_id(node: Any) -> bool:
    return isinstance(node, int | np.integer) and not isinstance(node, bool) and bool(0 <= node < 1 << 63)
