"""Verify weakly connected components.

The vertices of an edge have the same label, and a label is the smallest vertex of its component. An
independent union-find gives the components. Each rank unites the ends of its own edges. A vertex and its
local root are one edge of a smaller graph, whose components follow from rounds in which roots join smaller
roots.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evener.algorithms.wcc import verify_cpu as kernels
from evener.kernels.vertex import NO_VERTEX
from evener.spec.answer_parts import AnswerInParts, parts_of
from evener.spec.verification import fail, first_true

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.spec.answer import Answer
    from evener.spec.answer_parts import AnswerParts

__all__ = ["check"]


def check(answer: Answer) -> None:
    """Raise VerificationError unless `component` is the smallest vertex of each vertex's component."""
    parts = parts_of(answer)
    label = parts.vertex_numbers("component")
    root = _roots(parts)
    if parts.first(root != label) is None:
        return

    def labelled(v: int) -> str:
        own = parts.at(label, v)
        return f"vertex {parts.id(v)} has component {-1 if own == NO_VERTEX else parts.id(own)}"

    parts.require(label != NO_VERTEX, "every vertex has a component", labelled)
    numbers = np.arange(parts.block.start, parts.block.stop, dtype=np.uint32)
    parts.require(
        label <= numbers,
        "a component is named after its smallest vertex",
        lambda v: f"{labelled(v)}, which is larger than the vertex",
    )
    above = parts.look_up(label, label)
    parts.require(
        above == label,
        "the vertex that names a component is a member",
        lambda v: f"{labelled(v)}, which itself has component {parts.id(parts.at(above, v))}",
    )
    _check_neighbours(parts, label)
    parts.require(
        root == label,
        "one component per label",
        lambda v: f"{labelled(v)}, but no path joins them; expected {parts.id(parts.at(root, v))}",
    )


def _check_neighbours(parts: AnswerParts, label: NDArray[np.uint32]) -> None:
    """Raise VerificationError if an edge joins vertices of different labels."""
    found = []
    for rows, (own,) in zip(parts.rows(), parts.fetch(label), strict=True):
        for tails, heads in rows.pieces():
            if (wrong := own[tails] != own[heads]).any():
                v, w = (ends[first_true(wrong)] for ends in (tails, heads))
                found.append((rows.vertices[v], rows.vertices[w], own[v], own[w]))
                break
    if (edge := parts.first_found(found)) is not None:
        tail, head, mine, theirs = map(parts.id, edge)
        detail = f"vertex {tail} has component {mine}, its neighbour {head} has {theirs}"
        fail(parts.answer, "neighbours share a component", detail)


def _roots(parts: AnswerParts) -> NDArray[np.uint32]:
    """Return the smallest vertex of the component of each vertex of this rank's block."""
    local = []
    for rows in parts.rows():
        own = np.arange(len(rows.vertices), dtype=np.uint32)
        kernels.union_find(rows.offsets, rows.targets, own)
        local.append(own if parts.whole else np.asarray(rows.vertices)[own])
    if not isinstance(parts, AnswerInParts):
        return local[0]
    ends = np.concatenate([*(rows.vertices for rows in parts.rows()), *local]).reshape(2, -1)
    root = np.arange(parts.block.start, parts.block.stop, dtype=np.uint32)
    while True:
        ends = ends[:, ends[0] != ends[1]]
        if parts.reduce(ends.shape[1], "sum") == 0:
            return root
        parts.combine_at(ends.max(axis=0), ends.min(axis=0), root, np.minimum)
        while parts.first((following := parts.look_up(root, root)) != root) is not None:
            root = following
        ends = parts.look_up(ends.ravel(), root).reshape(2, -1)
