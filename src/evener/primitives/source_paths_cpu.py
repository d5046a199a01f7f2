"""Brandes' algorithm from many sources, each on one thread: shortest paths forward, dependencies back.

Arrays for n vertices, with a row for each search that runs at the same time:

- `distance` uint32 without weights, or float64; `unreached` between searches.
- `paths` float64: the number of shortest paths to a reached vertex.
- `share` float64: ``(1 + dependency) / paths`` of a vertex, after the backward phase.
- `order` uint32: the reached vertices by distance.
- `keys` float64, `vertices` and `place` uint32: the heap of a search by weights. Without weights, ``keys[i]``
  is the factor that scaled the paths at distance i. Only ratios between neighbouring distances matter.
- `vertex_sums` float64: the dependencies of each vertex; None if they are not wanted.
- `edge_sums` float64: the dependencies of each stored edge; None if they are not wanted.

An edge is on a shortest path if the distance of its head is the distance of its tail plus its weight.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.indexed_heap import lower, take_first
from evener.kernels.cpu.jit import inline_step, parallel

__all__ = ["ABSORBED", "BEYOND_FLOAT64", "MAX_PATHS", "TOO_FAR", "add_sources", "collect"]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
# Vertices or edges whose sums a thread adds up at a time.
_CHUNK = np.uint64(1 << 12)
# Largest number of paths to a vertex of a search by weights. Its inverse keeps full precision.
MAX_PATHS = 2.0**960
# If paths at a distance exceed MANY_PATHS, they are scaled by SHRINK; then all must be at least MIN_PATHS.
MANY_PATHS = 2.0**900
SHRINK = 2.0**-64
MIN_PATHS = 2.0**-960
# Why a search ended early.
BEYOND_FLOAT64 = np.uint64(1)
ABSORBED = np.uint64(2)
TOO_FAR = np.uint64(3)


@inline_step
def _scale_level(order, paths, head, tail):
    """Scale the paths of a level if they are many. Return the scale, or 0 if float64 has none."""
    most = 0.0
    least = np.inf
    for i in range(head, tail):
        most = max(most, paths[order[i]])
        least = min(least, paths[order[i]])
    if most <= MANY_PATHS:
        return 1.0
    for i in range(head, tail):
        paths[order[i]] *= SHRINK
    return SHRINK if least * SHRINK >= MIN_PATHS else 0.0


@inline_step
def _search_by_edges(offsets, targets, source, unreached, distance, paths, order, scales):
    """Count the shortest paths by numbers of edges. Returns (reached vertices, why the search ended)."""
    distance[source] = 0
    paths[source] = 1.0
    order[_ZERO] = source
    head = _ZERO
    tail = _ONE
    far = _ZERO
    while head < tail:
        last = tail
        scales[far] = _scale_level(order, paths, head, last)
        if scales[far] == 0.0:
            return tail, BEYOND_FLOAT64
        far += _ONE
        while head < last:
            v = np.uint64(order[head])
            head += _ONE
            count = paths[v]
            for e in range(offsets[v], offsets[v + _ONE]):
                w = np.uint64(targets[e])
                if distance[w] == unreached:
                    distance[w] = far
                    paths[w] = count
                    order[tail] = w
                    tail += _ONE
                elif np.uint64(distance[w]) == far:
                    paths[w] += count
    scales[far] = 1.0
    return tail, _ZERO


@inline_step
def _search_by_weights(
    offsets, targets, weights, source, unreached, limit, distance, paths, order, keys, vertices, place
):
    """Count the shortest paths by weights. Returns (reached vertices, why the search ended).

    `order` also lists the vertices of the heap when a search ends early.
    """
    distance[source] = 0.0
    paths[source] = 1.0
    lower(keys, vertices, place, _ZERO, 0.0, source)
    held = _ONE
    reached = _ZERO
    ended = _ZERO
    while held > _ZERO and ended == _ZERO:
        v = take_first(keys, vertices, place, held)
        held -= _ONE
        order[reached] = v
        reached += _ONE
        near = distance[v]
        count = paths[v]
        if count > MAX_PATHS:
            ended = BEYOND_FLOAT64
        for e in range(offsets[v], offsets[v + _ONE]):
            w = np.uint64(targets[e])
            known = distance[w]
            far = near + weights[e]
            if far > known:
                continue
            if not near < far < limit:
                ended = ABSORBED if far == near else TOO_FAR
            elif far == known:
                paths[w] += count
            else:
                distance[w] = far
                paths[w] = count
                if known == unreached:
                    lower(keys, vertices, place, held, far, w)
                    held += _ONE
                else:
                    lower(keys, vertices, place, np.uint64(place[w]), far, w)
    for i in range(held):
        order[reached] = vertices[i]
        reached += _ONE
    return reached, ended


@inline_step
def _add_dependencies(
    offsets, targets, weights, source, reached, distance, paths, share, order, scales, vertex_sums, edge_sums
):
    """Add the dependencies on a source. Returns the edges of the reached vertices."""
    edges = _ZERO
    for i in range(reached):
        v = np.uint64(order[reached - _ONE - i])
        edges += offsets[v + _ONE] - offsets[v]
        near = distance[v]
        count = paths[v]
        scaled = count
        if weights is None:
            scaled = count * scales[np.uint64(near) + _ONE]
        through = 0.0
        for e in range(offsets[v], offsets[v + _ONE]):
            w = np.uint64(targets[e])
            far = near + (1 if weights is None else weights[e])
            if distance[w] == far:
                own = share[w]
                through += own
                if edge_sums is not None:
                    edge_sums[e] += scaled * own
        dependency = scaled * through
        share[v] = (1.0 + dependency) / count
        if vertex_sums is not None and v != source:
            vertex_sums[v] += dependency
    return edges


@inline_step
def _add_source(
    offsets, targets, weights, source, unreached, limit, distance, paths, share, order, keys, vertices, place,
    vertex_sums, edge_sums,
):  # fmt: skip
    """Add the dependencies on one source. Returns (reached vertices, their edges, why it ended or 0)."""
    if weights is None:
        reached, ended = _search_by_edges(offsets, targets, source, unreached, distance, paths, order, keys)
    else:
        reached, ended = _search_by_weights(
            offsets, targets, weights, source, unreached, limit, distance, paths, order, keys, vertices, place
        )
    edges = _ZERO
    if ended == _ZERO:
        edges = _add_dependencies(
            offsets, targets, weights, source, reached, distance, paths, share, order, keys, vertex_sums,
            edge_sums,
        )  # fmt: skip
    for i in range(reached):
        distance[order[i]] = unreached
    return reached, edges, ended


@inline_step
def _add_row(
    offsets, targets, weights, sources, row, rows, unreached, limit, distance, paths, share, order, keys,
    vertices, place, vertex_sums, edge_sums, ended,
):  # fmt: skip
    """Add the dependencies on every `rows`-th source, from number `row` on."""
    searched = _ZERO
    total = _ZERO
    for i in range(row, np.uint64(len(sources)), rows):
        source = np.uint64(sources[i])
        reached, edges, reason = _add_source(
            offsets, targets, weights, source, unreached, limit, distance, paths, share, order, keys,
            vertices, place, vertex_sums, edge_sums,
        )  # fmt: skip
        searched += reached
        total += edges
        if reason != _ZERO:
            ended[0] = source
            ended[1] = reason
    return searched, total


@parallel
def add_sources(
    offsets, targets, weights, sources, unreached, limit, distance, paths, share, order, keys, vertices,
    place, vertex_sums, edge_sums, ended,
):  # fmt: skip
    """Add the dependencies on all sources: source ``i`` to row ``i % rows`` of the sums.

    `weights` is None if each edge weighs 1. Distances by weights must be below `limit`. If a search ends
    early, ``ended[row]`` has its source and the reason. Returns (vertices, edges): the reached
    vertices of all sources, and their edges.
    """
    searched = _ZERO
    edges = _ZERO
    rows = np.uint64(len(ended))
    for r in prange(len(ended)):
        row = np.uint64(r)
        reached, followed = _add_row(
            offsets, targets, weights, sources, row, rows, unreached, limit, distance[row], paths[row],
            share[row], order[row], keys[row], vertices[row], place[row],
            None if vertex_sums is None else vertex_sums[row],
            None if edge_sums is None else edge_sums[row], ended[row],
        )  # fmt: skip
        searched += reached
        edges += followed
    return searched, edges


@parallel
def collect(sums, total):
    """Add all rows of `sums` to `total`, in the order of the rows, and clear `sums`."""
    count = np.uint64(len(total))
    for c in prange((count + _CHUNK - _ONE) // _CHUNK):
        first = np.uint64(c) * _CHUNK
        _collect_chunk(sums, total, first, min(first + _CHUNK, count))


@inline_step
def _collect_chunk(sums, total, first, last):
    for row in range(np.uint64(len(sums))):
        for i in range(first, last):
            total[i] += sums[row, i]
            sums[row, i] = 0.0
