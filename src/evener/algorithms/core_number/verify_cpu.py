"""Core numbers of a whole graph by buckets, for the verifier (Batagelj and Zaversnik 2003)."""

from __future__ import annotations

import numpy as np

from evener.kernels.cpu.jit import serial

__all__ = ["peel"]


@serial
def peel(offsets, targets, in_offsets, in_targets, directed, degree):
    """Replace the number of edges of each vertex by its core number.

    Vertices leave in ascending order of their remaining edges, and stay sorted by them.
    """
    n = len(degree)
    begin = np.zeros(degree.max() + 2 if n > 0 else 2, np.int64)
    for v in range(n):
        begin[degree[v] + 1] += 1
    begin = np.cumsum(begin)
    place, order, filled = np.empty(n, np.int64), np.empty(n, np.int64), begin.copy()
    for v in range(n):
        place[v] = filled[degree[v]]
        order[place[v]] = v
        filled[degree[v]] += 1
    for i in range(n):
        v = order[i]
        for e in range(offsets[v], offsets[v + 1]):
            _lose(np.int64(targets[e]), degree[v], degree, begin, place, order)
        if directed:
            for e in range(in_offsets[v], in_offsets[v + 1]):
                _lose(np.int64(in_targets[e]), degree[v], degree, begin, place, order)


@serial
def _lose(u, level, degree, begin, place, order):
    """Take an edge from a vertex above the level: swap it with the first of its bucket, which gets shorter."""
    if degree[u] > level:
        first = begin[degree[u]]
        other = order[first]
        order[first], order[place[u]] = u, other
        place[other], place[u] = place[u], first
        begin[degree[u]] += 1
        degree[u] -= 1
