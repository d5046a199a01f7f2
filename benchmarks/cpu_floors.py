"""Rates of the CPU's memory and caches with all threads, measured in the same run as the algorithms.

Each rate is the best of some passes that do nothing else: sums of bytes in a cache, of values of the
targets of a graph in the order of the edges, and of values at random edges.
"""

from __future__ import annotations

import time

import numpy as np
from numba import get_num_threads, njit, prange

# Bytes for each thread that fit its second cache.
_CACHED_BYTES = 1 << 18
_TURNS = 1 << 10
_RANDOM_EDGES = 1 << 22
# 2^64 over the golden ratio: Fibonacci hashing.
_FACTOR, _HALF = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)


@njit(parallel=True, nogil=True)
def _read_again(words, turns):
    found = np.uint64(0)
    for p in prange(len(words)):
        for turn in range(turns):
            total = np.uint64(turn)
            for i in range(words.shape[1]):
                total += words[p, i]
            found += total
    return found


@njit(parallel=True, nogil=True, fastmath=True)
def _gather(targets, values, pieces):
    total = values[0] - values[0]
    size = (np.uint64(len(targets)) + np.uint64(pieces) - np.uint64(1)) // np.uint64(pieces)
    for p in prange(pieces):
        first = np.uint64(p) * size
        for e in range(first, min(first + size, np.uint64(len(targets)))):
            total += values[targets[e]]
    return total


@njit(parallel=True, nogil=True)
def _jump(offsets, targets, jumps):
    total = np.uint64(0)
    for i in prange(jumps):
        place = ((np.uint64(i) * _FACTOR) >> _HALF) * np.uint64(len(targets)) >> _HALF
        total += offsets[targets[place]]
    return total


def cached_bytes_per_second():
    """Return bytes/s that all threads together read from their second caches."""
    words = np.ones((get_num_threads(), _CACHED_BYTES // 8), np.uint64)
    return words.nbytes * _TURNS / best_seconds(lambda: _read_again(words, _TURNS))


def gather_seconds(targets, values):
    """Return the seconds to read all targets and gather their values."""
    return best_seconds(lambda: _gather(targets, values, 8 * get_num_threads()))


def random_edges_per_second(offsets, targets):
    """Return edges/s at random places: the target of each, and then the offset of this target."""
    return _RANDOM_EDGES / best_seconds(lambda: _jump(offsets, targets, _RANDOM_EDGES))


def best_seconds(call, repeats=9):
    """Return the least time of some runs, after a run that compiles."""
    times = []
    for _ in range(repeats + 1):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times[1:])
