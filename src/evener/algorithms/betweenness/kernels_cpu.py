"""Betweenness: counting shortest paths away from a source, and adding up dependencies back towards it.

`value` (L + M,) float64 is the number of shortest paths to a reached vertex and, once that is settled,
``(1 + dependency) / paths``; `arriving` (L + M,) float64 gathers what a level receives and is zero between
levels; `centrality` (L,) float64. `visited`, `frontier`, `arrived` are bitmaps over L + M. `order` (L,)
uint32 lists the reached vertices level by level: level ``i`` is ``order[bounds[i]:bounds[i + 1]]``. No
`value` is read but under a flag, so between sources only the bitmaps are cleared.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.atomics import fetch_add, fetch_and, fetch_or
from evener.kernels.cpu.bits import range_mask, trailing_zeros
from evener.kernels.cpu.chunks import runs
from evener.kernels.cpu.jit import inline_step, parallel, serial
from evener.kernels.cpu.work_queue import FEW_EDGES, run_of_queue

__all__ = [
    "LEAST",
    "arrive",
    "begin",
    "discard",
    "gather",
    "mark",
    "scatter",
    "scatter_run",
    "settle",
    "settle_run",
    "step_down",
    "step_up",
    "tell",
]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_SIX = np.uint64(6)
_LOW_BITS = np.uint64(63)
_NOBODY = np.uint32(0xFFFFFFFF)
# Vertices of a level handed to a thread at a time, at most: few, for the first of a level may be hubs.
_QUEUE_RUN = np.uint64(16)
# Vertices handed to a thread at a time where each costs alike.
_SETTLE_RUN = np.uint64(1 << 11)
# Words of 64 vertices handed to a thread at a time.
_WORD_RUN = np.uint64(64)
# A count below this has lost its bits, or its inverse is near the end of float64's range.
LEAST = 2.0**-960


@serial
def begin(offsets, in_offsets, source, value, visited, frontier, order, bounds):
    """Start at `source`, `NOBODY` where another partition owns it. Returns its (out-edges, in-edges)."""
    for w in range(np.uint64(len(visited))):
        visited[w] = _ZERO
        frontier[w] = _ZERO
    bounds[_ZERO] = _ZERO
    bounds[_ONE] = _ZERO
    if source == _NOBODY:
        return _ZERO, _ZERO
    s = np.uint64(source)
    value[s] = 1.0
    visited[s >> _SIX] = _ONE << (s & _LOW_BITS)
    frontier[s >> _SIX] = _ONE << (s & _LOW_BITS)
    order[_ZERO] = source
    bounds[_ONE] = _ONE
    return offsets[s + _ONE] - offsets[s], in_offsets[s + _ONE] - in_offsets[s]


# ---- forward: how many shortest paths -----------------------------------------------------------


@inline_step
def _down_run(offsets, targets, order, value, visited, arriving, arrived, first, last):
    for i in range(first, last):
        u = np.uint64(order[i])
        for e in range(offsets[u], offsets[u + _ONE]):
            v = np.uint64(targets[e])
            bit = _ONE << (v & _LOW_BITS)
            if visited[v >> _SIX] & bit:
                continue
            if fetch_add(arriving, v, value[u]) == 0.0:
                fetch_or(arrived, v >> _SIX, bit)


@parallel
def step_down(offsets, targets, order, bounds, level, edges, value, visited, arriving, arrived):
    """Let each vertex of the level, with `edges` in all, add its paths to neighbours not yet visited."""
    begin = bounds[np.uint64(level)]
    end = bounds[np.uint64(level) + _ONE]
    if np.uint64(edges) < FEW_EDGES:
        _down_run(offsets, targets, order, value, visited, arriving, arrived, begin, end)
        return
    run = run_of_queue(offsets, order[begin:], end - begin, _QUEUE_RUN)
    for r in prange(runs(end - begin, run)):
        first = begin + np.uint64(r) * run
        last = min(first + run, end)
        _down_run(offsets, targets, order, value, visited, arriving, arrived, first, last)


@serial
def tell(owned, arrived, visited):
    """Count the mirrors that a step reached as visited: they lie in the next level at the latest."""
    begin = np.uint64(owned)
    end = np.uint64(len(arrived)) << _SIX
    for w in range(begin >> _SIX, np.uint64(len(arrived))):
        visited[w] |= arrived[w] & range_mask(w, begin, end)


@inline_step
def _sum_of_frontier(offsets, targets, v, value, frontier):
    total = 0.0
    for e in range(offsets[v], offsets[v + _ONE]):
        u = np.uint64(targets[e])
        if frontier[u >> _SIX] & (_ONE << (u & _LOW_BITS)):
            total += value[u]
    return total


@inline_step
def _up_run(offsets, targets, value, visited, frontier, arriving, arrived, first, last):
    for w in range(first >> _SIX, (last + _LOW_BITS) >> _SIX):
        unvisited = ~visited[w] & range_mask(w, first, last)
        found = _ZERO
        while unvisited != _ZERO:
            bit = unvisited & (~unvisited + _ONE)
            v = (w << _SIX) + trailing_zeros(unvisited)
            unvisited ^= bit
            total = _sum_of_frontier(offsets, targets, v, value, frontier)
            if total > 0.0:
                arriving[v] = total
                found |= bit
        if found != _ZERO:
            fetch_or(arrived, w, found)


@parallel
def step_up(offsets, targets, blocks, rows, value, visited, frontier, arriving, arrived):
    """Let each unvisited vertex add up the paths of its neighbours in the frontier.

    `offsets` and `targets` are in-edges, of which rows from `rows` on have none.
    """
    if len(blocks) == 2:
        _up_run(offsets, targets, value, visited, frontier, arriving, arrived, _ZERO, np.uint64(rows))
        return
    for b in prange(len(blocks) - 1):
        first = min(np.uint64(blocks[b]), np.uint64(rows))
        last = min(np.uint64(blocks[b + 1]), np.uint64(rows))
        _up_run(offsets, targets, value, visited, frontier, arriving, arrived, first, last)


@inline_step
def _arrive_run(
    offsets, in_offsets, owned, level, scale, arriving, arrived, visited, frontier, value, order, bounds,
    first, last,
):  # fmt: skip
    buffer = np.empty(64, np.uint32)
    awake = _ZERO
    out_edges = _ZERO
    in_edges = _ZERO
    total = 0.0
    for w in range(first, last):
        frontier[w] = _ZERO
        word = arrived[w]
        if word == _ZERO:
            continue
        if (w + _ONE) << _SIX > owned:
            word &= (_ONE << (owned & _LOW_BITS)) - _ONE  # the tail of this word belongs to mirrors
        late = word & visited[w]
        word ^= late
        arrived[w] = word
        visited[w] |= word
        while late != _ZERO:
            arriving[(w << _SIX) + trailing_zeros(late)] = 0.0
            late &= late - _ONE
        held = 0
        while word != _ZERO:
            v = (w << _SIX) + trailing_zeros(word)
            word &= word - _ONE
            count = arriving[v] * scale
            arriving[v] = 0.0
            value[v] = count
            total += count if count >= LEAST else np.inf
            out_edges += offsets[v + _ONE] - offsets[v]
            in_edges += in_offsets[v + _ONE] - in_offsets[v]
            buffer[held] = v
            held += 1
        if held > 0:
            start = fetch_add(bounds, level + _ONE, np.uint64(held))
            for i in range(np.uint64(held)):
                order[start + i] = buffer[i]
            awake += np.uint64(held)
    return awake, out_edges, in_edges, total


@parallel
def arrive(
    offsets, in_offsets, owned, level, scale, arriving, arrived, visited, frontier, value, order, bounds
):
    """Make level `level` of those reached for the first time; their paths are what arrived, times `scale`.

    `arrived` then flags that level, and `frontier` nothing. Returns (awake, out-edges, in-edges, paths) of
    it; paths are infinite where a count has left the range of float64.
    """
    bounds[np.uint64(level) + _ONE] = bounds[np.uint64(level)]
    awake = _ZERO
    out_edges = _ZERO
    in_edges = _ZERO
    total = 0.0
    words = (np.uint64(owned) + _LOW_BITS) >> _SIX
    for w in range(words, np.uint64(len(frontier))):
        frontier[w] = _ZERO
    if words <= _WORD_RUN:
        return _arrive_run(
            offsets, in_offsets, np.uint64(owned), np.uint64(level), scale, arriving, arrived, visited,
            frontier, value, order, bounds, _ZERO, words,
        )  # fmt: skip
    for r in prange(runs(words, _WORD_RUN)):
        first = np.uint64(r) * _WORD_RUN
        a, o, i, t = _arrive_run(
            offsets, in_offsets, np.uint64(owned), np.uint64(level), scale, arriving, arrived, visited,
            frontier, value, order, bounds, first, min(first + _WORD_RUN, words),
        )  # fmt: skip
        awake += a
        out_edges += o
        in_edges += i
        total += t
    return awake, out_edges, in_edges, total


# ---- backward: dependencies ---------------------------------------------------------------------


@inline_step
def scatter_run(offsets, targets, owned, order, value, visited, arriving, arrived, first, last):
    """As `scatter`, from the vertices at these places of the order."""
    for i in range(first, last):
        v = np.uint64(order[i])
        for e in range(offsets[v], offsets[v + _ONE]):
            u = np.uint64(targets[e])
            bit = _ONE << (u & _LOW_BITS)
            if u >= owned:
                if fetch_add(arriving, u, value[v]) == 0.0:
                    fetch_or(arrived, u >> _SIX, bit)
            elif visited[u >> _SIX] & bit:
                fetch_add(arriving, u, value[v])


@parallel
def scatter(offsets, targets, owned, order, bounds, level, edges, value, visited, arriving, arrived):
    """Let each vertex of the level add its value to its in-neighbours one level nearer.

    `visited` holds the nearer levels alone, of owned vertices. Mirrors all receive, their owners know which
    should, and are flagged in `arrived`.
    """
    begin = bounds[np.uint64(level)]
    end = bounds[np.uint64(level) + _ONE]
    if np.uint64(edges) < FEW_EDGES:
        scatter_run(offsets, targets, np.uint64(owned), order, value, visited, arriving, arrived, begin, end)
        return
    run = run_of_queue(offsets, order[begin:], end - begin, _QUEUE_RUN)
    for r in prange(runs(end - begin, run)):
        first = begin + np.uint64(r) * run
        last = min(first + run, end)
        scatter_run(offsets, targets, np.uint64(owned), order, value, visited, arriving, arrived, first, last)


@serial
def discard(owned, visited, arrived, arriving):
    """Drop what other partitions sent to vertices that are no nearer; clears `arrived`."""
    for w in range((np.uint64(owned) + _LOW_BITS) >> _SIX):
        word = arrived[w] & ~visited[w]
        arrived[w] = _ZERO
        while word != _ZERO:
            arriving[(w << _SIX) + trailing_zeros(word)] = 0.0
            word &= word - _ONE


@inline_step
def _mark_run(order, frontier, first, last):
    if first == last:
        return
    word = np.uint64(order[first]) >> _SIX
    bits = _ZERO
    for i in range(first, last):
        v = np.uint64(order[i])
        if v >> _SIX != word:
            fetch_or(frontier, word, bits)
            word = v >> _SIX
            bits = _ZERO
        bits |= _ONE << (v & _LOW_BITS)
    fetch_or(frontier, word, bits)


@parallel
def mark(order, bounds, level, frontier):
    """Flag the level's vertices in `frontier`, and nothing else."""
    for w in range(np.uint64(len(frontier))):
        frontier[w] = _ZERO
    begin = bounds[np.uint64(level)]
    end = bounds[np.uint64(level) + _ONE]
    if end - begin <= _SETTLE_RUN:
        _mark_run(order, frontier, begin, end)
        return
    for r in prange(runs(end - begin, _SETTLE_RUN)):
        first = begin + np.uint64(r) * _SETTLE_RUN
        _mark_run(order, frontier, first, min(first + _SETTLE_RUN, end))


