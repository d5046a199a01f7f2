"""Sums over labels: strengths, totals of labels, lists of moves, weight inside labels, smallest vertices.

Arrays for L owned vertices, M mirrors and n vertices of the graph, as in `label_sums_cpu`:

- `label` (L + M,) uint32 and `vertices` (L + M,) uint32.
- `strength` (L,) float64: the sum of the weights of the edges of each vertex.
- `total` (n,) float64: the sum of the strengths of the vertices with each label.
- `moved` bitmap of L + M bits: vertices that move to the label `chosen` (L,) uint32.
- `smallest` (n,) uint32: the smallest vertex number with each label.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.atomics import fetch_add, fetch_min
from evener.kernels.cpu.bits import population, range_mask, trailing_zeros, words_of
from evener.kernels.cpu.chunks import chunk_count
from evener.kernels.cpu.jit import inline_step, inlined, parallel
from evener.kernels.cpu.work_queue import WORKERS, new_counter, take_chunk

__all__ = [
    "add_moves",
    "add_totals",
    "begin_labels",
    "clear_totals",
    "count_own",
    "inside_weight",
    "list_moves",
    "smallest_of_label",
    "sum_weights",
    "take_smallest",
    "total_spread",
]

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_SIX = np.uint64(6)
# Vertices in a chunk, and of a loop over edges.
_CHUNK = np.uint64(1 << 11)
_FEW = np.uint64(64)
# The sum of all squared shares of labels, as an integer.
_WHOLE = 2.0**62


@inline_step
def _begin_chunk(vertices, label, first, last):
    for v in range(first, last):
        label[v] = vertices[v]


@parallel
def begin_labels(vertices, label):
    """Give each vertex and mirror its own number as label."""
    size = np.uint64(len(label))
    for r in prange(chunk_count(size, _CHUNK)):
        first = np.uint64(r) * _CHUNK
        _begin_chunk(vertices, label, first, min(first + _CHUNK, size))


@inline_step
def _sum_chunk(offsets, targets, weights, twice, strength, first, last):
    whole = 0.0
    fractions = _ZERO
    for v in range(first, last):
        own = 0.0
        for e in range(offsets[v], offsets[v + _ONE]):
            weight = 1.0
            if weights is not None:
                weight = np.float64(weights[e])
                fractions += np.uint64(weight != np.floor(weight))
            own += weight
            if twice and np.uint64(targets[e]) == v:
                own += weight
        strength[v] = own
        whole += own
    return whole, fractions


@parallel
def sum_weights(offsets, targets, weights, twice, strength):
    """Write the sum of the weights of each row. If `twice`, loops count twice.

    Returns
    -------
    tuple of float and int
        The whole sum, and the number of weights that are no integers.
    """
    owned = np.uint64(len(offsets) - 1)
    whole = 0.0
    fractions = _ZERO
    for r in prange(chunk_count(owned, _CHUNK)):
        first = np.uint64(r) * _CHUNK
        last = min(first + _CHUNK, owned)
        of_chunk, of_fractions = _sum_chunk(offsets, targets, weights, twice, strength, first, last)
        whole += of_chunk
        fractions += of_fractions
    return whole, fractions


@inline_step
def _inside_by_worker(offsets, targets, weights, twice, label, counter):
    owned = np.uint64(len(offsets) - 1)
    inside = 0.0
    first = take_chunk(counter, _FEW)
    while first < owned:
        for v in range(first, min(first + _FEW, owned)):
            own = label[v]
            for e in range(offsets[v], offsets[v + _ONE]):
                u = np.uint64(targets[e])
                if label[u] == own:
                    weight = 1.0
                    if weights is not None:
                        weight = np.float64(weights[e])
                    inside += weight
                    if twice and u == v:
                        inside += weight
        first = take_chunk(counter, _FEW)
    return inside


@parallel
def inside_weight(offsets, targets, weights, twice, label):
    """Return the weight of the edges between vertices with equal labels; if `twice`, a loop counts twice."""
    counter = new_counter()
    inside = 0.0
    for _ in prange(WORKERS):
        inside += _inside_by_worker(offsets, targets, weights, twice, label, counter)
    return inside


@inline_step
def _clear_chunk(total, first, last):
    for i in range(first, last):
        total[i] = 0.0


@parallel
def clear_totals(total):
    """Set all totals to zero."""
    size = np.uint64(len(total))
    for r in prange(chunk_count(size, _CHUNK)):
        first = np.uint64(r) * _CHUNK
        _clear_chunk(total, first, min(first + _CHUNK, size))


@inline_step
def _add_chunk(label, strength, total, first, last):
    for v in range(first, last):
        fetch_add(total, label[v], strength[v])


@parallel
def add_totals(label, strength, total):
    """Add each strength to the total of its label; `label` may be longer than `strength`."""
    size = np.uint64(len(strength))
    for r in prange(chunk_count(size, _CHUNK)):
        first = np.uint64(r) * _CHUNK
        _add_chunk(label, strength, total, first, min(first + _CHUNK, size))


def _product(total, far_total, share):
    return np.rint((total * share) * (far_total * share) * _WHOLE)


# LLVM must not reorder these operations, because GPUs have equal results.
_square = inlined(_product)


@inline_step
def _spread_chunk(total, far_total, share, first, last):
    spread = _ZERO
    for i in range(first, last):
        spread += np.uint64(_square(total[i], far_total[i], share))
    return spread


@parallel
def total_spread(total, far_total, share):
    """Return the sum of the products of two shares of each label, in units of 2^-62."""
    size = np.uint64(len(total))
    spread = _ZERO
    for r in prange(chunk_count(size, _CHUNK)):
        first = np.uint64(r) * _CHUNK
        spread += _spread_chunk(total, far_total, share, first, min(first + _CHUNK, size))
    return spread


@inline_step
def _smallest_chunk(label, vertices, smallest, first, last):
    for v in range(first, last):
        if vertices[v] < smallest[label[v]]:
            fetch_min(smallest, label[v], vertices[v])


@parallel
def smallest_of_label(label, vertices, owned, smallest):
    """Lower the smallest vertex number of each label to those of the owned vertices."""
    for r in prange(chunk_count(owned, _CHUNK)):
        first = np.uint64(r) * _CHUNK
        _smallest_chunk(label, vertices, smallest, first, min(first + _CHUNK, np.uint64(owned)))


@inline_step
def _take_chunk(label, smallest, found, first, last):
    for v in range(first, last):
        found[v] = smallest[label[v]]


@parallel
def take_smallest(label, smallest, found):
    """Write the smallest vertex number with the label of each owned vertex."""
    size = np.uint64(len(found))
    for r in prange(chunk_count(size, _CHUNK)):
        first = np.uint64(r) * _CHUNK
        _take_chunk(label, smallest, found, first, min(first + _CHUNK, size))


@inline_step
def _count_chunk(label, vertices, first, last):
    count = _ZERO
    for v in range(first, last):
        count += np.uint64(label[v] == vertices[v])
    return count


@parallel
def count_own(label, vertices, owned):
    """Count the owned vertices whose label is their own number."""
    count = _ZERO
    for r in prange(chunk_count(owned, _CHUNK)):
        first = np.uint64(r) * _CHUNK
        count += _count_chunk(label, vertices, first, min(first + _CHUNK, np.uint64(owned)))
    return count


@inline_step
def _list_by_worker(
    owned, moved, label, chosen, strength, far_strength, both, labels, strengths, length, counter
):  # fmt: skip
    words = words_of(owned)
    first = take_chunk(counter, _CHUNK)
    while first < words:
        for w in range(first, min(first + _CHUNK, words)):
            word = moved[w] & range_mask(w, _ZERO, owned)
            if word == _ZERO:
                continue
            place = fetch_add(length, _ZERO, population(word))
            while word != _ZERO:
                v = (w << _SIX) + trailing_zeros(word)
                word &= word - _ONE
                labels[place, _ZERO] = label[v]
                labels[place, _ONE] = chosen[v]
                strengths[place, _ZERO] = strength[v]
                if both:
                    strengths[place, _ONE] = far_strength[v]
                place += _ONE
        first = take_chunk(counter, _CHUNK)


@parallel
def list_moves(owned, moved, label, chosen, strength, far_strength, both, labels, strengths, length):
    """List the old label, the new label and the strengths of each vertex that moves, in any order."""
    counter = new_counter()
    for _ in prange(WORKERS):
        _list_by_worker(
            np.uint64(owned), moved, label, chosen, strength, far_strength, both, labels, strengths, length,
            counter,
        )  # fmt: skip


@inline_step
def _add_moves_chunk(labels, strengths, both, total, far_total, first, last):
    for i in range(first, last):
        old, new = labels[i, _ZERO], labels[i, _ONE]
        fetch_add(total, old, -strengths[i, _ZERO])
        fetch_add(total, new, strengths[i, _ZERO])
        if both:
            fetch_add(far_total, old, -strengths[i, _ONE])
            fetch_add(far_total, new, strengths[i, _ONE])


@parallel
def add_moves(labels, strengths, both, total, far_total):
    """Correct the totals by listed moves of all partitions."""
    size = np.uint64(len(labels))
    for r in prange(chunk_count(size, _CHUNK)):
        first = np.uint64(r) * _CHUNK
        _add_moves_chunk(labels, strengths, both, total, far_total, first, min(first + _CHUNK, size))
