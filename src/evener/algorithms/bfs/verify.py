"""Breadth-first search: the five validation rules of Graph500, for directed graphs too, and distances.

1. Following parents from any reached vertex ends at the source: there is no cycle.
2. A tree edge joins a level and the next.
3. No edge of the graph leads more than one level down.
4. The tree spans exactly the vertices that the source reaches.
5. A tree edge is an edge of the graph.

Rule 1 follows from 2, rule 4 from 2, 3 and 5; each is still told by its own name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.algorithms import verification_cpu as kernels
from evener.algorithms.verification import (
    NONE,
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

# Levels below this, the one after them and "unreached" are told apart in a byte, and four times as many lie
# in a cache: on R-MAT 22 two threads take 88 ms for all edges, not 225.
_NARROW = 0xFE


def check(answer: Answer) -> None:
    """Raise VerificationError unless `distance` and `parent` are a breadth-first tree of the source."""
    graph, source = answer.graph, source_number(answer)
    distance = column(answer, "distance")
    if distance.dtype.kind not in "iu":
        broken(answer, "distances are integers", f"they are {distance.dtype}")
    parent = vertex_numbers(answer, "parent")
    level = distance.astype(np.uint32)  # -1 is NONE
    blocks = edge_blocks(graph.offsets)
    first = np.empty(len(blocks) - 1, dtype=np.uint32)
    kernels.stray(source, level, parent, blocks, first)
    if not ran_without(first) or distance.min(initial=0) < -1 or distance.max(initial=0) >= NONE:
        _tell_stray(answer, source, distance, parent)
    kernels.missing_edge(graph.offsets, graph.targets, not graph.directed, parent, blocks, first)
    if not ran_without(first):
        v = first.min()
        detail = f"vertex {graph.ids[v]} has parent {graph.ids[parent[v]]}, but no edge leads from it to {{}}"
        broken(answer, "each tree edge is an edge of the graph (rule 5)", detail.format(graph.ids[v]))
    levels = level.astype(np.uint8) if distance.max(initial=0) < _NARROW else level
    unreached = levels.dtype.type(np.iinfo(levels.dtype).max)
    kernels.steep_edge(graph.offsets, graph.targets, levels, unreached, blocks, first)
    if not ran_without(first):
        _tell_steep_edge(answer, level, int(first.min()))


def _tell_stray(
    answer: Answer, source: np.uint32, distance: NDArray[Any], parent: NDArray[np.uint32]
) -> None:
    """Name the rule that the tree breaks: the walk along all parents is serial, and for bad answers only."""
    ids = answer.graph.ids
    check_tree(answer, source, distance, parent, reached=distance != -1)
    below = distance < -1
    if below.any():
        v = first_true(below)
        broken(answer, "no distance is negative", f"vertex {ids[v]} has distance {distance[v]}, not -1")
    above = distance >= NONE
    if above.any():
        v = first_true(above)
        detail = f"vertex {ids[v]} has distance {distance[v]}, in a graph of {answer.graph.n} vertices"
        broken(answer, "a distance is less than the number of vertices", detail)
    _check_levels_of_tree(answer, distance.astype(np.uint32), parent)


def _check_levels_of_tree(answer: Answer, level: NDArray[np.uint32], parent: NDArray[np.uint32]) -> None:
    ids = answer.graph.ids
    numbers = np.arange(len(parent), dtype=np.uint32)
    children = np.flatnonzero((parent != NONE) & (parent != numbers))
    wrong = level[children] != level[parent[children]] + np.uint32(1)
    if wrong.any():
        v = children[first_true(wrong)]
        detail = f"vertex {ids[v]} is at level {level[v]}, its parent {ids[parent[v]]} at {level[parent[v]]}"
        broken(answer, "tree edges join a level and the next (rule 2)", detail)


def _tell_steep_edge(answer: Answer, level: NDArray[np.uint32], v: int) -> None:
    graph = answer.graph
    row = graph.targets[graph.offsets[v] : graph.offsets[v + 1]]
    w = row[first_true(level[row] > level[v] + 1)]
    edge = f"vertex {graph.ids[v]} is at level {level[v]}, its neighbour {graph.ids[w]}"
    if level[w] == NONE:
        broken(answer, "the tree spans all that the source reaches (rule 4)", f"{edge} is called unreached")
    broken(answer, "no edge leads more than one level down (rule 3)", f"{edge} at {level[w]}")
