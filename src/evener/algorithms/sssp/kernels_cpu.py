"""Shortest paths: relax the out-edges of a bucket, or sweep over the in-edges of all vertices.

Arrays for L owned vertices and M mirrors:

- `distance` (L + M,) uint32 or float64: `far` if unreached. Longer paths cannot be represented.
- `weights`: an unsigned integer or non-negative float for each edge.
- `parent` (L,) uint32: a local number, or `NO_VERTEX` if it is not yet known.
- `pending`: a bitmap of L + M bits. It flags owned vertices whose distance fell since their last relaxation.
  It also flags mirrors whose distance fell since the last push to their owners.
- `queue` (L,) uint32: ``length[0]`` vertices of the current bucket; `in_bucket` is their bitmap.
- `bucket_edges` (1,) uint64: the number of out-edges of the queue.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.atomics import fetch_add, fetch_and, fetch_min, fetch_or, load
from evener.kernels.cpu.bits import range_mask, trailing_zeros, words_of
from evener.kernels.cpu.chunks import chunk_count
from evener.kernels.cpu.frontier import BUFFER, append
from evener.kernels.cpu.jit import inline_step, parallel, serial
from evener.kernels.cpu.simd import LANES, lighter, prefetch
from evener.kernels.cpu.work_queue import MIN_PARALLEL_EDGES, WORKERS, new_counter, queue_chunk, take_chunk
from evener.kernels.vertex import NO_VERTEX

__all__ = ["begin", "fill_bucket", "min_pending", "relax_bucket", "relax_buckets", "sweep"]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_SIX = np.uint64(6)
_LOW_BITS = np.uint64(63)
_LANES = np.uint64(LANES)
# Largest chunk of the queue, in vertices.
_QUEUE_CHUNK = np.uint64(32)
# Distance of the prefetch in the queue, in vertices.
_PREFETCH_AHEAD = np.uint64(4)
# Words of 64 vertices in a chunk.
_WORD_CHUNK = np.uint64(64)


@serial
def begin(sources, distance, pending):
    """Set the distance of `sources`, distinct vertices of this partition, to 0 and flag them as pending.

    Returns the number of pending vertices.
    """
    vertices = _ZERO
    for s in sources:
        distance[s] = 0
        pending[np.uint64(s) >> _SIX] |= _ONE << (np.uint64(s) & _LOW_BITS)
        vertices += _ONE
    return vertices


# ---- buckets ------------------------------------------------------------------------------------


@inline_step
def _min_pending_chunk(owned, distance, pending, first, last):
    lowest = np.inf
    for w in range(first, last):
        word = pending[w] & range_mask(w, _ZERO, owned)  # excludes mirrors
        while word != _ZERO:
            v = (w << _SIX) + trailing_zeros(word)
            word &= word - _ONE
            lowest = min(lowest, np.float64(distance[v]))
    return lowest


@parallel
def min_pending(owned, distance, pending):
    """Return the smallest distance of a pending owned vertex, infinity if there is none."""
    least = np.inf
    words = words_of(owned)
    for r in prange(chunk_count(words, _WORD_CHUNK)):
        first = np.uint64(r) * _WORD_CHUNK
        least = min(
            least,
            _min_pending_chunk(np.uint64(owned), distance, pending, first, min(first + _WORD_CHUNK, words)),
        )
    return least


@inline_step
def _fill_bucket_chunk(
    offsets, owned, limit, distance, pending, in_bucket, queue, length, bucket_edges, first, last
):
    buffer = np.empty(64, np.uint32)
    vertices = _ZERO
    edges = _ZERO
    for w in range(first, last):
        word = pending[w] & range_mask(w, _ZERO, owned)  # excludes mirrors
        taken = _ZERO
        held = 0
        while word != _ZERO:
            bit = word & (~word + _ONE)
            v = (w << _SIX) + trailing_zeros(word)
            word ^= bit
            if distance[v] < limit:
                taken |= bit
                edges += offsets[v + _ONE] - offsets[v]
                buffer[held] = v
                held += 1
        if held > 0:
            pending[w] &= ~taken
            in_bucket[w] |= taken
            append(buffer, held, queue, length)
            vertices += np.uint64(held)
    fetch_add(bucket_edges, _ZERO, edges)
    return vertices, edges


@parallel
def fill_bucket(offsets, owned, limit, distance, pending, in_bucket, queue, length, bucket_edges):
    """Move the pending vertices with a distance below `limit` to the queue.

    Adds their out-edges to ``bucket_edges[0]``. Returns (vertices, edges): the moved vertices and their
    out-edges.
    """
    vertices = _ZERO
    edges = _ZERO
    words = words_of(owned)
    for r in prange(chunk_count(words, _WORD_CHUNK)):
        first = np.uint64(r) * _WORD_CHUNK
        a, s = _fill_bucket_chunk(
            offsets, np.uint64(owned), limit, distance, pending, in_bucket, queue, length, bucket_edges,
            first, min(first + _WORD_CHUNK, words),
        )  # fmt: skip
        vertices += a
        edges += s
    return vertices, edges


@inline_step
def _relax_chunk(
    offsets, targets, weights, owned, limit, distance, parent, pending, in_bucket, queue, next_queue, length,
    first, last,
):  # fmt: skip
    buffer = np.empty(BUFFER, np.uint32)
    held = 0
    bucket_edges = _ZERO
    for i in range(first, last):
        u = np.uint64(queue[i])
        # Clear the bit before reading the distance. A thread that lowers the distance tests the bit
        # afterwards. So this thread reads the new distance, or the other thread queues the vertex again.
        fetch_and(in_bucket, u >> _SIX, ~(_ONE << (u & _LOW_BITS)))
        parent[u] = NO_VERTEX
        if i + _PREFETCH_AHEAD < last:
            prefetch(offsets, queue[i + _PREFETCH_AHEAD])
        if i + _ONE < last:
            e = offsets[queue[i + _ONE]]
            prefetch(targets, e)
            prefetch(weights, e)
            prefetch(targets, e + _LANES)
            prefetch(weights, e + _LANES)
        own_distance = load(distance, u)
        for e in range(offsets[u], offsets[u + _ONE]):
            v = np.uint64(targets[e])
            candidate = own_distance + weights[e]
            # The plain comparison avoids most atomic operations.
            if not candidate < distance[v] or not candidate < fetch_min(distance, v, candidate):
                continue
            bit = _ONE << (v & _LOW_BITS)
            if candidate >= limit or v >= owned:
                if not pending[v >> _SIX] & bit:
                    fetch_or(pending, v >> _SIX, bit)
                continue
            if pending[v >> _SIX] & bit:
                fetch_and(pending, v >> _SIX, ~bit)
            if load(in_bucket, v >> _SIX) & bit or fetch_or(in_bucket, v >> _SIX, bit) & bit:
                continue
            bucket_edges += offsets[v + _ONE] - offsets[v]
            buffer[held] = v
            held += 1
            if held == BUFFER:
                append(buffer, held, next_queue, length)
                held = 0
    if held > 0:
        append(buffer, held, next_queue, length)
    return bucket_edges


@inline_step
def _relax_worker(
    offsets, targets, weights, owned, limit, distance, parent, pending, in_bucket, queue, queued, next_queue,
    length, counter,
):  # fmt: skip
    bucket_edges = _ZERO
    chunk = queue_chunk(offsets, queue, queued, _QUEUE_CHUNK)
    first = take_chunk(counter, chunk)
    while first < queued:
        bucket_edges += _relax_chunk(
            offsets, targets, weights, owned, limit, distance, parent, pending, in_bucket, queue, next_queue,
            length, first, min(first + chunk, queued),
        )  # fmt: skip
        first = take_chunk(counter, chunk)
    return bucket_edges


@inline_step
def _put_back(queue, length, in_bucket, pending):
    for i in range(length[_ZERO]):
        v = np.uint64(queue[i])
        in_bucket[v >> _SIX] &= ~(_ONE << (v & _LOW_BITS))
        pending[v >> _SIX] |= _ONE << (v & _LOW_BITS)
    length[_ZERO] = _ZERO


@parallel
def relax_bucket(
    offsets, targets, weights, owned, limit, budget, distance, parent, pending, in_bucket, queue, length,
    next_queue, next_length, bucket_edges,
):  # fmt: skip
    """Relax the queued vertices and all vertices whose distance falls below `limit`.

    ``bucket_edges[0]`` is the number of out-edges of the queue. The kernel stops when more than `budget`
    edges are to be relaxed in total. The remaining vertices become pending again. Returns (vertices, left):
    the relaxed vertices, each as often as it was relaxed, and the remaining ones.
    """
    owned = np.uint64(owned)
    budget = np.uint64(budget)
    counter = new_counter()
    edges = bucket_edges[_ZERO]
    relaxed = edges
    vertices = _ZERO
    bucket_edges[_ZERO] = _ZERO
    while length[_ZERO] > _ZERO and relaxed <= budget:
        queued = length[_ZERO]
        vertices += queued
        next_length[_ZERO] = _ZERO
        few = queued <= _QUEUE_CHUNK and edges < MIN_PARALLEL_EDGES
        edges = _ZERO
        if few:
            edges += _relax_chunk(
                offsets, targets, weights, owned, limit, distance, parent, pending, in_bucket, queue,
                next_queue, next_length, _ZERO, queued,
            )  # fmt: skip
        else:
            counter[_ZERO] = _ZERO
            for _ in prange(WORKERS):
                edges += _relax_worker(
                    offsets, targets, weights, owned, limit, distance, parent, pending, in_bucket, queue,
                    queued, next_queue, next_length, counter,
                )  # fmt: skip
        relaxed += edges
        length[_ZERO] = next_length[_ZERO]
        queue, next_queue = next_queue, queue
    left = length[_ZERO]
    _put_back(queue, length, in_bucket, pending)
    return vertices, left


@inline_step
def _bucket_end(nearest, delta, far, distance):
    end = max((np.floor(nearest / delta) + 1.0) * delta, np.nextafter(nearest, np.inf))
    if not end < np.float64(far):
        return distance.dtype.type(far)
    limit = distance.dtype.type(end)
    return distance.dtype.type(limit + _ONE) if limit < end else limit  # round up integers


@serial
def relax_buckets(
    offsets, targets, weights, owned, delta, far, budget, max_buckets, distance, parent, pending, in_bucket,
    queue, length, next_queue, next_length, bucket_edges, nearest, next_nearest,  # noqa: ARG001 - only the GPU uses the last two
):  # fmt: skip
    """Relax up to `max_buckets` buckets of width `delta`, in the order of their distances.

    The kernel stops when `relax_bucket` leaves vertices over. `nearest` and `next_nearest` are temporary
    memory of the GPU kernel.

    Returns (vertices, edges, left, waiting): the relaxed vertices, the out-edges of those that began the
    buckets, and the vertices that the last bucket left over. `waiting` is 1 if a vertex is still pending,
    else 0.
    """
    vertices = _ZERO
    edges = _ZERO
    left = _ZERO
    waiting = _ONE
    buckets = _ZERO
    while left == _ZERO:
        least = min_pending(owned, distance, pending)
        if least == np.inf:
            waiting = _ZERO
        if least == np.inf or buckets == np.uint64(max_buckets):
            break
        buckets += _ONE
        limit = _bucket_end(least, delta, far, distance)
        _, leading_out = fill_bucket(
            offsets, owned, limit, distance, pending, in_bucket, queue, length, bucket_edges
        )
        edges += leading_out
        found, left = relax_bucket(
            offsets, targets, weights, owned, limit, budget, distance, parent, pending, in_bucket, queue,
            length, next_queue, next_length, bucket_edges,
        )  # fmt: skip
        vertices += found
    return vertices, edges, left, waiting


# ---- sweeps -------------------------------------------------------------------------------------


@inline_step
def _sweep_chunk(offsets, targets, weights, floor, distance, parent, pending, first, last):
    lowered_edges = _ZERO
    enough = np.uint64(len(weights)) >= _LANES
    for w in range(first >> _SIX, words_of(last)):
        inside = range_mask(w, first, last)
        lowered = _ZERO
        for v in range(max(first, w << _SIX), min(last, (w + _ONE) << _SIX)):
            old = distance[v]
            if old <= floor:
                continue
            best = old
            e = offsets[v]
            stop = offsets[v + _ONE]
            while e < stop:
                mask = (_ONE << min(stop - e, _LANES)) - _ONE
                if enough:
                    mask &= lighter(weights, e, stop, floor, best)
                while mask != _ZERO:
                    i = e + trailing_zeros(mask)
                    mask &= mask - _ONE
                    neighbour_distance = distance[targets[i]]
                    candidate = neighbour_distance + weights[i]
                    if candidate < best:
                        best = distance.dtype.type(candidate)
                        parent[v] = targets[i] if neighbour_distance < best else NO_VERTEX
                e += _LANES
            if best < old:
                distance[v] = best
                lowered |= _ONE << (v & _LOW_BITS)
                lowered_edges += stop - offsets[v]
        fetch_and(pending, w, ~inside | lowered)
        fetch_or(pending, w, lowered)
    return lowered_edges


@inline_step
def _sweep_worker(offsets, targets, weights, blocks, floor, distance, parent, pending, counter):
    lowered_edges = _ZERO
    b = take_chunk(counter, _ONE)
    while b + _ONE < np.uint64(len(blocks)):
        lowered_edges += _sweep_chunk(
            offsets, targets, weights, floor, distance, parent, pending, np.uint64(blocks[b]),
            np.uint64(blocks[b + _ONE]),
        )  # fmt: skip
        b = take_chunk(counter, _ONE)
    return lowered_edges


@parallel
def sweep(offsets, targets, weights, blocks, floor, distance, parent, pending):
    """Lower the distance of each vertex by its in-edges.

    `floor` is a lower bound of the distances of pending vertices. An edge can lower a distance only if
    ``floor + weight`` is below the distance. Afterwards, the vertices with a lowered distance are pending.
    Returns the number of in-edges of these vertices.
    """
    counter = new_counter()
    lowered_edges = _ZERO
    for _ in prange(WORKERS):
        lowered_edges += _sweep_worker(
            offsets, targets, weights, blocks, floor, distance, parent, pending, counter
        )
    return lowered_edges
