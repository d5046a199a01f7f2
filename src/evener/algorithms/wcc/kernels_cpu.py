"""Weakly connected components: link vertices into trees, flatten the trees, and label them.

Arrays for L owned vertices and M mirrors:

- `component` (L + M,) uint32: the parent of a vertex in its tree, which has a smaller number. A root is its
  own parent. A tree is flat if the parent of every vertex is the root.
- `label` (L + M,) uint32: a global vertex number.
- `owner_label` (L + M,) uint32: the label of a vertex in its owner's partition.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.atomics import compare_and_swap, fetch_add, fetch_min, load
from evener.kernels.cpu.chunks import chunk_count
from evener.kernels.cpu.jit import inline_step, parallel, serial
from evener.kernels.cpu.work_queue import WORKERS, new_counter, take_chunk

__all__ = [
    "begin",
    "boundary_pairs",
    "broadcast_labels",
    "compress",
    "count_roots",
    "edges_between",
    "find_giant",
    "link_one",
    "link_rest",
    "min_labels",
    "rename",
]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
# Vertices in a chunk.
_CHUNK = np.uint64(1 << 11)
# Pairs a thread collects before it appends them to the shared list.
_BUFFER = 256
# Vertices in the sample for the largest tree.
_SAMPLE = np.uint64(1 << 10)


@inline_step
def _begin_chunk(vertices, component, label, first, last):
    for v in range(first, last):
        component[v] = v
        label[v] = vertices[v]


@parallel
def begin(vertices, component, label):
    """Make each vertex and mirror a tree of its own, labelled with its global number."""
    for r in prange(chunk_count(len(component), _CHUNK)):
        first = np.uint64(r) * _CHUNK
        _begin_chunk(vertices, component, label, first, min(first + _CHUNK, np.uint64(len(component))))


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
def _link_one_worker(offsets, targets, rows, k, component, counter):
    first = take_chunk(counter, _CHUNK)
    while first < rows:
        for v in range(first, min(first + _CHUNK, rows)):
            e = offsets[v] + k
            if e < offsets[v + _ONE]:
                _link(component, v, targets[e])
        first = take_chunk(counter, _CHUNK)


@parallel
def link_one(offsets, targets, rows, k, component):
    """Link each vertex with its `k`-th neighbour. The first neighbours have the highest degrees."""
    counter = new_counter()
    for _ in prange(WORKERS):
        _link_one_worker(offsets, targets, np.uint64(rows), np.uint64(k), component, counter)


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
def compress(component):
    """Flatten the trees: make the root the parent of every vertex."""
    for r in prange(chunk_count(len(component), _CHUNK)):
        first = np.uint64(r) * _CHUNK
        _compress_chunk(component, first, min(first + _CHUNK, np.uint64(len(component))))


@inline_step
def _link_rest_worker(offsets, targets, owned, skip, giant, component, counter):
    first = take_chunk(counter, _CHUNK)
    while first < owned:
        for v in range(first, min(first + _CHUNK, owned)):
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
def link_rest(offsets, targets, owned, skip, giant, component):
    """Link each vertex outside the tree ``giant[0]`` with its neighbours from the `skip`-th on.

    The vertices of the giant tree need no work: a neighbour outside the tree links the edge from its own end.
    For a directed graph, call the kernel for out-edges and in-edges with the same `giant`.
    """
    counter = new_counter()
    for _ in prange(WORKERS):
        _link_rest_worker(
            offsets, targets, np.uint64(owned), np.uint64(skip), np.uint32(giant[_ZERO]), component, counter
        )


@inline_step
def _edges_between_worker(offsets, targets, rows, root, component, owner_label, giant_label, counter):
    found = _ZERO
    first = take_chunk(counter, _CHUNK)
    while first < rows:
        for v in range(first, min(first + _CHUNK, rows)):
            if component[v] == root:
                for e in range(offsets[v], offsets[v + _ONE]):
                    found += np.uint64(owner_label[targets[e]] == giant_label)
        first = take_chunk(counter, _CHUNK)
    return found


@parallel
def edges_between(offsets, targets, rows, giant, component, owner_label, giant_label):
    """Count the edges from the tree of ``giant[0]`` to vertices with the owner label `giant_label`.

    The trees must be flat. Rows from `rows` on are ignored.
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
                owner_label,
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
def min_labels(component, label):
    """Set the label of each root to the smallest label in its tree. The trees must be flat."""
    for r in prange(chunk_count(len(component), _CHUNK)):
        first = np.uint64(r) * _CHUNK
        _min_labels_chunk(component, label, first, min(first + _CHUNK, np.uint64(len(component))))


