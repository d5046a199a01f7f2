"""Choices of the active vertices of a bucket. `label_sums_cpu` describes the arrays."""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.atomics import load
from evener.kernels.cpu.bits import range_mask, trailing_zeros, words_of
from evener.kernels.cpu.jit import inline_step, parallel, vertex_step
from evener.kernels.cpu.mixing import mix
from evener.kernels.cpu.simd import prefetch
from evener.kernels.cpu.work_queue import WORKERS, new_counter, take_chunk
from evener.primitives.label_choice_cpu import best_label, new_label_table

__all__ = ["choose_bucket", "choose_chunks", "longest_row", "words_of_chunk"]

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_SIX = np.uint64(6)
_LOW_BITS = np.uint64(63)
# Words of a bitmap in a chunk; the first ones, of vertices of high degree, are chunks of their own.
_WORDS, _SINGLE_WORDS = np.uint64(16), np.uint64(64)
# Distance of the prefetch, in vertices.
_AHEAD = np.uint64(8)


@inline_step
def longest_row(offsets, far_offsets, both):
    """Return the length of the first row, which is the longest."""
    if len(offsets) == 1:
        return _ZERO
    length = offsets[1] - offsets[0]
    return length + far_offsets[1] - far_offsets[0] if both else length


@vertex_step
def _of_bucket(vertices, word, first, salt, buckets, bucket):
    """Return the bits of `word` whose vertices are in a bucket; bit 0 is vertex `first`."""
    picked = _ZERO
    while word != _ZERO:
        bit = trailing_zeros(word)
        word &= word - _ONE
        if mix(np.uint64(vertices[first + bit]) + salt) & (buckets - _ONE) == bucket:
            picked |= _ONE << bit
    return picked


@inline_step
def words_of_chunk(chunk, words):
    """Return the bounds of a chunk of bitmap words. The words of the highest degrees come one by one."""
    if chunk < _SINGLE_WORDS:
        return chunk, min(chunk + _ONE, words)
    first = _SINGLE_WORDS + (chunk - _SINGLE_WORDS) * _WORDS
    return first, min(first + _WORDS, words)


@inline_step
def choose_chunks(
    offsets, targets, weights, far_offsets, far_targets, far_weights, both, vertices, owned, label, within,
    strength, far_strength, total, far_total, rate, single_only, salt, buckets, bucket, groups, active, moved,
    chosen, labels, sums, used, counter,
):  # fmt: skip
    """Choose for chunks that a thread takes, with its table. Return the number of moves."""
    words = words_of(owned)
    picked = np.empty(_WORDS << _SIX, np.uint32)
    count = _ZERO
    begin, end = words_of_chunk(take_chunk(counter, _ONE), words)
    while begin < words:
        picks = _ZERO
        for w in range(begin, end):
            moved[w] = _ZERO
            word = active[w]
            if word == _ZERO:
                continue
            word &= range_mask(w, _ZERO, owned)
            if groups is not None:
                word &= groups[w * buckets + bucket]
            else:
                word = _of_bucket(vertices, word, w << _SIX, salt, buckets, bucket)
            active[w] &= ~word
            while word != _ZERO:
                v = (w << _SIX) + trailing_zeros(word)
                word &= word - _ONE
                picked[picks] = v
                picks += _ONE
                prefetch(offsets, v)
        for i in range(picks):
            if i + _AHEAD < picks:
                prefetch(targets, offsets[picked[i + _AHEAD]])
            v = np.uint64(picked[i])
            best = best_label(
                offsets, targets, weights, far_offsets, far_targets, far_weights, both, label, within,
                strength, far_strength, total, far_total, rate, single_only, label[v] != vertices[v], v,
                labels, sums, used,
            )  # fmt: skip
            if best == label[v]:
                continue
            if single_only and mix(np.uint64(best) + salt) & (buckets - _ONE) == bucket:
                continue
            chosen[v] = best
            moved[v >> _SIX] |= _ONE << (v & _LOW_BITS)
            count += _ONE
        begin, end = words_of_chunk(take_chunk(counter, _ONE), words)
    return count


@inline_step
def _choose_by_worker(
    offsets, targets, weights, far_offsets, far_targets, far_weights, both, vertices, owned, label, within,
    strength, far_strength, total, far_total, rate, single_only, salt, buckets, bucket, groups, longest,
    active, moved, chosen, counter,
):  # fmt: skip
    if words_of_chunk(load(counter, _ZERO), words_of(owned))[0] >= words_of(owned):
        return _ZERO
    labels, sums, used = new_label_table(longest)
    return choose_chunks(
        offsets, targets, weights, far_offsets, far_targets, far_weights, both, vertices, owned, label,
        within, strength, far_strength, total, far_total, rate, single_only, salt, buckets, bucket, groups,
        active, moved, chosen, labels, sums, used, counter,
    )  # fmt: skip


@parallel
def choose_bucket(
    offsets, targets, weights, far_offsets, far_targets, far_weights, both, vertices, owned, label, within,
    strength, far_strength, total, far_total, rate, single_only, salt, buckets, bucket, groups, active, moved,
    chosen,
):  # fmt: skip
    """Choose the best labels of a bucket, whose vertices `groups` marks unless it is None."""
    longest = longest_row(offsets, far_offsets, both)
    counter = new_counter()
    count = _ZERO
    for _ in prange(WORKERS):
        count += _choose_by_worker(
            offsets, targets, weights, far_offsets, far_targets, far_weights, both, vertices, owned, label,
            within, strength, far_strength, total, far_total, rate, single_only, salt, buckets, bucket,
            groups, longest, active, moved, chosen, counter,
        )  # fmt: skip
    return count
