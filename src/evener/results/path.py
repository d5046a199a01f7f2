"""Values and paths of one vertex, from the blocks of all ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError, UnknownVertexError
from evener.graph.adjacency import as_ids
from evener.partition.distributed.graph import DistributedGraph

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.results.record import RunRecord

__all__ = ["path_to", "value_of"]

_OTHER_RANKS = "{}: expected the values of all vertices, found those of a rank; call gather() first"


def path_to(result: RunRecord, vertex: Any) -> list[Any]:
    """Return the ids on the path to a vertex, from its source on; none if it was not reached.

    The rank that has the vertex follows the parents inside its block. Then it sends the ids and the next
    vertex to all ranks. This is a collective operation; all ranks must call it.

    Raises
    ------
    ArgumentError
        If a vertex is in no block. This happens after a result of several ranks was pickled.
    UnknownVertexError
        If the vertex is not in the graph.
    """
    block = _Block(result)
    backwards: list[Any] = []
    key: int | None = block.key_of(vertex)
    while key is not None:
        found = [one for one in result.world.allgather(block.follow(key)) if one is not None]
        if not found:
            raise ArgumentError(_OTHER_RANKS.format("path"))
        ids, key = found[0]
        backwards += ids
    return backwards[::-1]


def _number_of(result: RunRecord, vertex: Any) -> int:
    """Return the number of the vertex with this id.

    This is a collective operation; all ranks must call it.

    Raises
    ------
    UnknownVertexError
        If the vertex is not in the graph.
    """
    graph = result.graph
    if not isinstance(graph, DistributedGraph):
        (number,) = graph.numbers_of([vertex])
        return int(number)
    (wanted,) = as_ids(graph, [vertex]).tolist()
    place = _place(result.ids, wanted)
    largest = max(result.world.allgather(-1 if place is None else result.block.start + place))
    if largest < 0:
        msg = f"vertex {wanted} is not in the graph ({graph.n} vertices)"
        raise UnknownVertexError(msg)
    return int(largest)


def value_of(result: RunRecord, vertex: Any, name: str) -> Any:
    """Return the value of a vertex in the array of this name.

    This is a collective operation; all ranks must call it.
    """
    values, number = result[name], _number_of(result, vertex)
    place = number - result.block.start
    here = values[place : place + 1].tolist() if number in result.block else []
    found = [value for part in result.world.allgather(here) for value in part]
    if not found:
        raise ArgumentError(_OTHER_RANKS.format("value"))
    return found[0]


class _Block:
    """The parents of the vertices of this rank.

    The key of a vertex is its value in the array of parents: its id if ids are integers, else its number.
    """

    def __init__(self, result: RunRecord) -> None:
        self._result = result
        self._first = result.block.start
        self._ids = result.ids
        self._parent = result.gathered("parent")
        self._by_id = result.graph.has_custom_ids and result.graph.has_integer_ids

    def key_of(self, vertex: Any) -> int:
        """Return the key of the vertex with this id.

        This is a collective operation; all ranks must call it.
        """
        number = _number_of(self._result, vertex)
        if not self._by_id:
            return number
        graph = self._result.graph
        return int(vertex if isinstance(graph, DistributedGraph) else graph.ids[number])

    def follow(self, key: int) -> tuple[list[Any], int | None] | None:
        """Return the ids from a vertex to its last ancestor in the block, and the key of the next ancestor.

        The key is None if the last ancestor is a source. A vertex that was not reached has no ids and no key.
        Return None for a vertex of another block.
        """
        place = self._place_of(key)
        if place is None:
            return None
        places: list[int] = []
        while place is not None:
            above = int(self._parent[place])
            if above < 0:
                return [], None
            places.append(place)
            if above == key:
                return self._ids[places].tolist(), None
            key, place = above, self._place_of(above)
        return self._ids[places].tolist(), key

    def _place_of(self, key: int) -> int | None:
        if self._by_id:
            return _place(self._ids, key)
        place = key - self._first
        return place if 0 <= place < len(self._ids) else None


def _place(ids: NDArray[Any], wanted: Any) -> int | None:
    """Return the place of an id in ascending ids, if it is there."""
    place = int(np.searchsorted(ids, wanted))
    return place if place < len(ids) and ids[place] == wanted else None
