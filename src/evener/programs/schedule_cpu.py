"""Which vertices a vertex program works on: the active vertices, and the vertices that hear of them."""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.bits import is_set, set_bit
from evener.kernels.cpu.jit import inline_step, parallel
from evener.kernels.cpu.work_queue import WORKERS, new_counter, take_chunk

__all__ = ["schedule"]

_ONE = np.uint64(1)


@inline_step
def _add(words, i):
    if not is_set(words, i):
        set_bit(words, i)


@inline_step
def _schedule_share(offsets, targets, blocks, active, scheduled, counter):
    b = take_chunk(counter, _ONE)
    while b + _ONE < np.uint64(len(blocks)):
        for v in range(np.uint64(blocks[b]), np.uint64(blocks[b + _ONE])):
            if is_set(active, v):
                _add(scheduled, v)
                for e in range(offsets[v], offsets[v + _ONE]):
                    _add(scheduled, targets[e])
        b = take_chunk(counter, _ONE)


@parallel
def schedule(offsets, targets, blocks, active, scheduled):
    """Set the bits of the owned vertices in `active` and of their neighbours in `scheduled`."""
    counter = new_counter()
    for _ in prange(WORKERS):
        _schedule_share(offsets, targets, blocks, active, scheduled, counter)
