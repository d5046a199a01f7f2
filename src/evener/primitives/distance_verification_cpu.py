"""A serial breadth-first search, for verifiers."""

from __future__ import annotations

import numpy as np

from evener.kernels.cpu.jit import serial

__all__ = ["search"]

_ONE = np.uint64(1)


@serial
def search(offsets, targets, source, distance, queue):
    """Write the number of edges from the source to each vertex that it reaches.

    `distance` (n,) int64 is -1 for all vertices at first. `queue` (n,) uint32 is temporary memory.
    """
    distance[source] = 0
    queue[0] = source
    first, end = np.uint64(0), _ONE
    while first < end:
        u = np.uint64(queue[first])
        first += _ONE
        for e in range(offsets[u], offsets[u + _ONE]):
            v = targets[e]
            if distance[v] < 0:
                distance[v] = distance[u] + 1
                queue[end] = v
                end += _ONE
