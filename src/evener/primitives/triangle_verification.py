"""Simple edges: the pairs of neighbours of an answer's graph, from which verifiers count triangles again.

Each rank keeps the edges whose end of lower degree is in its block of vertices. It receives the edges of all
ranks in pieces, and merges rows. Neither partitions, mirrors nor tables of the engine are used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evener.partition.block_exchange import BlockExchange, block_bounds, combine_in_rounds
from evener.primitives import triangle_verification_cpu as kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.spec.answer_parts import AnswerParts

__all__ = ["SimpleEdges"]

# Edges of each rank in a piece.
_PIECE = 1 << 22
_WEIGHTINGS = {"none": 0, "directions": 1, "opposite": 2}


class SimpleEdges:
    """The pairs of different vertices with an edge, each once, at its end of lower degree.

    The constructor and the methods are collective operations for a graph in parts; all ranks must call them.

    Attributes
    ----------
    directed : bool
    offsets, targets, mutual : ndarray
        For each vertex of this rank's block, its neighbours of higher degree, ascending. In a directed graph,
        also whether there is an edge in both directions.
    """

    def __init__(self, parts: AnswerParts) -> None:
        self._parts, self._world, self._block = parts, parts.world, parts.block
        self._bounds = block_bounds(parts.graph.n, self._world.size)
        self.directed = parts.graph.directed
        degree = parts.out_strength(weighted=False)
        rows = parts.rows("out" if "out" in _stored(parts) else "in")
        pieces = [np.empty((0, 3), np.int64)]
        for part, (degrees,) in zip(rows, parts.fetch(degree), strict=True):
            vertices = np.asarray(part.vertices)
            for tails, heads in part.pieces():
                edges = _ordered(vertices, degrees, tails, heads)
                pieces.append(
                    edges if self.directed else edges[edges[:, 2] == 1]
                )  # the other half is the same
        low, high, forward = self._deliver(np.concatenate(pieces)).T
        key, first, place = np.unique(low * parts.graph.n + high, return_index=True, return_inverse=True)
        seen = np.zeros(len(key), np.uint8)
        np.bitwise_or.at(seen, place, np.where(forward, 1, 2).astype(np.uint8))
        self._low = low[first] - self._block.start
        self.targets = high[first].astype(np.uint32)
        self.mutual = (seen == 3).astype(np.uint8)
        counts = np.bincount(self._low, minlength=len(self._block))
        self.offsets = np.append(0, np.cumsum(counts)).astype(np.uint64)

    def _deliver(self, edges: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the edges of all ranks whose first vertex is in this rank's block."""
        exchange = BlockExchange(self._world, self._bounds, edges[:, 0])
        return np.stack([exchange.send(column) for column in edges.T], axis=1)

    def degrees(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the neighbours of each vertex of this rank's block, and how many are mutual."""
        both = self.mutual.astype(np.int64)
        return self._at_ends(np.ones_like(both), np.diff(self.offsets).astype(np.int64)), self._at_ends(
            both, np.bincount(self._low, both, len(self._block)).astype(np.int64)
        )

    def triangles(self, weighting: Literal["none", "directions", "opposite"] = "none") -> NDArray[np.int64]:
        """Return the triangles of each vertex of this rank's block.

        With "directions", a triangle counts once for each choice of a direction of its edges. With
        "opposite", it counts once for each direction of the edge opposite to the vertex.
        """
        low, high = np.zeros(len(self._block), np.int64), np.zeros(len(self.targets), np.int64)
        for first, *other in self._pieces():
            kernels.merge_rows(
                self.offsets, self.targets, self.mutual, first, *other, _WEIGHTINGS[weighting], low, high
            )
        return self._at_ends(high, low)

    def _pieces(self) -> Any:
        """Yield the first vertex and the rows of pieces of all ranks."""
        steps = np.arange(0, int(self.offsets[-1]), _PIECE, dtype=np.uint64)
        cuts = np.unique([0, *np.searchsorted(self.offsets, steps), len(self._block)]).tolist()
        for k in range(self._world.allreduce(len(cuts) - 1, "max")):
            begin, end = (cuts[min(k + step, len(cuts) - 1)] for step in (0, 1))
            edges = slice(int(self.offsets[begin]), int(self.offsets[end]))
            offsets = self.offsets[begin : end + 1] - self.offsets[begin]
            piece = self._block.start + begin, offsets, self.targets[edges], self.mutual[edges]
            yield from self._world.allgather(piece)

    def _at_ends(self, of_targets: NDArray[np.int64], of_rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the values of this rank's vertices, with those of all targets added."""
        total = of_rows.copy()
        combine_in_rounds(self._world, self._bounds, self.targets, of_targets, total, np.add)
        return total


def _stored(parts: AnswerParts) -> tuple[str, ...]:
    """Return the directions of the edges that all ranks have."""
    placed = getattr(parts.answer, "partitioned", None)
    if parts.whole or placed is None or placed.directions == "both":
        return ("out", "in")
    return (placed.directions,)


def _ordered(
    vertices: NDArray[Any], degrees: NDArray[Any], tails: NDArray[Any], heads: NDArray[Any]
) -> NDArray[np.int64]:
    """Return edges as rows of the end of lower degree, the other end, and whether the first is the tail."""
    tail, head = vertices[tails].astype(np.int64), vertices[heads].astype(np.int64)
    of_tail, of_head = degrees[tails].astype(np.int64), degrees[heads].astype(np.int64)
    forward = (of_tail < of_head) | ((of_tail == of_head) & (tail < head))
    kept = tail != head
    low, high = np.where(forward, tail, head), np.where(forward, head, tail)
    ordered: NDArray[np.int64] = np.column_stack([low, high, forward])[kept]
    return ordered
