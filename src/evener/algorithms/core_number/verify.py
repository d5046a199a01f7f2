"""Verify core numbers.

A vertex has as many edges to vertices with at least its core number, so no core number is too large. All
levels then remove their vertices at once: a vertex leaves when it has no more edges than its core number, to
remaining vertices of its level and to vertices of higher levels. Every vertex leaves if none is too small.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evener.spec.answer_parts import parts_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.spec.answer import Answer
    from evener.spec.answer_parts import AnswerParts

__all__ = ["check"]


def check(answer: Answer) -> None:
    """Raise VerificationError unless `core` has the core number of each vertex."""
    parts = parts_of(answer)
    core = parts.column("core")
    higher, peers = np.zeros(len(core), np.int64), np.zeros(len(core), np.int64)
    directions: tuple[Literal["out", "in"], ...] = ("out", "in") if parts.graph.directed else ("out",)
    levels = [_Level(parts, core, direction) for direction in directions]
    for own in levels:
        higher += own.higher
        peers += own.peers()
    parts.require(
        higher + peers >= core,
        "each vertex has as many edges to vertices of at least its core number",
        lambda v: (
            f"vertex {parts.id(v)} has core {parts.at(core, v)}, "
            f"and only {parts.at(higher + peers, v)} edges to them"
        ),
    )
    left = np.zeros(len(core), np.bool_)
    while parts.first(leaving := ~left & (higher + peers <= core)) is not None:
        left |= leaving
        peers = sum((own.peers(left) for own in levels), np.zeros(len(core), np.int64))
    parts.require(
        left,
        "all vertices leave at their core number",
        lambda v: f"vertex {parts.id(v)} has core {parts.at(core, v)}, expected more",
    )


class _Level:
    """The edges of one direction between vertices with equal core numbers."""

    def __init__(self, parts: AnswerParts, core: NDArray[Any], direction: Literal["out", "in"]) -> None:
        self._parts = parts
        self._edges, higher, self._rows = [], [], []
        for rows, (own,) in zip(parts.rows(direction), parts.fetch(core), strict=True):
            count = np.zeros(len(rows.offsets) - 1, np.int64)
            found = [np.empty((2, 0), np.int64)]
            for tails, heads in rows.pieces():
                count += np.bincount(tails[own[heads] > own[tails]], minlength=len(count))
                equal = own[heads] == own[tails]
                found.append(np.stack([tails[equal], heads[equal].astype(np.int64)]))
            self._rows.append(len(count))
            self._edges.append(np.concatenate(found, axis=1))
            higher.append(count)
        self.higher = parts.collect(higher)

    def peers(self, left: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
        """Return how many edges each vertex has to vertices of its level that have not left.

        The edges of vertices that have `left` are dropped first.
        """
        if left is not None:
            fetched = self._parts.fetch(left)
            pairs = zip(self._edges, fetched, strict=True)
            self._edges = [edges[:, ~(own[edges[0]] | own[edges[1]])] for edges, (own,) in pairs]
        counts = [
            np.bincount(edges[0], minlength=rows) for edges, rows in zip(self._edges, self._rows, strict=True)
        ]
        return self._parts.collect(counts)
