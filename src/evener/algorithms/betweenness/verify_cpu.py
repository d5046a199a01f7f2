"""Kernels that verify betweenness: Brandes' algorithm, one source per thread."""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.jit import inline_step, parallel

__all__ = ["MAX_PATHS", "SHRINK", "sum_dependencies"]

# Level of an unreached vertex.
_UNREACHED = np.uint32(0xFFFFFFFF)
_ZERO = np.uint64(0)
_ONE = np.uint64(1)
# A level with more paths than this is scaled by SHRINK. Counts of a level may differ by a factor of 2^995.
MAX_PATHS = 2.0**900
SHRINK = 2.0**-64


@inline_step
def _shrink_level(queue, paths, head, tail):
    """Scale down the path counts of a level if they approach the end of float64's range.

    Return the factor.
    """
    largest = 0.0
    for i in range(head, tail):
        largest = max(largest, paths[queue[i]])
    if largest <= MAX_PATHS:
        return 1.0
    for i in range(head, tail):
        paths[queue[i]] *= SHRINK
    return SHRINK


@inline_step
def _brandes(offsets, targets, source, queue, level, paths, dependency, shrunk, score):
    """Run Brandes' algorithm from one source: a breadth-first queue forward, the same queue backward.

    Only the ratio of counts on neighbouring levels matters. ``shrunk[l]`` is the factor that scaled level l.
    """
    level[:] = _UNREACHED
    paths[:] = 0.0
    queue[0] = source
    level[source] = 0
    paths[source] = 1.0
    shrunk[0] = 1.0
    deepest = np.uint32(0)
    head = _ZERO
    tail = _ONE
    while head < tail:
        v = np.uint64(queue[head])
        if level[v] > deepest:
            # When its first vertex reaches the head, the queue contains the whole level and no deeper vertex.
            deepest = level[v]
            shrunk[deepest] = _shrink_level(queue, paths, head, tail)
        head += _ONE
        for e in range(offsets[v], offsets[v + _ONE]):
            w = targets[e]
            if level[w] == _UNREACHED:
                level[w] = level[v] + np.uint32(1)
                queue[tail] = w
                tail += _ONE
            if level[w] == level[v] + np.uint32(1):
                paths[w] += paths[v]
    while head > _ZERO:
        head -= _ONE
        v = np.uint64(queue[head])
        through = 0.0
        for e in range(offsets[v], offsets[v + _ONE]):
            w = targets[e]
            if level[w] == level[v] + np.uint32(1):
                through += (1.0 + dependency[w]) / paths[w] * shrunk[level[w]]
        dependency[v] = through * paths[v]
        if v != np.uint64(source):
            score[v] += dependency[v]


@parallel
def sum_dependencies(offsets, targets, sources, queue, level, paths, dependency, shrunk, score):
    """Add up Brandes' dependencies of every vertex on `sources`.

    The work arrays have shape (threads, n). ``score[t]`` receives the part of thread t.
    """
    for t in prange(len(score)):
        for s in range(t, len(sources), len(score)):
            _brandes(
                offsets, targets, sources[s], queue[t], level[t], paths[t], dependency[t], shrunk[t], score[t]
            )
