"""Verify breadth-first search by the rules of Graph500: see `evener.spec.verification_tree`.

A distance is a level, and each edge has weight 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evener.kernels.vertex import NO_VERTEX
from evener.spec.answer_parts import parts_of
from evener.spec.verification import fail, goal_of
from evener.spec.verification_tree import SearchTree

if TYPE_CHECKING:
    from evener.spec.answer import Answer

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
        distance < NO_VERTEX,
        "a distance is less than the number of vertices",
        lambda v: (
            f"vertex {parts.id(v)} has distance {parts.at(distance, v)}, "
            f"in a graph of {parts.graph.n} vertices"
        ),
    )
    limit = tree.largest_distance()
    # Fewer bytes for each level make the pass over the edges faster.
    deepest = parts.reduce(int(distance.max(initial=0)), "max")
    kind = np.uint8 if deepest < _MAX_UINT8_LEVEL else np.uint32
    level = distance.astype(kind)  # -1 becomes the largest level
    end = np.uint64(min(np.iinfo(kind).max, limit))
    tree.check_edges(level, limit=end, tolerance=np.uint64(0), weighted=False)
