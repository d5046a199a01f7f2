"""Count the edges, crossing edges and mirrors of partitions that are not built."""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.build import slice_bound
from evener.kernels.cpu.jit import inline_step, parallel

__all__ = ["count_parts"]

_ONE = np.uint64(1)


@inline_step
def _count_row(offsets, targets, v, stamp, owner, seen, counts):
    """Count the edges between `v` and its neighbours for the owners of the neighbours."""
    own = owner[v]
    for e in range(offsets[v], offsets[v + _ONE]):
        p = owner[targets[e]]
        counts[0, p] += _ONE
        if p != own:
            counts[1, p] += _ONE
            if seen[p] != stamp:
                seen[p] = stamp
                counts[2, p] += _ONE
                counts[3, own] += _ONE


@parallel
def count_parts(offsets, targets, more_offsets, more_targets, owner, seen, counts):
    """Count what each element stores if it stores the edges of its vertices to the vertices of all rows.

    Row ``v`` lists the vertices that store an edge to ``v``. Both pairs of arrays have such rows; the second
    pair has length 0 if there is one direction. Outputs for each thread ``k`` and element ``p``:
    ``counts[k, :, p]`` (uint64 zeros) are edges, edges to other elements, mirrors, and mirrors elsewhere of
    the owned vertices. `seen` (threads, P) uint64 zeros is scratch.
    """
    parts = len(counts)
    n = np.uint64(len(owner))
    for k in prange(parts):
        first, last = slice_bound(n, k, parts), slice_bound(n, k + 1, parts)
        for v in range(first, last):
            _count_row(offsets, targets, v, v + _ONE, owner, seen[k], counts[k])
            if len(more_offsets) > 0:
                _count_row(more_offsets, more_targets, v, v + _ONE, owner, seen[k], counts[k])
