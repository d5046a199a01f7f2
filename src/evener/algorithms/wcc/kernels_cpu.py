"""Weakly connected components: linking vertices into trees, flattening the trees, naming them.

`component` (L + M,) uint32 holds a vertex of the same tree with a number no larger than one's own, itself at
the root. `label` (L + M,) uint32 holds a vertex number of the whole graph.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.atomics import compare_and_swap, fetch_add, fetch_min, load
from evener.kernels.cpu.chunks import runs
from evener.kernels.cpu.jit import inline_step, parallel, serial
from evener.kernels.cpu.work_queue import SHARES, first_turn, take

__all__ = [
    "begin",
    "boundary_pairs",
    "commonest",
    "compress",
    "count_roots",
    "edges_between",
    "link_one",
    "link_rest",
    "rename",
    "smallest",
    "spread",
]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
# Vertices that a thread looks at, or takes, at a time.
_RUN = np.uint64(1 << 11)
# Pairs a thread collects before it takes room in the shared list.
_BUFFER = 256
# Vertices asked which tree is the largest.
_SAMPLE = np.uint64(1 << 10)


@inline_step
def _begin_run(vertices, component, label, first, last):
    for v in range(first, last):
        component[v] = v
        label[v] = vertices[v]


@parallel
def begin(vertices, component, label):
    """Make every vertex and mirror a tree of its own, named by its number in the graph."""
    for r in prange(runs(len(component), _RUN)):
        first = np.uint64(r) * _RUN
        _begin_run(vertices, component, label, first, min(first + _RUN, np.uint64(len(component))))


@inline_step
def _link(component, u, v):
    """Join the trees of `u` and `v`: hang the root with the larger number under the other (Afforest)."""
    a = load(component, u)
    b = load(component, v)
    while a != b:
        high = max(a, b)
        low = min(a, b)
        above = load(component, high)
        if above == low:
            return
        if above == high and compare_and_swap(component, high, high, low):
            return
        a = load(component, load(component, high))
        b = load(component, low)


@inline_step
def _link_one_share(offsets, targets, rows, k, component, turn):
    first = take(turn, _RUN)
    while first < rows:
        for v in range(first, min(first + _RUN, rows)):
            e = offsets[v] + k
            if e < offsets[v + _ONE]:
                _link(component, v, targets[e])
        first = take(turn, _RUN)


@parallel
def link_one(offsets, targets, rows, k, component):
    """Link each vertex with its `k`-th neighbour; the first are the ones of highest degree."""
    turn = first_turn()
    for _ in prange(SHARES):
        _link_one_share(offsets, targets, np.uint64(rows), np.uint64(k), component, turn)


@inline_step
def _compress_run(component, first, last):
    for v in range(first, last):
        root = load(component, v)
        above = load(component, root)
        while root != above:
            root = above
            above = load(component, root)
        component[v] = root


@parallel
def compress(component):
    """Make every vertex point to its root."""
    for r in prange(runs(len(component), _RUN)):
        first = np.uint64(r) * _RUN
        _compress_run(component, first, min(first + _RUN, np.uint64(len(component))))


@inline_step
def _link_rest_share(offsets, targets, owned, linked, giant, component, turn):
    first = take(turn, _RUN)
    while first < owned:
        for v in range(first, min(first + _RUN, owned)):
            if load(component, v) != giant:
                for e in range(offsets[v] + linked, offsets[v + _ONE]):
                    _link(component, v, targets[e])
        first = take(turn, _RUN)


@serial
def commonest(component, rows, giant):
    """``giant[0]``: a tree that holds most of the vertices, if one does, from a sample of them.

    The vote is Boyer and Moore's. Rows from `rows` on have no edge and are not asked.
    """
    step = np.uint64(rows) // _SAMPLE + _ONE
    lead = 0
    for v in range(_ZERO, np.uint64(rows), step):
        if lead == 0:
            giant[_ZERO] = component[v]
        if component[v] == giant[_ZERO]:
            lead += 1
        else:
            lead -= 1


@parallel
def link_rest(offsets, targets, owned, linked, giant, component):
    """Link every vertex outside the tree ``giant[0]`` with its neighbours from the `linked`-th on.

    Most vertices share that tree by now. Where a neighbour does not, it will link to them itself, so they are
    skipped. A neighbour sees a directed edge from its other end: both directions must be given one `giant`,
    for an edge between two in it is skipped from both its ends.
    """
    turn = first_turn()
    for _ in prange(SHARES):
        _link_rest_share(
            offsets, targets, np.uint64(owned), np.uint64(linked), np.uint32(giant[_ZERO]), component, turn
        )


@inline_step
def _edges_between_share(offsets, targets, rows, root, component, owner_label, name, turn):
    found = _ZERO
    first = take(turn, _RUN)
    while first < rows:
        for v in range(first, min(first + _RUN, rows)):
            if component[v] == root:
                for e in range(offsets[v], offsets[v + _ONE]):
                    found += np.uint64(owner_label[targets[e]] == name)
        first = take(turn, _RUN)
    return found


@parallel
def edges_between(offsets, targets, rows, giant, component, owner_label, name):
    """How many edges lead from the tree of ``giant[0]`` to a vertex that is in its owner's tree `name`.

    Trees are flat. Rows from `rows` on are not looked at.
    """
    found = _ZERO
    if rows > 0:
        root = component[giant[_ZERO]]
        turn = first_turn()
        for _ in prange(SHARES):
            found += _edges_between_share(
                offsets, targets, np.uint64(rows), root, component, owner_label, np.uint32(name), turn
            )
    return found


@inline_step
def _smallest_run(component, label, first, last):
    for v in range(first, last):
        root = component[v]
        if label[v] < load(label, root):
            fetch_min(label, root, label[v])


@parallel
def smallest(component, label):
    """``label[root] = min`` of the labels in its tree. Trees are flat."""
    for r in prange(runs(len(component), _RUN)):
        first = np.uint64(r) * _RUN
        _smallest_run(component, label, first, min(first + _RUN, np.uint64(len(component))))


@inline_step
def _spread_run(component, label, first, last):
    for v in range(first, last):
        label[v] = label[component[v]]


@parallel
def spread(component, label):
    """``label[v] = label[root of v]``."""
    for r in prange(runs(len(component), _RUN)):
        first = np.uint64(r) * _RUN
        _spread_run(component, label, first, min(first + _RUN, np.uint64(len(component))))


@inline_step
def _append(buffer, held, pairs, length):
    first = fetch_add(length, _ZERO, np.uint64(held))
    for i in range(np.uint64(held)):
        pairs[first + i, _ZERO] = buffer[i, _ZERO]
        pairs[first + i, _ONE] = buffer[i, _ONE]


@inline_step
def _pairs_run(component, label, owner_label, pairs, length, first, last):
    buffer = np.empty((_BUFFER, 2), np.uint32)
    held = 0
    previous = np.uint32(0)
    previous_owner = np.uint32(0)
    for v in range(first, last):
        mine = label[v]
        theirs = owner_label[v]
        if mine == theirs or (mine == previous and theirs == previous_owner) or component[v] == v:
            continue
        previous = mine
        previous_owner = theirs
        buffer[held, 0] = mine
        buffer[held, 1] = theirs
        held += 1
        if held == _BUFFER:
            _append(buffer, held, pairs, length)
            held = 0
    if held > 0:
        _append(buffer, held, pairs, length)


@parallel
def boundary_pairs(owned, component, label, owner_label, pairs, length):
    """List the pairs of labels that a mirror's tree has here and at its owner, runs of one pair once.

    `pairs` (M, 2) uint32 receives ``length[0]`` of them. A mirror that is a root has nobody in its tree: it
    has only been linked with owned vertices, whose numbers are smaller, if at all.
    """
    mirrors = np.uint64(len(label)) - np.uint64(owned)
    for r in prange(runs(mirrors, _RUN)):
        first = np.uint64(owned) + np.uint64(r) * _RUN
        _pairs_run(
            component, label, owner_label, pairs, length, first, min(first + _RUN, np.uint64(len(label)))
        )


@inline_step
def _rename_run(label, before, after, first, last):
    count = np.uint64(len(before))
    old = label[first]
    new = old
    for v in range(first, last):
        if v == first or label[v] != old:  # most have the same
            old = label[v]
            low = _ZERO
            high = count
            while low < high:
                middle = (low + high) >> _ONE
                if before[middle] < old:
                    low = middle + _ONE
                else:
                    high = middle
            new = after[low] if low < count and before[low] == old else old
        label[v] = new


@parallel
def rename(connected, label, before, after):
    """Replace each label found in `before`, ascending, by its partner in `after`.

    Those of vertices from `connected` on, which have no edge, and of mirrors are left alone.
    """
    for r in prange(runs(connected, _RUN)):
        first = np.uint64(r) * _RUN
        _rename_run(label, before, after, first, min(first + _RUN, np.uint64(connected)))


@inline_step
def _count_roots_run(vertices, label, first, last):
    roots = _ZERO
    for v in range(first, last):
        roots += np.uint64(label[v] == vertices[v])
    return roots


@parallel
def count_roots(owned, vertices, label):
    """The number of owned vertices that carry their own number: one in each component."""
    roots = _ZERO
    for r in prange(runs(owned, _RUN)):
        first = np.uint64(r) * _RUN
        roots += _count_roots_run(vertices, label, first, min(first + _RUN, np.uint64(owned)))
    return roots
