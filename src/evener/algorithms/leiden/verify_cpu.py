"""Kernels that verify communities."""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.jit import inline_step, parallel

__all__ = ["lowest_reached"]

_ONE = np.uint64(1)


@inline_step
def _lowest_in(offsets, targets, community, reached, lowest, start, stop):
    for v in range(start, stop):
        found = reached[v]
        for e in range(offsets[v], offsets[v + _ONE]):
            u = np.uint64(targets[e])
            if community[u] == community[v]:
                found = min(found, reached[u])
        lowest[v] = found


@parallel
def lowest_reached(offsets, targets, community, reached, lowest, blocks):
    """Write the lowest vertex that a vertex or a neighbour in its community reaches."""
    for b in prange(len(blocks) - 1):
        _lowest_in(offsets, targets, community, reached, lowest, blocks[b], blocks[b + 1])
