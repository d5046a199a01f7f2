"""Degrees of R-MAT graphs that need not fit the memory: edges are counted and not stored."""

from __future__ import annotations

import numpy as np
from numba import njit

from evener.graph.generators.models import DEFAULT_SEED, EDGE_FACTOR, GRAPH500
from evener.graph.generators.sources import KroneckerSampler

# Edges generated at a time.
_PIECE = 1 << 22


@njit(nogil=True)
def _count(src, dst, degree):
    for e in range(len(src)):
        degree[src[e]] += 1
        degree[dst[e]] += 1


def rmat_degrees(scale, *, permute=True):
    """Return the degree of each vertex (uint64), in both directions, with duplicates and self-loops."""
    source = KroneckerSampler(
        np.array(GRAPH500), scale, EDGE_FACTOR << scale, DEFAULT_SEED, None, permute=permute
    )
    degree = np.zeros(1 << scale, np.uint64)
    src, dst = np.empty((2, _PIECE), np.uint32)
    for start in range(0, source.m, _PIECE):
        stop = min(start + _PIECE, source.m)
        source.fill(start, stop, src[: stop - start], dst[: stop - start])
        _count(src[: stop - start], dst[: stop - start], degree)
    return degree


def by_degree(degree):
    """Return the vertices in descending degree, as `partition` sorts them."""
    from evener.kernels.cpu.partition import order_by_degree

    order = np.empty(len(degree), np.uint32)
    order_by_degree(degree, np.zeros(int(degree.max()) + 2, np.uint64), order)
    return order
