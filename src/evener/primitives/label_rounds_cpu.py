"""Moves of vertices to their best labels, in rounds. `label_sums_cpu` describes the arrays."""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.bits import range_mask, trailing_zeros, words_of
from evener.kernels.cpu.chunks import chunk_count
from evener.kernels.cpu.jit import inline_step, parallel, serial
from evener.kernels.cpu.mixing import mix
from evener.kernels.cpu.work_queue import new_counter
from evener.primitives.label_buckets_cpu import choose_bucket, choose_chunks, longest_row
from evener.primitives.label_choice_cpu import new_label_table
from evener.primitives.label_sums_cpu import apply_by_worker, apply_moves, wake_by_worker, wake_neighbours

__all__ = ["move_in_rounds"]

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_SIX = np.uint64(6)
_LOW_BITS = np.uint64(63)
# Words of a bitmap in a chunk.
_WORDS = np.uint64(16)
# Edges of active vertices. With fewer edges, a round runs on one thread.
_FEW_EDGES = np.uint64(1 << 16)


@inline_step
def _group_chunk(vertices, owned, salt, buckets, groups, first, last):
    for w in range(first, last):
        groups[w * buckets : (w + _ONE) * buckets] = _ZERO
        for v in range(w << _SIX, min((w + _ONE) << _SIX, owned)):
            bucket = mix(np.uint64(vertices[v]) + salt) & (buckets - _ONE)
            groups[w * buckets + bucket] |= _ONE << (v & _LOW_BITS)


@parallel
def _group(vertices, owned, salt, buckets, groups):
    """Mark the vertices of each bucket: word `w` of bucket `b` is ``groups[w * buckets + b]``."""
    words = words_of(owned)
    for r in prange(chunk_count(words, _WORDS)):
        first = np.uint64(r) * _WORDS
        _group_chunk(vertices, owned, salt, buckets, groups, first, min(first + _WORDS, words))


@inline_step
def _has_few_edges(offsets, far_offsets, both, owned, active):
    """Return whether the rows of active vertices have less than `_FEW_EDGES`."""
    edges = _ZERO
    for w in range(words_of(owned)):
        word = active[w] & range_mask(w, _ZERO, owned)
        while word != _ZERO:
            v = (w << _SIX) + trailing_zeros(word)
            word &= word - _ONE
            edges += offsets[v + _ONE] - offsets[v] + _ONE
            if both:
                edges += far_offsets[v + _ONE] - far_offsets[v]
            if edges >= _FEW_EDGES:
                return False
    return True


@serial
def _move_few(
    offsets, targets, weights, far_offsets, far_targets, far_weights, both, vertices, owned, label, within,
    strength, far_strength, total, far_total, rate, single_only, salt, buckets, active, moved, chosen, labels,
    sums, used,
):  # fmt: skip
    """Choose, move and wake in a round, on one thread. Return the number of moves."""
    moves = _ZERO
    for bucket in range(buckets):
        count = choose_chunks(
            offsets, targets, weights, far_offsets, far_targets, far_weights, both, vertices, owned, label,
            within, strength, far_strength, total, far_total, rate, single_only, salt, buckets, bucket, None,
            active, moved, chosen, labels, sums, used, new_counter(),
        )  # fmt: skip
        if count > _ZERO:
            add = len(total) > 0
            apply_by_worker(
                owned, moved, chosen, strength, far_strength, both, add, label, total, far_total,
                new_counter(),
            )  # fmt: skip
            wake_by_worker(
                offsets, targets, far_offsets, far_targets, both, owned, moved, label, active, new_counter()
            )
        moves += count
    return moves


@serial
def move_in_rounds(
    offsets, targets, weights, far_offsets, far_targets, far_weights, both, vertices, owned, label, within,
    strength, far_strength, total, far_total, rate, single_only, salt, buckets, enough, rounds, active, moved,
    chosen,
    picked, plan, table_labels, table_sums,  # noqa: ARG001 - of GPUs
):  # fmt: skip
    """Choose, move and wake in rounds, until at most `enough` vertices move in a round.

    A round with few edges runs on one thread. Other rounds mark the buckets of all vertices first.

    Returns
    -------
    tuple of int
        The number of rounds, of all moves, and of moves in the last round.
    """
    owned, salt, buckets = np.uint64(owned), np.uint64(salt), np.uint64(buckets)
    labels, sums, used = new_label_table(longest_row(offsets, far_offsets, both))
    groups = np.empty(words_of(owned) * buckets, np.uint64)
    done, moves, last = _ZERO, _ZERO, _ZERO
    while done < np.uint64(rounds):
        if _has_few_edges(offsets, far_offsets, both, owned, active):
            last = _move_few(
                offsets, targets, weights, far_offsets, far_targets, far_weights, both, vertices, owned,
                label, within, strength, far_strength, total, far_total, rate, single_only, salt + done,
                buckets, active, moved, chosen, labels, sums, used,
            )  # fmt: skip
        else:
            _group(vertices, owned, salt + done, buckets, groups)
            last = _ZERO
            for bucket in range(buckets):
                count = choose_bucket(
                    offsets, targets, weights, far_offsets, far_targets, far_weights, both, vertices, owned,
                    label, within, strength, far_strength, total, far_total, rate, single_only, salt + done,
                    buckets, bucket, groups, active, moved, chosen,
                )  # fmt: skip
                if count > _ZERO:
                    add = len(total) > 0
                    apply_moves(
                        owned, moved, chosen, strength, far_strength, both, add, label, total, far_total
                    )
                    wake_neighbours(
                        offsets, targets, far_offsets, far_targets, both, owned, moved, label, active
                    )
                last += count
        moves += last
        done += _ONE
        if last <= np.uint64(enough):
            break
    return done, moves, last
