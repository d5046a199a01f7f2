"""PageRank: one iteration, in which every vertex pulls the contributions of its in-neighbours.

`contribution` (L + M,) holds ``rank / out-degree`` of each vertex and mirror, in the dtype of the ranks.
`teleport` (L,) is the probability that a jump ends at each vertex; it has shape (1,) if all are equal. Sums
are float64. If vertices without edges have equal ranks, their rows begin at `connected`, and iterations skip
them.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.jit import inline_step, parallel
from evener.kernels.cpu.work_queue import WORKERS, new_counter, take_chunk

__all__ = ["begin", "begin_chunk", "finish_row", "iterate", "rank_others"]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)


@inline_step
def begin_chunk(out_degree, start, rank, contribution, first, last):
    """Set the first rank of vertices ``first:last``; return the rank of dangling vertices."""
    dangling = 0.0
    each = np.uint64(len(start)) > _ONE
    for v in range(np.uint64(first), np.uint64(last)):
        r = start[v] if each else start[_ZERO]
        rank[v] = r
        if out_degree[v] == np.uint32(0):
            dangling += r
            contribution[v] = 0
        else:
            contribution[v] = rank[v] / out_degree[v]
    return dangling


@parallel
def begin(out_degree, blocks, start, rank, contribution):
    """Set the first rank of each vertex to ``start[v]`` or ``start[0]``; return the dangling rank."""
    dangling = 0.0
    for b in prange(len(blocks) - 1):
        dangling += begin_chunk(out_degree, start, rank, contribution, blocks[b], blocks[b + 1])
    return dangling


@inline_step
def finish_row(v, pulled, out_degree, damping, jump, teleport, rank, next_contribution):
    """Set the rank of a vertex; return its change, and the rank itself if the vertex is dangling."""
    each = np.uint64(len(teleport)) > _ONE
    chance = teleport[v] if each else teleport[_ZERO]
    r = damping * pulled + jump * chance
    error = abs(r - rank[v])
    rank[v] = r
    if out_degree[v] == np.uint32(0):
        next_contribution[v] = 0
        return error, r
    next_contribution[v] = rank[v] / out_degree[v]  # of the stored rank: `begin` gives the same
    return error, 0.0


@inline_step
def _iterate_share(
    offsets, targets, blocks, connected, out_degree, damping, jump, teleport, contribution, rank,
    next_contribution, counter,
):  # fmt: skip
    error = 0.0
    dangling = 0.0
    b = take_chunk(counter, _ONE)
    while b + _ONE < np.uint64(len(blocks)):
        for v in range(np.uint64(blocks[b]), min(np.uint64(blocks[b + _ONE]), connected)):
            pulled = 0.0
            for e in range(offsets[v], offsets[v + _ONE]):
                pulled += contribution[targets[e]]
            change, own = finish_row(v, pulled, out_degree, damping, jump, teleport, rank, next_contribution)
            error += change
            dangling += own
        b = take_chunk(counter, _ONE)
    return error, dangling


@parallel
def iterate(
    offsets, targets, blocks, connected, out_degree, damping, jump, teleport, contribution, rank,
    next_contribution,
):  # fmt: skip
    """Set ``rank = damping Aᵀ contribution + jump teleport``, over in-edges.

    `jump` is the rank that `teleport` distributes: the part that damping takes, and the rank of dangling
    vertices. Returns (L1 change, rank of dangling vertices).
    """
    error = 0.0
    dangling = 0.0
    counter = new_counter()
    for _ in prange(WORKERS):
        e, d = _iterate_share(
            offsets, targets, blocks, np.uint64(connected), out_degree, damping, jump, teleport,
            contribution, rank, next_contribution, counter,
        )  # fmt: skip
        error += e
        dangling += d
    return error, dangling


@parallel
def rank_others(connected, value, rank):
    """Set ``rank[connected:] = value``."""
    for v in prange(np.int64(connected), len(rank)):
        rank[v] = value
