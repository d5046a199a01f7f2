"""Spread the values of a frontier along edges.

Arrays for L owned vertices and M mirrors:

- `offsets`, `targets`: the edges along which values spread.
- `far_offsets`, `far_targets`: the same edges, from the other end.
- `peers`, `values` (L + M,) uint32: a value spreads between vertices with equal `peers`.
- `members`, a bitmap of L + M bits: vertices and mirrors whose value was lowered.
- `queue`, `following` (L,) uint32: ``length[0]`` members, and ``following_length[0]`` of the next step.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.atomics import fetch_and, fetch_min, fetch_or, load
from evener.kernels.cpu.chunks import CHUNK, chunk_count, chunk_of
from evener.kernels.cpu.frontier import BUFFER, append, to_queue
from evener.kernels.cpu.jit import inline_step, parallel, vertex_step
from evener.kernels.cpu.work_queue import WORKERS, new_counter, take_chunk

__all__ = ["spread"]

_ONE, _ZERO, _SIX, _LOW_BITS = np.uint64(1), np.uint64(0), np.uint64(6), np.uint64(63)
# Members in a chunk. Fewer members than this run on one thread.
_CHUNK = np.uint64(64)
# Vertices in a chunk of a step that gathers values.
_GATHER_CHUNK = np.uint64(1 << 8)
# A step gathers if the members have more edges than 1/15 of the unexplored edges (Beamer's alpha) and 1/8 of
# the vertices.
_ALPHA, _VERTICES_PER_EDGE = np.uint64(15), np.uint64(8)


@vertex_step
def _spread_row(
    targets, begin, end, owned, peer, value, peers, values, members, buffer, held, following, length
):
    """Lower the values of the targets of a row. Return the number of new members in the buffer."""
    for e in range(begin, end):
        t = np.uint64(targets[e])
        if values[t] > value and peers[t] == peer and fetch_min(values, t, value) > value:
            bit = _ONE << (t & _LOW_BITS)
            if not fetch_or(members, t >> _SIX, bit) & bit and t < owned:
                if held == BUFFER:
                    append(buffer, held, following, length)
                    held = 0
                buffer[held] = t
                held += 1
    return held


@inline_step
def _spread_queue(
    offsets, targets, owned, peers, values, members, flagged, queue, queued, following, length, counter
):
    buffer = np.empty(BUFFER, np.uint32)
    held = 0
    first = take_chunk(counter, _CHUNK)
    while first < queued:
        for i in range(first, min(first + _CHUNK, queued)):
            u = np.uint64(queue[i])
            if flagged:
                fetch_and(members, u >> _SIX, ~(_ONE << (u & _LOW_BITS)))  # before the value is read
            held = _spread_row(
                targets, offsets[u], offsets[u + _ONE], owned, peers[u], load(values, u), peers, values,
                members, buffer, held, following, length,
            )  # fmt: skip
        first = take_chunk(counter, _CHUNK)
    append(buffer, held, following, length)


# ---- frontiers of one value ----------------------------------------------------------------------------


@inline_step
def _is_search(peers, values, queue, queued):
    """Return true if all members have the same value and the same peers."""
    u = np.uint64(queue[_ZERO])
    for i in range(_ONE, queued):
        v = np.uint64(queue[i])
        if values[v] != values[u] or peers[v] != peers[u]:
            return False
    return True


@inline_step
def _edges_of_chunk(offsets, queue, first, last):
    edges = _ZERO
    for i in range(first, last):
        u = np.uint64(queue[i])
        edges += offsets[u + _ONE] - offsets[u]
    return edges


@vertex_step
def _has_member(targets, begin, end, peer, value, peers, values):
    """Return true if a neighbour has the value of the members, and their peers."""
    for e in range(begin, end):
        t = np.uint64(targets[e])
        if values[t] == value and peers[t] == peer:
            return True
    return False


@inline_step
def _gather(far_offsets, far_targets, owned, peer, value, peers, values, following, length, counter):
    """Lower the values of vertices with a neighbour of this value."""
    buffer = np.empty(BUFFER, np.uint32)
    held = 0
    first = take_chunk(counter, _GATHER_CHUNK)
    while first < owned:
        for v in range(first, min(first + _GATHER_CHUNK, owned)):
            if (
                values[v] > value
                and peers[v] == peer
                and _has_member(
                    far_targets, far_offsets[v], far_offsets[v + _ONE], peer, value, peers, values
                )
            ):
                values[v] = value
                if held == BUFFER:
                    append(buffer, held, following, length)
                    held = 0
                buffer[held] = v
                held += 1
        first = take_chunk(counter, _GATHER_CHUNK)
    append(buffer, held, following, length)


@parallel
def spread(
    offsets, targets, far_offsets, far_targets, owned, peers, values, members, queue, following, length,
    following_length,
):  # fmt: skip
    """Spread values until no owned vertex is a member, and leave the lowered mirrors in `members`.

    Without mirrors, and if all members have one value, a step gathers the values where it reads fewer edges.

    Returns the number of members at the beginning.
    """
    length[_ZERO] = _ZERO
    unexplored = offsets[owned] - to_queue(offsets, owned, members, queue, length)
    queued = load(length, _ZERO)
    members_first = queued
    search = queued > _ZERO and np.uint64(owned) == len(values) and _is_search(peers, values, queue, queued)
    flagged = False  # the flags of these members are clear
    while queued > _ZERO:
        following_length[_ZERO] = _ZERO
        counter = new_counter()
        edges = _ZERO
        if search and flagged and queued > _CHUNK:
            if queued <= CHUNK:
                edges = _edges_of_chunk(offsets, queue, _ZERO, queued)
            else:
                for r in prange(chunk_count(queued, CHUNK)):
                    first, last = chunk_of(r, 0, queued, CHUNK)
                    edges += _edges_of_chunk(offsets, queue, first, last)
            unexplored -= edges
        if edges > unexplored // _ALPHA + np.uint64(owned) // _VERTICES_PER_EDGE:
            u = np.uint64(queue[_ZERO])
            members[:] = _ZERO
            for _ in prange(WORKERS):
                _gather(
                    far_offsets, far_targets, np.uint64(owned), peers[u], values[u], peers, values, following,
                    following_length, counter,
                )  # fmt: skip
        elif queued <= _CHUNK:
            _spread_queue(
                offsets, targets, np.uint64(owned), peers, values, members, flagged, queue, queued, following,
                following_length, counter,
            )  # fmt: skip
        else:
            for _ in prange(WORKERS):
                _spread_queue(
                    offsets, targets, np.uint64(owned), peers, values, members, flagged, queue, queued,
                    following, following_length, counter,
                )  # fmt: skip
        queue, following = following, queue
        queued = load(following_length, _ZERO)
        flagged = True
    return members_first
