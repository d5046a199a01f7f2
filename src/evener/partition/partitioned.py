"""PartitionedGraph: a graph placed on processing elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError
from evener.graph.arrays import read_only
from evener.graph.views import html_table
from evener.kernels.cpu import partition as kernels
from evener.kernels.vertex import NO_VERTEX
from evener.partition.block_exchange import BlockExchange, block_bounds
from evener.partition.distributed.graph import DistributedGraph
from evener.partition.numbering import joined
from evener.partition.statistics import Statistics, statistics_of
from evener.system.agreement import call_number, collective
from evener.system.html import escape
from evener.system.memory import (
    MIN_CHECKED_BYTES,
    allocation_error,
    format_bytes,
    require,
    require_for_run,
)
from evener.system.world import current_world

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from evener.elements import Element
    from evener.graph.graph import Graph
    from evener.partition.numbering import Numbering
    from evener.partition.partition import Partition
    from evener.partition.route import Route
    from evener.system.world import World

__all__ = ["PartitionedGraph"]


class PartitionedGraph:
    """A graph placed on processing elements: place once, run many times.

    `partition` returns it. Every algorithm accepts it instead of a graph. If one of its elements is a GPU,
    run one algorithm at a time.

    Attributes
    ----------
    graph : Graph
        The graph that was partitioned.
    elements : list of Element
        The element of each partition of this rank.
    partitions : list of Partition
        The partitions of this rank.
    world : World
        The ranks that share the graph.
    ranks : list of int
        The rank of each partition of all ranks.
    policy : str
    directions : str
        "out", "in" or "both": the stored edges; for an undirected graph, the edges that algorithms follow.
    strength : list of ndarray of float64, or None
        Sum of the weights of the out-edges of each partition's owned vertices, if the graph is in parts.
    run_cache : dict
        Objects that runs on the placement leave for later runs, by their class.
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
        world: World | None = None,
        ranks: Sequence[int] | None = None,
        strength: list[NDArray[np.float64]] | None = None,
    ) -> None:
        self.graph = graph
        self.elements = elements
        self.partitions = partitions
        self.policy = policy
        self.directions = directions
        self.routes = routes
        self.strength = strength
        self.run_cache: dict[type, Any] = {}
        self._numbering = numbering
        self._exchange: BlockExchange | None = None
        self._statistics: Statistics | None = None
        self.world = current_world() if world is None else world
        self.ranks = [self.world.rank] * len(partitions) if ranks is None else list(ranks)
        self._number = call_number(self.world)

    def agreed(self) -> dict[str, Any]:
        """Return the facts by name that are equal on all ranks with the same placement."""
        return {"placement": self._number}

    @classmethod
    def from_parts(cls, graph: Graph, parts: dict[str, Any]) -> PartitionedGraph:
        """Return a graph on the partitions of another placement of the same graph."""
        pg = cls.__new__(cls)
        vars(pg).update(parts, graph=graph)
        return pg

    @property
    def parts(self) -> dict[str, Any]:
        """The placement, without the graph."""
        return {name: value for name, value in vars(self).items() if name != "graph"}

    @property
    def statistics(self) -> Statistics:
        """Edges, vertices, mirrors, bytes and β of the partitions of all ranks.

        The first use is a collective operation. A run on several ranks is a use.
        """
        if self._statistics is None:
            self._statistics = self._all_statistics()
        return self._statistics

    @collective(name="PartitionedGraph.statistics")
    def _all_statistics(self) -> Statistics:
        return statistics_of(self.partitions, self.elements, self.world)

    @collective()
    def place_of(self, vertex: int) -> tuple[int, int]:
        """Return the owner and the local number of a vertex, given its global number.

        This is a collective operation; all ranks must call it.
        """
        return self._numbering.place_of(vertex)

    @collective(own=("vertices",))
    def places_of(self, vertices: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.uint32]]:
        """Return the owners and the local numbers of vertices, given their global numbers on this rank.

        This is a collective operation; all ranks must call it.
        """
        return self._numbering.places_of(vertices)

    def mirrors_of(self, p: int) -> int:
        """Return how many mirrors other partitions have of the vertices of partition `p`."""
        return sum(len(route) for route in self.routes if route.owner == p)

    @property
    def block(self) -> range:
        """The global numbers of the vertices whose values this rank gathers; with one rank, all vertices."""
        first, end = block_bounds(self.graph.n, self.world.size)[self.world.rank : self.world.rank + 2]
        return range(int(first), int(end))

    @property
    def block_ids(self) -> NDArray[Any]:
        """The ids of the vertices of this rank's `block`, ascending."""
        block = self.block
        if not self.graph.has_custom_ids:
            return np.arange(block.start, block.stop)
        own = self.graph.block_ids if isinstance(self.graph, DistributedGraph) else None
        ids: NDArray[Any] = self.graph.ids[block.start : block.stop] if own is None else own
        return ids

    @collective(own=("parts",))
    def gather(self, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Return the values of the vertices of this rank's `block`, in the order of the vertices.

        This is a collective operation; all ranks must call it.
        """
        self._check_parts(parts)
        if self.world.size > 1:
            return self._deliver(np.concatenate([part for _, part in self._fetched(parts)]))
        gathered = self._for_each_vertex(parts[0].dtype)
        values = self._by_number(parts)
        self._run(kernels.gather_values, values, read_only(self._numbering.numbers), gathered)
        return gathered

    @collective(own=("parts",))
    def gather_floats(self, parts: Sequence[NDArray[Any]], *, absent: int | np.uint32) -> NDArray[Any]:
        """Gather integers as float64, with infinity for `absent`; floating-point values keep their type.

        This is a collective operation; all ranks must call it.
        """
        self._check_parts(parts)
        if self.world.size > 1 or parts[0].dtype.kind == "f":
            values: NDArray[Any] = self.gather(parts)
            return values if values.dtype.kind == "f" else np.where(values == absent, np.inf, values)
        gathered = self._for_each_vertex(np.dtype(np.float64))
        self._run(
            kernels.gather_floats, self._by_number(parts), read_only(self._numbering.numbers),
            parts[0].dtype.type(absent), gathered,
        )  # fmt: skip
        return gathered

    @collective(own=("parts",))
    def gather_vertices(self, parts: Sequence[NDArray[np.uint32]]) -> NDArray[np.int64]:
        """Gather values that are local numbers of vertices, as the ids of these vertices.

        Ids that are not integers become positions in ``graph.ids``. No vertex becomes -1. This is a
        collective operation; all ranks must call it.

        Raises
        ------
        ArgumentError
            For a number that is not a local number of its partition.
        """
        self._check_parts(parts, numbers=True)
        if self.world.size > 1:
            return self._ids_of(self._deliver(np.concatenate(list(self._global_numbers(parts)))))
        if len(parts) == 1:
            element, vertices = self.elements[0], self.partitions[0].vertices
            what = f"local numbers on {element.name}"
            return self._gathered_ids(self._by_number(parts), what, read_only(element.download(vertices)))
        return self._gathered_ids(read_only(joined(list(self._global_numbers(parts)))), "the graph's numbers")

    @collective(own=("parts",))
    def gather_numbers(self, parts: Sequence[NDArray[np.uint32]]) -> NDArray[np.int64]:
        """Gather values that are global numbers of vertices, as the ids of these vertices.

        With ids that are not integers, the numbers do not change. No vertex becomes -1. This is a collective
        operation; all ranks must call it.

        Raises
        ------
        ArgumentError
            For a number that is not a vertex of the graph.
        """
        self._check_parts(parts, numbers=True)
        if self.world.size > 1:
            return self._ids_of(self.gather(parts))
        return self._gathered_ids(self._by_number(parts), "the graph's numbers")

    def scatter(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """Return the values of each partition's vertices and mirrors; the inverse of `gather`."""
        pairs = zip(self.elements, self.partitions, strict=True)
        return [element.upload(values[element.download(partition.vertices)]) for element, partition in pairs]

    def owned_vertices(self) -> list[NDArray[np.uint32]]:
        """Return the global numbers of the vertices that each partition owns, in host memory."""
        return [self._numbering.owned_by(partition.index) for partition in self.partitions]

    def _deliver(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the values of this rank's block, given the values of its owned vertices.

        This is a collective operation; all ranks must call it.
        """
        # Not a cached_property, whose lock all instances share: fake ranks would wait for each other.
        if self._exchange is None:
            owned = np.concatenate(self.owned_vertices())
            bounds = block_bounds(self.graph.n, self.world.size)
            self._exchange = BlockExchange(self.world, bounds, owned)
        return self._exchange.deliver(values)

    def _gathered_ids(
        self, numbers: NDArray[np.uint32], what: str, to_global: NDArray[np.uint32] | None = None
    ) -> NDArray[np.int64]:
        """Return the ids of vertices, given their global numbers, or local numbers with `to_global`.

        `numbers` has a value for each vertex, by number. Errors name the values as `what`.
        """
        gathered = self._for_each_vertex(np.dtype(np.int64))
        to_global = read_only(np.empty(0, np.uint32)) if to_global is None else to_global
        beyond = self._run(
            kernels.gather_ids, numbers, read_only(self._numbering.numbers), to_global,
            _integer_ids(self.graph), gathered,
        )  # fmt: skip
        _check_numbers(beyond, len(to_global) or self.graph.n, what)
        return gathered

    def _by_number(self, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Return the values of all vertices by number, in host memory."""
        fetched = zip(self.elements, self.partitions, parts, strict=True)
        return read_only(joined([element.download(part)[: own.owned] for element, own, part in fetched]))

    def _run(self, kernel: Any, *args: Any) -> Any:
        """Run a kernel of the host on the threads of the only element, or else on all threads."""
        only = self.elements[0] if len(self.elements) == 1 else None
        return kernel(*args) if only is None or only.kind != "cpu" else only.run(kernel, *args)

    def _global_numbers(self, parts: Sequence[NDArray[np.uint32]]) -> Iterator[NDArray[np.uint32]]:
        """Yield the global numbers of each partition's values, which are local numbers."""
        for element, partition, part in zip(self.elements, self.partitions, parts, strict=True):
            vertices = element.download(partition.vertices)
            local = element.download(part)[: partition.owned]
            absent = local == NO_VERTEX
            beyond = int((~absent & (local >= len(vertices))).sum())
            _check_numbers(beyond, len(vertices), f"local numbers on {element.name}")
            yield np.where(absent, NO_VERTEX, vertices.take(local, mode="clip"))

    def _ids_of(self, numbers: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Return the ids of vertices, or their numbers if ids are not integers; -1 for no vertex."""
        absent = numbers == NO_VERTEX
        _check_numbers(int((~absent & (numbers >= self.graph.n)).sum()), self.graph.n, "the graph's numbers")
        known = np.where(absent, 0, numbers).astype(np.int64)
        return np.where(absent, -1, self.graph.ids_of(known) if self.graph.has_integer_ids else known)

    def _for_each_vertex(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return an uninitialized array with a value for each vertex of the graph."""
        n = self.graph.n
        nbytes, what = n * dtype.itemsize, f"the result for {n:,} vertices"
        if [element.memory for element in self.elements] == ["host"]:
            require_for_run(nbytes, what)
            gathered: NDArray[Any] = self.elements[0].allocate(n, dtype)  # pages of earlier results
            return gathered
        if nbytes >= MIN_CHECKED_BYTES:
            require(nbytes, what)
        try:
            return np.empty(n, dtype)
        except MemoryError as error:
            raise allocation_error(nbytes) from error

    def _check_parts(self, parts: Sequence[NDArray[Any]], *, numbers: bool = False) -> None:
        """Raise an error unless the parts have a value, or number, for each owned vertex."""
        lengths, owned = [len(part) for part in parts], [p.owned for p in self.partitions]
        if len(lengths) != len(owned) or any(one < other for one, other in zip(lengths, owned, strict=True)):
            msg = f"expected parts with a value for each owned vertex, at least {owned}; found {lengths}"
            raise ArgumentError(msg)
        if numbers and (other := next((part.dtype for part in parts if part.dtype != np.uint32), None)):
            msg = f"expected vertex numbers of type uint32, found {other}"
            raise ArgumentError(msg)

    def _fetched(self, parts: Sequence[NDArray[Any]]) -> Iterator[tuple[NDArray[np.uint32], NDArray[Any]]]:
        """Yield the owned vertices of each partition and their values, in host memory."""
        for vertices, element, part in zip(self.owned_vertices(), self.elements, parts, strict=True):
            yield vertices, element.download(part)[: len(vertices)]

    def __repr__(self) -> str:
        places = ", ".join(e.name for e in self.elements)
        return f"<PartitionedGraph: {self.graph.n:,} vertices on {places}; policy {self.policy}>"

    def _repr_html_(self) -> str:
        """Return a table of the partitions of this rank, for notebooks."""
        rows = []
        for element, own in zip(self.elements, self.partitions, strict=True):
            sizes = [f"{size:,}" for size in (own.stored_edges, own.owned, own.mirrors)]
            rows.append([element.name, *sizes, format_bytes(own.nbytes)])
        table = html_table(("element", "edges", "vertices", "mirrors", "memory"), rows)
        return f"<p>{escape(repr(self))}</p>{table}"


def _integer_ids(graph: Graph) -> NDArray[np.int64]:
    """Return custom integer ids, or an empty array if results have vertex numbers."""
    own = graph.has_custom_ids and graph.has_integer_ids
    return read_only(graph.ids if own else np.empty(0, dtype=np.int64))


def _check_numbers(beyond: int, vertices: int, what: str) -> None:
    """Raise an error if some numbers are too large."""
    if beyond:
        bounds = f"below {vertices:,}, or {NO_VERTEX:,} for no vertex"
        msg = f"expected {what} {bounds}; {beyond:,} are larger"
        raise ArgumentError(msg)
