"""Pseudo-random permutation of ``0..n-1`` in parallel: a Feistel network with cycle walking.

The network permutes the numbers of ``2 * half`` bits. A number of `n` or more is permuted again until the
result is below `n` (Black and Rogaway, CT-RSA 2002). The round function is `mix`.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.chunks import CHUNK, chunk_count
from evener.kernels.cpu.jit import inline_step, parallel
from evener.kernels.cpu.mixing import mix

__all__ = ["ROUNDS", "shuffle", "shuffled_places"]

ROUNDS = 4
_ONE = np.uint64(1)


@inline_step
def _half_bits(n):
    half = _ONE
    while (_ONE << (half + half)) < n:
        half += _ONE
    return half


@inline_step
def _permute(place, half, low, keys):
    left, right = place >> half, place & low
    for key in keys:
        left, right = right, left ^ (mix(right + key) & low)
    return (left << half) | right


@inline_step
def _shuffle_chunk(values, keys, half, first, last, shuffled):
    low = (_ONE << half) - _ONE
    n = np.uint64(len(values))
    for i in range(first, last):
        place = _permute(i, half, low, keys)
        while place >= n:
            place = _permute(place, half, low, keys)
        shuffled[i] = place
    # A loop of its own, so that distant reads overlap.
    for i in range(first, last):
        shuffled[i] = values[shuffled[i]]


@parallel
def shuffle(values, keys, shuffled):
    """Write `values` to `shuffled` in an order that depends only on their number and on `keys` (uint64)."""
    n = np.uint64(len(values))
    half = _half_bits(n)
    for r in prange(chunk_count(n, CHUNK)):
        first = np.uint64(r) * CHUNK
        _shuffle_chunk(values, keys, half, first, min(first + CHUNK, n), shuffled)


@inline_step
def _unpermute(place, half, low, keys):
    left, right = place >> half, place & low
    for i in range(len(keys)):
        left, right = right ^ (mix(left + keys[len(keys) - 1 - i]) & low), left
    return (left << half) | right


@inline_step
def _place_chunk(positions, n, keys, half, first, last, places):
    low = (_ONE << half) - _ONE
    for i in range(first, last):
        place = _unpermute(np.uint64(positions[i]), half, low, keys)
        while place >= n:
            place = _unpermute(place, half, low, keys)
        places[i] = place


@parallel
def shuffled_places(positions, n, keys, places):
    """Write the place of ``values[positions[i]]`` after `shuffle` of `n` values to ``places[i]``."""
    half = _half_bits(np.uint64(n))
    count = np.uint64(len(positions))
    for r in prange(chunk_count(count, CHUNK)):
        first = np.uint64(r) * CHUNK
        _place_chunk(positions, np.uint64(n), keys, half, first, min(first + CHUNK, count), places)
