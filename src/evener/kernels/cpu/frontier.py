"""A frontier as a queue of vertices and as a bitmap, and from one to the other.

`queue` (L,) uint32 lists ``length[0]`` vertices, `frontier` is a bitmap over L + M.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.atomics import fetch_add, fetch_or
from evener.kernels.cpu.bits import trailing_zeros
from evener.kernels.cpu.jit import inline_step, parallel

__all__ = ["append", "to_bits", "to_queue"]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_SIX = np.uint64(6)
_LOW_BITS = np.uint64(63)
# Vertices of the queue, and words of the bitmap, handed to a thread at a time.
_QUEUE_RUN = np.uint64(1 << 10)
_WORD_RUN = np.uint64(64)


@inline_step
def append(buffer, held, queue, length):
    """Move the `held` vertices a thread has collected to the shared queue."""
    first = fetch_add(length, _ZERO, np.uint64(held))
    for i in range(np.uint64(held)):
        queue[first + i] = buffer[i]


@inline_step
def _mark_run(queue, frontier, first, last):
    for i in range(first, last):
        v = np.uint64(queue[i])
        fetch_or(frontier, v >> _SIX, _ONE << (v & _LOW_BITS))


@parallel
def to_bits(queue, length, frontier):
    """Turn the queue into a bitmap; `frontier` is clear."""
    queued = length[_ZERO]
    for r in prange(np.int64((queued + _QUEUE_RUN - _ONE) // _QUEUE_RUN)):
        first = np.uint64(r) * _QUEUE_RUN
        _mark_run(queue, frontier, first, min(first + _QUEUE_RUN, queued))
    length[_ZERO] = _ZERO


@inline_step
def _list_run(offsets, owned, frontier, queue, length, first, last):
    buffer = np.empty(64, np.uint32)
    scout = _ZERO
    for w in range(first, last):
        word = frontier[w]
        frontier[w] = _ZERO
        if (w + _ONE) << _SIX > owned:
            word &= (_ONE << (owned & _LOW_BITS)) - _ONE
        held = 0
        while word != _ZERO:
            v = (w << _SIX) + trailing_zeros(word)
            word &= word - _ONE
            scout += offsets[v + _ONE] - offsets[v]
            buffer[held] = v
            held += 1
        if held > 0:
            append(buffer, held, queue, length)
    return scout


@parallel
def to_queue(offsets, owned, frontier, queue, length):
    """Turn the owned part of the bitmap into a queue and clear it; returns the edges out of its vertices."""
    scout = _ZERO
    words = (np.uint64(owned) + _LOW_BITS) >> _SIX
    for r in prange(np.int64((words + _WORD_RUN - _ONE) // _WORD_RUN)):
        first = np.uint64(r) * _WORD_RUN
        last = min(first + _WORD_RUN, words)
        scout += _list_run(offsets, np.uint64(owned), frontier, queue, length, first, last)
    return scout
