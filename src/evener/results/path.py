"""The path of a search, which the parents of its vertices give, also if ranks have parts of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError, UnknownVertexError
from evener.graph.lookup import as_ids, vertex_numbers
from evener.partition.distributed.graph import DistributedGraph

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.results.result import Result

__all__ = ["path_to"]


def path_to(result: Result, vertex: Any) -> list[Any]:
    """Return the ids on the path to a vertex, from its source on; none if it was not reached.

    A rank follows the parents inside its block, and then shares the next vertex with the other ranks. This is
    a collective operation; all ranks must call it.
    """
    block = _Block(result)
    backwards: list[Any] = []
    name: int | None = block.find(vertex)
    while name is not None:
        found = [one for one in result.world.allgather(block.follow(name)) if one is not None]
        if not found:
            msg = "path: expected the values of all vertices, found those of a rank; call gather() before"
            raise ArgumentError(msg)
        ids, name = found[0]
        backwards += ids
    return backwards[::-1]


class _Block:
    """The parents of the vertices of this rank.

    Parents are ids if these are integers, else numbers of vertices. So both are the names of vertices here.
    """

    def __init__(self, result: Result) -> None:
        self._result = result
        self._first = result.block.start
        self._ids = result.ids
        self._parent = result.gathered("parent")
        self._by_id = result.graph.has_custom_ids and result.graph.has_integer_ids

    def find(self, vertex: Any) -> int:
        """Return the name of the vertex with an id of the caller. All ranks must call it."""
        graph = self._result.graph
        if not isinstance(graph, DistributedGraph):
            (number,) = vertex_numbers(graph, [vertex])
            return int(graph.ids[number] if self._by_id else number)
        (wanted,) = as_ids(graph, [vertex]).tolist()
        place = _place(self._ids, wanted)
        number = max(self._result.world.allgather(-1 if place is None else self._first + place))
        if number < 0:
            msg = f"vertex {wanted} is not in the graph ({graph.n} vertices)"
            raise UnknownVertexError(msg)
        return int(wanted if self._by_id else number)

    def follow(self, name: int) -> tuple[list[Any], int | None] | None:
        """Return the ids from a vertex up to its last ancestor in the block, and that ancestor's parent.

        The parent is None at a source. A vertex that was not reached has no ids. Return None for a vertex of
        another block.
        """
        place = self._place_of(name)
        if place is None:
            return None
        places: list[int] = []
        while place is not None:
            above = int(self._parent[place])
            if above < 0:
                return [], None
            places.append(place)
            if above == name:
                return self._ids[places].tolist(), None
            name, place = above, self._place_of(above)
        return self._ids[places].tolist(), name

    def _place_of(self, name: int) -> int | None:
        if self._by_id:
            return _place(self._ids, name)
        place = name - self._first
        return place if 0 <= place < len(self._ids) else None


def _place(ids: NDArray[Any], wanted: Any) -> int | None:
    """Return the place of an id in ascending ids, if it is there."""
    place = int(np.searchsorted(ids, wanted))
    return place if place < len(ids) and ids[place] == wanted else None
