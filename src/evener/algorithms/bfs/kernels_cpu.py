"""Breadth-first search: top-down steps from a queue of vertices and bottom-up steps from a bitmap.

Arrays for L owned vertices and M mirrors:

- `distance` (L,) int32: the level, -1 if unreached.
- `parent` (L,) uint32: the global number of a neighbour one level nearer, `NO_VERTEX` if unreached.
- `vertices` (L + M,) uint32: the global number of each local vertex.
- `visited`, `frontier`, `updates`: bitmaps of L + M bits. `updates` flags the vertices with a candidate.
- `candidate` (L + M,) uint32: the global number of a possible parent, for each vertex flagged in `updates`;
  `NO_VERTEX` for mirrors that have not been reached.
- `queue` (L,) uint32: ``length[0]`` vertices. A kernel that reads the whole queue sets its length to 0.

Results: `frontier_vertices`, the vertices that a step reached; `frontier_edges`, the out-edges of these
vertices; `new_mirrors`, the mirrors that a step reached.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.atomics import fetch_or
from evener.kernels.cpu.bits import population, trailing_zeros
from evener.kernels.cpu.frontier import BUFFER, append
from evener.kernels.cpu.jit import inline_step, parallel, serial
from evener.kernels.cpu.simd import prefetch
from evener.kernels.cpu.work_queue import WORKERS, new_counter, queue_part, split_queue, take_chunk
from evener.kernels.vertex import NO_VERTEX

__all__ = [
    "begin",
    "bottom_up_step",
    "collect_new",
    "edges_reached",
    "receive_parents",
    "scatter_parents",
    "top_down_step",
]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_SIX = np.uint64(6)
_LOW_BITS = np.uint64(63)
_WORD = np.uint64(64)
# Largest chunk of queue parts.
_QUEUE_CHUNK = np.uint64(16)
# Largest chunk of queue parts in a step over many edges.
_FLOOD_CHUNK = np.uint64(64)
# Parts between the row that such a step reads and the row that it prefetches, and edges of a cache line.
_QUEUE_AHEAD, _LINE = np.uint64(8), np.uint64(16)
# Words of 64 vertices in a chunk.
_WORD_CHUNK = np.uint64(64)
# Rows between the row that a bottom-up step reads and the row that it prefetches.
_AHEAD = np.uint64(16)
# Vertices in a chunk.
_VERTEX_CHUNK = np.uint64(1 << 13)


@serial
def begin(offsets, vertices, sources, distance, parent, visited, queue, length):
    """Visit and queue `sources`, distinct vertices of this partition.

    Returns (frontier_vertices, frontier_edges).
    """
    frontier_edges = _ZERO
    for i in range(np.uint64(len(sources))):
        s = np.uint64(sources[i])
        distance[s] = 0
        parent[s] = vertices[s]
        visited[s >> _SIX] |= _ONE << (s & _LOW_BITS)
        queue[i] = s
        frontier_edges += offsets[s + _ONE] - offsets[s]
    length[_ZERO] = np.uint64(len(sources))
    return length[_ZERO], frontier_edges


@inline_step
def _top_down_worker(
    offsets, targets, vertices, owned, queue, in_pieces, parts, chunk, level, distance, parent, visited,
    updates, candidate, next_queue, next_length, counter,
):  # fmt: skip
    buffer = np.empty(BUFFER, np.uint32)
    held = 0
    frontier_vertices = _ZERO
    frontier_edges = _ZERO
    new_mirrors = _ZERO
    first = take_chunk(counter, chunk)
    while first < parts:
        for i in range(first, min(first + chunk, parts)):
            u, begin, end = queue_part(offsets, queue, in_pieces, i)
            number = vertices[u]
            for e in range(begin, end):
                v = np.uint64(targets[e])
                bit = _ONE << (v & _LOW_BITS)
                if visited[v >> _SIX] & bit:
                    continue
                if fetch_or(visited, v >> _SIX, bit) & bit:
                    continue
                if v >= owned:
                    candidate[v] = number
                    fetch_or(updates, v >> _SIX, bit)
                    new_mirrors += _ONE
                    continue
                parent[v] = number
                distance[v] = level
                frontier_vertices += _ONE
                frontier_edges += offsets[v + _ONE] - offsets[v]
                buffer[held] = v
                held += 1
                if held == BUFFER:
                    append(buffer, held, next_queue, next_length)
                    held = 0
        first = take_chunk(counter, chunk)
    append(buffer, held, next_queue, next_length)
    return frontier_vertices, frontier_edges, new_mirrors


@parallel
def top_down_step(
    offsets, targets, vertices, owned, queue, length, level, distance, parent, visited, updates, candidate,
    next_queue, next_length,
):  # fmt: skip
    """Visit the unvisited neighbours of the queued vertices.

    An atomic update of `visited` ensures that each vertex is reached once. The kernel appends owned vertices
    to `next_queue` and flags mirrors in `updates`. Returns (frontier_vertices, frontier_edges, new_mirrors).
    """
    frontier_vertices = _ZERO
    frontier_edges = _ZERO
    new_mirrors = _ZERO
    in_pieces, parts, chunk = split_queue(offsets, queue, length[_ZERO], _QUEUE_CHUNK)
    counter = new_counter()
    for _ in prange(WORKERS):
        a, s, o = _top_down_worker(
            offsets, targets, vertices, np.uint64(owned), queue, in_pieces, parts, chunk, np.int32(level),
            distance, parent, visited, updates, candidate, next_queue, next_length, counter,
        )  # fmt: skip
        frontier_vertices += a
        frontier_edges += s
        new_mirrors += o
    length[_ZERO] = _ZERO
    return frontier_vertices, frontier_edges, new_mirrors


@inline_step
def _scatter_worker(
    offsets, targets, vertices, owned, queue, in_pieces, parts, chunk, parent, visited, candidate, counter
):
    first = take_chunk(counter, chunk)
    while first < parts:
        for i in range(first, min(first + chunk, parts)):
            u, begin, end = queue_part(offsets, queue, in_pieces, i)
            if i + _QUEUE_AHEAD < parts and not in_pieces:
                ahead = offsets[queue[i + _QUEUE_AHEAD]]
                prefetch(targets, ahead)
                prefetch(targets, ahead + _LINE)
            number = vertices[u]
            for e in range(begin, end):
                v = np.uint64(targets[e])
                if visited[v >> _SIX] & (_ONE << (v & _LOW_BITS)):
                    continue
                # All values are of one level, so any is right. A test of the old value would wait for it.
                if v >= owned:
                    candidate[v] = number
                else:
                    parent[v] = number
        first = take_chunk(counter, chunk)


@parallel
def scatter_parents(offsets, targets, vertices, owned, queue, length, parent, visited, candidate):
    """Set `parent` or `candidate` of the unvisited neighbours of the queued vertices.

    For a frontier with many edges, `scatter_parents` and `collect_new` together replace `top_down_step`.
    Threads may write a parent at the same time, because all their values are of one level. `collect_new`
    makes all other writes in vertex order.
    """
    in_pieces, parts, chunk = split_queue(offsets, queue, length[_ZERO], _FLOOD_CHUNK)
    counter = new_counter()
    for _ in prange(WORKERS):
        _scatter_worker(
            offsets, targets, vertices, np.uint64(owned), queue, in_pieces, parts, chunk, parent, visited,
            candidate, counter,
        )  # fmt: skip
    length[_ZERO] = _ZERO


@inline_step
def _new_vertices(parent, candidate, owned, w, unvisited, rows):
    """Return the bits of the vertices of word `w` that have a parent or a candidate now."""
    new = _ZERO
    first = w << _SIX
    for i in range(min(_WORD, rows - first)):
        v = first + i
        named = parent[v] if v < owned else candidate[v]
        new |= np.uint64(named != NO_VERTEX) << i
    return new & unvisited


@inline_step
def _collect_worker(
    offsets, owned, parent, candidate, visited, level, distance, updates, next_queue, next_length, counter
):
    buffer = np.empty(BUFFER, np.uint32)
    held = 0
    frontier_vertices = _ZERO
    frontier_edges = _ZERO
    new_mirrors = _ZERO
    rows = np.uint64(len(candidate))
    words = (rows + _LOW_BITS) >> _SIX
    first = take_chunk(counter, _WORD_CHUNK)
    while first < words:
        for w in range(first, min(first + _WORD_CHUNK, words)):
            unvisited = ~visited[w]
            if unvisited == _ZERO:
                continue
            new = _new_vertices(parent, candidate, owned, w, unvisited, rows)
            visited[w] |= new
            mine = new
            if (w + _ONE) << _SIX > owned:
                mine &= (_ONE << (owned & _LOW_BITS)) - _ONE if w << _SIX < owned else _ZERO
                updates[w] = new & ~mine
                new_mirrors += population(new & ~mine)
            while mine != _ZERO:
                v = (w << _SIX) + trailing_zeros(mine)
                mine &= mine - _ONE
                distance[v] = level
                frontier_edges += offsets[v + _ONE] - offsets[v]
                buffer[held] = v
                held += 1
                frontier_vertices += _ONE
            if held > BUFFER - 64:
                append(buffer, held, next_queue, next_length)
                held = 0
        first = take_chunk(counter, _WORD_CHUNK)
    append(buffer, held, next_queue, next_length)
    return frontier_vertices, frontier_edges, new_mirrors


@parallel
def collect_new(
    offsets, owned, parent, candidate, visited, level, distance, updates, next_queue, next_length
):
    """Visit the vertices that `scatter_parents` reached: queue owned vertices, flag mirrors in `updates`.

    Returns (frontier_vertices, frontier_edges, new_mirrors).
    """
    frontier_vertices = _ZERO
    frontier_edges = _ZERO
    new_mirrors = _ZERO
    counter = new_counter()
    for _ in prange(WORKERS):
        a, s, o = _collect_worker(
            offsets, np.uint64(owned), parent, candidate, visited, np.int32(level), distance, updates,
            next_queue, next_length, counter,
        )  # fmt: skip
        frontier_vertices += a
        frontier_edges += s
        new_mirrors += o
    return frontier_vertices, frontier_edges, new_mirrors


@inline_step
def _receive_worker(
    offsets, owned, updates, candidate, visited, distance, parent, level, next_queue, next_length, counter
):
    buffer = np.empty(BUFFER, np.uint32)
    held = 0
    frontier_vertices = _ZERO
    frontier_edges = _ZERO
    words = (owned + _LOW_BITS) >> _SIX
    first = take_chunk(counter, _WORD_CHUNK)
    while first < words:
        for w in range(first, min(first + _WORD_CHUNK, words)):
            word = updates[w]
            if word == _ZERO:
                continue
            updates[w] = _ZERO
            if (w + _ONE) << _SIX > owned:
                word &= (_ONE << (owned & _LOW_BITS)) - _ONE
            word &= ~visited[w]
            visited[w] |= word
            while word != _ZERO:
                v = (w << _SIX) + trailing_zeros(word)
                word &= word - _ONE
                distance[v] = level
                parent[v] = candidate[v]
                frontier_edges += offsets[v + _ONE] - offsets[v]
                buffer[held] = v
                held += 1
                frontier_vertices += _ONE
            if held > BUFFER - 64:
                append(buffer, held, next_queue, next_length)
                held = 0
        first = take_chunk(counter, _WORD_CHUNK)
    append(buffer, held, next_queue, next_length)
    return frontier_vertices, frontier_edges


@parallel
def receive_parents(
    offsets, owned, updates, candidate, visited, distance, parent, level, next_queue, next_length
):
    """Visit the unvisited vertices that other partitions reached and append them to the queue.

    Clears `updates`. Returns (frontier_vertices, frontier_edges).
    """
    frontier_vertices = _ZERO
    frontier_edges = _ZERO
    counter = new_counter()
    for _ in prange(WORKERS):
        a, s = _receive_worker(
            offsets, np.uint64(owned), updates, candidate, visited, distance, parent, np.int32(level),
            next_queue, next_length, counter,
        )  # fmt: skip
        frontier_vertices += a
        frontier_edges += s
    return frontier_vertices, frontier_edges


@inline_step
def _bottom_up_worker(
    offsets, targets, vertices, rows, level, distance, parent, visited, frontier, next_frontier, counter
):
    frontier_vertices = _ZERO
    words = np.uint64(len(visited))
    first = take_chunk(counter, _WORD_CHUNK)
    while first < words:
        for w in range(first, min(first + _WORD_CHUNK, words)):
            seen = visited[w] | frontier[w]
            unvisited = ~seen
            if (w + _ONE) << _SIX > rows:
                unvisited &= (_ONE << (rows & _LOW_BITS)) - _ONE if w << _SIX < rows else _ZERO
            found = _ZERO
            while unvisited != _ZERO:
                bit = unvisited & (~unvisited + _ONE)
                v = (w << _SIX) + trailing_zeros(unvisited)
                unvisited ^= bit
                prefetch(targets, offsets[min(v + _AHEAD, rows)])
                for e in range(offsets[v], offsets[v + _ONE]):
                    u = np.uint64(targets[e])
                    if frontier[u >> _SIX] & (_ONE << (u & _LOW_BITS)):
                        distance[v] = level
                        parent[v] = vertices[u]
                        found |= bit
                        frontier_vertices += _ONE
                        break
            next_frontier[w] = found
            visited[w] = seen | found
        first = take_chunk(counter, _WORD_CHUNK)
    return frontier_vertices


@parallel
def bottom_up_step(
    offsets, targets, vertices, rows, level, distance, parent, visited, frontier, next_frontier
):
    """Search the row of each unvisited vertex for a neighbour in the frontier.

    `offsets` and `targets` are in-edges; rows from `rows` on are empty. The kernel marks mirrors in the
    frontier as visited, so that no later step sends them to their owners. One thread writes each word of 64
    vertices, so no write is atomic. Returns the number of vertices that found a parent.
    """
    frontier_vertices = _ZERO
    counter = new_counter()
    for _ in prange(WORKERS):
        frontier_vertices += _bottom_up_worker(
            offsets, targets, vertices, np.uint64(rows), np.int32(level), distance, parent, visited, frontier,
            next_frontier, counter,
        )  # fmt: skip
    return frontier_vertices


@inline_step
def _edges_reached_chunk(offsets, distance, first, last):
    edges = _ZERO
    for v in range(first, last):
        if distance[v] >= 0:
            edges += offsets[v + _ONE] - offsets[v]
    return edges


@parallel
def edges_reached(offsets, owned, distance):
    """Return the number of out-edges of the reached vertices."""
    edges = _ZERO
    for r in prange(np.int64((np.uint64(owned) + _VERTEX_CHUNK - _ONE) // _VERTEX_CHUNK)):
        first = np.uint64(r) * _VERTEX_CHUNK
        edges += _edges_reached_chunk(offsets, distance, first, min(first + _VERTEX_CHUNK, np.uint64(owned)))
    return edges
