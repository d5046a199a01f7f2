"""Bounds of eccentricities from up to 64 searches at once. See `evener.primitives.distance_bounds`."""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.bits import trailing_zeros
from evener.kernels.cpu.jit import inline_step, parallel, vertex_step
from evener.kernels.cpu.work_queue import WORKERS, new_counter, take_chunk
from evener.primitives.bit_search_cpu import bit_of

__all__ = ["begin_bounds", "bound_by_neighbours", "settle_sources", "tighten", "write_last"]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_SIX = np.uint64(6)
_CHUNK = np.uint64(256)


@parallel
def begin_bounds(offsets, highest, lower, upper):
    """Write the bounds 0 and `highest`, or 0 and 0 for owned vertices without edges. Clear mirrors too."""
    owned = np.uint64(len(lower))
    for v in prange(len(upper)):
        upper[v] = highest
        if np.uint64(v) < owned:
            lower[v] = 0
            if offsets[v + 1] == offsets[v]:
                upper[v] = 0


@parallel
def write_last(distance, changed, reached, last):
    """Write the distance for each search that reached an owned vertex. `last` (64,) uint32."""
    owned_words = len(changed)
    for w in prange(owned_words):
        word, searches = changed[w], _ZERO
        while word != _ZERO:
            searches |= reached[(np.uint64(w) << _SIX) + trailing_zeros(word)]
            word &= word - _ONE
        while searches != _ZERO:
            last[trailing_zeros(searches)] = distance
            searches &= searches - _ONE


@inline_step
def _tighten_vertex(v, distance, searches, symmetric, eccentricity, lower, upper):
    low, high = max(lower[v], np.uint32(distance)), upper[v]
    while searches != _ZERO:
        of_source = eccentricity[trailing_zeros(searches)]
        searches &= searches - _ONE
        high = min(high, np.uint32(of_source + np.uint32(distance)))
        if symmetric and of_source > np.uint32(distance):
            low = max(low, np.uint32(of_source - np.uint32(distance)))
    lower[v], upper[v] = low, high


@parallel
def tighten(distance, symmetric, changed, reached, together, eccentricity, lower, upper):
    """Tighten the bounds of each changed owned vertex, whose distance to sources of `reached` is known.

    `together` has the sources that reach the vertex too. `symmetric` is 1 if distances are the same in both
    directions. `eccentricity` (64,) uint32 is that of the sources.
    """
    for w in prange(len(changed)):
        word = changed[w]
        while word != _ZERO:
            v = (np.uint64(w) << _SIX) + trailing_zeros(word)
            word &= word - _ONE
            if v < np.uint64(len(lower)):
                searches = reached[v] & together[v]
                _tighten_vertex(v, distance, searches, symmetric, eccentricity, lower, upper)


@parallel
def settle_sources(vertices, sources, eccentricity, lower, upper):
    """Write the eccentricities of the owned sources. `sources` are ascending numbers."""
    for v in prange(len(lower)):
        bit = bit_of(vertices[v], sources)
        if bit != _ZERO:
            lower[v] = upper[v] = eccentricity[trailing_zeros(bit)]


@vertex_step
def _bound_of(offsets, targets, v, upper):
    """Return one more than the largest upper bound of an out-neighbour, if it is below that of the vertex."""
    bound = np.uint32(0)
    for e in range(offsets[v], offsets[v + _ONE]):
        u = np.uint64(targets[e])
        if u != v:
            bound = max(bound, np.uint32(upper[u] + np.uint32(1)))
            if bound >= upper[v]:
                break
    return bound


@inline_step
def _bound_by_worker(offsets, targets, lower, upper, counter):
    owned, count = np.uint64(len(lower)), _ZERO
    first = take_chunk(counter, _CHUNK)
    while first < owned:
        for v in range(first, min(first + _CHUNK, owned)):
            if lower[v] < upper[v]:
                bound = _bound_of(offsets, targets, v, upper)
                if bound < upper[v]:
                    upper[v] = bound
                    count += _ONE
        first = take_chunk(counter, _CHUNK)
    return count


@parallel
def bound_by_neighbours(offsets, targets, lower, upper):
    """Lower the upper bounds to one more than those of all out-neighbours. Return how many fell."""
    counter = new_counter()
    count = _ZERO
    for _ in prange(WORKERS):
        count += _bound_by_worker(offsets, targets, lower, upper, counter)
    return count
