"""GIM-V: one iteration, in which every vertex combines the messages of its in-neighbours.

`combine2(m, v, degree, vertex, n)` makes a message, `combine_all(x, y)` joins two messages, and
`assign(old, new, degree, vertex, n, total, initial)` returns the next value. `until` takes the arguments of
`assign` and returns whether the vertex has converged. All see float64 or int64: `wide` converts to this type.
Each also gets `numbers`, a tuple of the numbers that operators use from outside.

If `combine2` does not need the weight of an edge, all edges of a vertex carry one message. `message` (L + M,)
then holds messages, and `value` (L,) the values. Otherwise `message` holds values, each edge calls
`combine2`, and `value` is not used.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from evener.kernels.cpu.jit import guarded, inline_step, uncached_parallel
from evener.kernels.cpu.work_queue import WORKERS, new_counter, take_chunk

__all__ = ["make_iterate"]

_ONE = np.uint64(1)


def make_iterate(
    combine2: Any, combine_all: Any, assign: Any, until: Any, *, wide: Any, per_edge: bool
) -> Any:
    """Return the kernel `iterate`, with the operators compiled into it.

    `wide` is ``np.float64`` or ``np.int64``. If `per_edge`, `combine2` is called for each edge instead of
    each vertex.
    """

    @inline_step
    def pull_row(begin, end, targets, weights, identity, degree, vertices, n, message, numbers):
        pulled = identity
        for e in range(begin, end):
            u = np.uint64(targets[e])
            x = wide(message[u])
            if per_edge:
                own_degree, vertex = np.int64(degree[u]), np.int64(vertices[u])
                x = wide(combine2(wide(weights[e]), x, own_degree, vertex, n, numbers))
            pulled = wide(combine_all(pulled, x, numbers))
        return pulled

    @inline_step
    def share(
        numbers, first, offsets, targets, weights, blocks, identity, degree, vertices, n, total, initial,
        message, value, next_message, counter,
    ):  # fmt: skip
        change = 0.0
        size = 0.0
        converged = np.int64(0)
        b = take_chunk(counter, _ONE)
        while b + _ONE < np.uint64(len(blocks)):
            for v in range(np.uint64(blocks[b]), np.uint64(blocks[b + _ONE])):
                own_degree = np.int64(degree[v])
                vertex = np.int64(vertices[v])
                start = wide(initial[v])
                old = wide(message[v]) if per_edge else wide(value[v])
                if first:
                    new = old
                else:
                    pulled = pull_row(
                        offsets[v],
                        offsets[v + _ONE],
                        targets,
                        weights,
                        identity[0],
                        degree,
                        vertices,
                        n,
                        message,
                        numbers,
                    )
                    new = wide(assign(old, pulled, own_degree, vertex, n, total, start, numbers))
                if per_edge:
                    next_message[v] = new
                    new = wide(next_message[v])
                else:
                    value[v] = new
                    new = wide(value[v])
                    # A vertex without out-edges has no message: operators may divide by its degree.
                    if own_degree > 0:
                        next_message[v] = combine2(wide(1), new, own_degree, vertex, n, numbers)
                size += abs(np.float64(new))
                change += 0.0 if new == old else abs(np.float64(new) - np.float64(old))
                if until(old, new, own_degree, vertex, n, total, start, numbers):
                    converged += 1
            b = take_chunk(counter, _ONE)
        return converged, change, size

    guarded_share = guarded(share, failed=(np.int64(0), np.nan, np.nan))

    @uncached_parallel
    def iterate(
        numbers, first, offsets, targets, weights, blocks, identity, degree, vertices, n, total, initial,
        message, value, next_message,
    ):  # fmt: skip
        """Compute the next value and message of each vertex; if `first`, only the messages.

        Returns (converged vertices, sum of all changes, sum of the absolute values). The sums are NaN if an
        operator raises an exception.
        """
        change = 0.0
        size = 0.0
        converged = np.int64(0)
        counter = new_counter()
        for _ in prange(WORKERS):
            ready, moved, own_size = guarded_share(
                numbers, first, offsets, targets, weights, blocks, identity, degree, vertices, n, total,
                initial, message, value, next_message, counter,
            )  # fmt: skip
            converged += ready
            change += moved
            size += own_size
        return converged, change, size

    return iterate
