"""Edges of a NetworkX graph, as arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["NumberedEdges", "edges_of"]


class NumberedEdges(NamedTuple):
    """The ends of edges as vertex numbers, their weights, and the id of each vertex.

    Attributes
    ----------
    src, dst : ndarray of uint32, shape (edges,)
    weights : ndarray, shape (edges,), or None
    ids : ndarray, shape (n,), or None
        Ascending; None where they are ``0..n-1``.
    """

    src: NDArray[np.uint32]
    dst: NDArray[np.uint32]
    weights: NDArray[Any] | None
    ids: NDArray[Any] | None


def edges_of(graph: Any, weight: str | None) -> NumberedEdges:
    """Take the edges of a NetworkX graph, each once, and number its nodes in ascending order.

    Parameters
    ----------
    graph : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
    weight : str or None
        The edge attribute to take as weight, 1 where an edge lacks it.

    Raises
    ------
    ArgumentError
        If it is no NetworkX graph, its nodes are not all non-negative integers or all strings, or no edge has
        an attribute that is named; but "weight" may be missing.
    """
    if not hasattr(graph, "is_directed") or not hasattr(graph, "edges"):
        msg = f"expected a NetworkX graph, not {type(graph).__name__}"
        raise ArgumentError(msg)
    nodes = list(graph)
    strings = all(isinstance(node, str) for node in nodes)
    if not strings and not all(_is_id(node) for node in nodes):
        msg = "nodes must be all non-negative integers or all strings; networkx.relabel_nodes renames them"
        raise ArgumentError(msg)
    nodes.sort()
    number = {node: i for i, node in enumerate(nodes)}
    ends = np.array([(number[u], number[v]) for u, v in graph.edges()], dtype=np.uint32).reshape(-1, 2)
    own_ids = nodes != list(range(len(nodes)))
    ids = np.array(nodes, dtype=None if strings else np.int64) if own_ids else None
    return NumberedEdges(ends[:, 0], ends[:, 1], _weights(graph, weight), ids)


def _weights(graph: Any, weight: str | None) -> NDArray[Any] | None:
    attributes = [edge for *_, edge in graph.edges(data=True)]
    if weight is None or not attributes:
        return None
    if any(weight in edge for edge in attributes):
        return np.array([edge.get(weight, 1) for edge in attributes])
    if weight != "weight":
        names = ", ".join(map(repr, sorted(map(str, attributes[0]))))
        has = f"the attributes {names}" if names else "no attributes"
        msg = f"no edge has {weight!r}, which is to be its weight; the first edge has {has}"
        raise ArgumentError(msg)
    return None


def _is_id(node: Any) -> bool:
    return isinstance(node, int | np.integer) and not isinstance(node, bool) and bool(0 <= node < 1 << 63)
