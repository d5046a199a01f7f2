"""Weakly connected components: link vertices into trees, flatten the trees, and label them.

Arrays for L owned vertices and M mirrors:

- `component` (L + M,) uint32: the parent of a vertex in its tree, which has a smaller number. A root is its
  own parent. A tree is flat if the parent of every vertex is the root.
- `label` (L + M,) uint32: the smallest global number of the owned vertices in the tree. Mirrors have no label
  before the exchange. After it, a mirror has the label of its vertex in the owner's partition.
- `giant` (1,) uint64: a vertex of the tree with the majority of the vertices.
- `pairs` (P, 2) uint32: pairs of labels of one component, of all partitions.
- `joined` (n,) uint32: the parent of each label in a forest over global vertex numbers. A parent is smaller
  than its child. Entries are defined for the labels in `pairs` and for those of the partition's own trees.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.atomics import compare_and_swap, fetch_add, fetch_min, load
from evener.kernels.cpu.chunks import chunk_count
from evener.kernels.cpu.jit import inline_step, parallel, serial
from evener.kernels.cpu.simd import prefetch
from evener.kernels.cpu.work_queue import WORKERS, new_counter, take_chunk

__all__ = [
    "begin",
    "boundary_pairs",
    "broadcast_labels",
    "compress",
    "edges_between",
    "find_giant",
    "join",
    "link_first",
    "link_rest",
    "min_labels",
]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
# Vertices in a chunk.
_CHUNK = np.uint64(1 << 11)
# Pairs a thread collects before it appends them to the shared list.
_BUFFER = 256
# Rows between the row that is linked and the row whose edges, and whose trees, are prefetched.
_ROWS_AHEAD = np.uint64(32)
_TREES_AHEAD = np.uint64(12)
# Vertices over those whose trees are flattened between first links.
_HUBS = np.uint64(8)
# Vertices in the sample for the largest tree.
_SAMPLE = np.uint64(1 << 10)


@inline_step
def _begin_chunk(vertices, owned, component, label, first, last):
    for v in range(first, last):
        component[v] = v
    for v in range(first, min(last, owned)):
        label[v] = vertices[v]


@parallel
def begin(vertices, owned, component, label):
    """Make each vertex and mirror a tree of its own, and label each vertex with its global number."""
    for r in prange(chunk_count(len(component), _CHUNK)):
        first = np.uint64(r) * _CHUNK
        last = min(first + _CHUNK, np.uint64(len(component)))
        _begin_chunk(vertices, np.uint64(owned), component, label, first, last)


@inline_step
def _link(component, u, v):
    """Join the trees of `u` and `v`: make the smaller root the parent of the larger root (Afforest)."""
    a = load(component, u)
    b = load(component, v)
    while a != b:
        high = max(a, b)
        low = min(a, b)
        parent = load(component, high)
        if parent == low:
            return
        if parent == high and compare_and_swap(component, high, high, low):
            return
        a = load(component, load(component, high))
        b = load(component, low)


@inline_step
def _link_first_worker(offsets, targets, rows, count, component, counter):
    first = take_chunk(counter, _CHUNK)
    while first < rows:
        for v in range(first, min(first + _CHUNK, rows)):
            prefetch(targets, offsets[min(v + _ROWS_AHEAD, rows)])
            ahead = min(v + _TREES_AHEAD, rows - _ONE)
            for e in range(offsets[ahead], min(offsets[ahead] + count, offsets[ahead + _ONE])):
                prefetch(component, targets[e])
            for e in range(offsets[v], min(offsets[v] + count, offsets[v + _ONE])):
                _link(component, v, targets[e])
        first = take_chunk(counter, _CHUNK)


@inline_step
def _attach_chunk(targets, component, first, last):
    for e in range(first, last):
        component[targets[e]] = 0


@parallel
def link_first(offsets, targets, rows, count, component):
    """Link each vertex with its first `count` neighbours, which have the highest degrees.

    The neighbours of vertex 0, the largest hub, come first. Mirrors have no rows, so other hubs would begin
    many trees that are joined late. Most first neighbours are among the first `1/_HUBS` of the vertices. The
    trees of these vertices are flattened before the other rows are linked, so that paths to roots are short.
    """
    if rows > 0:
        for r in prange(chunk_count(offsets[1] - offsets[0], _CHUNK)):
            first = offsets[0] + np.uint64(r) * _CHUNK
            _attach_chunk(targets, component, first, min(first + _CHUNK, offsets[1]))
    hubs = np.uint64(rows) // _HUBS
    counter = new_counter()
    for _ in prange(WORKERS):
        _link_first_worker(offsets, targets, hubs, np.uint64(count), component, counter)
    for r in prange(chunk_count(hubs, _CHUNK)):
        first = np.uint64(r) * _CHUNK
        _compress_chunk(component, first, min(first + _CHUNK, hubs))
    counter[_ZERO] = hubs
    for _ in prange(WORKERS):
        _link_first_worker(offsets, targets, np.uint64(rows), np.uint64(count), component, counter)


@inline_step
def _compress_chunk(component, first, last):
    for v in range(first, last):
        root = load(component, v)
        parent = load(component, root)
        while root != parent:
            root = parent
            parent = load(component, root)
        component[v] = root


@parallel
def compress(connected, component):
    """Make the root the parent of every vertex below `connected`; the others have no edges.

    The parent of a mirror is the mirror itself or an owned vertex, because owned vertices have smaller
    numbers. So mirrors are at most two steps from the root.
    """
    for r in prange(chunk_count(connected, _CHUNK)):
        first = np.uint64(r) * _CHUNK
        _compress_chunk(component, first, min(first + _CHUNK, np.uint64(connected)))


@inline_step
def _link_rest_worker(offsets, targets, connected, skip, giant, component, counter):
    first = take_chunk(counter, _CHUNK)
    while first < connected:
        for v in range(first, min(first + _CHUNK, connected)):
            if load(component, v) != giant:
                for e in range(offsets[v] + skip, offsets[v + _ONE]):
                    _link(component, v, targets[e])
        first = take_chunk(counter, _CHUNK)


@serial
def find_giant(component, rows, giant):
    """Set ``giant[0]`` to the tree with the majority of a sample of vertices, if any.

    The kernel uses the majority vote of Boyer and Moore. Rows from `rows` on are empty and not sampled.
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
def link_rest(offsets, targets, connected, skip, giant, component):
    """Link each vertex outside the tree ``giant[0]`` with its neighbours from the `skip`-th on.

    Vertices of the giant tree need no work: a neighbour outside the tree links the edge from its own end.
    Vertices from `connected` on have no edges.
    For a directed graph, call the kernel for out-edges and in-edges with the same `giant`.
    """
    counter = new_counter()
    for _ in prange(WORKERS):
        _link_rest_worker(
            offsets,
            targets,
            np.uint64(connected),
            np.uint64(skip),
            np.uint32(giant[_ZERO]),
            component,
            counter,
        )