@inline_step
def _gather_run(offsets, targets, order, value, frontier, arriving, first, last):
    for i in range(first, last):
        v = np.uint64(order[i])
        arriving[v] = _sum_of_frontier(offsets, targets, v, value, frontier)


@parallel
def gather(offsets, targets, order, bounds, level, edges, value, frontier, arriving):
    """Let each vertex of the level add up the values of its out-neighbours in the frontier."""
    begin = bounds[np.uint64(level)]
    end = bounds[np.uint64(level) + _ONE]
    if np.uint64(edges) < FEW_EDGES:
        _gather_run(offsets, targets, order, value, frontier, arriving, begin, end)
        return
    run = run_of_queue(offsets, order[begin:], end - begin, _QUEUE_RUN)
    for r in prange(runs(end - begin, run)):
        first = begin + np.uint64(r) * run
        last = min(first + run, end)
        _gather_run(offsets, targets, order, value, frontier, arriving, first, last)


@inline_step
def settle_run(order, scale, counted, arriving, visited, value, centrality, first, last):
    """As `settle`, the vertices at these places of the order."""
    if first == last:
        return
    word = np.uint64(order[first]) >> _SIX
    bits = _ZERO
    for i in range(first, last):
        v = np.uint64(order[i])
        paths = value[v]
        dependency = paths * (arriving[v] * scale)
        centrality[v] += dependency * counted
        value[v] = (1.0 + dependency) / paths
        arriving[v] = 0.0
        if v >> _SIX != word:
            fetch_and(visited, word, ~bits)
            word = v >> _SIX
            bits = _ZERO
        bits |= _ONE << (v & _LOW_BITS)
    fetch_and(visited, word, ~bits)


@parallel
def settle(order, bounds, level, scale, counted, arriving, visited, value, centrality):
    """Turn what arrived at the level's vertices into their dependency, and take them out of `visited`.

    `scale` is what the paths of the next farther level were scaled by; `counted` is 0 for the source, whose
    own dependency is not part of its centrality, and 1 for the others. Returns how many were settled.
    """
    begin = bounds[np.uint64(level)]
    end = bounds[np.uint64(level) + _ONE]
    if end - begin <= _SETTLE_RUN:
        settle_run(order, scale, counted, arriving, visited, value, centrality, begin, end)
        return end - begin
    for r in prange(runs(end - begin, _SETTLE_RUN)):
        first = begin + np.uint64(r) * _SETTLE_RUN
        settle_run(
            order, scale, counted, arriving, visited, value, centrality, first,
            min(first + _SETTLE_RUN, end),
        )  # fmt: skip
    return end - begin
