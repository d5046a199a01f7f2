"""The last step of GIM-V: each vertex assigns its next value, from its value and its combined messages.

`assign` and `until` have the parameters that `evener.programs.kernels_cpu` describes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from evener.kernels.cpu.jit import inline_step, uncached_parallel

__all__ = ["make_assign"]

# Vertices that a thread takes at a time.
_VERTICES_PER_PIECE = 1 << 12


def make_assign(wide: Any, assign: Any, until: Any) -> Any:
    """Return the kernel `assign_values`, with the operators compiled into it.

    Parameters
    ----------
    wide : type
        ``np.float64`` or ``np.int64``, as operators see values.
    assign, until : compiled functions
    """

    @inline_step
    def assign_piece(begin, end, message, degree, vertices, n, total, initial, value):
        change = 0.0
        size = 0.0
        converged = np.int64(0)
        for v in range(begin, end):
            own_degree, vertex = np.int64(degree[v]), np.int64(vertices[v])
            old, start = wide(value[v]), wide(initial[v])
            value[v] = assign(old, message[v], own_degree, vertex, n, total, start)
            new = wide(value[v])
            size += abs(np.float64(new))
            change += 0.0 if new == old else abs(np.float64(new) - np.float64(old))
            if until(old, new, own_degree, vertex, n, total, start):
                converged += 1
        return converged, change, size

    @uncached_parallel
    def assign_values(message, degree, vertices, n, total, initial, value):
        """Write the next value of each vertex.

        Returns (converged vertices, sum of all changes, sum of the absolute values).
        """
        change = 0.0
        size = 0.0
        converged = np.int64(0)
        vertices_here = len(value)
        for k in prange((vertices_here + _VERTICES_PER_PIECE - 1) // _VERTICES_PER_PIECE):
            begin = np.uint64(k * _VERTICES_PER_PIECE)
            end = min(begin + np.uint64(_VERTICES_PER_PIECE), np.uint64(vertices_here))
            ready, moved, own_size = assign_piece(
                begin, end, message, degree, vertices, n, total, initial, value
            )
            converged += ready
            change += moved
            size += own_size
        return converged, change, size

    return assign_values
