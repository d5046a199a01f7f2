"""A search from one vertex of an undirected graph on one CPU. See `evener.primitives.distance_bounds`.

A thread that follows a queue passes a level of few vertices much faster than kernels that all threads run.
"""

from __future__ import annotations

import numpy as np

from evener.kernels.cpu.jit import serial

__all__ = ["search"]

_ONE = np.uint64(1)
_UNREACHED = np.uint32(0xFFFFFFFF)


@serial
def search(offsets, targets, vertices, source, distance, queue, lower, upper):
    """Tighten the bounds of all vertices that the source reaches.

    `distance` and `queue` (n,) uint32 are temporary memory. Return the largest distance, and the smallest
    number of a vertex at this distance.
    """
    distance[:] = _UNREACHED
    distance[source] = 0
    queue[0] = source
    first, end = np.uint64(0), _ONE
    while first < end:
        u = np.uint64(queue[first])
        first += _ONE
        away = np.uint32(distance[u] + np.uint32(1))
        for e in range(offsets[u], offsets[u + _ONE]):
            v = np.uint64(targets[e])
            if distance[v] == _UNREACHED:
                distance[v] = away
                queue[end] = v
                end += _ONE
    largest = distance[queue[end - _ONE]]
    farthest = np.uint32(_UNREACHED)
    for i in range(end):
        v = np.uint64(queue[i])
        away = distance[v]
        lower[v] = max(lower[v], max(away, np.uint32(largest - away)))
        upper[v] = min(upper[v], np.uint32(largest + away))
        if away == largest:
            farthest = min(farthest, np.uint32(vertices[v]))
    return largest, farthest
