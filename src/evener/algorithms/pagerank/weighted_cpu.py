"""Weighted PageRank: one iteration, in which every vertex pulls the weighted shares of its in-neighbours.

The arrays are as in `kernels_cpu`, with two exceptions. `out_strength` (L,), the sum of the out-weights of
a vertex, replaces the out-degree. Contributions are float64, because rank over strength may overflow float32.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.algorithms.pagerank.kernels_cpu import begin_chunk, finish_row
from evener.kernels.cpu.jit import inline_step, parallel
from evener.kernels.cpu.work_queue import WORKERS, new_counter, take_chunk

__all__ = ["begin", "iterate"]

_ONE = np.uint64(1)


@parallel
def begin(out_strength, blocks, start, rank, contribution):
    """Set the first rank of each vertex to ``start[v]`` or ``start[0]``; return the dangling rank."""
    dangling = 0.0
    for b in prange(len(blocks) - 1):
        dangling += begin_chunk(out_strength, start, rank, contribution, blocks[b], blocks[b + 1])
    return dangling


@inline_step
def _iterate_share(
    offsets, targets, weights, blocks, connected, out_strength, damping, jump, teleport, contribution, rank,
    next_contribution, counter,
):  # fmt: skip
    error = 0.0
    dangling = 0.0
    b = take_chunk(counter, _ONE)
    while b + _ONE < np.uint64(len(blocks)):
        for v in range(np.uint64(blocks[b]), min(np.uint64(blocks[b + _ONE]), connected)):
            pulled = 0.0
            for e in range(offsets[v], offsets[v + _ONE]):
                pulled += contribution[targets[e]] * weights[e]
            change, own = finish_row(
                v, pulled, out_strength, damping, jump, teleport, rank, next_contribution
            )
            error += change
            dangling += own
        b = take_chunk(counter, _ONE)
    return error, dangling


@parallel
def iterate(
    offsets, targets, weights, blocks, connected, out_strength, damping, jump, teleport, contribution, rank,
    next_contribution,
):  # fmt: skip
    """Set ``rank = damping Aᵀ contribution + jump teleport``, where A holds the weights.

    Returns (L1 change, rank of dangling vertices).
    """
    error = 0.0
    dangling = 0.0
    counter = new_counter()
    for _ in prange(WORKERS):
        e, d = _iterate_share(
            offsets, targets, weights, blocks, np.uint64(connected), out_strength, damping, jump, teleport,
            contribution, rank, next_contribution, counter,
        )  # fmt: skip
        error += e
        dangling += d
    return error, dangling
