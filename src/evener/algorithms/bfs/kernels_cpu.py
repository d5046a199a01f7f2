"""Breadth-first search: steps down from a queue of vertices, a step up from a bitmap, and between them.

`distance` (L,) int32 holds -1 where unreached. `parent` (L,) uint32 is the graph's number of a neighbour
one level nearer, `NOBODY` where there is none. `visited`, `frontier`, `arrived` are bitmaps over L + M,
`vertices` (L + M,) uint32 the graph's numbers of these vertices, and `offered` (L + M,) uint32 that of a
parent for each vertex flagged in `arrived`. `queue` (L,) uint32 lists ``length[0]`` vertices, and a kernel
that consumes it leaves its length 0. Votes: `awake`, the vertices that a step reached, `scout`, the edges
that lead out of them, and `offers`, the mirrors it reached.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.atomics import fetch_or
from evener.kernels.cpu.bits import population, trailing_zeros
from evener.kernels.cpu.frontier import BUFFER, append
from evener.kernels.cpu.jit import inline_step, parallel, serial
from evener.kernels.cpu.work_queue import SHARES, first_turn, part_of_queue, parts_of_queue, take

__all__ = [
    "arrive",
    "begin",
    "bottom_up_step",
    "edges_reached",
    "flood_step",
    "settle",
    "top_down_step",
]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_SIX = np.uint64(6)
_LOW_BITS = np.uint64(63)
_NOBODY = np.uint32(0xFFFFFFFF)
# Parts of the queue that a thread takes at a time, at most.
_QUEUE_RUN = np.uint64(16)
# Words of 64 vertices that a thread takes at a time.
_WORD_RUN = np.uint64(64)
# Vertices looked through by a thread at a time.
_VERTEX_RUN = np.uint64(1 << 13)


@serial
def begin(offsets, vertices, source, distance, parent, visited, queue, length):
    """Start at `source`, `NOBODY` where another partition owns it. Returns (awake, scout)."""
    if source == _NOBODY:
        return _ZERO, _ZERO
    s = np.uint64(source)
    distance[s] = 0
    parent[s] = vertices[s]
    visited[s >> _SIX] |= _ONE << (s & _LOW_BITS)
    queue[_ZERO] = source
    length[_ZERO] = _ONE
    return _ONE, offsets[s + _ONE] - offsets[s]


@inline_step
def _down_share(
    offsets, targets, vertices, owned, queue, pieces, parts, run, level, distance, parent, visited, arrived,
    offered, next_queue, next_length, turn,
):  # fmt: skip
    buffer = np.empty(BUFFER, np.uint32)
    held = 0
    awake = _ZERO
    scout = _ZERO
    offers = _ZERO
    first = take(turn, run)
    while first < parts:
        for i in range(first, min(first + run, parts)):
            u, begin, end = part_of_queue(offsets, queue, pieces, i)
            name = vertices[u]
            for e in range(begin, end):
                v = np.uint64(targets[e])
                bit = _ONE << (v & _LOW_BITS)
                if visited[v >> _SIX] & bit:
                    continue
                if fetch_or(visited, v >> _SIX, bit) & bit:
                    continue
                if v >= owned:
                    offered[v] = name
                    fetch_or(arrived, v >> _SIX, bit)
                    offers += _ONE
                    continue
                parent[v] = name
                distance[v] = level
                awake += _ONE
                scout += offsets[v + _ONE] - offsets[v]
                buffer[held] = v
                held += 1
                if held == BUFFER:
                    append(buffer, held, next_queue, next_length)
                    held = 0
        first = take(turn, run)
    append(buffer, held, next_queue, next_length)
    return awake, scout, offers


@parallel
def top_down_step(
    offsets, targets, vertices, owned, queue, length, level, distance, parent, visited, arrived, offered,
    next_queue, next_length,
):  # fmt: skip
    """Visit the neighbours of the queued vertices; `visited` sees to it that each is reached once.

    New owned vertices go to `next_queue`, new mirrors are flagged in `arrived`. Returns (awake, scout,
    offers).
    """
    awake = _ZERO
    scout = _ZERO
    offers = _ZERO
    pieces, parts, run = parts_of_queue(offsets, queue, length[_ZERO], _QUEUE_RUN)
    turn = first_turn()
    for _ in prange(SHARES):
        a, s, o = _down_share(
            offsets, targets, vertices, np.uint64(owned), queue, pieces, parts, run, np.int32(level),
            distance, parent, visited, arrived, offered, next_queue, next_length, turn,
        )  # fmt: skip
        awake += a
        scout += s
        offers += o
    length[_ZERO] = _ZERO
    return awake, scout, offers


@inline_step
def _flood_share(
    offsets, targets, vertices, owned, queue, pieces, parts, run, parent, visited, offered, turn
):
    first = take(turn, run)
    while first < parts:
        for i in range(first, min(first + run, parts)):
            u, begin, end = part_of_queue(offsets, queue, pieces, i)
            name = vertices[u]
            for e in range(begin, end):
                v = np.uint64(targets[e])
                bit = _ONE << (v & _LOW_BITS)
                if visited[v >> _SIX] & bit:
                    continue
                if fetch_or(visited, v >> _SIX, bit) & bit:
                    continue
                if v >= owned:
                    offered[v] = name
                else:
                    parent[v] = name
        first = take(turn, run)


@parallel
def flood_step(offsets, targets, vertices, owned, queue, length, parent, visited, offered):
    """As `top_down_step` for a broad frontier: only marks and parents are written, `settle` does the rest.

    Every write here goes to a random place, so each one that can wait until its place comes by does.
    """
    pieces, parts, run = parts_of_queue(offsets, queue, length[_ZERO], _QUEUE_RUN)
    turn = first_turn()
    for _ in prange(SHARES):
        _flood_share(
            offsets, targets, vertices, np.uint64(owned), queue, pieces, parts, run, parent, visited, offered,
            turn,
        )  # fmt: skip
    length[_ZERO] = _ZERO


@inline_step
def _settle_share(offsets, owned, before, visited, level, distance, arrived, next_queue, next_length, turn):
    buffer = np.empty(BUFFER, np.uint32)
    held = 0
    awake = _ZERO
    scout = _ZERO
    offers = _ZERO
    words = np.uint64(len(visited))
    first = take(turn, _WORD_RUN)
    while first < words:
        for w in range(first, min(first + _WORD_RUN, words)):
            new = visited[w] & ~before[w]
            mine = new
            if (w + _ONE) << _SIX > owned:
                mine &= (_ONE << (owned & _LOW_BITS)) - _ONE if w << _SIX < owned else _ZERO
                arrived[w] = new & ~mine
                offers += population(new & ~mine)
            while mine != _ZERO:
                v = (w << _SIX) + trailing_zeros(mine)
                mine &= mine - _ONE
                distance[v] = level
                scout += offsets[v + _ONE] - offsets[v]
                buffer[held] = v
                held += 1
                awake += _ONE
            if held > BUFFER - 64:
                append(buffer, held, next_queue, next_length)
                held = 0
        first = take(turn, _WORD_RUN)
    append(buffer, held, next_queue, next_length)
    return awake, scout, offers


@parallel
def settle(offsets, owned, before, visited, level, distance, arrived, next_queue, next_length):
    """Let owned vertices visited since `before` join the next frontier, and flag mirrors in `arrived`.

    Returns (awake, scout, offers).
    """
    awake = _ZERO
    scout = _ZERO
    offers = _ZERO
    turn = first_turn()
    for _ in prange(SHARES):
        a, s, o = _settle_share(
            offsets, np.uint64(owned), before, visited, np.int32(level), distance, arrived, next_queue,
            next_length, turn,
        )  # fmt: skip
        awake += a
        scout += s
        offers += o
    return awake, scout, offers


@inline_step
def _arrive_share(
    offsets, owned, arrived, offered, visited, distance, parent, level, next_queue, next_length, turn
):
    buffer = np.empty(BUFFER, np.uint32)
    held = 0
    awake = _ZERO
    scout = _ZERO
    words = (owned + _LOW_BITS) >> _SIX
    first = take(turn, _WORD_RUN)
    while first < words:
        for w in range(first, min(first + _WORD_RUN, words)):
            word = arrived[w]
            if word == _ZERO:
                continue
            arrived[w] = _ZERO
            if (w + _ONE) << _SIX > owned:
                word &= (_ONE << (owned & _LOW_BITS)) - _ONE
            word &= ~visited[w]
            visited[w] |= word
            while word != _ZERO:
                v = (w << _SIX) + trailing_zeros(word)
                word &= word - _ONE
                distance[v] = level
                parent[v] = offered[v]
                scout += offsets[v + _ONE] - offsets[v]
                buffer[held] = v
                held += 1
                awake += _ONE
            if held > BUFFER - 64:
                append(buffer, held, next_queue, next_length)
                held = 0
        first = take(turn, _WORD_RUN)
    append(buffer, held, next_queue, next_length)
    return awake, scout


@parallel
def arrive(offsets, owned, arrived, offered, visited, distance, parent, level, next_queue, next_length):
    """Take in the vertices that other partitions reached: those not yet visited join the next frontier.

    Returns (awake, scout); clears `arrived`.
    """
    awake = _ZERO
    scout = _ZERO
    turn = first_turn()
    for _ in prange(SHARES):
        a, s = _arrive_share(
            offsets, np.uint64(owned), arrived, offered, visited, distance, parent, np.int32(level),
            next_queue, next_length, turn,
        )  # fmt: skip
        awake += a
        scout += s
    return awake, scout


@inline_step
def _up_share(
    offsets, targets, vertices, rows, level, distance, parent, visited, frontier, next_frontier, turn
):
    awake = _ZERO
    words = np.uint64(len(visited))
    first = take(turn, _WORD_RUN)
    while first < words:
        for w in range(first, min(first + _WORD_RUN, words)):
            before = visited[w] | frontier[w]
            unvisited = ~before
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
                        parent[v] = vertices[u]
                        found |= bit
                        awake += _ONE
                        break
            next_frontier[w] = found
            visited[w] = before | found
        first = take(turn, _WORD_RUN)
    return awake


@parallel
def bottom_up_step(
    offsets, targets, vertices, rows, level, distance, parent, visited, frontier, next_frontier
):
    """Let each unvisited vertex look for a neighbour in the frontier, in the order of its row.

    `offsets` and `targets` are in-edges, of which rows from `rows` on have none. Mirrors in the frontier
    count as visited: no later step need offer them to their owners. A word of 64 vertices is one thread's, so
    nothing is atomic. Returns how many found one.
    """
    awake = _ZERO
    turn = first_turn()
    for _ in prange(SHARES):
        awake += _up_share(
            offsets, targets, vertices, np.uint64(rows), np.int32(level), distance, parent, visited, frontier,
            next_frontier, turn,
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
