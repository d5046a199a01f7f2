"""Verify breadth-first search by the rules of Graph500: see `evener.spec.verification_tree`.

A distance is a level: a tree edge joins consecutive levels, and no edge leads more than one level deeper.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evener.algorithms.bfs import verify_cpu as kernels
from evener.spec.answer_parts import parts_of
from evener.spec.verification import fail, first_true, goal_of
from evener.spec.verification_tree import SearchTree

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.spec.answer_parts import AnswerParts
    from evener.spec.verification import Answer

__all__ = ["check"]

# Levels below this fit in uint8, together with "unreached".
_MAX_UINT8_LEVEL = 0xFE


def check(answer: Answer) -> None:
    """Raise VerificationError unless `distance` and `parent` are breadth-first trees of the sources."""
    parts, goal = parts_of(answer), goal_of(answer)
    distance = parts.column("distance")
    if distance.dtype.kind not in "iu":
        fail(answer, "distances are integers", f"found {distance.dtype}")
    tree = SearchTree(parts, goal, distance, distance != -1)
    parts.require(
        distance >= -1,
        "no distance is negative",
        lambda v: f"vertex {parts.id(v)} has distance {parts.at(distance, v)}, not -1",
    )
    parts.require(
        distance < kernels.UNREACHED,
        "a distance is less than the number of vertices",
        lambda v: (
            f"vertex {parts.id(v)} has distance {parts.at(distance, v)}, "
            f"in a graph of {parts.graph.n} vertices"
        ),
    )
    level = distance.astype(np.uint32)  # -1 becomes kernels.UNREACHED
    limit = tree.largest_distance()
    tree.check_edges(level, weighted=False, tolerance=0.0, levels=True)
    if parts.reduce(int(distance.max(initial=0)), "max") < _MAX_UINT8_LEVEL:
        level = level.astype(np.uint8)
    _check_gaps(parts, level, level.dtype.type(min(np.iinfo(level.dtype).max, limit)))


def _check_gaps(parts: AnswerParts, level: NDArray[np.unsignedinteger], end: np.unsignedinteger) -> None:
    """Raise VerificationError if an edge leads more than one level deeper, from a level before `end`."""
    found = []
    for rows, (own,) in zip(parts.rows("out"), parts.fetch(level), strict=True):
        v = rows.first(kernels.find_level_gap, own, end)
        if v is not None:
            heads = rows.targets[rows.row(v)]
            w = heads[first_true(own[heads] > own[v] + 1)]
            found.append((rows.vertices[v], rows.vertices[w], int(own[v]), int(own[w])))
    if (gap := parts.first_found(found)) is not None:
        tail, head, near, far = gap
        edge = f"vertex {parts.id(tail)} is at level {near}, its neighbour {parts.id(head)}"
        if far == np.iinfo(level.dtype).max:
            rule = "the tree contains all vertices that the source reaches (rule 4)"
            fail(parts.answer, rule, f"{edge} is unreached")
        fail(parts.answer, "no edge leads more than one level deeper (rule 3)", f"{edge} at level {far}")
