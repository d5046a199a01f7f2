"""Kernels that verify betweenness: the paths from a source in the order of distances, one source per thread.

The distances are a fixed point of relaxing edges, found without a heap.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.jit import inline_step, parallel

__all__ = ["sum_paths"]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)


@inline_step
def _relax(offsets, targets, weights, source, distance, queue, waiting):
    """Find the distances: relax the edges of each vertex whose distance has fallen."""
    size = np.uint64(len(queue))
    distance[:] = np.inf
    distance[source] = 0.0
    queue[_ZERO] = source
    held = _ONE
    head = _ZERO
    while held > _ZERO:
        v = np.uint64(queue[head])
        head = (head + _ONE) % size
        held -= _ONE
        waiting[v] = False
        for e in range(offsets[v], offsets[v + _ONE]):
            w = np.uint64(targets[e])
            far = distance[v] + (1 if len(weights) == 0 else weights[e])
            if far < distance[w]:
                distance[w] = far
                if not waiting[w]:
                    waiting[w] = True
                    queue[(head + held) % size] = w
                    held += _ONE


@inline_step
def _sum_source(
    offsets, targets, weights, source, distance, queue, waiting, paths, dependency, vertex_sums, edge_sums
):
    _relax(offsets, targets, weights, source, distance, queue, waiting)
    order = np.argsort(distance)
    paths[:] = 0.0
    dependency[:] = 0.0
    paths[source] = 1.0
    reached = _ZERO
    most = 1.0
    for i in range(len(order)):
        v = np.uint64(order[i])
        if distance[v] == np.inf:
            break
        reached += _ONE
        for e in range(offsets[v], offsets[v + _ONE]):
            w = np.uint64(targets[e])
            if distance[w] == distance[v] + (1 if len(weights) == 0 else weights[e]):
                paths[w] += paths[v]
                most = max(most, paths[w])
    if most == np.inf:  # the sums would be finite and wrong
        vertex_sums[:] = np.inf
        edge_sums[:] = np.inf
        return
    for i in range(reached):
        v = np.uint64(order[reached - _ONE - i])
        for e in range(offsets[v], offsets[v + _ONE]):
            w = np.uint64(targets[e])
            if distance[w] == distance[v] + (1 if len(weights) == 0 else weights[e]):
                through = paths[v] / paths[w] * (1.0 + dependency[w])
                edge_sums[e] += through
                dependency[v] += through
        if v != source:
            vertex_sums[v] += dependency[v]


@parallel
def sum_paths(
    offsets, targets, weights, sources, distance, queue, waiting, paths, dependency, vertex_sums, edge_sums
):
    """Add up the dependencies of vertices and of stored edges on all sources. Weights are above 0.

    The work arrays have shape (threads, n). ``vertex_sums[t]`` and ``edge_sums[t]`` receive the part of
    thread t. Without `weights`, each edge weighs 1. All sums of a thread are infinite if it finds more paths
    than float64 can count.
    """
    for t in prange(len(vertex_sums)):
        for s in range(t, len(sources), len(vertex_sums)):
            _sum_source(
                offsets, targets, weights, np.uint64(sources[s]), distance[t], queue[t], waiting[t], paths[t],
                dependency[t], vertex_sums[t], edge_sums[t],
            )  # fmt: skip