@inline_step
def _edges_between_worker(offsets, targets, rows, root, component, label, giant_label, counter):
    found = _ZERO
    first = take_chunk(counter, _CHUNK)
    while first < rows:
        for v in range(first, min(first + _CHUNK, rows)):
            if component[v] == root:
                for e in range(offsets[v], offsets[v + _ONE]):
                    found += np.uint64(label[targets[e]] == giant_label)
        first = take_chunk(counter, _CHUNK)
    return found


@parallel
def edges_between(offsets, targets, rows, giant, component, label, giant_label):
    """Count the edges from the tree of ``giant[0]`` to mirrors with the label `giant_label`.

    The trees must be flat. No owned neighbour of the tree has this label. Rows from `rows` on are ignored.
    """
    found = _ZERO
    if rows > 0:
        root = component[giant[_ZERO]]
        counter = new_counter()
        for _ in prange(WORKERS):
            found += _edges_between_worker(
                offsets,
                targets,
                np.uint64(rows),
                root,
                component,
                label,
                np.uint32(giant_label),
                counter,
            )
    return found


@inline_step
def _min_labels_chunk(component, label, first, last):
    for v in range(first, last):
        root = component[v]
        if label[v] < load(label, root):
            fetch_min(label, root, label[v])


@parallel
def min_labels(connected, component, label):
    """Set the label of each root to the smallest label of the owned vertices in its tree.

    The trees must be flat, and vertices from `connected` on have no edges.
    """
    for r in prange(chunk_count(connected, _CHUNK)):
        first = np.uint64(r) * _CHUNK
        _min_labels_chunk(component, label, first, min(first + _CHUNK, np.uint64(connected)))


@inline_step
def _broadcast_chunk(component, label, first, last):
    for v in range(first, last):
        label[v] = label[component[v]]


@parallel
def broadcast_labels(connected, component, label):
    """Set the label of each vertex below `connected` to the label of its root. The trees must be flat."""
    for r in prange(chunk_count(connected, _CHUNK)):
        first = np.uint64(r) * _CHUNK
        _broadcast_chunk(component, label, first, min(first + _CHUNK, np.uint64(connected)))


