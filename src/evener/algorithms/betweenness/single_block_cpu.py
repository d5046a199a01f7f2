"""Betweenness where levels are narrow: one thread takes many levels in one call.

The arrays are those of `kernels_cpu`. No bitmap is scanned, so the cost of a level depends only on its edges.
`told` float64 has four numbers of each level: its vertices, their out-edges, their in-edges, and the factor
that scaled their paths.
"""

from __future__ import annotations

import numpy as np

from evener.algorithms.betweenness.kernels_cpu import LEAST, scatter_run, settle_run
from evener.kernels.cpu.jit import serial

__all__ = ["add_dependencies", "count_paths"]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_TWO = np.uint64(2)
_THREE = np.uint64(3)
_SIX = np.uint64(6)
_LOW_BITS = np.uint64(63)
# Numbers that there are to tell of a level.
_TOLD = np.uint64(4)


@serial
def count_paths(
    offsets, targets, in_offsets, level, out_edges, unexplored, most_edges, many, shrink, scale, value,
    visited, frontier, arriving, order, bounds, told,
):  # fmt: skip
    """Make the levels behind `level` while no more than `most_edges` lead out, as many as there is room for.

    `told` gets what there is to tell of each; `frontier` flags the last one, before and after. Returns
    (vertices, levels, out-edges, paths): vertices of all these levels, out-edges and paths of the last, none
    where nothing lies behind it. Paths are infinite where a count has left the range of float64.
    """
    level = np.uint64(level)
    out_edges = np.uint64(out_edges)
    unexplored = np.uint64(unexplored)
    first = bounds[level + _ONE]
    made = _ZERO
    paths = 0.0
    for i in range(bounds[level], first):
        v = np.uint64(order[i])
        frontier[v >> _SIX] &= ~(_ONE << (v & _LOW_BITS))
    most = np.uint64(len(told)) // _TOLD
    while _ZERO < out_edges <= np.uint64(most_edges) and unexplored > _ZERO and made < most:
        begin = bounds[level]
        end = bounds[level + _ONE]
        tail = end
        for i in range(begin, end):
            u = np.uint64(order[i])
            for e in range(offsets[u], offsets[u + _ONE]):
                v = np.uint64(targets[e])
                if visited[v >> _SIX] & (_ONE << (v & _LOW_BITS)):
                    continue
                if arriving[v] == 0.0:
                    order[tail] = v
                    tail += _ONE
                arriving[v] += value[u]
        out_edges = _ZERO
        in_edges = _ZERO
        paths = 0.0
        for i in range(end, tail):
            v = np.uint64(order[i])
            count = arriving[v] * scale
            arriving[v] = 0.0
            value[v] = count
            visited[v >> _SIX] |= _ONE << (v & _LOW_BITS)
            paths += count if count >= LEAST else np.inf
            out_edges += offsets[v + _ONE] - offsets[v]
            in_edges += in_offsets[v + _ONE] - in_offsets[v]
        if tail == end:
            break
        told[_TOLD * made] = tail - end
        told[_TOLD * made + _ONE] = out_edges
        told[_TOLD * made + _TWO] = in_edges
        told[_TOLD * made + _THREE] = scale
        made += _ONE
        level += _ONE
        bounds[level + _ONE] = tail
        unexplored -= in_edges
        scale = shrink if paths > many else 1.0
        if not paths < np.inf:
            break
    for i in range(bounds[level], bounds[level + _ONE]):
        v = np.uint64(order[i])
        frontier[v >> _SIX] |= _ONE << (v & _LOW_BITS)
    return bounds[level + _ONE] - first, made, out_edges, paths


@serial
def add_dependencies(
    in_offsets, in_targets, order, bounds, level, last, farthest, told, value, visited, arriving, arrived,
    centrality,
):  # fmt: skip
    """Settle the levels from `level` back to `last`, what they depend on being pushed to each.

    `told` is what `count_paths` tells of level ``last`` and of those behind it. Returns how many vertices
    were settled.
    """
    owned = np.uint64(len(centrality))
    settled = _ZERO
    for back in range(np.uint64(level) - np.uint64(last) + _ONE):
        at = np.uint64(level) - back
        begin = bounds[at]
        end = bounds[at + _ONE]
        scale = 1.0
        if _ZERO < at < np.uint64(farthest):
            scatter_run(
                in_offsets, in_targets, owned, order, value, visited, arriving, arrived,
                end, bounds[at + _TWO],
            )  # fmt: skip
            scale = told[_TOLD * (at + _ONE - np.uint64(last)) + _THREE]
        settle_run(order, scale, 1.0 if at else 0.0, arriving, visited, value, centrality, begin, end)
        settled += end - begin
    return settled
