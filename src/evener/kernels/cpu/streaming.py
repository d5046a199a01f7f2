"""Streaming partitioners: they assign one vertex after another and never change an owner."""

from __future__ import annotations

import numpy as np

from evener.kernels.cpu.jit import inline_step, serial

__all__ = ["CLOSED", "assign_by_neighbours", "assign_by_workload", "assign_to_least_loaded", "build_tree"]

# Key of an element that gets no more vertices.
CLOSED = np.uint64((1 << 64) - 1)

_ONE = np.uint64(1)
_ZERO = np.uint64(0)


@serial
def build_tree(tree):
    """Set each inner node of a tournament tree to the least key below it; the leaves are the second half."""
    for at in range((np.uint64(len(tree)) >> _ONE) - _ONE, _ZERO, np.int64(-1)):
        tree[at] = min(tree[at + at], tree[at + at + _ONE])


@inline_step
def _set_leaf(tree, p, key):
    """Set the key of element `p`, and update the nodes above it."""
    at = (np.uint64(len(tree)) >> _ONE) + p
    while at > _ONE:
        tree[at] = key
        key = min(key, tree[at ^ _ONE])
        at >>= _ONE
    tree[_ONE] = key


@inline_step
def _element_with_room(tree, bits, degree, room, reserve):
    """Return the least loaded element with room for a vertex. Close elements that are nearly full."""
    leaves = np.uint64(len(tree)) >> _ONE
    best = CLOSED
    for p in range(np.uint64(len(room))):
        key = tree[leaves + p]
        if key != CLOSED and degree > room[p]:
            if room[p] <= reserve[p]:
                _set_leaf(tree, p, CLOSED)
        elif key < best:
            best = key
    return best & ((_ONE << bits) - _ONE) if best != CLOSED else CLOSED


@serial
def assign_to_least_loaded(degree, rate, bits, room, reserve, tree, owner):
    """Assign each vertex to the element with the least load; return the number of vertices assigned.

    The load of element ``p`` grows by ``degree * rate[p]`` with each vertex. `tree` (2 * 2**bits)
    uint64 is a tournament tree: leaf ``p`` has the key ``load << bits | p``, or `CLOSED`. `room` (P,) uint64
    is the number of edges that still fit each element. An element without room for a vertex is passed over;
    an element with at most `reserve` (P,) edges left is closed. The kernel stops at a vertex that fits no
    element.
    """
    mask = (_ONE << bits) - _ONE
    leaves = np.uint64(len(tree)) >> _ONE
    for v in range(np.uint64(len(degree))):
        edges = np.uint64(degree[v])
        p = tree[_ONE] & mask
        if tree[_ONE] == CLOSED or edges > room[p]:
            p = _element_with_room(tree, bits, edges, room, reserve)
            if p == CLOSED:
                return v
        owner[v] = p
        room[p] -= edges
        key = tree[leaves + p] + ((edges * rate[p]) << bits)
        at = leaves + p
        while at > _ONE:
            tree[at] = key
            key = min(key, tree[at ^ _ONE])
            at >>= _ONE
        tree[_ONE] = key
    return np.uint64(len(degree))


@inline_step
def _count_neighbours(offsets, targets, v, owner, near):
    """Count the neighbours of `v` with a smaller number on each element in `near`; return their number."""
    found = _ZERO
    for e in range(offsets[v], offsets[v + _ONE]):
        w = targets[e]
        if w < v:
            near[owner[w]] += _ONE
            found += _ONE
    return found


@serial
def assign_by_neighbours(offsets, targets, in_offsets, in_targets, capacity, owner, held, near):
    """Assign vertices in ascending number to the element with the most neighbours, less a penalty (LDG).

    `capacity` (P,) float64 is the number of vertices for each element. The score of element ``p`` is
    ``near[p] * (1 - held[p] / capacity[p])``. Among equal scores, the element with the smallest part of its
    capacity in use gets the vertex. `in_offsets` has length 0 for an undirected graph. `held` and `near` (P,)
    uint64 are zeros.
    """
    elements = np.uint64(len(capacity))
    for v in range(np.uint64(len(owner))):
        near[:] = _ZERO
        _count_neighbours(offsets, targets, v, owner, near)
        if len(in_offsets) > 0:
            _count_neighbours(in_offsets, in_targets, v, owner, near)
        best, best_score, best_used = _ZERO, -np.inf, np.inf
        for p in range(elements):
            if capacity[p] > 0:
                used = held[p] / capacity[p]
                score = near[p] * max(1 - used, 0.0)
                if score > best_score or (score == best_score and used < best_used):
                    best, best_score, best_used = p, score, used
        owner[v] = best
        held[best] += _ONE


@serial
def assign_by_workload(
    offsets, targets, in_offsets, in_targets, degree, share, crossing, least_increase, most, owner, held,
    work, near,
):  # fmt: skip
    """Assign vertices in ascending number to the element with the least workload (MW) or least increase (MI).

    The workload of an element is its edges plus `crossing` times its edges to other elements, divided by its
    `share` (P,) float64. `work` and `held` (P,) float64 zeros are the workloads and the edges. An element
    with `most` (P,) float64 edges or more gets no more vertices, unless all have so many. `near` (P,) uint64
    zeros.
    """
    elements = np.uint64(len(share))
    for v in range(np.uint64(len(owner))):
        near[:] = _ZERO
        neighbours = _count_neighbours(offsets, targets, v, owner, near)
        if len(in_offsets) > 0:
            neighbours += _count_neighbours(in_offsets, in_targets, v, owner, near)
        elsewhere = 0.0
        for p in range(elements):
            if share[p] > 0:
                elsewhere += crossing * near[p] / share[p]
        best, best_cost = elements, np.inf
        for p in range(elements):
            if share[p] > 0 and held[p] < most[p]:
                cost = (degree[v] + crossing * (neighbours - near[p])) / share[p]
                cost += elsewhere - crossing * near[p] / share[p] if least_increase else work[p]
                if cost < best_cost:
                    best, best_cost = p, cost
        if best == elements:
            best = np.uint64(np.argmax(share))
        owner[v] = best
        held[best] += degree[v]
        work[best] += (degree[v] + crossing * (neighbours - near[best])) / share[best]
        for p in range(elements):
            if p != best and share[p] > 0:
                work[p] += crossing * near[p] / share[p]
