"""Leiden: the connected parts of communities.

Arrays for L owned vertices and M mirrors: `community` (L + M,) uint32 and `label` (L + M,) uint32, the
smallest number of a vertex that the vertex is known to reach inside its community.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.chunks import chunk_count
from evener.kernels.cpu.jit import inline_step, parallel

__all__ = ["spread_smallest"]

_ONE = np.uint64(1)
# Vertices in a chunk.
_CHUNK = np.uint64(1 << 9)


@inline_step
def _spread_chunk(offsets, targets, community, label, first, last):
    changes = np.uint64(0)
    for v in range(first, last):
        smallest = label[v]
        for e in range(offsets[v], offsets[v + _ONE]):
            u = np.uint64(targets[e])
            if community[u] == community[v]:
                smallest = min(smallest, label[u])
        changes += np.uint64(smallest != label[v])
        label[v] = smallest
    return changes


@parallel
def spread_smallest(offsets, targets, community, label):
    """Lower the label of each vertex to the smallest of neighbours in its community. Return the changes."""
    owned = np.uint64(len(offsets) - 1)
    changes = np.uint64(0)
    for r in prange(chunk_count(owned, _CHUNK)):
        first = np.uint64(r) * _CHUNK
        changes += _spread_chunk(offsets, targets, community, label, first, min(first + _CHUNK, owned))
    return changes
