"""Rates of the CPU's memory and caches with all threads, measured in the same run as the algorithms.

Each rate is the mean of some passes that do nothing else: over the targets of a graph in the order of the
edges, with a value of each, or over random edges.
"""

from __future__ import annotations

import time

import numpy as np
from numba import get_num_threads, njit, prange

from evener.kernels.cpu.atomics import fetch_add

# Least seconds of the passes of a rate.
_LEAST_SECONDS = 0.1
# Random edges of a pass, and bits of a table that fits the first cache.
_RANDOM_EDGES = 1 << 22
_TABLE_BITS = np.uint64(0xFFFF)
_ONE = np.uint32(1)
# 2^64 over the golden ratio: Fibonacci hashing.
_FACTOR, _HALF = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)


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
def _look_up(targets, table, pieces):
    """Count the targets whose bits are in a table."""
    total = np.uint64(0)
    size = (np.uint64(len(targets)) + np.uint64(pieces) - np.uint64(1)) // np.uint64(pieces)
    for p in prange(pieces):
        first = np.uint64(p) * size
        count = np.uint64(0)
        for e in range(first, min(first + size, np.uint64(len(targets)))):
            bit = np.uint64(targets[e]) & _TABLE_BITS
            count += (table[bit >> np.uint64(6)] >> (bit & np.uint64(63))) & np.uint64(1)
        total += count
    return total


@njit(parallel=True, nogil=True)
def _add(targets, values, pieces):
    size = (np.uint64(len(targets)) + np.uint64(pieces) - np.uint64(1)) // np.uint64(pieces)
    for p in prange(pieces):
        first = np.uint64(p) * size
        for e in range(first, min(first + size, np.uint64(len(targets)))):
            fetch_add(values, targets[e], _ONE)


@njit(parallel=True, nogil=True)
def _jump(offsets, targets, jumps):
    total = np.uint64(0)
    for i in prange(jumps):
        place = ((np.uint64(i) * _FACTOR) >> _HALF) * np.uint64(len(targets)) >> _HALF
        total += offsets[targets[place]]
    return total


def gather_seconds(targets, values):
    """Return the seconds to read all targets and gather their values."""
    return mean_seconds(lambda: _gather(targets, values, 8 * get_num_threads()))


def lookup_seconds(targets):
    """Return the seconds to look up all targets in a table of bits that fits the first cache."""
    table = np.ones((int(_TABLE_BITS) + 1) // 64, np.uint64)
    return mean_seconds(lambda: _look_up(targets, table, 8 * get_num_threads()))


def add_seconds(targets, values):
    """Return the seconds to read all targets and add 1 to the value of each, which no addition may miss."""
    return mean_seconds(lambda: _add(targets, values, 8 * get_num_threads()))


def random_edges_per_second(offsets, targets):
    """Return edges/s at random places: the target of each, and then the offset of this target."""
    return _RANDOM_EDGES / mean_seconds(lambda: _jump(offsets, targets, _RANDOM_EDGES))


def mean_seconds(call):
    """Return the mean of enough runs that other processes slow them as they slow a long run."""
    call()  # may compile
    count, begin = 0, time.perf_counter()
    while (spent := time.perf_counter() - begin) < _LEAST_SECONDS:
        call()
        count += 1
    return spent / count
