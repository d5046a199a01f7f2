"""PartitionedGraph: a graph placed on processing elements."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError
from evener.kernels.cpu import partition as kernels
from evener.partition.statistics import Statistics, statistics_of
from evener.system.memory import MIN_CHECKED_BYTES, allocation_error, require

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from evener.elements import Element
    from evener.graph.graph import Graph
    from evener.partition.partition import Numbering, Partition
    from evener.partition.route import Route
    from evener.planning.cost_model import CostModel
    from evener.planning.plan import Plan

__all__ = ["PartitionedGraph"]

# Marks the absence of a vertex in arrays of vertex numbers.
NO_VERTEX = (1 << 32) - 1


class PartitionedGraph:
    """A graph placed on processing elements: place once, run many times.

    Made by `partition`. Every algorithm takes it in the place of a graph. Where a GPU is among its elements,
    one algorithm at a time may run on it.

    Attributes
    ----------
    graph : Graph
        The graph it was made from.
    elements : list of Element
        One for each partition.
    partitions : list of Partition
    policy : str
    directions : str
        "out", "in" or "both": which edges are stored; of an undirected graph, which are followed.
    plan : Plan or None
        The plan that chose this placement.
    cost_model : CostModel or None
        The model that the plan was made with. It predicts runs on the partitions as they are.
    """

    def __init__(
        self,
        graph: Graph,
        elements: list[Element],
        partitions: list[Partition],
        routes: list[Route],
        numbering: Numbering,
        *,
        policy: str,
        directions: str,
    ) -> None:
        self.graph = graph
        self.elements = elements
        self.partitions = partitions
        self.policy = policy
        self.directions = directions
        self.routes = routes
        self.plan: Plan | None = None
        self.cost_model: CostModel | None = None
        self._numbering = numbering

    @cached_property
    def statistics(self) -> Statistics:
        """Edges, vertices, mirrors, bytes and β of the partitions."""
        return statistics_of(self.partitions, self.elements)

    def place_of(self, vertex: int) -> tuple[int, int]:
        """The partition that owns the graph's vertex number `vertex`, and its number there."""
        return int(self._numbering.owner[vertex]), int(self._numbering.local[vertex])

    def mirrors_of(self, p: int) -> int:
        """How many mirrors other partitions have of those vertices that partition `p` owns."""
        return sum(len(route) for route in self.routes if route.owner == p)

    def gather(self, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Bring the owned values of all partitions into the order of the graph's vertices."""
        self._check_parts(parts)
        gathered = self._for_each_vertex(parts[0].dtype)
        for vertices, part in self._fetched(parts):
            kernels.scatter_values(vertices, part, np.uint64(len(vertices)), gathered)
        return gathered

    def gather_vertices(self, parts: Sequence[NDArray[np.uint32]]) -> NDArray[np.int64]:
        """As `gather`, for values that are local numbers of vertices: they become the graph's own ids.

        Where the ids are strings, positions in ``graph.ids``; where there is no vertex, -1.

        Raises
        ------
        ArgumentError
            For a number that no vertex of its partition has.
        """
        self._check_parts(parts, numbers=True)
        gathered = self._for_each_vertex(np.dtype(np.int64))
        names = _integer_ids(self.graph)
        for element, partition, part in zip(self.elements, self.partitions, parts, strict=True):
            vertices, own = element.download(partition.vertices), np.uint64(partition.owned)
            beyond = kernels.scatter_ids_of_local(vertices, element.download(part), names, own, gathered)
            _refuse_beyond(beyond, len(vertices), f"local numbers on {element.name}")
        return gathered

    def gather_numbers(self, parts: Sequence[NDArray[np.uint32]]) -> NDArray[np.int64]:
        """As `gather`, for values that are the graph's numbers of vertices: they become its own ids.

        Where the ids are strings, the numbers are left as they are; where there is no vertex, -1.

        Raises
        ------
        ArgumentError
            For a number that no vertex has.
        """
        self._check_parts(parts, numbers=True)
        gathered = self._for_each_vertex(np.dtype(np.int64))
        ids = _integer_ids(self.graph)
        for vertices, part in self._fetched(parts):
            beyond = kernels.scatter_ids_of_global(vertices, part, ids, np.uint64(len(vertices)), gathered)
            _refuse_beyond(beyond, self.graph.n, "the graph's numbers")
        return gathered

    def spread(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """Give each partition the values of its own vertices and mirrors; the inverse of `gather`."""
        pairs = zip(self.elements, self.partitions, strict=True)
        return [element.upload(values[element.download(partition.vertices)]) for element, partition in pairs]

    def owned_vertices(self) -> list[NDArray[np.uint32]]:
        """The graph's numbers of the vertices that each partition owns, in the host's memory."""
        return [self._numbering.owned_by(p) for p in range(len(self.partitions))]

    def _for_each_vertex(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        """An undefined value for each vertex of the graph."""
        n = self.graph.n
        if (nbytes := n * dtype.itemsize) >= MIN_CHECKED_BYTES:
            require(nbytes, f"the result for {n:,} vertices")
        try:
            return np.empty(n, dtype)
        except MemoryError as error:
            raise allocation_error(nbytes) from error

    def _check_parts(self, parts: Sequence[NDArray[Any]], *, numbers: bool = False) -> None:
        """Refuse parts that do not hold a value, or number, for each owned vertex of each partition."""
        lengths, owned = [len(part) for part in parts], [p.owned for p in self.partitions]
        if len(lengths) != len(owned) or any(one < other for one, other in zip(lengths, owned, strict=True)):
            msg = f"parts have a value for each owned vertex, here {owned}, or more, and not {lengths}"
            raise ArgumentError(msg)
        if numbers and (other := next((part.dtype for part in parts if part.dtype != np.uint32), None)):
            msg = f"numbers of vertices are uint32, not {other}"
            raise ArgumentError(msg)

    def _fetched(self, parts: Sequence[NDArray[Any]]) -> Iterator[tuple[NDArray[np.uint32], NDArray[Any]]]:
        """The owned vertices of each partition, and its part, in the host's memory."""
        for vertices, element, part in zip(self.owned_vertices(), self.elements, parts, strict=True):
            yield vertices, element.download(part)

    def __repr__(self) -> str:
        places = ", ".join(e.name for e in self.elements)
        return f"<PartitionedGraph: {self.graph.n:,} vertices on {places}; policy {self.policy}>"


def _integer_ids(graph: Graph) -> NDArray[np.int64]:
    """The ids where they are the caller's own integers, else nothing: numbers then stand for themselves."""
    own = graph.has_custom_ids and not graph.has_string_ids
    ids = graph.ids if own else np.empty(0, dtype=np.int64)
    ids.flags.writeable = False  # one type for the kernel, whichever it is
    return ids


def _refuse_beyond(beyond: int, vertices: int, what: str) -> None:
    """Refuse numbers if some are too large."""
    if beyond:
        bounds = f"below {vertices:,}, or {NO_VERTEX:,} for no vertex"
        msg = f"{what} are {bounds}, and {beyond:,} of those given are not"
        raise ArgumentError(msg)
