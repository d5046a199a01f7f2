"""Verify shortest paths by the rules of Graph500, in the precision of the answer.

`evener.spec.verification_tree` checks the tree: the distance of a vertex is the distance of its parent plus
the weight of an edge between them. If no edge gives a shorter distance, every distance is shortest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.algorithms.sssp import verify_cpu as kernels
from evener.algorithms.sssp.range_check import EXACT, overflows
from evener.spec.answer_parts import parts_of
from evener.spec.verification import fail, first_true, goal_of
from evener.spec.verification_tree import SearchTree

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.spec.answer_parts import AnswerParts, Rows
    from evener.spec.verification import Answer

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
    tree.check_edges(distance, weighted=True, tolerance=tolerance)
    _check_shortest(parts, distance, limit, tolerance)


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


def _check_shortest(
    parts: AnswerParts, distance: NDArray[np.float64], limit: float, tolerance: float
) -> None:
    """Raise VerificationError if a path of at most `limit` through an edge is shorter than a distance."""
    found = []
    for rows, (own,) in zip(parts.rows("out"), parts.fetch(distance), strict=True):
        v = rows.first(kernels.find_shorter_path, rows.weights, own, limit, tolerance)
        if v is not None:
            found.append(_shorter_path(rows, v, own, limit, tolerance))
    if (path := parts.first_found(found)) is None:
        return
    tail, head, is_beyond, known, through = path
    before, vertex = parts.id(tail), parts.id(head)
    if is_beyond:
        detail = f"vertex {vertex} looks unreached, and has an edge from {before}"
        fail(parts.answer, "no distance is above the largest float64", detail)
    edge = f"vertex {vertex} has distance {known}, but {through} through {before}"
    if np.isinf(known):
        fail(parts.answer, "the tree contains all vertices that the source reaches (rule 4)", edge)
    fail(parts.answer, "no edge gives a shorter distance (rule 3)", edge)


def _shorter_path(
    rows: Rows, v: int, distance: NDArray[np.float64], limit: float, tolerance: float
) -> tuple[int, int, bool, float, float]:
    """Return an edge of a row by which its head is nearer than its distance, and two distances of the head.

    Return also whether the distance through the edge is beyond the largest float64.
    """
    heads = rows.targets[rows.row(v)]
    weights = rows.weights[rows.row(v)] if len(rows.weights) else np.ones(len(heads))
    through = distance[v] + weights
    beyond = overflows(distance[v : v + 1], weights, distance[heads])
    is_beyond = limit == np.inf and bool(beyond.any())
    longer = (distance[heads] > through * (1 + tolerance)) & (through <= limit)
    e = first_true(beyond if is_beyond else longer)
    w = heads[e]
    return rows.vertices[v], rows.vertices[w], is_beyond, distance[w], through[e]
