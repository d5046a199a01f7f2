"""K-core decomposition: core numbers recomputed by the algorithm of Batagelj and Zaversnik (2003)."""

import numpy as np
from numba import njit

from evener.spec.verification import column, fail


def check(answer):
    """Raise VerificationError unless `core` holds the core numbers of the answer's graph."""
    graph, found = answer.graph, column(answer, "core")
    expected = _core_numbers(graph.offsets, graph.targets)
    wrong = np.flatnonzero(found != expected)
    if len(wrong):
        v = wrong[0]
        detail = f"vertex {graph.ids[v]} has {found[v]}, recomputed {expected[v]}"
        fail(answer, "each vertex has the largest k of the k-cores that contain it", detail)


@njit(cache=True)
def _core_numbers(offsets, targets):
    """Remove vertices in ascending degree, kept sorted by buckets; linear in the number of edges."""
    n = len(offsets) - 1
    degree = np.empty(n, np.int64)
    for v in range(n):
        degree[v] = offsets[v + 1] - offsets[v]
    begin = np.zeros(n + 2, np.int64)
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
            u = targets[e]
            if degree[u] > degree[v]:
                # Swap u with the first vertex of its bucket, and move the bucket's begin behind u.
                first = begin[degree[u]]
                other = order[first]
                order[first], order[place[u]] = u, other
                place[other], place[u] = place[u], first
                begin[degree[u]] += 1
                degree[u] -= 1
    return degree
