"""A binary heap of vertices by a key, the least first, in two arrays that the caller has made."""

from __future__ import annotations

import numpy as np

from evener.kernels.cpu.jit import inline_step

__all__ = ["drop_first", "push"]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)


@inline_step
def push(keys, vertices, held, key, vertex):
    """Add a vertex to a heap of `held`."""
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
    """Take the first of a heap of `held` out of it."""
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
