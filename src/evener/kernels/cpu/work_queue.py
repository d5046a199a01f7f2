"""Dynamic scheduling: threads take chunks of work from a shared counter.

OpenMP splits a `prange` into equal parts before the loop starts. Where vertices are sorted by degree, the
first part can contain most of the work. A kernel with uneven work therefore runs a `prange` over `WORKERS`.
Each worker takes the next chunk by an atomic add to ``counter[0]``, until no chunk is left.
"""

from __future__ import annotations

import numpy as np

from evener.kernels.cpu.atomics import fetch_add
from evener.kernels.cpu.jit import inline_step
from evener.kernels.cpu.threads import WORKERS

__all__ = [
    "MIN_PARALLEL_EDGES",
    "WORKERS",
    "new_counter",
    "queue_chunk",
    "queue_part",
    "split_queue",
    "take_chunk",
]

# Minimum edges in a chunk.
_CHUNK_EDGES = np.uint64(1 << 10)
_ONE = np.uint64(1)
_ZERO = np.uint64(0)
# Vertices. A longer queue is never split within rows.
_SHORT_QUEUE = np.uint64(64)
# Edges in a piece of a long row.
_PIECE_EDGES = np.uint64(1 << 13)
# Edges. A step over fewer edges runs on one thread, because waking the others costs more.
MIN_PARALLEL_EDGES = np.uint64(1 << 12)


@inline_step
def new_counter():
    """Return a counter (uint64[1]) that starts at 0."""
    return np.zeros(1, np.uint64)


@inline_step
def queue_chunk(offsets, queue, queued, largest):
    """Return how many vertices of a queue to take at a time.

    The result is `largest`, or less if the first `largest` vertices have many edges.
    """
    first = min(queued, largest)
    edges = _ONE
    for i in range(first):
        u = np.uint64(queue[i])
        edges += offsets[u + _ONE] - offsets[u]
    return min(max(first * _CHUNK_EDGES // edges, _ONE), largest)


@inline_step
def split_queue(offsets, queue, queued, largest):
    """Return how to split a queue: (split rows into pieces?, number of parts, parts to take at a time).

    A part is a vertex. If the queue is short and has a long row, a part is a piece of a row.
    """
    longest = _ZERO
    parts = _ZERO
    if queued <= _SHORT_QUEUE:
        for i in range(queued):
            u = np.uint64(queue[i])
            length = offsets[u + _ONE] - offsets[u]
            longest = max(longest, length)
            parts += (length + _PIECE_EDGES - _ONE) // _PIECE_EDGES
    if longest > _PIECE_EDGES:
        return True, parts, _ONE
    return False, queued, queue_chunk(offsets, queue, queued, largest)


@inline_step
def queue_part(offsets, queue, in_pieces, part):
    """Return part number `part` of a queue: (vertex, first edge, end of the edges).

    `in_pieces` is the first result of `split_queue`.
    """
    if not in_pieces:
        u = np.uint64(queue[part])
        return u, offsets[u], offsets[u + _ONE]
    i = _ZERO
    while True:
        u = np.uint64(queue[i])
        begin, end = offsets[u], offsets[u + _ONE]
        pieces = (end - begin + _PIECE_EDGES - _ONE) // _PIECE_EDGES
        if part < pieces:
            begin += part * _PIECE_EDGES
            return u, begin, min(begin + _PIECE_EDGES, end)
        part -= pieces
        i += _ONE


@inline_step
def take_chunk(counter, size):
    """Take the next `size` items and return the first of them, which is past the end if none is left."""
    return fetch_add(counter, np.uint64(0), size)
