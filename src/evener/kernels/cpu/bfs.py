"""Breadth-first search: steps down from a queue of vertices, a step up from a bitmap, and between them.

`distance` (L,) int32 holds -1 where unreached. `parent` (L,) uint32 is the local number of a neighbour one
level nearer; `NOBODY` where there is none, `ADOPTED` where another partition owns it, and then `adopted` (L,)
uint32 is its number in the graph. `visited`, `frontier`, `arrived` are bitmaps over L + M, and `offered`
(L + M,) uint32 is the graph's number of a parent for each vertex flagged in `arrived`. `queue` (L,) uint32
lists ``length[0]`` vertices, and a kernel that consumes it leaves its length 0. Votes: `awake`, the vertices
that a step reached, and `scout`, the edges that lead out of them.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.atomics import fetch_or
from evener.kernels.cpu.bits import trailing_zeros
from evener.kernels.cpu.frontier import append
from evener.kernels.cpu.jit import inline_step, parallel, serial

__all__ = [
    "arrive",
    "begin",
    "bottom_up_step",
    "edges_reached",
    "flood_step",
    "name_parents",
    "settle",
    "top_down_step",
]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_SIX = np.uint64(6)
_LOW_BITS = np.uint64(63)
_NOBODY = np.uint32(0xFFFFFFFF)
_ADOPTED = np.uint32(0xFFFFFFFE)
# Vertices of the queue handed to a thread at a time.
_QUEUE_RUN = np.uint64(64)
# New vertices a thread collects before it takes room in the shared queue.
_BUFFER = 256
# Words of 64 vertices handed to a thread at a time.
_WORD_RUN = np.uint64(64)
# Vertices looked through by a thread at a time.
_VERTEX_RUN = np.uint64(1 << 13)


@serial
def begin(offsets, source, distance, parent, visited, queue, length):
    """Start at `source`, `NOBODY` where another partition owns it. Returns (awake, scout)."""
    if source == _NOBODY:
        return _ZERO, _ZERO
    s = np.uint64(source)
    distance[s] = 0
    parent[s] = source
    visited[s >> _SIX] |= _ONE << (s & _LOW_BITS)
    queue[_ZERO] = source
    length[_ZERO] = _ONE
    return _ONE, offsets[s + _ONE] - offsets[s]


@inline_step
def _down_run(
    offsets, targets, vertices, owned, queue, first, last, level, distance, parent, visited, arrived,
    offered, next_queue, next_length,
):  # fmt: skip
    buffer = np.empty(_BUFFER, np.uint32)
    held = 0
    awake = _ZERO
    scout = _ZERO
    for i in range(first, last):
        u = queue[i]
        for e in range(offsets[u], offsets[np.uint64(u) + _ONE]):
            v = np.uint64(targets[e])
            bit = _ONE << (v & _LOW_BITS)
            if visited[v >> _SIX] & bit:
                continue
            if fetch_or(visited, v >> _SIX, bit) & bit:
                continue
            if v >= owned:
                offered[v] = vertices[u]
                fetch_or(arrived, v >> _SIX, bit)
                continue
            parent[v] = u
            distance[v] = level
            awake += _ONE
            scout += offsets[v + _ONE] - offsets[v]
            buffer[held] = v
            held += 1
            if held == _BUFFER:
                append(buffer, held, next_queue, next_length)
                held = 0
    if held > 0:
        append(buffer, held, next_queue, next_length)
    return awake, scout


@parallel
def top_down_step(
    offsets, targets, vertices, owned, queue, length, level, distance, parent, visited, arrived, offered,
    next_queue, next_length,
):  # fmt: skip
    """Visit the neighbours of the queued vertices; `visited` sees to it that each is reached once.

    New owned vertices go to `next_queue`, new mirrors are flagged in `arrived`. Returns (awake, scout).
    """
    awake = _ZERO
    scout = _ZERO
    queued = length[_ZERO]
    for r in prange(np.int64((queued + _QUEUE_RUN - _ONE) // _QUEUE_RUN)):
        first = np.uint64(r) * _QUEUE_RUN
        a, s = _down_run(
            offsets, targets, vertices, np.uint64(owned), queue, first, min(first + _QUEUE_RUN, queued),
            np.int32(level), distance, parent, visited, arrived, offered, next_queue, next_length,
        )  # fmt: skip
        awake += a
        scout += s
    length[_ZERO] = _ZERO
    return awake, scout


@inline_step
def _flood_run(offsets, targets, vertices, owned, queue, first, last, parent, visited, offered):
    for i in range(first, last):
        u = queue[i]
        for e in range(offsets[u], offsets[np.uint64(u) + _ONE]):
            v = np.uint64(targets[e])
            bit = _ONE << (v & _LOW_BITS)
            if visited[v >> _SIX] & bit:
                continue
            if fetch_or(visited, v >> _SIX, bit) & bit:
                continue
            if v >= owned:
                offered[v] = vertices[u]
            else:
                parent[v] = u


@parallel
def flood_step(offsets, targets, vertices, owned, queue, length, parent, visited, offered):
    """As `top_down_step` for a broad frontier: only marks and parents are written, `settle` does the rest.

    Every write here goes to a random place, so each one that can wait until its place comes by does.
    """
    queued = length[_ZERO]
    for r in prange(np.int64((queued + _QUEUE_RUN - _ONE) // _QUEUE_RUN)):
        first = np.uint64(r) * _QUEUE_RUN
        _flood_run(
            offsets, targets, vertices, np.uint64(owned), queue, first, min(first + _QUEUE_RUN, queued),
            parent, visited, offered,
        )  # fmt: skip
    length[_ZERO] = _ZERO


@inline_step
def _settle_run(
    offsets, owned, before, visited, level, distance, arrived, next_queue, next_length, first, last
):
    buffer = np.empty(64, np.uint32)
    awake = _ZERO
    scout = _ZERO
    for w in range(first, last):
        new = visited[w] & ~before[w]
        mine = new
        if (w + _ONE) << _SIX > owned:
            mine &= (_ONE << (owned & _LOW_BITS)) - _ONE if w << _SIX < owned else _ZERO
            arrived[w] = new & ~mine
        held = 0
        while mine != _ZERO:
            v = (w << _SIX) + trailing_zeros(mine)
            mine &= mine - _ONE
            distance[v] = level
            scout += offsets[v + _ONE] - offsets[v]
            buffer[held] = v
            held += 1
        if held > 0:
            append(buffer, held, next_queue, next_length)
            awake += np.uint64(held)
    return awake, scout


@parallel
def settle(offsets, owned, before, visited, level, distance, arrived, next_queue, next_length):
    """Let owned vertices visited since `before` join the next frontier, and flag mirrors in `arrived`.

    Returns (awake, scout).
    """
    awake = _ZERO
    scout = _ZERO
    words = np.uint64(len(visited))
    for r in prange(np.int64((words + _WORD_RUN - _ONE) // _WORD_RUN)):
        first = np.uint64(r) * _WORD_RUN
        a, s = _settle_run(
            offsets, np.uint64(owned), before, visited, np.int32(level), distance, arrived,
            next_queue, next_length, first, min(first + _WORD_RUN, words),
        )  # fmt: skip
        awake += a
        scout += s
    return awake, scout


@inline_step
def _arrive_run(
    offsets,
    owned,
    arrived,
    offered,
    visited,
    distance,
    parent,
    adopted,
    level,
    next_queue,
    next_length,
    first,
    last,
):
    buffer = np.empty(64, np.uint32)
    awake = _ZERO
    scout = _ZERO
    for w in range(first, last):
        word = arrived[w]
        if word == _ZERO:
            continue
        arrived[w] = _ZERO
        if (w + _ONE) << _SIX > owned:
            word &= (_ONE << (owned & _LOW_BITS)) - _ONE
        word &= ~visited[w]
        visited[w] |= word
        held = 0
        while word != _ZERO:
            v = (w << _SIX) + trailing_zeros(word)
            word &= word - _ONE
            distance[v] = level
            parent[v] = _ADOPTED
            adopted[v] = offered[v]
            scout += offsets[v + _ONE] - offsets[v]
            buffer[held] = v
            held += 1
        if held > 0:
            append(buffer, held, next_queue, next_length)
            awake += np.uint64(held)
    return awake, scout


@parallel
def arrive(
    offsets, owned, arrived, offered, visited, distance, parent, adopted, level, next_queue, next_length
):
    """Take in the vertices that other partitions reached: those not yet visited join the next frontier.

    Returns (awake, scout); clears `arrived`.
    """
    awake = _ZERO
    scout = _ZERO
    words = (np.uint64(owned) + _LOW_BITS) >> _SIX
    for r in prange(np.int64((words + _WORD_RUN - _ONE) // _WORD_RUN)):
        first = np.uint64(r) * _WORD_RUN
        a, s = _arrive_run(
            offsets, np.uint64(owned), arrived, offered, visited, distance, parent, adopted,
            np.int32(level), next_queue, next_length, first, min(first + _WORD_RUN, words),
        )  # fmt: skip
        awake += a
        scout += s
    return awake, scout


@inline_step
def _up_run(offsets, targets, rows, level, distance, parent, visited, frontier, next_frontier, first, last):
    awake = _ZERO
    for w in range(first, last):
        unvisited = ~visited[w]
        if (w + _ONE) << _SIX > rows:
            unvisited &= (_ONE << (rows & _LOW_BITS)) - _ONE if w << _SIX < rows else _ZERO
        found = _ZERO
        while unvisited != _ZERO:
            bit = unvisited & (~unvisited + _ONE)
            v = (w << _SIX) + trailing_zeros(unvisited)
            unvisited ^= bit
            for e in range(offsets[v], offsets[v + _ONE]):
                u = np.uint64(targets[e])
                if frontier[u >> _SIX] & (_ONE << (u & _LOW_BITS)):
                    distance[v] = level
                    parent[v] = u
                    found |= bit
                    awake += _ONE
                    break
        next_frontier[w] = found
        visited[w] |= found
    return awake


@parallel
def bottom_up_step(offsets, targets, owned, rows, level, distance, parent, visited, frontier, next_frontier):
    """Let each unvisited vertex look for a neighbour in the frontier, those of highest degree first.

    `offsets` and `targets` are in-edges, of which rows from `rows` on have none. A word of 64 vertices is one
    thread's, so nothing is atomic. Returns how many found one.
    """
    awake = _ZERO
    words = (np.uint64(owned) + _LOW_BITS) >> _SIX
    for r in prange(np.int64((words + _WORD_RUN - _ONE) // _WORD_RUN)):
        first = np.uint64(r) * _WORD_RUN
        awake += _up_run(
            offsets, targets, np.uint64(rows), np.int32(level), distance, parent, visited, frontier,
            next_frontier, first, min(first + _WORD_RUN, words),
        )  # fmt: skip
    return awake


@inline_step
def _edges_reached_run(offsets, distance, first, last):
    edges = _ZERO
    for v in range(first, last):
        if distance[v] >= 0:
            edges += offsets[v + _ONE] - offsets[v]
    return edges


@parallel
def edges_reached(offsets, owned, distance):
    """The edges that lead out of reached vertices."""
    edges = _ZERO
    for r in prange(np.int64((np.uint64(owned) + _VERTEX_RUN - _ONE) // _VERTEX_RUN)):
        first = np.uint64(r) * _VERTEX_RUN
        edges += _edges_reached_run(offsets, distance, first, min(first + _VERTEX_RUN, np.uint64(owned)))
    return edges


@inline_step
def _name_parents_run(vertices, parent, adopted, first, last):
    for v in range(first, last):
        if parent[v] == _ADOPTED:
            parent[v] = adopted[v]
        elif parent[v] != _NOBODY:
            parent[v] = vertices[parent[v]]


@parallel
def name_parents(vertices, owned, parent, adopted):
    """Give every parent by its number in the graph."""
    for r in prange(np.int64((np.uint64(owned) + _VERTEX_RUN - _ONE) // _VERTEX_RUN)):
        first = np.uint64(r) * _VERTEX_RUN
        _name_parents_run(vertices, parent, adopted, first, min(first + _VERTEX_RUN, np.uint64(owned)))
