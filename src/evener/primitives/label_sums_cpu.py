"""Sums of weights by label: tables of the labels of neighbours, and moves to the label with the best score.

Arrays for L owned vertices, M mirrors and n vertices of the graph:

- `vertices` (L + M,) uint32: the number of each vertex.
- `label` (L + M,) uint32: a vertex number for each vertex; `chosen` (L,) uint32: the label that it moves to.
- `strength` (L,) float64: the sum of the weights of a vertex's edges. In an undirected graph, a self-loop
  counts twice.
- `total` (n,) float64: the sum of the strengths of the vertices with each label.
- `active` and `moved` bitmaps (L + M bits): vertices to look at, and vertices that change their label.
- `within` (L + M,) uint32 or None: a vertex takes only labels of neighbours with the same value.

In a directed graph (`both`), `strength` and `total` are those of out-edges, `far_strength` and `far_total`
those of in-edges, and rows of both directions are read. Otherwise the arguments of the second direction are
ignored.

All weights are multiples of a power of two, and all sums are below 2^53 multiples. So sums are exact in any
order, and no answer depends on threads or partitions.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.atomics import fetch_add
from evener.kernels.cpu.bits import is_set, range_mask, set_bit, trailing_zeros, words_of
from evener.kernels.cpu.chunks import chunk_count
from evener.kernels.cpu.jit import inline_step, parallel, serial, vertex_step
from evener.kernels.cpu.work_queue import WORKERS, new_counter, take_chunk
from evener.primitives.label_buckets_cpu import choose_bucket, words_of_chunk

__all__ = [
    "apply_by_worker",
    "apply_moves",
    "choose_labels",
    "wake_all",
    "wake_by_worker",
    "wake_neighbours",
]

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_SIX = np.uint64(6)
_LOW_BITS = np.uint64(63)
# Vertices in a chunk of a loop over all vertices.
_CHUNK = np.uint64(1 << 11)


@serial
def choose_labels(
    offsets, targets, weights, far_offsets, far_targets, far_weights, both, vertices, owned, label, within,
    strength, far_strength, total, far_total, rate, single_only, salt, buckets, bucket, active, moved, chosen,
    picked, plan, table_labels, table_sums,  # noqa: ARG001 - of GPUs
):  # fmt: skip
    """Choose the best label of each active vertex of a bucket, and make these vertices inactive.

    The score of a label is the weight of the edges to its vertices, less `rate` times the strength of the
    vertex times the total of the label. The vertex itself does not count. A vertex moves if another score is
    better than that of its own label; it takes the smallest of the best labels. If `single_only`, only
    vertices that are alone with their label move, and to no label that is a vertex of their bucket. So if
    labels were the numbers of vertices at first, vertices never leave a label that another takes. GPUs list
    the vertices in `picked`. They sum up the longest rows in `table_labels` and `table_sums`, as uint32 or
    float64, at the places in `plan`.

    Returns
    -------
    int
        The number of vertices that will move.
    """
    count = choose_bucket(
        offsets, targets, weights, far_offsets, far_targets, far_weights, both, vertices, np.uint64(owned),
        label, within, strength, far_strength, total, far_total, rate, single_only, np.uint64(salt),
        np.uint64(buckets), np.uint64(bucket), None, active, moved, chosen,
    )  # fmt: skip
    return count  # noqa: RET504 - a test counts the values of kernels


@inline_step
def apply_by_worker(
    owned, moved, chosen, strength, far_strength, both, add, label, total, far_total, counter
):  # fmt: skip
    """Give vertices of chunks that a thread takes the labels that they have chosen."""
    words = words_of(owned)
    first = take_chunk(counter, _CHUNK)
    while first < words:
        for w in range(first, min(first + _CHUNK, words)):
            word = moved[w]
            while word != _ZERO:
                v = (w << _SIX) + trailing_zeros(word)
                word &= word - _ONE
                if add:
                    fetch_add(total, label[v], -strength[v])
                    fetch_add(total, chosen[v], strength[v])
                    if both:
                        fetch_add(far_total, label[v], -far_strength[v])
                        fetch_add(far_total, chosen[v], far_strength[v])
                label[v] = chosen[v]
        first = take_chunk(counter, _CHUNK)


@parallel
def apply_moves(owned, moved, chosen, strength, far_strength, both, add, label, total, far_total):
    """Give each vertex that moves its label; if `add`, also correct the totals."""
    counter = new_counter()
    for _ in prange(WORKERS):
        apply_by_worker(
            np.uint64(owned), moved, chosen, strength, far_strength, both, add, label, total, far_total,
            counter,
        )  # fmt: skip


@inline_step
def _wake_chunk(owned, active, first, last):
    for w in range(first, last):
        active[w] |= range_mask(w, _ZERO, owned)


@parallel
def wake_all(owned, active):
    """Make all owned vertices active."""
    words = words_of(owned)
    for r in prange(chunk_count(words, _CHUNK)):
        first = np.uint64(r) * _CHUNK
        _wake_chunk(np.uint64(owned), active, first, min(first + _CHUNK, words))


@vertex_step
def _wake_row(offsets, targets, v, label, active):
    for e in range(offsets[v], offsets[v + _ONE]):
        u = targets[e]
        if not is_set(active, u) and label[u] != label[v]:
            set_bit(active, u)


@inline_step
def wake_by_worker(offsets, targets, far_offsets, far_targets, both, owned, moved, label, active, counter):
    """Make the neighbours of moved vertices active, in chunks that a thread takes."""
    words = words_of(owned)
    begin, end = words_of_chunk(take_chunk(counter, _ONE), words)
    while begin < words:
        for w in range(begin, end):
            word = moved[w] & range_mask(w, _ZERO, owned)
            while word != _ZERO:
                v = (w << _SIX) + trailing_zeros(word)
                word &= word - _ONE
                _wake_row(offsets, targets, v, label, active)
                if both:
                    _wake_row(far_offsets, far_targets, v, label, active)
        begin, end = words_of_chunk(take_chunk(counter, _ONE), words)


@parallel
def wake_neighbours(offsets, targets, far_offsets, far_targets, both, owned, moved, label, active):
    """Make the neighbours of vertices that moved active, except neighbours with the new label."""
    counter = new_counter()
    for _ in prange(WORKERS):
        wake_by_worker(
            offsets, targets, far_offsets, far_targets, both, np.uint64(owned), moved, label, active, counter
        )
