"""Betweenness on narrow levels: one thread processes many levels in one call.

`evener.algorithms.betweenness.kernels_cpu` describes the arrays. `level_table` float64 has four numbers for
each level: its vertices, their out-edges, their in-edges, and the factor that scaled their paths. The kernels
scan no bitmap, so the cost of a level depends only on its edges.
"""

from __future__ import annotations

import numpy as np

from evener.algorithms.betweenness.kernels_cpu import MIN_COUNT, finish_chunk, push_dependencies_chunk
from evener.kernels.cpu.jit import serial

__all__ = ["add_dependencies", "count_paths"]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_TWO = np.uint64(2)
_THREE = np.uint64(3)
_SIX = np.uint64(6)
_LOW_BITS = np.uint64(63)
# Numbers per level in `level_table`.
_COLUMNS = np.uint64(4)


@serial
def count_paths(
    offsets, targets, in_offsets, level, out_edges, unexplored, max_edges, shrink_above, shrink, scale, value,
    visited, frontier, incoming, order, bounds, level_table,
):  # fmt: skip
    """Build the levels after `level` while a level has at most `max_edges` out-edges.

    The kernel also stops when `level_table` is full. It writes a row of `level_table` for each level.
    `frontier` flags the last level, before and after. If the paths of a level exceed `shrink_above`, the next
    level is scaled by `shrink`. Returns (vertices, levels, out-edges, paths): the vertices of all these
    levels, and the out-edges and paths of the last level. Out-edges and paths are 0 if no vertex follows.
    `paths` is infinite if a count is below `MIN_COUNT` or infinite.
    """
    level = np.uint64(level)
    out_edges = np.uint64(out_edges)
    unexplored = np.uint64(unexplored)
    first = bounds[level + _ONE]
    levels = _ZERO
    paths = 0.0
    for i in range(bounds[level], first):
        v = np.uint64(order[i])
        frontier[v >> _SIX] &= ~(_ONE << (v & _LOW_BITS))
    max_levels = np.uint64(len(level_table)) // _COLUMNS
    while _ZERO < out_edges <= np.uint64(max_edges) and unexplored > _ZERO and levels < max_levels:
        begin = bounds[level]
        end = bounds[level + _ONE]
        tail = end
        for i in range(begin, end):
            u = np.uint64(order[i])
            for e in range(offsets[u], offsets[u + _ONE]):
                v = np.uint64(targets[e])
                if visited[v >> _SIX] & (_ONE << (v & _LOW_BITS)):
                    continue
                if incoming[v] == 0.0:
                    order[tail] = v
                    tail += _ONE
                incoming[v] += value[u]
        out_edges = _ZERO
        in_edges = _ZERO
        paths = 0.0
        for i in range(end, tail):
            v = np.uint64(order[i])
            count = incoming[v] * scale
            incoming[v] = 0.0
            value[v] = count
            visited[v >> _SIX] |= _ONE << (v & _LOW_BITS)
            paths += count if count >= MIN_COUNT else np.inf
            out_edges += offsets[v + _ONE] - offsets[v]
            in_edges += in_offsets[v + _ONE] - in_offsets[v]
        if tail == end:
            break
        level_table[_COLUMNS * levels] = tail - end
        level_table[_COLUMNS * levels + _ONE] = out_edges
        level_table[_COLUMNS * levels + _TWO] = in_edges
        level_table[_COLUMNS * levels + _THREE] = scale
        levels += _ONE
        level += _ONE
        bounds[level + _ONE] = tail
        unexplored -= in_edges
        scale = shrink if paths > shrink_above else 1.0
        if not paths < np.inf:
            break
    for i in range(bounds[level], bounds[level + _ONE]):
        v = np.uint64(order[i])
        frontier[v >> _SIX] |= _ONE << (v & _LOW_BITS)
    return bounds[level + _ONE] - first, levels, out_edges, paths


@serial
def add_dependencies(
    in_offsets, in_targets, order, bounds, level, last, farthest, level_table, value, visited, incoming,
    reached, centrality,
):  # fmt: skip
    """Finish the levels from `level` back to `last`; push the dependencies of each level to the level before.

    `level_table` has the rows of level `last` and of the following levels. Returns the number of vertices.
    """
    owned = np.uint64(len(centrality))
    vertices = _ZERO
    for back in range(np.uint64(level) - np.uint64(last) + _ONE):
        at = np.uint64(level) - back
        begin = bounds[at]
        end = bounds[at + _ONE]
        scale = 1.0
        if _ZERO < at < np.uint64(farthest):
            push_dependencies_chunk(
                in_offsets, in_targets, owned, order, value, visited, incoming, reached,
                end, bounds[at + _TWO],
            )  # fmt: skip
            scale = level_table[_COLUMNS * (at + _ONE - np.uint64(last)) + _THREE]
        finish_chunk(order, scale, 1.0 if at else 0.0, incoming, visited, value, centrality, begin, end)
        vertices += end - begin
    return vertices
