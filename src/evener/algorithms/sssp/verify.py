"""Shortest paths: Graph500's validation rules for SSSP, in the precision of the answer.

The tree rules are those of BFS (`tree.py`). Besides, a vertex lies exactly as far as its parent plus the
weight of an edge between them, and no edge offers a shorter way: together, every distance is shortest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.algorithms import verification_cpu as kernels
from evener.algorithms.verification import (
    broken,
    column,
    edge_blocks,
    first_true,
    ran_without,
    source_number,
    vertex_numbers,
)
from evener.algorithms.verification_tree import check_tree

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.algorithms.verification import Answer

__all__ = ["check"]

# One addition rounds by half a unit in the last place, the weight it adds by another half, and whoever
# rounds to the answer's type at the end by one more on each side of the comparison.
_ROUNDINGS = 4


def check(answer: Answer) -> None:
    """Raise VerificationError unless `distance` and `parent` are a shortest-path tree of the source."""
    graph, source = answer.graph, source_number(answer)
    raw = column(answer, "distance")
    if raw.dtype.kind not in "iuf":
        broken(answer, "distances are numbers", f"they are {raw.dtype}")
    tolerance = _ROUNDINGS * float(np.finfo(raw.dtype).eps) if raw.dtype.kind == "f" else 0.0
    distance = raw.astype(np.float64)
    if not (distance >= 0).all():
        v = first_true(~(distance >= 0))
        broken(
            answer, "no distance is negative or NaN", f"vertex {graph.ids[v]} is at {distance[v]}, not >= 0"
        )
    parent = vertex_numbers(answer, "parent")
    check_tree(answer, source, distance, parent, reached=np.isfinite(distance))

    weights = np.ones(graph.m, dtype=np.uint8) if graph.weights is None else graph.weights
    blocks = edge_blocks(graph.offsets)
    first = np.empty(len(blocks) - 1, dtype=np.uint32)
    kernels.loose_parent(
        graph.offsets, graph.targets, weights, not graph.directed, parent, distance, tolerance, blocks, first
    )
    if not ran_without(first):
        _tell_loose_parent(answer, weights, parent, distance, int(first.min()))
    kernels.shorter_path(graph.offsets, graph.targets, weights, distance, tolerance, blocks, first)
    if not ran_without(first):
        _tell_shorter_path(answer, weights, distance, tolerance, int(first.min()))


def _tell_loose_parent(
    answer: Answer, weights: NDArray[Any], parent: NDArray[np.uint32], distance: NDArray[np.float64], v: int
) -> None:
    graph, u = answer.graph, int(parent[v])
    row = slice(int(graph.offsets[u]), int(graph.offsets[u + 1]))
    between = weights[row][graph.targets[row] == v]
    mine, theirs = graph.ids[v], graph.ids[u]
    if len(between) == 0:
        detail = f"vertex {mine} has parent {theirs}, but no edge leads from it to {mine}"
        broken(answer, "each tree edge is an edge of the graph (rule 5)", detail)
    detail = (
        f"vertex {mine} is at {distance[v]}, its parent {theirs} at {distance[u]} "
        f"and the edge between them weighs {between.min()}, which makes {distance[u] + between.min()}"
    )
    broken(answer, "a vertex is as far as its parent plus their edge (rule 2)", detail)


def _tell_shorter_path(
    answer: Answer, weights: NDArray[Any], distance: NDArray[np.float64], tolerance: float, v: int
) -> None:
    graph = answer.graph
    row = slice(int(graph.offsets[v]), int(graph.offsets[v + 1]))
    through = distance[v] + weights[row]
    heads = graph.targets[row]
    e = first_true(distance[heads] > through * (1 + tolerance))
    w = heads[e]
    edge = f"vertex {graph.ids[w]} is at {distance[w]}, but at {through[e]} through {graph.ids[v]}"
    if np.isinf(distance[w]):
        broken(answer, "the tree spans all that the source reaches (rule 4)", edge)
    broken(answer, "no edge offers a shorter way (rule 3)", edge)
