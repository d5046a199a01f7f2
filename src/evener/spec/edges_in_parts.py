"""Edges in parts: the edges and values that verifiers read if each rank has a part of the graph.

A verifier keeps the values of this rank's block of vertices. It fetches the values of the ends of this rank's
edges, and combines results at the ends of edges on the ranks of their blocks. The exchanges are not those of
the engine. The memory of a rank is in proportion to its part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from evener.partition.block_exchange import combine_in_rounds, fetch_in_rounds
from evener.partition.blocks import block_bounds
from evener.partition.upload import edges_on_host
from evener.spec.verification import fail, first_true

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from evener.partition.distributed.graph import DistributedGraph
    from evener.partition.partition import Edges
    from evener.results.result import Result

__all__ = ["EdgesInParts"]

# Edges that a verifier processes at a time.
_PIECE = 1 << 20


class EdgesInParts:
    """The edges of this rank, and exchanges between blocks of vertices and the ends of edges.

    The constructor and all methods but `pieces` are collective operations; all ranks must call them.

    Parameters
    ----------
    result : Result
        A result of several ranks.

    Attributes
    ----------
    numbers : ndarray of int64
        The vertices of this rank's block.
    vertices : ndarray of uint32
        The vertices and mirrors of this rank's partitions, one partition after another. A position in this
        array is the *local number* of a vertex here.
    """

    def __init__(self, result: Result) -> None:
        pg: Any = result.partitioned
        self.result, self.world = result, result.world
        self.graph: DistributedGraph = pg.graph
        self.numbers = np.arange(result.block.start, result.block.stop)
        self.vertices = np.concatenate(
            [e.download(p.vertices) for e, p in zip(pg.elements, pg.partitions, strict=True)]
        )
        self.partitions = list(zip(pg.elements, pg.partitions, strict=True))
        self._bounds = block_bounds(self.graph.n, self.world.size)
        for name in ("out", "in_"):
            stored = [getattr(p, name) for _, p in self.partitions]
            own = sum(edges.count for edges in stored if edges is not None)
            found = self.world.allreduce(own, "sum")
            if stored[0] is not None and found != self.graph.m:
                fail(result, "the ranks hold all edges", f"expected {self.graph.m:,}, found {found:,}")

    def fetch(self, *blocks: NDArray[Any]) -> list[NDArray[Any]]:
        """Return the values of `vertices`, given those of this rank's block."""
        return fetch_in_rounds(self.world, self._bounds, self.vertices, blocks)

    def fetch_at(self, numbers: NDArray[Any], block: NDArray[Any]) -> NDArray[Any]:
        """Return the values of any vertices, given those of this rank's block."""
        [found] = fetch_in_rounds(self.world, self._bounds, numbers, [block])
        return found

    def combine(self, values: NDArray[Any], block: NDArray[Any], operation: np.ufunc) -> None:
        """Combine the values of this rank's block with the values that all ranks have of `vertices`."""
        self.combine_at(self.vertices, values, block, operation)

    def combine_at(
        self, numbers: NDArray[Any], values: NDArray[Any], block: NDArray[Any], operation: np.ufunc
    ) -> None:
        """Combine the values of this rank's block with the values that all ranks have of any vertices."""
        combine_in_rounds(self.world, self._bounds, numbers, values, block, operation)

    def pieces(self) -> Iterator[tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]]:
        """Yield the local numbers of the tails and heads of some edges, and their weights."""
        base = 0
        for element, partition in self.partitions:
            turned = partition.out is None
            edges: Edges = partition.in_ if turned else partition.out
            offsets = element.download(edges.offsets)
            targets = edges_on_host(edges.targets, element)
            weights = None if edges.weights is None else edges_on_host(edges.weights, element)
            for begin in range(0, edges.count, _PIECE):
                end = min(begin + _PIECE, edges.count)
                first = int(np.searchsorted(offsets, begin, side="right")) - 1
                last = int(np.searchsorted(offsets, end, side="left"))
                lengths = np.diff(np.clip(offsets[first : last + 1], begin, end)).astype(np.int64)
                ends = (
                    base + np.repeat(np.arange(first, last), lengths),
                    base + targets[begin:end].astype(np.int64),
                )
                tails, heads = reversed(ends) if turned else ends
                yield tails, heads, None if weights is None else weights[begin:end]
            base += partition.owned + partition.mirrors

    def vertex_numbers(self, name: str) -> NDArray[np.int64]:
        """Return the vertices in an array of the result as numbers 0..n-1, and -1 for no vertex."""
        values = self.result[name]
        if self.graph.has_string_ids:
            absent = np.array([value is None for value in values], np.bool_)
            ids = np.where(absent, "", values).astype(cast("NDArray[Any]", self.graph.block_ids).dtype)
            # The type of the ids of the graph may cut off the end of another id.
            pairs = zip(ids.tolist(), values, strict=True)
            whole = np.array([own == value for own, value in pairs], np.bool_)
        else:
            absent, ids, whole = values == -1, values, np.ones(len(values), np.bool_)
        found = np.where(absent | ~whole, -1, self.graph.numbers_on_ranks(ids))
        self.require(
            (found >= 0) | absent,
            f"{name} contains vertices of the graph",
            lambda v: f"has {name} {values[v]}, which is not in the graph",
        )
        return found

    def require(self, right: NDArray[np.bool_], rule: str, detail: Callable[[int], str]) -> None:
        """Raise VerificationError on all ranks if a rule does not hold for each vertex of all blocks.

        `detail` returns the end of a sentence about a vertex, given its position in this rank's block.
        """
        v = None if right.all() else first_true(~right)
        found = None if v is None else f"vertex {self.result.ids[v]} {detail(v)}"
        self._raise_first(rule, found)

    def require_none(
        self, edge: tuple[int, int] | None, rule: str, detail: Callable[[tuple[int, int]], str]
    ) -> None:
        """Raise VerificationError on all ranks if a rank found an edge; local numbers give its ends."""
        ends = (0, 0) if edge is None else self.vertices[list(edge)].astype(np.int64)
        ids = self.graph.ids_of(np.asarray(ends, np.int64)) if self.graph.n else ends
        self._raise_first(rule, None if edge is None else f"edge from {ids[0]} to {ids[1]}: {detail(edge)}")

    def _raise_first(self, rule: str, found: str | None) -> None:
        first = next((one for one in self.world.allgather(found) if one is not None), None)
        if first is not None:
            fail(self.result, rule, first)
