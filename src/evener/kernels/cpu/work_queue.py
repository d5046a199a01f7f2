"""Turns: runs of work that threads take as they come free.

OpenMP deals the iterations of a `prange` out beforehand, to each thread the same number of them in one piece,
and where vertices are sorted by degree the first piece can be most of the work. So a kernel whose runs are
far from equal makes its `prange` one of `SHARES`, and each share takes the next run by raising ``turn[0]``,
until there are none. On two threads of R-MAT 20: a bottom-up step of breadth-first search 1.8 times as fast
as on one, not 1.2; shortest paths 50 ms, not 77.
"""

from __future__ import annotations

import os

import numpy as np

from evener.kernels.cpu.atomics import fetch_add
from evener.kernels.cpu.jit import inline_step

__all__ = ["FEW_EDGES", "SHARES", "first_turn", "part_of_queue", "parts_of_queue", "run_of_queue", "take"]

# No fewer than an element has threads, nor than it has on a larger machine that is given the kernels compiled
# here. (Asking Numba for the number inside a kernel would keep it from keeping that.) Each costs about 50 ns.
SHARES = max(128, os.cpu_count() or 1)
# Edges that are worth a turn, which costs 100 ns where threads contend for it: they take some 5 us.
_ENOUGH = np.uint64(1 << 10)
_ONE = np.uint64(1)
_ZERO = np.uint64(0)
# Of a queue of no more than so many vertices, long rows are taken by pieces of so many edges, some 25 us:
# a turn costs next to nothing beside that. More vertices are work enough for all threads as they are.
_FEW = np.uint64(64)
_PIECE = np.uint64(1 << 13)
# A step over fewer edges is done by one thread: waking the others costs 3.5 us, and far more where they share
# their cores with other programs. Betweenness from all of 1000 vertices took two such threads 14.5 s, and
# 1.2 s so.
FEW_EDGES = np.uint64(1 << 12)


@inline_step
def first_turn():
    """A counter of what has been taken."""
    return np.zeros(1, np.uint64)


@inline_step
def run_of_queue(offsets, queue, queued, most):
    """How many vertices of a queue to take at a time: `most`, or fewer if the first of them are hubs.

    A queue may be no more than some hubs. A step down from seven of R-MAT 24's took one of 15 threads 7 ms.
    """
    first = min(queued, most)
    edges = _ONE
    for i in range(first):
        u = np.uint64(queue[i])
        edges += offsets[u + _ONE] - offsets[u]
    return min(max(first * _ENOUGH // edges, _ONE), most)


@inline_step
def parts_of_queue(offsets, queue, queued, most):
    """How a queue is shared out: whether by pieces of rows, how many parts it has, how many to take at once.

    Parts are vertices, unless there are few, and one with a long row among them: a step down may be from four
    hubs of a million edges each, of which one took a thread 3.5 ms. See `run_of_queue` for vertices.
    """
    longest = _ZERO
    parts = _ZERO
    if queued <= _FEW:
        for i in range(queued):
            u = np.uint64(queue[i])
            length = offsets[u + _ONE] - offsets[u]
            longest = max(longest, length)
            parts += (length + _PIECE - _ONE) // _PIECE
    if longest > _PIECE:
        return True, parts, _ONE
    return False, queued, run_of_queue(offsets, queue, queued, most)


@inline_step
def part_of_queue(offsets, queue, pieces, part):
    """A part of a queue, a vertex or one of `pieces` of rows: the vertex, and edges from where to where."""
    if not pieces:
        u = np.uint64(queue[part])
        return u, offsets[u], offsets[u + _ONE]
    i = _ZERO
    while True:
        u = np.uint64(queue[i])
        begin, end = offsets[u], offsets[u + _ONE]
        own = (end - begin + _PIECE - _ONE) // _PIECE
        if part < own:
            begin += part * _PIECE
            return u, begin, min(begin + _PIECE, end)
        part -= own
        i += _ONE


@inline_step
def take(turn, run):
    """Take the next `run` vertices, words or blocks; returns the first, past the end where none is left."""
    return fetch_add(turn, np.uint64(0), run)