@inline_step
def _broadcast_chunk(component, label, first, last):
    for v in range(first, last):
        label[v] = label[component[v]]


@parallel
def broadcast_labels(component, label):
    """Set the label of each vertex to the label of its root. The trees must be flat."""
    for r in prange(chunk_count(len(component), _CHUNK)):
        first = np.uint64(r) * _CHUNK
        _broadcast_chunk(component, label, first, min(first + _CHUNK, np.uint64(len(component))))


@inline_step
def _append(buffer, held, pairs, length):
    first = fetch_add(length, _ZERO, np.uint64(held))
    for i in range(np.uint64(held)):
        pairs[first + i, _ZERO] = buffer[i, _ZERO]
        pairs[first + i, _ONE] = buffer[i, _ONE]


@inline_step
def _pairs_chunk(component, label, owner_label, pairs, length, first, end):
    buffer = np.empty((_BUFFER, 2), np.uint32)
    held = 0
    last = np.uint32(0)
    last_owner = np.uint32(0)
    for v in range(first, end):
        own = label[v]
        owner = owner_label[v]
        if own == owner or (own == last and owner == last_owner) or component[v] == v:
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
def boundary_pairs(owned, component, label, owner_label, pairs, length):
    """List the pairs (label, owner label) of mirrors whose two labels differ.

    `pairs` (M, 2) uint32 receives ``length[0]`` pairs, which may repeat. A mirror that is a root is skipped:
    its tree has no other vertex, because owned vertices have smaller numbers.
    """
    mirrors = np.uint64(len(label)) - np.uint64(owned)
    for r in prange(chunk_count(mirrors, _CHUNK)):
        first = np.uint64(owned) + np.uint64(r) * _CHUNK
        _pairs_chunk(
            component, label, owner_label, pairs, length, first, min(first + _CHUNK, np.uint64(len(label)))
        )


@inline_step
def _rename_chunk(label, old_labels, new_labels, first, last):
    count = np.uint64(len(old_labels))
    old = label[first]
    new = old
    for v in range(first, last):
        if v == first or label[v] != old:  # consecutive labels are mostly equal
            old = label[v]
            low = _ZERO
            high = count
            while low < high:
                middle = (low + high) >> _ONE
                if old_labels[middle] < old:
                    low = middle + _ONE
                else:
                    high = middle
            new = new_labels[low] if low < count and old_labels[low] == old else old
        label[v] = new


@parallel
def rename(connected, label, old_labels, new_labels):
    """Replace each label in `old_labels`, which is sorted, by the entry of `new_labels` at the same index.

    Mirrors keep their labels, and so do the vertices without edges, from `connected` on.
    """
    for r in prange(chunk_count(connected, _CHUNK)):
        first = np.uint64(r) * _CHUNK
        _rename_chunk(label, old_labels, new_labels, first, min(first + _CHUNK, np.uint64(connected)))


@inline_step
def _count_roots_chunk(vertices, label, first, last):
    roots = _ZERO
    for v in range(first, last):
        roots += np.uint64(label[v] == vertices[v])
    return roots


@parallel
def count_roots(owned, vertices, label):
    """Count the owned vertices labelled with their own number. Each component has one."""
    roots = _ZERO
    for r in prange(chunk_count(owned, _CHUNK)):
        first = np.uint64(r) * _CHUNK
        roots += _count_roots_chunk(vertices, label, first, min(first + _CHUNK, np.uint64(owned)))
    return roots
