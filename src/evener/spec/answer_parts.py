"""Answer parts: the values and edges that a verifier reads, of a whole graph or of a graph in parts on ranks.

A verifier keeps the values of this rank's block of vertices. It fetches the values of the ends of this rank's
edges, and combines results at the ends of edges on the ranks of their blocks. The exchanges are not those of
the engine. A whole graph is one part, whose block and ends are all vertices; nothing is exchanged.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from evener.graph.arrays import read_only
from evener.kernels.vertex import NO_VERTEX
from evener.partition.block_exchange import block_bounds, combine_in_rounds, fetch_in_rounds
from evener.partition.distributed.graph import DistributedGraph
from evener.partition.upload import edges_on_host
from evener.spec import answer_parts_cpu as kernels
from evener.spec.strength import out_strength
from evener.spec.verification import column, edge_blocks, fail, first_true, vertex_numbers
from evener.system.world import SingleProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from evener.graph.graph import Graph
    from evener.spec.answer import Answer
    from evener.system.world import Operation, World

    Direction = Literal["out", "in"]

__all__ = ["NO_WEIGHTS", "AnswerInParts", "AnswerParts", "EdgeRows", "parts_of"]

# Weights of a graph without weights, for kernels: each edge has weight 1.
NO_WEIGHTS = read_only(np.empty(0, np.uint8))


@dataclass(frozen=True, eq=False)
class EdgeRows:
    """Edges of one direction as CSR in local numbers.

    Attributes
    ----------
    direction : {"out", "in"}
    vertices : sequence of int
        The number of each local vertex; the first have rows.
    offsets : ndarray of uint64
    targets : ndarray of uint32
        Ascending in each row of a whole graph.
    weights : ndarray
        Empty if each edge has weight 1.
    """

    direction: Direction
    vertices: Sequence[int] | NDArray[np.uint32]
    offsets: NDArray[np.uint64]
    targets: NDArray[np.uint32]
    weights: NDArray[Any]

    @cached_property
    def blocks(self) -> NDArray[np.uint64]:
        """Bounds of blocks of rows with about equal edges."""
        return edge_blocks(self.offsets)

    def first(self, kernel: Callable[..., None], *values: Any) -> int | None:
        """Return the first row in which a kernel finds a wrong edge, or None."""
        first = np.empty(len(self.blocks) - 1, np.uint32)
        kernel(self.offsets, self.targets, *values, self.blocks, first)
        return None if (v := first.min()) == NO_VERTEX else int(v)

    def row(self, v: int) -> slice:
        """Return the positions of the edges of a row."""
        return slice(int(self.offsets[v]), int(self.offsets[v + 1]))

    def pieces(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.uint32]]]:
        """Yield the rows and the targets of some edges, as local numbers."""
        for begin, end in pairwise(np.unique(self.blocks).tolist()):
            lengths = np.diff(self.offsets[begin : end + 1]).astype(np.int64)
            edges = slice(int(self.offsets[begin]), int(self.offsets[end]))
            yield np.repeat(np.arange(begin, end), lengths), self.targets[edges]

    def local(self, numbers: NDArray[Any]) -> NDArray[np.uint32]:
        """Return the local numbers of vertices, NO_VERTEX for NO_VERTEX, and one of no vertex for others."""
        if isinstance(self.vertices, range):
            return numbers
        vertices = np.asarray(self.vertices)
        order = np.argsort(vertices)
        place = np.minimum(np.searchsorted(vertices, numbers, sorter=order), len(order) - 1)
        found = order[place].astype(np.uint32)
        found[vertices[found] != numbers] = len(order)
        found[numbers == NO_VERTEX] = NO_VERTEX
        return found


class AnswerParts:
    """An answer on a whole graph: one block with the values of all vertices, and all edges.

    The methods are collective operations for a graph in parts; all ranks must call them. They raise the same
    errors on all ranks.

    Attributes
    ----------
    block : range
        The vertices whose values this rank has.
    whole : bool
        Whether this process has all vertices and edges.
    """

    whole = True

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.graph: Graph = answer.graph
        self._rows: dict[Direction, list[EdgeRows]] = {}
        self.world: World = SingleProcess()
        self.block = range(self.graph.n)

    # ---- values ---------------------------------------------------------------------------------

    def column(self, name: str) -> NDArray[Any]:
        """Return the numbers of this block in an array of the answer."""
        return column(self.answer, name)

    def vertex_numbers(self, name: str) -> NDArray[np.uint32]:
        """Return the vertices of this block in an array as numbers 0..n-1, and NO_VERTEX for no vertex."""
        return vertex_numbers(self.answer, name)

    def look_up(self, numbers: NDArray[Any], block: NDArray[Any]) -> NDArray[Any]:
        """Return the values of any vertices, given those of this block."""
        return np.asarray(block[numbers])

    def id(self, number: int) -> Any:
        """Return the id of a vertex, which is the same vertex on all ranks."""
        return self.graph.ids[number]

    def at(self, block: NDArray[Any], number: int) -> Any:
        """Return the value of a vertex, which is the same vertex on all ranks."""
        place = int(number) - self.block.start
        own = [block[place]] if 0 <= place < len(self.block) else []
        return next(one for found in self.world.allgather(own) for one in found)

    def reduce(self, value: Any, operation: Operation) -> Any:
        """Return the values of all ranks, reduced."""
        return self.world.allreduce(value, operation)

    # ---- edges ----------------------------------------------------------------------------------

    def rows(self, direction: Direction | None = None) -> list[EdgeRows]:
        """Return the edges in parts. Without a direction, it is that of in-edges if they are in memory."""
        if direction is None:
            direction = "out" if self.graph.stored_directions == ("out",) else "in"
        if direction not in self._rows:
            self._rows[direction] = self._read_rows(direction)
        return self._rows[direction]

    def _read_rows(self, direction: Direction) -> list[EdgeRows]:
        own = self.graph.reverse if direction == "in" else self.graph
        weights = NO_WEIGHTS if own.weights is None else own.weights
        return [EdgeRows(direction, self.block, own.offsets, own.targets, weights)]

    def fetch(self, *blocks: NDArray[Any]) -> list[list[NDArray[Any]]]:
        """Return the values of the local vertices of each part, given those of this block."""
        return [list(blocks)]

    def collect(self, values: list[NDArray[Any]]) -> NDArray[Any]:
        """Return the values of this block, given those of the vertices of each part that have rows."""
        return values[0]

    def row_sums(
        self, block: NDArray[np.float64], direction: Direction, *, weighted: bool = False
    ) -> NDArray[np.float64]:
        """Return the sum of the values of each vertex's neighbours, or of weights times values."""
        sums = []
        for rows, (own,) in zip(self.rows(direction), self.fetch(block), strict=True):
            sums.append(np.empty(len(rows.offsets) - 1))
            weights = rows.weights if weighted else NO_WEIGHTS
            kernels.row_sums(rows.offsets, rows.targets, weights, own, sums[-1], rows.blocks)
        return self.collect(sums)

    def neighbour_sums(self, block: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum of the values at the other ends of each vertex's edges, of both directions."""
        sums = self.row_sums(block, "out")
        return sums + self.row_sums(block, "in") if self.graph.directed else sums

    def out_strength(self, *, weighted: bool) -> NDArray[Any]:
        """Return the sum of the weights of each vertex's out-edges, or their number."""
        return out_strength(self.graph) if weighted else self.graph.out_degree().astype(np.uint32)

    # ---- rules ----------------------------------------------------------------------------------

    def require(self, right: NDArray[np.bool_], rule: str, detail: Callable[[int], str]) -> None:
        """Raise VerificationError if a rule does not hold for each vertex.

        `detail` describes the first such vertex, given its number. All ranks call it.
        """
        if (v := self.first(~right)) is not None:
            fail(self.answer, rule, detail(v))

    def first(self, wrong: NDArray[np.bool_]) -> int | None:
        """Return the number of the first vertex with a true value, or None."""
        own = self.block.start + first_true(wrong) if wrong.any() else self.graph.n
        v = int(self.reduce(own, "min"))
        return None if v == self.graph.n else v

    def largest(self, values: NDArray[Any]) -> int:
        """Return the number of the first vertex with the largest value. The graph has vertices."""
        v = int(values.argmax()) if len(values) else 0
        own = [(one, -self.block.start - v) for one in values[v : v + 1]]
        return -int(max(one for found in self.world.allgather(own) for one in found)[1])

    def first_found(self, found: list[tuple[Any, ...]]) -> tuple[Any, ...] | None:
        """Return the smallest of the tuples that the ranks found, or None."""
        return min((one for own in self.world.allgather(found) for one in own), default=None)


class AnswerInParts(AnswerParts):
    """An answer on a graph of which each rank has a part. The memory of a rank is in proportion to it."""

    whole = False

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        result: Any = answer
        self._distributed = cast("DistributedGraph", answer.graph)
        self.world, self.block = result.world, result.block
        self._placed: Any = result.partitioned
        self._bounds = block_bounds(self.graph.n, self.world.size)
        self._partitions = list(zip(self._placed.elements, self._placed.partitions, strict=True))
        self._vertices = [read_only(e.download(p.vertices)) for e, p in self._partitions]
        for name in ("out", "in_"):
            stored = [getattr(p, name) for _, p in self._partitions]
            own = sum(edges.count for edges in stored if edges is not None)
            found = self.reduce(own, "sum")
            if stored[0] is not None and found != self.graph.m:
                fail(answer, "the ranks hold all edges", f"expected {self.graph.m:,}, found {found:,}")

    def column(self, name: str) -> NDArray[Any]:
        """Return the numbers of this block in an array of the result."""
        return self.answer[name]

    def vertex_numbers(self, name: str) -> NDArray[np.uint32]:
        """Return the vertices of this block in an array as numbers 0..n-1."""
        values = self.answer[name]
        if self.graph.has_string_ids:
            absent = np.array([value is None for value in values], np.bool_)
            ids = np.where(absent, "", values).astype(cast("NDArray[Any]", self._distributed.block_ids).dtype)
            # The type of the ids of the graph may cut off the end of another id.
            pairs = zip(ids.tolist(), values, strict=True)
            known = np.array([own == value for own, value in pairs], np.bool_)
        else:
            absent, ids, known = values == -1, values, np.ones(len(values), np.bool_)
        numbers = self._distributed.numbers_on_ranks(ids)
        known &= numbers >= 0
        self.require(
            known | absent,
            f"{name} contains vertices of the graph",
            lambda v: f"vertex {self.id(v)} has {name} {self.at(values, v)}, which is not in the graph",
        )
        return np.where(absent, NO_VERTEX, numbers).astype(np.uint32)

    def look_up(self, numbers: NDArray[Any], block: NDArray[Any]) -> NDArray[Any]:
        """Return the values of any vertices."""
        [found] = fetch_in_rounds(self.world, self._bounds, numbers, [block])
        return found

    def id(self, number: int) -> Any:
        """Return the id of a vertex."""
        return self._distributed.ids_of(np.array([number]))[0]

    def _read_rows(self, direction: Direction) -> list[EdgeRows]:
        found = []
        for (element, partition), vertices in zip(self._partitions, self._vertices, strict=True):
            own = partition.in_ if direction == "in" else partition.out
            weights = NO_WEIGHTS if own.weights is None else edges_on_host(own.weights, element)
            arrays = element.download(own.offsets), edges_on_host(own.targets, element), weights
            found.append(EdgeRows(direction, vertices, *map(read_only, arrays)))
        return found

    def fetch(self, *blocks: NDArray[Any]) -> list[list[NDArray[Any]]]:
        """Return the values of the local vertices of each part."""
        cuts = np.cumsum([len(own) for own in self._vertices])[:-1]
        fetched = fetch_in_rounds(self.world, self._bounds, np.concatenate(self._vertices), blocks)
        return [list(own) for own in zip(*(np.split(values, cuts) for values in fetched), strict=True)]

    def collect(self, values: list[NDArray[Any]]) -> NDArray[Any]:
        """Return the values of this block."""
        block = np.zeros(len(self.block), values[0].dtype)
        pairs = zip(self._vertices, values, strict=True)
        numbers = np.concatenate([vertices[: len(own)] for vertices, own in pairs])
        self.combine_at(numbers, np.concatenate(values), block, np.add)
        return block

    def out_strength(self, *, weighted: bool) -> NDArray[Any]:
        """Return the sum of the weights of out-edges, or their number."""
        placed = self._placed
        parts = placed.strength if weighted else [e.download(p.out_degree) for e, p in self._partitions]
        return self.collect(parts)

    def combine_at(
        self, numbers: NDArray[Any], values: NDArray[Any], block: NDArray[Any], operation: np.ufunc
    ) -> None:
        """Combine the values of this block with the values that all ranks have of any vertices."""
        combine_in_rounds(self.world, self._bounds, numbers, values, block, operation)


def parts_of(answer: Answer) -> AnswerParts:
    """Return an answer in the form that verifiers read.

    For the result of several ranks, each of which holds a part of the graph, this is a collective operation;
    all ranks must call it.
    """
    in_parts = isinstance(answer.graph, DistributedGraph)
    return AnswerInParts(answer) if in_parts else AnswerParts(answer)