@inline_step
def _append(buffer, held, pairs, length):
    first = fetch_add(length, _ZERO, np.uint64(held))
    for i in range(np.uint64(held)):
        pairs[first + i, _ZERO] = buffer[i, _ZERO]
        pairs[first + i, _ONE] = buffer[i, _ONE]


@inline_step
def _pairs_chunk(component, label, pairs, length, first, end):
    buffer = np.empty((_BUFFER, 2), np.uint32)
    held = 0
    last = np.uint32(0)
    last_owner = np.uint32(0)
    for v in range(first, end):
        parent = component[v]
        if parent == v:
            continue
        own = label[component[parent]]
        owner = label[v]
        if own == owner or (own == last and owner == last_owner):
            continue
        last = own
        last_owner = owner
        buffer[held, 0] = own
        buffer[held, 1] = owner
        held += 1
        if held == _BUFFER:
            _append(buffer, held, pairs, length)
            held = 0
    if held > 0:
        _append(buffer, held, pairs, length)


@parallel
def boundary_pairs(owned, component, label, pairs, length):
    """List the pairs of labels that mirrors have in their own tree and at their owner, if the labels differ.

    `pairs` (M, 2) receives ``length[0]`` pairs, which may repeat. A mirror that is a root is skipped: its
    tree has no other vertex, because owned vertices have smaller numbers. The trees must be flat, except for
    mirrors.

    Returns
    -------
    int
        The number of pairs.
    """
    mirrors = np.uint64(len(label)) - np.uint64(owned)
    for r in prange(chunk_count(mirrors, _CHUNK)):
        first = np.uint64(owned) + np.uint64(r) * _CHUNK
        _pairs_chunk(component, label, pairs, length, first, min(first + _CHUNK, np.uint64(len(label))))
    return length[_ZERO]


@inline_step
def _begin_trees_chunk(component, label, joined, first, last):
    for v in range(first, last):
        if component[v] == v:
            joined[label[v]] = label[v]


@inline_step
def _begin_pairs_chunk(pairs, joined, first, last):
    for i in range(first, last):
        joined[pairs[i, _ZERO]] = pairs[i, _ZERO]
        joined[pairs[i, _ONE]] = pairs[i, _ONE]


@inline_step
def _link_pairs_chunk(pairs, joined, first, last):
    for i in range(first, last):
        _link(joined, pairs[i, _ZERO], pairs[i, _ONE])


@inline_step
def _root_of(joined, v):
    """Return the root of `v`, and halve the path to it: link every other vertex to its grandparent."""
    parent = load(joined, v)
    while parent != v:
        above = load(joined, parent)
        if above == parent:
            return parent
        joined[v] = above
        v = above
        parent = load(joined, v)
    return v


@inline_step
def _relabel_chunk(label, joined, first, last):
    old = label[first]
    new = _root_of(joined, old)
    for v in range(first, last):
        if label[v] != old:  # consecutive labels are mostly equal
            old = label[v]
            new = _root_of(joined, old)
        if new != old:
            label[v] = new


@parallel
def join(connected, giant, component, label, pairs, joined):
    """Link the labels in `pairs`, and replace the label of each vertex by the root of the label.

    Vertices from `connected` on have no edge and keep their labels. Mirrors keep theirs, too.

    Returns
    -------
    int
        The new label of ``giant[0]``; 0 if no vertex has an edge.
    """
    # Each label of a tree with edges, and each label in `pairs`, is a root at first.
    for r in prange(chunk_count(connected, _CHUNK)):
        first = np.uint64(r) * _CHUNK
        _begin_trees_chunk(component, label, joined, first, min(first + _CHUNK, np.uint64(connected)))
    for r in prange(chunk_count(len(pairs), _CHUNK)):
        first = np.uint64(r) * _CHUNK
        _begin_pairs_chunk(pairs, joined, first, min(first + _CHUNK, np.uint64(len(pairs))))
    for r in prange(chunk_count(len(pairs), _CHUNK)):
        first = np.uint64(r) * _CHUNK
        _link_pairs_chunk(pairs, joined, first, min(first + _CHUNK, np.uint64(len(pairs))))
    for r in prange(chunk_count(connected, _CHUNK)):
        first = np.uint64(r) * _CHUNK
        _relabel_chunk(label, joined, first, min(first + _CHUNK, np.uint64(connected)))
    return np.uint64(label[giant[_ZERO]]) if connected > 0 else _ZERO
