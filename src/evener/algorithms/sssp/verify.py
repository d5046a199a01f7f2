"""Verify shortest paths by the rules of Graph500, in the precision of the answer.

`evener.spec.verification_tree` checks the tree: the distance of a vertex is the distance of its parent plus
the weight of an edge between them. If no edge gives a shorter distance, every distance is shortest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.algorithms.sssp.range_check import EXACT
from evener.spec.answer_parts import parts_of
from evener.spec.verification import goal_of
from evener.spec.verification_tree import SearchTree

if TYPE_CHECKING:
    from evener.spec.answer import Answer

__all__ = ["check"]

# Rounding errors of a comparison, in units in the last place.
_ROUNDINGS = 4


def check(answer: Answer) -> None:
    """Raise VerificationError unless `distance` and `parent` are shortest-path trees of the sources."""
    parts, goal = parts_of(answer), goal_of(answer)
    raw, weight = parts.column("distance"), parts.graph.weight_dtype
    distance = raw.astype(np.float64)
    parts.require(
        distance >= 0,
        "no distance is negative or NaN",
        lambda v: f"vertex {parts.id(v)} is at {parts.at(distance, v)}, not >= 0",
    )
    reached = np.isfinite(distance)
    tree = SearchTree(parts, goal, distance, reached)
    limit = tree.largest_distance()
    if weight is None or weight.kind in "iu":
        parts.require(
            ~reached | (distance < EXACT),
            "sums of integer weights are below 2^53, where float64 is exact",
            lambda v: f"vertex {parts.id(v)} has distance {parts.at(distance, v):.0f}",
        )
    farthest = parts.reduce(float(distance.max(initial=0, where=reached)), "max")
    tolerance = _tolerance(raw.dtype, weight, farthest)
    tree.check_edges(distance, limit=limit, tolerance=tolerance, weighted=True)


def _tolerance(distance: np.dtype[Any], weight: np.dtype[Any] | None, farthest: float) -> float:
    """Return the relative rounding error that a comparison of distances allows.

    `distance` and `weight` are the types of distances and weights, and `farthest` is the largest finite
    distance. Sums of integers that the type of the distances can represent have no rounding errors.
    """
    precision = np.finfo(distance if distance.kind == "f" else np.float64)
    integers = weight is None or weight.kind in "iu"
    if integers and farthest < 2.0 ** (precision.nmant + 1):
        return 0.0
    return _ROUNDINGS * float(precision.eps)
