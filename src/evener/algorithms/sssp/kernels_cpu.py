"""Shortest paths: settle a bucket along out-edges, or sweep over in-edges.

`distance` (L + M,) is uint32 or float64 and holds `far` where unreached; lengths from `far` on do not fit.
`weights` has an unsigned or non-negative value for each edge. `parent` (L,) uint32 is a local number, or
`NOBODY` where it must still be found. `pending` is a bitmap over L + M: owned vertices that were lowered and
have not been relaxed since, and mirrors that were lowered and whose owner was not told. `queue` (L,) uint32
lists ``length[0]`` vertices of the bucket being settled, `near` is the bitmap of them. `awake` counts the
vertices that were lowered or taken up, `scout` the edges out of them.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.atomics import fetch_add, fetch_and, fetch_min, fetch_or, load
from evener.kernels.cpu.bits import range_mask, trailing_zeros, words_of
from evener.kernels.cpu.chunks import runs
from evener.kernels.cpu.frontier import BUFFER, append
from evener.kernels.cpu.jit import inline_step, parallel, serial
from evener.kernels.cpu.simd import LANES, lighter, prefetch
from evener.kernels.cpu.work_queue import FEW_EDGES, SHARES, first_turn, run_of_queue, take

__all__ = ["begin", "collect", "lowest", "settle", "settle_buckets", "sweep"]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_SIX = np.uint64(6)
_LOW_BITS = np.uint64(63)
_LANES = np.uint64(LANES)
_NOBODY = np.uint32(0xFFFFFFFF)
# Vertices of the queue that a thread takes at a time, at most.
_QUEUE_RUN = np.uint64(32)
# Vertices of the queue whose rows are asked for before they are needed (uniform 20: 12% of the search).
_SOON = np.uint64(4)
# Words of 64 vertices handed to a thread at a time.
_WORD_RUN = np.uint64(64)


@serial
def begin(source, distance, pending):
    """Start at `source`, `NOBODY` where another partition owns it. Returns awake."""
    if source == _NOBODY:
        return _ZERO
    s = np.uint64(source)
    distance[s] = 0
    pending[s >> _SIX] |= _ONE << (s & _LOW_BITS)
    return _ONE


# ---- buckets ------------------------------------------------------------------------------------


@inline_step
def _lowest_run(owned, distance, pending, first, last):
    lowest = np.inf
    for w in range(first, last):
        word = pending[w] & range_mask(w, _ZERO, owned)  # without mirrors
        while word != _ZERO:
            v = (w << _SIX) + trailing_zeros(word)
            word &= word - _ONE
            lowest = min(lowest, np.float64(distance[v]))
    return lowest


@parallel
def lowest(owned, distance, pending):
    """The least distance of a pending vertex; infinite if there is none."""
    least = np.inf
    words = words_of(owned)
    for r in prange(runs(words, _WORD_RUN)):
        first = np.uint64(r) * _WORD_RUN
        least = min(
            least, _lowest_run(np.uint64(owned), distance, pending, first, min(first + _WORD_RUN, words))
        )
    return least


@inline_step
def _collect_run(offsets, owned, limit, distance, pending, near, queue, length, scout, first, last):
    buffer = np.empty(64, np.uint32)
    awake = _ZERO
    edges = _ZERO
    for w in range(first, last):
        word = pending[w] & range_mask(w, _ZERO, owned)  # without mirrors
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
            near[w] |= taken
            append(buffer, held, queue, length)
            awake += np.uint64(held)
    fetch_add(scout, _ZERO, edges)
    return awake, edges


@parallel
def collect(offsets, owned, limit, distance, pending, near, queue, length, scout):
    """Move the pending vertices nearer than `limit` to the queue, adding their edges to ``scout[0]``.

    Returns (awake, scout).
    """
    awake = _ZERO
    edges = _ZERO
    words = words_of(owned)
    for r in prange(runs(words, _WORD_RUN)):
        first = np.uint64(r) * _WORD_RUN
        a, s = _collect_run(
            offsets, np.uint64(owned), limit, distance, pending, near, queue, length, scout, first,
            min(first + _WORD_RUN, words),
        )  # fmt: skip
        awake += a
        edges += s
    return awake, edges


@inline_step
def _relax_run(
    offsets, targets, weights, owned, limit, distance, parent, pending, near, queue, next_queue, length,
    first, last,
):  # fmt: skip
    buffer = np.empty(BUFFER, np.uint32)
    held = 0
    scout = _ZERO
    for i in range(first, last):
        u = np.uint64(queue[i])
        # Whoever lowers a vertex looks at its `near` bit afterwards, and here it is cleared before the
        # distance is read: so either that is the lowered one, or the vertex comes to the next queue.
        fetch_and(near, u >> _SIX, ~(_ONE << (u & _LOW_BITS)))
        parent[u] = _NOBODY
        if i + _SOON < last:
            prefetch(offsets, queue[i + _SOON])
        if i + _ONE < last:
            e = offsets[queue[i + _ONE]]
            prefetch(targets, e)
            prefetch(weights, e)
            prefetch(targets, e + _LANES)
            prefetch(weights, e + _LANES)
        so_far = load(distance, u)
        for e in range(offsets[u], offsets[u + _ONE]):
            v = np.uint64(targets[e])
            through = so_far + weights[e]
            # Reading first leaves one edge in seven to the atomic operation.
            if not through < distance[v] or not through < fetch_min(distance, v, through):
                continue
            bit = _ONE << (v & _LOW_BITS)
            if through >= limit or v >= owned:
                if not pending[v >> _SIX] & bit:
                    fetch_or(pending, v >> _SIX, bit)
                continue
            if pending[v >> _SIX] & bit:
                fetch_and(pending, v >> _SIX, ~bit)
            if load(near, v >> _SIX) & bit or fetch_or(near, v >> _SIX, bit) & bit:
                continue
            scout += offsets[v + _ONE] - offsets[v]
            buffer[held] = v
            held += 1
            if held == BUFFER:
                append(buffer, held, next_queue, length)
                held = 0
    if held > 0:
        append(buffer, held, next_queue, length)
    return scout


@inline_step
def _relax_share(
    offsets, targets, weights, owned, limit, distance, parent, pending, near, queue, queued, next_queue,
    length, turn,
):  # fmt: skip
    scout = _ZERO
    run = run_of_queue(offsets, queue, queued, _QUEUE_RUN)
    first = take(turn, run)
    while first < queued:
        scout += _relax_run(
            offsets, targets, weights, owned, limit, distance, parent, pending, near, queue, next_queue,
            length, first, min(first + run, queued),
        )  # fmt: skip
        first = take(turn, run)
    return scout


@inline_step
def _put_back(queue, length, near, pending):
    for i in range(length[_ZERO]):
        v = np.uint64(queue[i])
        near[v >> _SIX] &= ~(_ONE << (v & _LOW_BITS))
        pending[v >> _SIX] |= _ONE << (v & _LOW_BITS)
    length[_ZERO] = _ZERO


@parallel
def settle(
    offsets, targets, weights, owned, limit, budget, distance, parent, pending, near, queue, length,
    next_queue, next_length, scout,
):  # fmt: skip
    """Relax the queued vertices, and those that come nearer than `limit` by it, until there are none.

    ``scout[0]`` edges lead out of the queue. Gives up before it has relaxed more than `budget`; what is left
    is pending again. Returns how many vertices that is.
    """
    owned = np.uint64(owned)
    budget = np.uint64(budget)
    turn = first_turn()
    edges = scout[_ZERO]
    relaxed = edges
    scout[_ZERO] = _ZERO
    while length[_ZERO] > _ZERO and relaxed <= budget:
        queued = length[_ZERO]
        next_length[_ZERO] = _ZERO
        few = queued <= _QUEUE_RUN and edges < FEW_EDGES
        edges = _ZERO
        if few:
            edges += _relax_run(
                offsets, targets, weights, owned, limit, distance, parent, pending, near, queue, next_queue,
                next_length, _ZERO, queued,
            )  # fmt: skip
        else:
            turn[_ZERO] = _ZERO
            for _ in prange(SHARES):
                edges += _relax_share(
                    offsets, targets, weights, owned, limit, distance, parent, pending, near, queue, queued,
                    next_queue, next_length, turn,
                )  # fmt: skip
        relaxed += edges
        length[_ZERO] = next_length[_ZERO]
        queue, next_queue = next_queue, queue
    left = length[_ZERO]
    _put_back(queue, length, near, pending)
    return left


@inline_step
def _bucket_end(nearest, delta, far, distance):
    end = max((np.floor(nearest / delta) + 1.0) * delta, np.nextafter(nearest, np.inf))
    if not end < np.float64(far):
        return distance.dtype.type(far)
    limit = distance.dtype.type(end)
    return distance.dtype.type(limit + _ONE) if limit < end else limit  # whole numbers are rounded up


@serial
def settle_buckets(
    offsets, targets, weights, owned, delta, far, budget, most_buckets, distance, parent, pending, near,
    queue, length, next_queue, next_length, scout, nearest, next_nearest,  # noqa: ARG001 - the last are a GPU's
):  # fmt: skip
    """Settle one bucket of width `delta` after the other, the nearest first, as many as `most_buckets`.

    Each as `settle` does, so it stops when that gives up. A GPU keeps notes in `nearest` and `next_nearest`.
    Returns (awake, edges, left, waiting): the vertices that were collected, the edges out of them, how many
    the last bucket left, and 1 if any vertex is pending still.
    """
    awake = _ZERO
    edges = _ZERO
    left = _ZERO
    waiting = _ONE
    buckets = _ZERO
    while left == _ZERO:
        least = lowest(owned, distance, pending)
        if least == np.inf:
            waiting = _ZERO
        if least == np.inf or buckets == np.uint64(most_buckets):
            break
        buckets += _ONE
        limit = _bucket_end(least, delta, far, distance)
        found, leading_out = collect(offsets, owned, limit, distance, pending, near, queue, length, scout)
        awake += found
        edges += leading_out
        left = settle(
            offsets, targets, weights, owned, limit, budget, distance, parent, pending, near, queue, length,
            next_queue, next_length, scout,
        )  # fmt: skip
    return awake, edges, left, waiting


# ---- sweeps -------------------------------------------------------------------------------------


@inline_step
def _sweep_run(offsets, targets, weights, floor, distance, parent, pending, first, last):
    scout = _ZERO
    enough = np.uint64(len(weights)) >= _LANES
    for w in range(first >> _SIX, words_of(last)):
        inside = range_mask(w, first, last)
        lowered = _ZERO
        for v in range(max(first, w << _SIX), min(last, (w + _ONE) << _SIX)):
            had = distance[v]
            if had <= floor:
                continue
            best = had
            e = offsets[v]
            stop = offsets[v + _ONE]
            while e < stop:
                mask = (_ONE << min(stop - e, _LANES)) - _ONE
                if enough:
                    mask &= lighter(weights, e, stop, floor, best)
                while mask != _ZERO:
                    i = e + trailing_zeros(mask)
                    mask &= mask - _ONE
                    near = distance[targets[i]]
                    through = near + weights[i]
                    if through < best:
                        best = distance.dtype.type(through)
                        parent[v] = targets[i] if near < best else _NOBODY
                e += _LANES
            if best < had:
                distance[v] = best
                lowered |= _ONE << (v & _LOW_BITS)
                scout += stop - offsets[v]
        fetch_and(pending, w, ~inside | lowered)
        fetch_or(pending, w, lowered)
    return scout


@inline_step
def _sweep_share(offsets, targets, weights, blocks, floor, distance, parent, pending, turn):
    scout = _ZERO
    b = take(turn, _ONE)
    while b + _ONE < np.uint64(len(blocks)):
        scout += _sweep_run(
            offsets, targets, weights, floor, distance, parent, pending, np.uint64(blocks[b]),
            np.uint64(blocks[b + _ONE]),
        )  # fmt: skip
        b = take(turn, _ONE)
    return scout


@parallel
def sweep(offsets, targets, weights, blocks, floor, distance, parent, pending):
    """Let each vertex look for a shorter way to it over its in-edges.

    No pending vertex is nearer than `floor`, so an edge matters only if it leads from there to a lower
    distance. Afterwards those are pending that were lowered. Returns scout.
    """
    turn = first_turn()
    scout = _ZERO
    for _ in prange(SHARES):
        scout += _sweep_share(offsets, targets, weights, blocks, floor, distance, parent, pending, turn)
    return scout
