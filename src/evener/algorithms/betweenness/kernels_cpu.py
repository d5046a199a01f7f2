"""Betweenness: count shortest paths away from a source, then add dependencies back towards it.

Arrays for L owned vertices and M mirrors:

- `value` (L + M,) float64: the number of shortest paths to a reached vertex. `finish_level` replaces it by
  ``(1 + dependency) / paths``.
- `incoming` (L + M,) float64: the sum of the values that a level receives, zero between levels.
- `centrality` (L,) float64.
- `visited`, `frontier`, `reached`: bitmaps of L + M bits.
- `order` (L,) uint32: the reached vertices, sorted by level. Level ``i`` is ``order[bounds[i]:bounds[i +
  1]]``.

The kernels read a `value` only if a bitmap flags its vertex. So only the bitmaps are cleared between sources.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.atomics import fetch_add, fetch_and, fetch_or
from evener.kernels.cpu.bits import range_mask, trailing_zeros
from evener.kernels.cpu.chunks import chunk_count
from evener.kernels.cpu.jit import inline_step, parallel, serial
from evener.kernels.cpu.work_queue import MIN_PARALLEL_EDGES, queue_chunk
from evener.kernels.vertex import NO_VERTEX

__all__ = [
    "MIN_COUNT",
    "begin",
    "build_level",
    "discard_received",
    "finish_chunk",
    "finish_level",
    "flag_level",
    "pull_dependencies",
    "pull_paths",
    "push_dependencies",
    "push_dependencies_chunk",
    "push_paths",
    "visit_mirrors",
]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_SIX = np.uint64(6)
_LOW_BITS = np.uint64(63)
# Largest chunk of a level, in vertices. The first vertices of a level may be hubs.
_QUEUE_CHUNK = np.uint64(16)
# Vertices in a chunk of a loop with equal work per vertex.
_VERTEX_CHUNK = np.uint64(1 << 11)
# Words of 64 vertices in a chunk.
_WORD_CHUNK = np.uint64(64)
# Smallest path count with full precision and a finite inverse.
MIN_COUNT = 2.0**-960


@serial
def begin(offsets, in_offsets, source, value, visited, frontier, order, bounds):
    """Start a search at `source`, which is `NO_VERTEX` if another partition owns it.

    Returns (out-edges, in-edges) of the source.
    """
    for w in range(np.uint64(len(visited))):
        visited[w] = _ZERO
        frontier[w] = _ZERO
    bounds[_ZERO] = _ZERO
    bounds[_ONE] = _ZERO
    if source == NO_VERTEX:
        return _ZERO, _ZERO
    s = np.uint64(source)
    value[s] = 1.0
    visited[s >> _SIX] = _ONE << (s & _LOW_BITS)
    frontier[s >> _SIX] = _ONE << (s & _LOW_BITS)
    order[_ZERO] = source
    bounds[_ONE] = _ONE
    return offsets[s + _ONE] - offsets[s], in_offsets[s + _ONE] - in_offsets[s]


# ---- forward: count shortest paths --------------------------------------------------------------


@inline_step
def _push_paths_chunk(offsets, targets, order, value, visited, incoming, reached, first, last):
    for i in range(first, last):
        u = np.uint64(order[i])
        for e in range(offsets[u], offsets[u + _ONE]):
            v = np.uint64(targets[e])
            bit = _ONE << (v & _LOW_BITS)
            if visited[v >> _SIX] & bit:
                continue
            if fetch_add(incoming, v, value[u]) == 0.0:
                fetch_or(reached, v >> _SIX, bit)


@parallel
def push_paths(offsets, targets, order, bounds, level, edges, value, visited, incoming, reached):
    """Add the paths of each vertex of the level to its unvisited out-neighbours.

    `edges` is the number of out-edges of the level.
    """
    begin = bounds[np.uint64(level)]
    end = bounds[np.uint64(level) + _ONE]
    if np.uint64(edges) < MIN_PARALLEL_EDGES:
        _push_paths_chunk(offsets, targets, order, value, visited, incoming, reached, begin, end)
        return
    chunk = queue_chunk(offsets, order[begin:], end - begin, _QUEUE_CHUNK)
    for r in prange(chunk_count(end - begin, chunk)):
        first = begin + np.uint64(r) * chunk
        last = min(first + chunk, end)
        _push_paths_chunk(offsets, targets, order, value, visited, incoming, reached, first, last)


@serial
def visit_mirrors(owned, reached, visited):
    """Mark the mirrors that the last step reached as visited.

    They are in the next level or in a nearer level.
    """
    begin = np.uint64(owned)
    end = np.uint64(len(reached)) << _SIX
    for w in range(begin >> _SIX, np.uint64(len(reached))):
        visited[w] |= reached[w] & range_mask(w, begin, end)


@inline_step
def _sum_of_frontier(offsets, targets, v, value, frontier):
    total = 0.0
    for e in range(offsets[v], offsets[v + _ONE]):
        u = np.uint64(targets[e])
        if frontier[u >> _SIX] & (_ONE << (u & _LOW_BITS)):
            total += value[u]
    return total


@inline_step
def _pull_paths_chunk(offsets, targets, value, visited, frontier, incoming, reached, first, last):
    for w in range(first >> _SIX, (last + _LOW_BITS) >> _SIX):
        unvisited = ~visited[w] & range_mask(w, first, last)
        found = _ZERO
        while unvisited != _ZERO:
            bit = unvisited & (~unvisited + _ONE)
            v = (w << _SIX) + trailing_zeros(unvisited)
            unvisited ^= bit
            total = _sum_of_frontier(offsets, targets, v, value, frontier)
            if total > 0.0:
                incoming[v] = total
                found |= bit
        if found != _ZERO:
            fetch_or(reached, w, found)


@parallel
def pull_paths(offsets, targets, blocks, rows, value, visited, frontier, incoming, reached):
    """Add up, for each unvisited vertex, the paths of its neighbours in the frontier.

    `offsets` and `targets` are in-edges; rows from `rows` on are empty.
    """
    if len(blocks) == 2:
        _pull_paths_chunk(
            offsets, targets, value, visited, frontier, incoming, reached, _ZERO, np.uint64(rows)
        )
        return
    for b in prange(len(blocks) - 1):
        first = min(np.uint64(blocks[b]), np.uint64(rows))
        last = min(np.uint64(blocks[b + 1]), np.uint64(rows))
        _pull_paths_chunk(offsets, targets, value, visited, frontier, incoming, reached, first, last)


@inline_step
def _build_level_chunk(
    offsets, in_offsets, owned, level, scale, incoming, reached, visited, frontier, value, order, bounds,
    first, last,
):  # fmt: skip
    buffer = np.empty(64, np.uint32)
    vertices = _ZERO
    out_edges = _ZERO
    in_edges = _ZERO
    total = 0.0
    for w in range(first, last):
        frontier[w] = _ZERO
        word = reached[w]
        if word == _ZERO:
            continue
        if (w + _ONE) << _SIX > owned:
            word &= (_ONE << (owned & _LOW_BITS)) - _ONE  # without mirrors
        late = word & visited[w]
        word ^= late
        reached[w] = word
        visited[w] |= word
        while late != _ZERO:
            incoming[(w << _SIX) + trailing_zeros(late)] = 0.0
            late &= late - _ONE
        held = 0
        while word != _ZERO:
            v = (w << _SIX) + trailing_zeros(word)
            word &= word - _ONE
            count = incoming[v] * scale
            incoming[v] = 0.0
            value[v] = count
            total += count if count >= MIN_COUNT else np.inf
            out_edges += offsets[v + _ONE] - offsets[v]
            in_edges += in_offsets[v + _ONE] - in_offsets[v]
            buffer[held] = v
            held += 1
        if held > 0:
            start = fetch_add(bounds, level + _ONE, np.uint64(held))
            for i in range(np.uint64(held)):
                order[start + i] = buffer[i]
            vertices += np.uint64(held)
    return vertices, out_edges, in_edges, total


@parallel
def build_level(
    offsets, in_offsets, owned, level, scale, incoming, reached, visited, frontier, value, order, bounds
):
    """Append the newly reached vertices to `order` as level `level`. Their paths are ``incoming * scale``.

    Afterwards `reached` flags the level and `frontier` is clear. Returns (vertices, out-edges, in-edges,
    paths) of the level. The result `paths` is infinite if a count is below `MIN_COUNT` or infinite.
    """
    bounds[np.uint64(level) + _ONE] = bounds[np.uint64(level)]
    vertices = _ZERO
    out_edges = _ZERO
    in_edges = _ZERO
    total = 0.0
    words = (np.uint64(owned) + _LOW_BITS) >> _SIX
    for w in range(words, np.uint64(len(frontier))):
        frontier[w] = _ZERO
    if words <= _WORD_CHUNK:
        return _build_level_chunk(
            offsets, in_offsets, np.uint64(owned), np.uint64(level), scale, incoming, reached, visited,
            frontier, value, order, bounds, _ZERO, words,
        )  # fmt: skip
    for r in prange(chunk_count(words, _WORD_CHUNK)):
        first = np.uint64(r) * _WORD_CHUNK
        a, o, i, t = _build_level_chunk(
            offsets, in_offsets, np.uint64(owned), np.uint64(level), scale, incoming, reached, visited,
            frontier, value, order, bounds, first, min(first + _WORD_CHUNK, words),
        )  # fmt: skip
        vertices += a
        out_edges += o
        in_edges += i
        total += t
    return vertices, out_edges, in_edges, total


# ---- backward: dependencies ---------------------------------------------------------------------


@inline_step
def push_dependencies_chunk(offsets, targets, owned, order, value, visited, incoming, reached, first, last):
    """Do the work of `push_dependencies` for the vertices ``order[first:last]``."""
    for i in range(first, last):
        v = np.uint64(order[i])
        for e in range(offsets[v], offsets[v + _ONE]):
            u = np.uint64(targets[e])
            bit = _ONE << (u & _LOW_BITS)
            if u >= owned:
                if fetch_add(incoming, u, value[v]) == 0.0:
                    fetch_or(reached, u >> _SIX, bit)
            elif visited[u >> _SIX] & bit:
                fetch_add(incoming, u, value[v])


@parallel
def push_dependencies(
    offsets, targets, owned, order, bounds, level, edges, value, visited, incoming, reached
):
    """Add the value of each vertex of the level to its in-neighbours one level nearer to the source.

    `visited` flags only owned vertices of nearer levels. All mirrors receive a value and are flagged in
    `reached`; their owners drop it if they are not nearer. `edges` is the number of in-edges of the level.
    """
    begin = bounds[np.uint64(level)]
    end = bounds[np.uint64(level) + _ONE]
    if np.uint64(edges) < MIN_PARALLEL_EDGES:
        push_dependencies_chunk(
            offsets, targets, np.uint64(owned), order, value, visited, incoming, reached, begin, end
        )
        return
    chunk = queue_chunk(offsets, order[begin:], end - begin, _QUEUE_CHUNK)
    for r in prange(chunk_count(end - begin, chunk)):
        first = begin + np.uint64(r) * chunk
        last = min(first + chunk, end)
        push_dependencies_chunk(
            offsets, targets, np.uint64(owned), order, value, visited, incoming, reached, first, last
        )


@serial
def discard_received(owned, visited, reached, incoming):
    """Set `incoming` to 0 for vertices that other partitions reached but that are not nearer.

    Clears `reached`.
    """
    for w in range((np.uint64(owned) + _LOW_BITS) >> _SIX):
        word = reached[w] & ~visited[w]
        reached[w] = _ZERO
        while word != _ZERO:
            incoming[(w << _SIX) + trailing_zeros(word)] = 0.0
            word &= word - _ONE


@inline_step
def _flag_chunk(order, frontier, first, last):
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
def flag_level(order, bounds, level, frontier):
    """Set `frontier` to the vertices of the level."""
    for w in range(np.uint64(len(frontier))):
        frontier[w] = _ZERO
    begin = bounds[np.uint64(level)]
    end = bounds[np.uint64(level) + _ONE]
    if end - begin <= _VERTEX_CHUNK:
        _flag_chunk(order, frontier, begin, end)
        return
    for r in prange(chunk_count(end - begin, _VERTEX_CHUNK)):
        first = begin + np.uint64(r) * _VERTEX_CHUNK
        _flag_chunk(order, frontier, first, min(first + _VERTEX_CHUNK, end))


@inline_step
def _pull_dependencies_chunk(offsets, targets, order, value, frontier, incoming, first, last):
    for i in range(first, last):
        v = np.uint64(order[i])
        incoming[v] = _sum_of_frontier(offsets, targets, v, value, frontier)


@parallel
def pull_dependencies(offsets, targets, order, bounds, level, edges, value, frontier, incoming):
    """Add up, for each vertex of the level, the values of its out-neighbours in the frontier."""
    begin = bounds[np.uint64(level)]
    end = bounds[np.uint64(level) + _ONE]
    if np.uint64(edges) < MIN_PARALLEL_EDGES:
        _pull_dependencies_chunk(offsets, targets, order, value, frontier, incoming, begin, end)
        return
    chunk = queue_chunk(offsets, order[begin:], end - begin, _QUEUE_CHUNK)
    for r in prange(chunk_count(end - begin, chunk)):
        first = begin + np.uint64(r) * chunk
        last = min(first + chunk, end)
        _pull_dependencies_chunk(offsets, targets, order, value, frontier, incoming, first, last)


@inline_step
def finish_chunk(order, scale, weight, incoming, visited, value, centrality, first, last):
    """Do the work of `finish_level` for the vertices ``order[first:last]``."""
    if first == last:
        return
    word = np.uint64(order[first]) >> _SIX
    bits = _ZERO
    for i in range(first, last):
        v = np.uint64(order[i])
        paths = value[v]
        dependency = paths * (incoming[v] * scale)
        centrality[v] += dependency * weight
        value[v] = (1.0 + dependency) / paths
        incoming[v] = 0.0
        if v >> _SIX != word:
            fetch_and(visited, word, ~bits)
            word = v >> _SIX
            bits = _ZERO
        bits |= _ONE << (v & _LOW_BITS)
    fetch_and(visited, word, ~bits)


@parallel
def finish_level(order, bounds, level, scale, weight, incoming, visited, value, centrality):
    """Compute the dependency of each vertex of the level; remove the level from `visited`.

    `scale` is the factor that scaled the paths of the next farther level. `weight` is 0 for the source, whose
    own dependency does not count, and 1 for other vertices. Returns the number of vertices of the level.
    """
    begin = bounds[np.uint64(level)]
    end = bounds[np.uint64(level) + _ONE]
    if end - begin <= _VERTEX_CHUNK:
        finish_chunk(order, scale, weight, incoming, visited, value, centrality, begin, end)
        return end - begin
    for r in prange(chunk_count(end - begin, _VERTEX_CHUNK)):
        first = begin + np.uint64(r) * _VERTEX_CHUNK
        finish_chunk(
            order, scale, weight, incoming, visited, value, centrality, first,
            min(first + _VERTEX_CHUNK, end),
        )  # fmt: skip
    return end - begin
