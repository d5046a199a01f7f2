"""Verify breadth-first search by the five validation rules of Graph500, also for directed graphs.

1. The parents of every reached vertex lead to the source without a cycle.
2. A tree edge joins consecutive levels.
3. No edge of the graph leads more than one level deeper.
4. The tree contains exactly the vertices that the source reaches.
5. A tree edge is an edge of the graph.

Rule 1 follows from rule 2, and rule 4 follows from rules 2, 3 and 5. An error still names the rule that fits
best.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.algorithms.bfs import verify_cpu as kernels
from evener.kernels.vertex import NO_VERTEX
from evener.spec.verification import (
    PIECE,
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

__all__ = ["check"]

# Levels below this fit in uint8, together with "unreached".
_MAX_UINT8_LEVEL = 0xFE


def check(answer: Answer) -> None:
    """Raise VerificationError unless `distance` and `parent` are breadth-first trees of the sources."""
    graph, goal = answer.graph, goal_of(answer)
    sources = np.array(goal.numbers, np.uint32)
    distance = column(answer, "distance")
    if distance.dtype.kind not in "iu":
        fail(answer, "distances are integers", f"found {distance.dtype}")
    parent = vertex_numbers(answer, "parent")
    level = distance.astype(np.uint32)  # -1 becomes kernels.UNREACHED
    blocks = edge_blocks(graph.offsets)
    first = np.empty(len(blocks) - 1, dtype=np.uint32)
    kernels.find_wrong_level(level, parent, blocks, first)
    in_range = distance.min(initial=0) >= -1 and distance.max(initial=0) < kernels.UNREACHED
    if not none_found(first) or not in_range or not np.array_equal(_roots(parent), sources):
        _fail_wrong_tree(answer, sources, distance, parent)
    limit = largest_distance(answer, goal, distance, distance >= 0)
    kernels.find_missing_edge(graph.offsets, graph.targets, not graph.directed, parent, blocks, first)
    if not none_found(first):
        v = first.min()
        detail = f"vertex {graph.ids[v]} has parent {graph.ids[parent[v]]}, but no edge joins them"
        fail(answer, "each tree edge is an edge of the graph (rule 5)", detail)
    levels = level.astype(np.uint8) if distance.max(initial=0) < _MAX_UINT8_LEVEL else level
    end = levels.dtype.type(min(np.iinfo(levels.dtype).max, limit))
    kernels.find_level_gap(graph.offsets, graph.targets, levels, end, blocks, first)
    if not none_found(first):
        _fail_level_gap(answer, level, int(first.min()))


def _roots(parent: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return the vertices that are their own parents, ascending."""
    roots = []
    for begin in range(0, len(parent), PIECE):
        piece = parent[begin : begin + PIECE]
        numbers = np.arange(begin, begin + len(piece), dtype=np.uint32)
        roots.append(numbers[piece == numbers])
    return np.concatenate(roots)


def _fail_wrong_tree(
    answer: Answer, sources: NDArray[np.uint32], distance: NDArray[Any], parent: NDArray[np.uint32]
) -> None:
    """Find the rule that the tree violates. This is slow, and only done for wrong answers."""
    ids = answer.graph.ids
    check_tree(answer, sources, distance, parent, reached=distance != -1)
    below = distance < -1
    if below.any():
        v = first_true(below)
        fail(answer, "no distance is negative", f"vertex {ids[v]} has distance {distance[v]}, not -1")
    above = distance >= kernels.UNREACHED
    if above.any():
        v = first_true(above)
        detail = f"vertex {ids[v]} has distance {distance[v]}, in a graph of {answer.graph.n} vertices"
        fail(answer, "a distance is less than the number of vertices", detail)
    _check_levels_of_tree(answer, distance.astype(np.uint32), parent)


def _check_levels_of_tree(answer: Answer, level: NDArray[np.uint32], parent: NDArray[np.uint32]) -> None:
    ids = answer.graph.ids
    numbers = np.arange(len(parent), dtype=np.uint32)
    children = np.flatnonzero((parent != NO_VERTEX) & (parent != numbers))
    wrong = level[children] != level[parent[children]] + np.uint32(1)
    if wrong.any():
        v = children[first_true(wrong)]
        detail = f"vertex {ids[v]} is at level {level[v]}, its parent {ids[parent[v]]} at {level[parent[v]]}"
        fail(answer, "tree edges join consecutive levels (rule 2)", detail)


def _fail_level_gap(answer: Answer, level: NDArray[np.uint32], v: int) -> None:
    graph = answer.graph
    row = graph.targets[graph.offsets[v] : graph.offsets[v + 1]]
    w = row[first_true(level[row] > level[v] + 1)]
    edge = f"vertex {graph.ids[v]} is at level {level[v]}, its neighbour {graph.ids[w]}"
    if level[w] == kernels.UNREACHED:
        fail(
            answer, "the tree contains all vertices that the source reaches (rule 4)", f"{edge} is unreached"
        )
    fail(answer, "no edge leads more than one level deeper (rule 3)", f"{edge} at level {level[w]}")
