"""Verify shortest paths by the validation rules of Graph500, in the precision of the answer.

`evener.algorithms.verification_tree` checks the rules of the tree. Two more rules make every distance
shortest. The distance of a vertex is the distance of its parent plus the weight of an edge between them. No
edge gives a shorter distance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.algorithms.sssp import verify_cpu as kernels
from evener.algorithms.sssp.range_check import EXACT, overflows
from evener.algorithms.verification import (
    column,
    edge_blocks,
    fail,
    first_true,
    largest_distance,
    none_found,
    source_numbers,
    vertex_numbers,
)
from evener.algorithms.verification_tree import check_tree

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.algorithms.verification import Answer

__all__ = ["BEYOND", "INTEGERS", "ROUNDINGS", "check"]

# Rules of distances that float64 represents.
INTEGERS = "sums of integer weights are below 2^53, where float64 is exact"
BEYOND = "no distance is above the largest float64"

# Rounding errors of a comparison, in units in the last place.
ROUNDINGS = 4


def check(answer: Answer) -> None:
    """Raise VerificationError unless `distance` and `parent` are shortest-path trees of the sources."""
    graph, sources = answer.graph, source_numbers(answer)
    raw = column(answer, "distance")
    if raw.dtype.kind not in "iuf":
        fail(answer, "distances are numbers", f"found {raw.dtype}")
    tolerance = ROUNDINGS * float(np.finfo(raw.dtype).eps) if raw.dtype.kind == "f" else 0.0
    distance = raw.astype(np.float64)
    if not (distance >= 0).all():
        v = first_true(~(distance >= 0))
        fail(answer, "no distance is negative or NaN", f"vertex {graph.ids[v]} is at {distance[v]}, not >= 0")
    parent = vertex_numbers(answer, "parent")
    reached = np.isfinite(distance)
    check_tree(answer, sources, distance, parent, reached=reached)
    limit = largest_distance(answer, distance, reached)

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
