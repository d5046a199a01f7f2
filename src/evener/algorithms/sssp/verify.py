"""Verify shortest paths by the validation rules of Graph500, in the precision of the answer.

`evener.spec.verification_tree` checks the rules of the tree. Two more rules make every distance
shortest. The distance of a vertex is the distance of its parent plus the weight of an edge between them. No
edge gives a shorter distance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.algorithms.sssp import verify_cpu as kernels
from evener.algorithms.sssp.range_check import EXACT, overflows
from evener.spec.verification import (
    column,
    edge_blocks,
    fail,
    first_true,
    goal_of,
    largest_distance,
    none_found,
    vertex_numbers,
)
from evener.spec.verification_tree import check_tree

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.spec.answer import Answer

__all__ = ["BEYOND", "INTEGERS", "check", "tolerance_of"]

# Rules of distances that float64 represents.
INTEGERS = "sums of integer weights are below 2^53, where float64 is exact"
BEYOND = "no distance is above the largest float64"

# Rounding errors of a comparison, in units in the last place.
_ROUNDINGS = 4


def check(answer: Answer) -> None:
    """Raise VerificationError unless `distance` and `parent` are shortest-path trees of the sources."""
    graph, goal = answer.graph, goal_of(answer)
    sources = np.array(goal.numbers, np.uint32)
    raw = column(answer, "distance")
    distance = raw.astype(np.float64)
    if not (distance >= 0).all():
        v = first_true(~(distance >= 0))
        fail(answer, "no distance is negative or NaN", f"vertex {graph.ids[v]} is at {distance[v]}, not >= 0")
    parent = vertex_numbers(answer, "parent")
    reached = np.isfinite(distance)
    check_tree(answer, sources, distance, parent, reached=reached)
    limit = largest_distance(answer, goal, distance, reached)
    tolerance = tolerance_of(raw.dtype, graph.weight_dtype, float(distance.max(initial=0, where=reached)))

    weights = np.ones(graph.m, dtype=np.uint8) if graph.weights is None else graph.weights
    if weights.dtype.kind in "iu" and (inexact := reached & (distance >= EXACT)).any():
        v = first_true(inexact)
        fail(answer, INTEGERS, f"vertex {graph.ids[v]} has distance {distance[v]:.0f}")
    blocks = edge_blocks(graph.offsets)
    first = np.empty(len(blocks) - 1, dtype=np.uint32)
    kernels.find_wrong_parent(
        graph.offsets, graph.targets, weights, not graph.directed, parent, distance, tolerance, blocks, first
    )
    if not none_found(first):
        _fail_wrong_parent(answer, weights, parent, distance, int(first.min()))
    kernels.find_shorter_path(
        graph.offsets, graph.targets, weights, distance, limit, tolerance, blocks, first
    )
    if not none_found(first):
        _fail_shorter_path(answer, weights, distance, limit, tolerance, int(first.min()))


def tolerance_of(distance: np.dtype[Any], weight: np.dtype[Any] | None, farthest: float) -> float:
    """Return the relative rounding error that a comparison of distances allows.

    `distance` and `weight` are the types of distances and weights, and `farthest` is the largest finite
    distance. Sums of integers that the type of the distances can represent have no rounding errors.
    """
    precision = np.finfo(distance if distance.kind == "f" else np.float64)
    integers = weight is None or weight.kind in "iu"
    if integers and farthest < 2.0 ** (precision.nmant + 1):
        return 0.0
    return _ROUNDINGS * float(precision.eps)


def _fail_wrong_parent(
    answer: Answer, weights: NDArray[Any], parent: NDArray[np.uint32], distance: NDArray[np.float64], v: int
) -> None:
    graph, u = answer.graph, int(parent[v])
    row = slice(int(graph.offsets[u]), int(graph.offsets[u + 1]))
    between = weights[row][graph.targets[row] == v]
    mine, theirs = graph.ids[v], graph.ids[u]
    if len(between) == 0:
        detail = f"vertex {mine} has parent {theirs}, but no edge joins them"
        fail(answer, "each tree edge is an edge of the graph (rule 5)", detail)
    detail = (
        f"vertex {mine} has distance {distance[v]}, but its parent {theirs} has distance {distance[u]} "
        f"and the edge has weight {between.min()}, in total {distance[u] + between.min()}"
    )
    fail(answer, "a distance is the parent's distance plus the edge's weight (rule 2)", detail)


def _fail_shorter_path(
    answer: Answer,
    weights: NDArray[Any],
    distance: NDArray[np.float64],
    limit: float,
    tolerance: float,
    v: int,
) -> None:
    graph = answer.graph
    row = slice(int(graph.offsets[v]), int(graph.offsets[v + 1]))
    heads = graph.targets[row]
    beyond = overflows(distance[v : v + 1], weights[row], distance[heads])
    if limit == np.inf and beyond.any():
        w = heads[first_true(beyond)]
        detail = f"vertex {graph.ids[w]} looks unreached, and has an edge from {graph.ids[v]}"
        fail(answer, BEYOND, detail)
    through = distance[v] + weights[row]
    e = first_true((distance[heads] > through * (1 + tolerance)) & (through <= limit))
    w = heads[e]
    edge = f"vertex {graph.ids[w]} has distance {distance[w]}, but {through[e]} through {graph.ids[v]}"
    if np.isinf(distance[w]):
        fail(answer, "the tree contains all vertices that the source reaches (rule 4)", edge)
    fail(answer, "no edge gives a shorter distance (rule 3)", edge)
