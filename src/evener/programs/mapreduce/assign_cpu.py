"""The last step of GIM-V: each vertex assigns its next value, from its value and its combined messages.

`assign` and `until` have the parameters that `evener.programs.kernels_cpu` describes. Values, first values
and messages are tuples of arrays, one for each field.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import prange

from evener.kernels.cpu.jit import guarded, inline_step, uncached_parallel

if TYPE_CHECKING:
    from evener.programs.payload import Payload

__all__ = ["make_assign"]

# Vertices that a thread takes at a time.
_VERTICES_PER_PIECE = 1 << 12


def make_assign(assign: Any, until: Any, *, value: Payload, message: Payload) -> Any:
    """Return the kernel `assign_values`, with the operators compiled into it, for what they see."""
    load, store, load_message = value.load, value.store, message.load
    size_of, distance = value.size, value.distance

    @inline_step
    def assign_piece(numbers, begin, end, messages, degree, vertices, n, total, initial, values):
        change = 0.0
        size = 0.0
        converged = np.int64(0)
        for v in range(begin, end):
            own_degree, vertex = np.int64(degree[v]), np.int64(vertices[v])
            old, start = load(values, v), load(initial, v)
            message = load_message(messages, v)
            store(values, v, assign(old, message, own_degree, vertex, n, total, start, numbers))
            new = load(values, v)
            size += size_of(new)
            change += distance(old, new)
            if until(old, new, own_degree, vertex, n, total, start, numbers):
                converged += 1
        return converged, change, size

    guarded_piece = guarded(assign_piece, failed=(np.int64(0), np.nan, np.nan))

    @uncached_parallel
    def assign_values(numbers, messages, degree, vertices, n, total, initial, values):
        """Write the next value of each vertex.

        Returns (converged vertices, sum of all changes, sum of the absolute values). The sums are NaN if an
        operator raises an exception.
        """
        change = 0.0
        size = 0.0
        converged = np.int64(0)
        vertices_here = len(values[0])
        for k in prange((vertices_here + _VERTICES_PER_PIECE - 1) // _VERTICES_PER_PIECE):
            begin = np.uint64(k * _VERTICES_PER_PIECE)
            end = min(begin + np.uint64(_VERTICES_PER_PIECE), np.uint64(vertices_here))
            ready, moved, own_size = guarded_piece(
                numbers, begin, end, messages, degree, vertices, n, total, initial, values
            )
            converged += ready
            change += moved
            size += own_size
        return converged, change, size

    return assign_values
