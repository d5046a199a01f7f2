"""Convert a frontier between a queue of vertices and a bitmap.

`queue` (L,) uint32 lists ``length[0]`` vertices; `frontier` is a bitmap of L + M bits.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.atomics import fetch_add
from evener.kernels.cpu.bits import set_bit, trailing_zeros
from evener.kernels.cpu.jit import inline_step, parallel
from evener.kernels.cpu.work_queue import WORKERS, new_counter, take_chunk

__all__ = ["BUFFER", "append", "to_bits", "to_queue"]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_SIX = np.uint64(6)
_LOW_BITS = np.uint64(63)
# Vertices a thread collects before it appends them to the shared queue; at least two words of bits.
BUFFER = 256
# Vertices of the queue, and words of the bitmap, in a chunk.
_QUEUE_CHUNK = np.uint64(1 << 10)
_WORD_CHUNK = np.uint64(64)


@inline_step
def append(buffer, held, queue, length):
    """Append the first `held` vertices of a thread's buffer to the shared queue."""
    if held > 0:
        first = fetch_add(length, _ZERO, np.uint64(held))
        for i in range(np.uint64(held)):
            queue[first + i] = buffer[i]


@inline_step
def _mark_chunk(queue, frontier, first, last):
    for i in range(first, last):
        set_bit(frontier, queue[i])


@parallel
def to_bits(queue, length, frontier):
    """Set the bit of each vertex of the queue and empty the queue. `frontier` is clear before."""
    queued = length[_ZERO]
    for r in prange(np.int64((queued + _QUEUE_CHUNK - _ONE) // _QUEUE_CHUNK)):
        first = np.uint64(r) * _QUEUE_CHUNK
        _mark_chunk(queue, frontier, first, min(first + _QUEUE_CHUNK, queued))
    length[_ZERO] = _ZERO


@inline_step
def _list_by_worker(offsets, owned, frontier, queue, length, counter):
    buffer = np.empty(BUFFER, np.uint32)
    held = 0
    frontier_edges = _ZERO
    words = (owned + _LOW_BITS) >> _SIX
    first = take_chunk(counter, _WORD_CHUNK)
    while first < words:
        for w in range(first, min(first + _WORD_CHUNK, words)):
            word = frontier[w]
            frontier[w] = _ZERO
            if (w + _ONE) << _SIX > owned:
                word &= (_ONE << (owned & _LOW_BITS)) - _ONE
            while word != _ZERO:
                v = (w << _SIX) + trailing_zeros(word)
                word &= word - _ONE
                frontier_edges += offsets[v + _ONE] - offsets[v]
                buffer[held] = v
                held += 1
            if held > BUFFER - 64:
                append(buffer, held, queue, length)
                held = 0
        first = take_chunk(counter, _WORD_CHUNK)
    append(buffer, held, queue, length)
    return frontier_edges


@parallel
def to_queue(offsets, owned, frontier, queue, length):
    """Append the owned vertices of the bitmap to the queue and clear the bitmap.

    Returns the number of out-edges of these vertices.
    """
    frontier_edges = _ZERO
    counter = new_counter()
    for _ in prange(WORKERS):
        frontier_edges += _list_by_worker(offsets, np.uint64(owned), frontier, queue, length, counter)
    return frontier_edges
