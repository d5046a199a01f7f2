"""A min-heap of vertices with four children per entry, whose keys may fall, in arrays of the caller.

`keys` and `vertices` are the entries, and `place` the entry of each vertex.
"""

from __future__ import annotations

import numpy as np

from evener.kernels.cpu.jit import inline_step

__all__ = ["lower", "take_first"]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_TWO = np.uint64(2)
_FOUR = np.uint64(4)


@inline_step
def lower(keys, vertices, place, at, key, vertex):
    """Write a vertex to entry `at`, or nearer to the first entry if its key is smaller than those there.

    Entry `at` is the entry of the vertex, or the entry behind the last.
    """
    while at > _ZERO:
        above = (at - _ONE) >> _TWO
        if not key < keys[above]:
            break
        keys[at] = keys[above]
        vertices[at] = vertices[above]
        place[vertices[at]] = at
        at = above
    keys[at] = key
    vertices[at] = vertex
    place[vertex] = at


@inline_step
def take_first(keys, vertices, place, held):
    """Return the vertex with the smallest key, and remove it from a heap of `held` entries."""
    first = np.uint64(vertices[_ZERO])
    last = held - _ONE
    key = keys[last]
    vertex = vertices[last]
    at = _ZERO
    below = _ONE
    while below < last:
        least = below
        for child in range(below + _ONE, min(below + _FOUR, last)):
            if keys[child] < keys[least]:
                least = child
        if not keys[least] < key:
            break
        keys[at] = keys[least]
        vertices[at] = vertices[least]
        place[vertices[at]] = at
        at = least
        below = (at << _TWO) + _ONE
    keys[at] = key
    vertices[at] = vertex
    place[vertex] = at
    return first
