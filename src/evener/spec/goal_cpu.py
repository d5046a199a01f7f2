"""The end of a search: vertices beyond the target or the cutoff become unreached again."""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.jit import parallel
from evener.kernels.vertex import NO_VERTEX

__all__ = ["forget_beyond"]


@parallel
def forget_beyond(owned, limit, unreached, distance, parent):
    """Mark the vertices with a distance above `limit` as unreached."""
    for v in prange(np.int64(owned)):
        if distance[v] > limit:
            distance[v] = unreached
            parent[v] = NO_VERTEX
