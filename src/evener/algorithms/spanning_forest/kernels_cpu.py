"""Spanning forests: each component chooses its lightest edge to another component, and joins that one.

Arrays for L owned vertices and M mirrors, in local numbers:

- `component` (L + M,) uint32: a root of the component of each vertex. A root is its own component.
- `parent` (L + M,) uint32: for a root, the component that it has joined, or itself.
- `best_weight`, `best_ends` (L + M,) uint64: for a root, the lightest edge that leaves the component, as the
  bits of `weight_bits` and two vertex numbers, of which the smaller is the upper half.
- `own_weight`, `own_ends` (L,) uint64 and `own_target` (L,) uint32: such an edge of each owned vertex.
- `tree_weight`, `tree_ends` (L + M,) uint64: for a root that has joined a component, the edge between them.

All edges are ordered by weight, then by the smaller and the larger vertex number. So the forest is unique.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.atomics import fetch_add, fetch_min
from evener.kernels.cpu.chunks import chunk_count
from evener.kernels.cpu.jit import inline_step, parallel, serial, vertex_step
from evener.kernels.cpu.work_queue import WORKERS, new_counter, take_chunk

__all__ = [
    "begin",
    "choose",
    "choose_by_ends",
    "choose_of_mirrors",
    "flatten",
    "join",
    "join_in_order",
    "join_mirrors",
    "list_edges",
    "total_weight",
]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_HALF = np.uint64(32)
_LOW_HALF = np.uint64(0xFFFFFFFF)
_NONE = np.uint64(0xFFFFFFFFFFFFFFFF)
_SIGN = np.uint64(0x8000000000000000)
# The bits of weight 1.
_UNIT = np.uint64(0xBFF0000000000000)
_TOP = np.uint64(63)
# Vertices in a chunk of rows, and of a loop that only copies.
_CHUNK = np.uint64(1 << 8)
_LONG_CHUNK = np.uint64(1 << 12)


@vertex_step
def weight_bits(weight):
    """Return unsigned bits of a weight as float64 that ascend as the weights do."""
    bits = np.float64(weight + 0.0).view(np.uint64)  # adding 0 makes -0 and 0 equal
    return bits ^ (_NONE if bits >> _TOP else _SIGN)


@vertex_step
def _ends(a, b):
    return (min(a, b) << _HALF) | max(a, b)


@inline_step
def _clear_chunk(owned, best_weight, best_ends, own_weight, first, last):
    for v in range(first, last):
        best_weight[v] = _NONE
        best_ends[v] = _NONE
    for v in range(first, min(last, owned)):
        own_weight[v] = _NONE


@inline_step
def _begin_chunk(component, parent, first, last):
    for v in range(first, last):
        component[v] = v
        parent[v] = v


@parallel
def begin(component, parent, best_weight, best_ends, own_weight):
    """Make each vertex and mirror a component of its own, which has chosen no edge."""
    size, owned = np.uint64(len(component)), np.uint64(len(own_weight))
    for r in prange(chunk_count(size, _LONG_CHUNK)):
        first = np.uint64(r) * _LONG_CHUNK
        last = min(first + _LONG_CHUNK, size)
        _begin_chunk(component, parent, first, last)
        _clear_chunk(owned, best_weight, best_ends, own_weight, first, last)


@vertex_step
def _choose_of_vertex(
    offsets, targets, weights, vertices, component, owned, u, best_weight, own_weight, own_ends, own_target
):
    c = component[u]
    number = np.uint64(vertices[u])
    weight, ends, target = own_weight[u], own_ends[u], own_target[u]
    for e in range(offsets[u], offsets[u + _ONE]):
        v = np.uint64(targets[e])
        bits = _UNIT if weights is None else weight_bits(np.float64(weights[e]))
        if v >= owned and component[v] != c and bits < best_weight[component[v]]:
            fetch_min(best_weight, np.uint64(component[v]), bits)
        # Few edges pass this test, so few components are read.
        if bits > weight:
            continue
        own = _ends(number, np.uint64(vertices[v]))
        if (bits < weight or own < ends) and component[v] != c:
            weight, ends, target = bits, own, np.uint32(v)
    if weight != own_weight[u] or ends != own_ends[u]:
        own_weight[u], own_ends[u], own_target[u] = weight, ends, target
        if weight < best_weight[c]:
            fetch_min(best_weight, np.uint64(c), weight)


@inline_step
def _choose_by_worker(
    offsets, targets, weights, vertices, component, skipped, rows, owned, best_weight, own_weight, own_ends,
    own_target, counter,
):  # fmt: skip
    first = take_chunk(counter, _CHUNK)
    while first < rows:
        for u in range(first, min(first + _CHUNK, rows)):
            if component[u] != skipped:
                _choose_of_vertex(
                    offsets, targets, weights, vertices, component, owned, u, best_weight, own_weight,
                    own_ends, own_target,
                )  # fmt: skip
        first = take_chunk(counter, _CHUNK)


@parallel
def choose(
    offsets, targets, weights, vertices, component, skipped, rows, best_weight, own_weight, own_ends,
    own_target,
):  # fmt: skip
    """Find the lightest edge of each vertex to another component, and its weight for each component.

    The component `skipped` chooses none: each of its edges is chosen from the other end, if at all. Mirrors
    have no rows, so an edge to a mirror is also a choice of the mirror's component.
    """
    counter = new_counter()
    for _ in prange(WORKERS):
        _choose_by_worker(
            offsets, targets, weights, vertices, component, np.uint32(skipped), np.uint64(rows),
            np.uint64(len(own_weight)), best_weight, own_weight, own_ends, own_target, counter,
        )  # fmt: skip


@inline_step
def _by_ends_chunk(component, best_weight, own_weight, own_ends, best_ends, first, last):
    for u in range(first, last):
        c = np.uint64(component[u])
        if own_weight[u] != _NONE and own_weight[u] == best_weight[c] and own_ends[u] < best_ends[c]:
            fetch_min(best_ends, c, own_ends[u])


@parallel
def choose_by_ends(component, best_weight, own_weight, own_ends, best_ends):
    """Find the ends of the lightest edge of each component, among those of its owned vertices."""
    owned = np.uint64(len(own_weight))
    for r in prange(chunk_count(owned, _LONG_CHUNK)):
        first = np.uint64(r) * _LONG_CHUNK
        _by_ends_chunk(
            component, best_weight, own_weight, own_ends, best_ends, first, min(first + _LONG_CHUNK, owned)
        )


@vertex_step
def _lightest_of_mirror(weights, e, component, u, v, owned, best_weight):
    """Return whether an edge from `u` is as light as the lightest of the component of the mirror `v`."""
    if v < owned or component[u] == component[v]:
        return False
    bits = _UNIT if weights is None else weight_bits(np.float64(weights[e]))
    return bits == best_weight[component[v]]


@inline_step
def _of_mirrors_chunk(
    offsets, targets, weights, vertices, component, owned, best_weight, best_ends, first, last
):
    for u in range(first, last):
        for e in range(offsets[u], offsets[u + _ONE]):
            v = np.uint64(targets[e])
            if _lightest_of_mirror(weights, e, component, u, v, owned, best_weight):
                ends = _ends(np.uint64(vertices[u]), np.uint64(vertices[v]))
                if ends < best_ends[component[v]]:
                    fetch_min(best_ends, np.uint64(component[v]), ends)


@parallel
def choose_of_mirrors(offsets, targets, weights, vertices, component, rows, best_weight, best_ends):
    """Find the ends of the lightest edge of each component, among those of its mirrors."""
    owned = np.uint64(rows)
    for r in prange(chunk_count(owned, _CHUNK)):
        first = np.uint64(r) * _CHUNK
        _of_mirrors_chunk(
            offsets, targets, weights, vertices, component, owned, best_weight, best_ends, first,
            min(first + _CHUNK, owned),
        )  # fmt: skip


@vertex_step
def _join_at(c, d, weight, ends, best_weight, best_ends, parent, tree_weight, tree_ends):
    """Let component `c` join `d` by its lightest edge. If `d` has the same edge, the smaller root stays."""
    if best_weight[d] == weight and best_ends[d] == ends and c < d:
        return
    parent[c] = d
    tree_weight[c] = weight
    tree_ends[c] = ends


@inline_step
def _join_chunk(
    component, own_weight, own_ends, own_target, best_weight, best_ends, parent, tree_weight, tree_ends,
    first, last,
):  # fmt: skip
    joins = _ZERO
    for u in range(first, last):
        c = np.uint64(component[u])
        weight, ends = own_weight[u], own_ends[u]
        if weight != _NONE and weight == best_weight[c] and ends == best_ends[c]:
            d = np.uint64(component[own_target[u]])
            _join_at(c, d, weight, ends, best_weight, best_ends, parent, tree_weight, tree_ends)
            joins += _ONE
    return joins


@parallel
def join(component, own_weight, own_ends, own_target, best_weight, best_ends, parent, tree_weight, tree_ends):
    """Join each component by its lightest edge, if an owned vertex has it. Return how many have one."""
    owned = np.uint64(len(own_weight))
    joins = _ZERO
    for r in prange(chunk_count(owned, _LONG_CHUNK)):
        first = np.uint64(r) * _LONG_CHUNK
        joins += _join_chunk(
            component, own_weight, own_ends, own_target, best_weight, best_ends, parent, tree_weight,
            tree_ends, first, min(first + _LONG_CHUNK, owned),
        )  # fmt: skip
    return joins


@inline_step
def _join_mirrors_chunk(
    offsets, targets, weights, vertices, component, owned, best_weight, best_ends, parent, tree_weight,
    tree_ends, first, last,
):  # fmt: skip
    joins = _ZERO
    for u in range(first, last):
        for e in range(offsets[u], offsets[u + _ONE]):
            v = np.uint64(targets[e])
            if _lightest_of_mirror(weights, e, component, u, v, owned, best_weight):
                c = np.uint64(component[v])
                ends = _ends(np.uint64(vertices[u]), np.uint64(vertices[v]))
                if ends == best_ends[c]:
                    _join_at(
                        c, np.uint64(component[u]), best_weight[c], ends, best_weight, best_ends, parent,
                        tree_weight, tree_ends,
                    )  # fmt: skip
                    joins += _ONE
    return joins


@parallel
def join_mirrors(
    offsets, targets, weights, vertices, component, rows, best_weight, best_ends, parent, tree_weight,
    tree_ends,
):  # fmt: skip
    """Join each component by its lightest edge, if a mirror has it. Return the number of such edges."""
    owned = np.uint64(rows)
    joins = _ZERO
    for r in prange(chunk_count(owned, _CHUNK)):
        first = np.uint64(r) * _CHUNK
        joins += _join_mirrors_chunk(
            offsets, targets, weights, vertices, component, owned, best_weight, best_ends, parent,
            tree_weight, tree_ends, first, min(first + _CHUNK, owned),
        )  # fmt: skip
    return joins


@inline_step
def _flatten_chunk(component, parent, first, last):
    for v in range(first, last):
        root = np.uint64(component[v])
        while parent[root] != root:
            above = parent[parent[root]]
            parent[root] = above  # an ancestor, also if another thread writes one at the same time
            root = np.uint64(above)
        component[v] = root


@parallel
def flatten(component, parent, best_weight, best_ends, own_weight):
    """Write the root of each vertex, and forget the edges that were chosen."""
    size, owned = np.uint64(len(component)), np.uint64(len(own_weight))
    for r in prange(chunk_count(size, _LONG_CHUNK)):
        first = np.uint64(r) * _LONG_CHUNK
        last = min(first + _LONG_CHUNK, size)
        _flatten_chunk(component, parent, first, last)
        _clear_chunk(owned, best_weight, best_ends, own_weight, first, last)


@inline_step
def _list_chunk(parent, tree_weight, tree_ends, length, weights, ends, first, last):
    for v in range(first, last):
        if parent[v] != v:
            place = fetch_add(length, _ZERO, _ONE)
            weights[place] = tree_weight[v]
            ends[place] = tree_ends[v]


@parallel
def list_edges(parent, tree_weight, tree_ends, length, weights, ends):
    """List the edges of roots that have joined another component, in any order."""
    size = np.uint64(len(tree_ends))
    for r in prange(chunk_count(size, _LONG_CHUNK)):
        first = np.uint64(r) * _LONG_CHUNK
        last = min(first + _LONG_CHUNK, size)
        _list_chunk(parent, tree_weight, tree_ends, length, weights, ends, first, last)


@inline_step
def _total_chunk(weights, first, last):
    total = 0.0
    for i in range(first, last):
        bits = weights[i]
        total += np.uint64(bits ^ (_SIGN if bits >> _TOP else _NONE)).view(np.float64)
    return total


@parallel
def total_weight(weights):
    """Return the sum of weights, given their bits."""
    size = np.uint64(len(weights))
    total = 0.0
    for r in prange(chunk_count(size, _LONG_CHUNK)):
        first = np.uint64(r) * _LONG_CHUNK
        total += _total_chunk(weights, first, min(first + _LONG_CHUNK, size))
    return total


# ---- edges of several forests ------------------------------------------------------------------------


@vertex_step
def _root(parent, v):
    while parent[v] != v:
        parent[v] = parent[parent[v]]
        v = np.uint64(parent[v])
    return v


@serial
def join_in_order(ends, parent, kept):
    """Mark each edge that joins two trees, in the order of the edges. `parent` has a root for each vertex."""
    for i in range(len(ends)):
        a, b = _root(parent, ends[i] >> _HALF), _root(parent, ends[i] & _LOW_HALF)
        kept[i] = a != b
        parent[max(a, b)] = min(a, b)
