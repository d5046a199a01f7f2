"""A frontier as a queue of vertices and as a bitmap, and from one to the other.

`queue` (L,) uint32 lists ``length[0]`` vertices, `frontier` is a bitmap over L + M.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.atomics import fetch_add, fetch_or
from evener.kernels.cpu.bits import trailing_zeros
from evener.kernels.cpu.jit import inline_step, parallel
from evener.kernels.cpu.work_queue import SHARES, first_turn, take

__all__ = ["BUFFER", "append", "to_bits", "to_queue"]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_SIX = np.uint64(6)
_LOW_BITS = np.uint64(63)
# New vertices a thread collects before it takes room in the shared queue: no less than two words of them.
BUFFER = 256
# Vertices of the queue, and words of the bitmap, that a thread takes at a time.
_QUEUE_RUN = np.uint64(1 << 10)
_WORD_RUN = np.uint64(64)


@inline_step
def append(buffer, held, queue, length):
    """Move the `held` vertices a thread has collected, if any, to the shared queue."""
    if held > 0:
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
def _list_share(offsets, owned, frontier, queue, length, turn):
    buffer = np.empty(BUFFER, np.uint32)
    held = 0
    scout = _ZERO
    words = (owned + _LOW_BITS) >> _SIX
    first = take(turn, _WORD_RUN)
    while first < words:
        for w in range(first, min(first + _WORD_RUN, words)):
            word = frontier[w]
            frontier[w] = _ZERO
            if (w + _ONE) << _SIX > owned:
                word &= (_ONE << (owned & _LOW_BITS)) - _ONE
            while word != _ZERO:
                v = (w << _SIX) + trailing_zeros(word)
                word &= word - _ONE
                scout += offsets[v + _ONE] - offsets[v]
                buffer[held] = v
                held += 1
            if held > BUFFER - 64:
                append(buffer, held, queue, length)
                held = 0
        first = take(turn, _WORD_RUN)
    append(buffer, held, queue, length)
    return scout


@parallel
def to_queue(offsets, owned, frontier, queue, length):
    """Turn the owned part of the bitmap into a queue and clear it; returns the edges out of its vertices."""
    scout = _ZERO
    turn = first_turn()
    for _ in prange(SHARES):
        scout += _list_share(offsets, np.uint64(owned), frontier, queue, length, turn)
    return scout
