"""A binary min-heap of vertices, ordered by key, in two arrays of the caller."""

from __future__ import annotations

import numpy as np

from evener.kernels.cpu.jit import inline_step

__all__ = ["drop_first", "push"]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)


@inline_step
def push(keys, vertices, held, key, vertex):
    """Add a vertex to a heap of `held` vertices."""
    at = held
    while at > _ZERO:
        above = (at - _ONE) >> _ONE
        if not key < keys[above]:
            break
        keys[at] = keys[above]
        vertices[at] = vertices[above]
        at = above
    keys[at] = key
    vertices[at] = vertex


@inline_step
def drop_first(keys, vertices, held):
    """Remove the vertex with the smallest key from a heap of `held` vertices."""
    last = held - _ONE
    key = keys[last]
    vertex = vertices[last]
    at = _ZERO
    below = _ONE
    while below < last:
        if below + _ONE < last and keys[below + _ONE] < keys[below]:
            below += _ONE
        if not keys[below] < key:
            break
        keys[at] = keys[below]
        vertices[at] = vertices[below]
        at = below
        below = (at << _ONE) + _ONE
    keys[at] = key
    vertices[at] = vertex
