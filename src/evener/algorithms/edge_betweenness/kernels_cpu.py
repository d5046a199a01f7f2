"""Betweenness of edges: add the dependencies of a level to its edges.

`evener.algorithms.betweenness.kernels_cpu` describes the other arrays. `edge_centrality` float64 has a value
for each stored out-edge.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.chunks import chunk_count
from evener.kernels.cpu.jit import inline_step, parallel
from evener.kernels.cpu.work_queue import MIN_PARALLEL_EDGES, queue_chunk

__all__ = ["add_to_edges"]

_ONE = np.uint64(1)
_SIX = np.uint64(6)
_LOW_BITS = np.uint64(63)
# Largest chunk of a level, in vertices. The first vertices of a level may be hubs.
_QUEUE_CHUNK = np.uint64(16)


@inline_step
def _add_chunk(offsets, targets, order, scale, value, frontier, edge_centrality, first, last):
    for i in range(first, last):
        u = np.uint64(order[i])
        paths = value[u] * scale
        for e in range(offsets[u], offsets[u + _ONE]):
            v = np.uint64(targets[e])
            if frontier[v >> _SIX] & (_ONE << (v & _LOW_BITS)):
                edge_centrality[e] += paths * value[v]


@parallel
def add_to_edges(offsets, targets, order, bounds, level, edges, scale, value, frontier, edge_centrality):
    """Add the dependency of each out-edge of the level whose head is in the frontier.

    The level has path counts as values, and the frontier is the next level, which is finished. `scale` is the
    factor that scaled the paths of the next level.
    """
    begin = bounds[np.uint64(level)]
    end = bounds[np.uint64(level) + _ONE]
    if np.uint64(edges) < MIN_PARALLEL_EDGES:
        _add_chunk(offsets, targets, order, scale, value, frontier, edge_centrality, begin, end)
        return
    chunk = queue_chunk(offsets, order[begin:], end - begin, _QUEUE_CHUNK)
    for r in prange(chunk_count(end - begin, chunk)):
        first = begin + np.uint64(r) * chunk
        last = min(first + chunk, end)
        _add_chunk(offsets, targets, order, scale, value, frontier, edge_centrality, first, last)
