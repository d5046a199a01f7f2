"""Verify strongly connected components.

The vertex that names a component is its smallest. Inside the component, edges lead from this vertex to every
member and from every member to it. Removing components without edges from other components removes all, so
no two components are in a common cycle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evener.kernels.vertex import NO_VERTEX
from evener.spec.answer_parts import AnswerInParts, parts_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.spec.answer import Answer
    from evener.spec.answer_parts import AnswerParts

__all__ = ["check"]


def check(answer: Answer) -> None:
    """Raise VerificationError unless `component` is the smallest vertex of each vertex's component."""
    parts = parts_of(answer)
    label = parts.vertex_numbers("component")
    numbers = np.arange(parts.block.start, parts.block.stop, dtype=np.uint32)

    def labelled(v: int) -> str:
        own = parts.at(label, v)
        return f"vertex {parts.id(v)} has component {-1 if own == NO_VERTEX else parts.id(own)}"

    parts.require(label != NO_VERTEX, "every vertex has a component", labelled)
    parts.require(
        label <= numbers,
        "a component is named after its smallest vertex",
        lambda v: f"{labelled(v)}, which is larger than the vertex",
    )
    parts.require(
        parts.look_up(label, label) == label, "the vertex that names a component is a member", labelled
    )
    into: Literal["in", "out"] = "in" if parts.graph.directed else "out"
    directions: tuple[tuple[Literal["in", "out"], str], ...] = (
        (into, "the first vertex of a component reaches all members"),
        ("out", "all members of a component reach its first vertex"),
    )
    for direction, rule in directions:
        own = _Edges(parts, label, direction, inside=True)
        reached = label == numbers
        while parts.first(more := ~reached & (own.count(reached) > 0)) is not None:
            reached |= more
        parts.require(reached, rule, lambda v: f"{labelled(v)}, but no path inside the component joins them")
    between = _Edges(parts, label, into, inside=False)
    left = np.ones(len(label), np.bool_)
    while True:
        blocked = np.zeros(len(label), np.int64)
        entered = between.count(left)
        if isinstance(parts, AnswerInParts):
            parts.combine_at(label, entered, blocked, np.add)
        else:
            np.add.at(blocked, label, entered)
        stays = left & (parts.look_up(label, blocked) > 0)
        if parts.first(stays != left) is None:
            break
        left = stays
    if parts.graph.directed:
        parts.require(
            ~left, "no cycle joins components", lambda v: f"{labelled(v)}, which is on or after such a cycle"
        )
    else:
        parts.require(between.count(np.ones_like(left)) == 0, "neighbours share a component", labelled)


class _Edges:
    """The edges of one direction inside components, or between them."""

    def __init__(
        self,
        parts: AnswerParts,
        label: NDArray[Any],
        direction: Literal["out", "in"],
        *,
        inside: bool,
    ) -> None:
        self._parts, self._edges, self._rows = parts, [], []
        for rows, (own,) in zip(parts.rows(direction), parts.fetch(label), strict=True):
            kept = [np.empty((2, 0), np.int64)]
            for tails, heads in rows.pieces():
                wanted = (own[tails] == own[heads]) == inside
                kept.append(np.stack([tails[wanted], heads[wanted].astype(np.int64)]))
            self._edges.append(np.concatenate(kept, axis=1))
            self._rows.append(len(rows.offsets) - 1)

    def count(self, marked: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the edges of each vertex whose other end is marked."""
        counts = []
        pairs = zip(self._edges, self._rows, self._parts.fetch(marked), strict=True)
        for (tails, heads), rows, (own,) in pairs:
            counts.append(np.bincount(tails[own[heads]], minlength=rows))
        return self._parts.collect(counts)
