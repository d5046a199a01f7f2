"""Edge arrays of NetworkX graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.errors import ArgumentError
from evener.graph.arrays import string_array
from evener.graph.arrow import ArrowColumn, note_unread_columns
from evener.graph.checks import is_number, type_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["NumberedEdges", "edges_from_networkx"]


class NumberedEdges(NamedTuple):
    """Edges by vertex number (uint32), their weights, and the id of each vertex.

    The ids are ascending, or any objects in the order of the graph; None if the ids are ``0..n-1``.
    """

    src: NDArray[np.uint32]
    dst: NDArray[np.uint32]
    weights: NDArray[Any] | None
    ids: NDArray[Any] | None


def edges_from_networkx(graph: Any, weight: str | None) -> NumberedEdges:
    """Return the edges of a NetworkX graph, each once; see `evener.Graph.from_networkx`.

    Nodes are numbered in ascending order if all are non-negative integers or all are strings.
    """
    if not hasattr(graph, "is_directed") or not hasattr(graph, "edges"):
        msg = f"graph: expected a NetworkX graph, found {type(graph).__name__}"
        raise ArgumentError(msg)
    nodes = list(graph)
    strings = all(isinstance(node, str) for node in nodes)
    integers = all(_is_id(node) for node in nodes)
    if strings or integers:
        nodes.sort()
    number = {node: i for i, node in enumerate(nodes)}
    ends = np.array([(number[u], number[v]) for u, v in graph.edges()], dtype=np.uint32).reshape(-1, 2)
    ids = None
    if not integers:
        # One by one, because np.array would make a matrix of tuples.
        ids = string_array(nodes) if strings else np.fromiter(nodes, dtype=object, count=len(nodes))
    elif nodes != list(range(len(nodes))):
        ids = np.array(nodes, dtype=np.int64)
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
    items = (item for edge in attributes for item in edge.items())
    numeric = dict.fromkeys(str(key) for key, value in items if is_number(value))
    unread = [ArrowColumn(name, numbers=True) for name in numeric]
    note_unread_columns(type_name(graph), unread, None, remedy="weight=", noun="edge attribute")
    return None


def _is_id(node: Any) -> bool:
    return isinstance(node, int | np.integer) and not isinstance(node, bool) and bool(0 <= node < 1 << 63)
