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

from evener.kernels.cpu.atomics import fetch_add, load
from evener.kernels.cpu.bits import is_set, range_mask, set_bit, trailing_zeros, words_of
from evener.kernels.cpu.chunks import chunk_count
from evener.kernels.cpu.jit import inline_step, inlined, parallel, serial, vertex_step
from evener.kernels.cpu.mixing import mix
from evener.kernels.cpu.simd import prefetch
from evener.kernels.cpu.work_queue import WORKERS, new_counter, take_chunk

__all__ = [
    "apply_moves",
    "choose_labels",
    "move_in_rounds",
    "wake_all",
    "wake_neighbours",
]

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_SIX = np.uint64(6)
_LOW_BITS = np.uint64(63)
_EMPTY = np.uint32(0xFFFFFFFF)
# 2^64 over the golden ratio: Fibonacci hashing (Knuth, The Art of Computer Programming, 6.4).
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_SIXTY_FOUR = np.uint64(64)
# Vertices in a chunk of a loop over all vertices.
_CHUNK = np.uint64(1 << 11)
# Words of a bitmap in a chunk; the first ones, of vertices of high degree, are chunks of their own.
_WORDS, _SINGLE_WORDS = np.uint64(16), np.uint64(64)
# Distance of the prefetch, in vertices.
_AHEAD = np.uint64(8)
# Edges of active vertices. With fewer edges, a round runs on one thread.
_FEW_EDGES = np.uint64(1 << 16)


# ---- scores -------------------------------------------------------------------------------------------


def _less(weight, rate, total):
    return weight - rate * total


def _less_both(weight, rate, total, far_rate, far_total):
    return weight - (rate * total + far_rate * far_total)


# LLVM must not contract or reorder these operations, because GPUs and CPUs choose equal labels.
_score = inlined(_less)
_score_both = inlined(_less_both)


# ---- tables of labels ---------------------------------------------------------------------------------


@inline_step
def new_label_table(longest):
    """Return the arrays of a table for rows of up to `longest` edges: (labels, sums, used places)."""
    capacity = _ONE << (_SIXTY_FOUR - label_shift(longest))
    return np.full(capacity, _EMPTY, np.uint32), np.empty(capacity, np.float64), np.empty(capacity, np.uint32)


@vertex_step
def label_shift(length):
    """Return the shift of hash values for a row of so many edges, which has at least twice as many places."""
    shift = np.uint64(60)
    while (_ONE << (_SIXTY_FOUR - shift)) < length + length:
        shift -= _ONE
    return shift


@vertex_step
def add_to_label(labels, sums, used, count, shift, label, weight):
    """Add a weight to the sum of a label. Return the number of labels, which was `count` before the call."""
    h = (np.uint64(label) * _FACTOR) >> shift
    mask = (_ONE << (_SIXTY_FOUR - shift)) - _ONE
    while labels[h] != label:
        if labels[h] == _EMPTY:
            labels[h] = label
            sums[h] = weight
            used[count] = h
            return count + _ONE
        h = (h + _ONE) & mask
    sums[h] += weight
    return count


@vertex_step
def _add_row(
    offsets, targets, weights, label, within, v, own, own_sum, labels, sums, used, count, shift
):  # fmt: skip
    """Add the row of `v` to a table. Edges to vertices with its own label are added to `own_sum` instead."""
    for e in range(offsets[v], offsets[v + _ONE]):
        u = np.uint64(targets[e])
        weight = 1.0
        if weights is not None:
            weight = np.float64(weights[e])
        if within is not None:
            apart = within[u] != within[v]
            if apart:
                continue
        of_u = label[u]
        if of_u == own:
            if u != v:
                own_sum += weight
        else:
            count = add_to_label(labels, sums, used, count, shift, of_u, weight)
    return own_sum, count


@vertex_step
def _weight_to_own(offsets, targets, weights, label, v, own):
    """Return the weight of the edges of `v` to other vertices with its label."""
    own_sum = 0.0
    for e in range(offsets[v], offsets[v + _ONE]):
        u = np.uint64(targets[e])
        weight = 1.0
        if weights is not None:
            weight = np.float64(weights[e])
        own_sum += weight if label[u] == own and u != v else 0.0
    return own_sum


# ---- moves --------------------------------------------------------------------------------------------


@vertex_step
def _best_label(
    offsets, targets, weights, far_offsets, far_targets, far_weights, both, label, within, strength,
    far_strength, total, far_total, rate, single_only, settled, v, labels, sums, used,
):  # fmt: skip
    """Return the label with the best score for `v`: its own, or the smallest of those with a better score.

    If `settled`, the vertex has taken a label before, and many neighbours may have it.
    """
    own = label[v]
    k = strength[v]
    if single_only and total[own] != k:
        return own
    length = offsets[v + _ONE] - offsets[v]
    if both:
        length += far_offsets[v + _ONE] - far_offsets[v]
    scored = len(total) > 0
    if length == 1 and not scored and not both and within is None and weights is None:
        u = np.uint64(targets[offsets[v]])
        return own if u == v else label[u]
    if not scored and settled:
        # No other label has more than the rest of the weight.
        least, rest = _weight_to_own(offsets, targets, weights, label, v, own), k
        if both:
            least += _weight_to_own(far_offsets, far_targets, far_weights, label, v, own)
            rest += far_strength[v]
        if least + least >= rest:
            return own
    shift = label_shift(length)
    own_sum, count = _add_row(
        offsets, targets, weights, label, within, v, own, 0.0, labels, sums, used, _ZERO, shift
    )
    own_rate, far_rate = rate * k, 0.0
    if both:
        own_sum, count = _add_row(
            far_offsets, far_targets, far_weights, label, within, v, own, own_sum, labels, sums, used, count,
            shift,
        )  # fmt: skip
        far_rate = rate * far_strength[v]
    best, best_score = own, own_sum
    if scored and both:
        best_score = _score_both(
            own_sum, own_rate, far_total[own] - far_strength[v], far_rate, total[own] - k
        )  # fmt: skip
    elif scored:
        best_score = _score(own_sum, own_rate, total[own] - k)
    for i in range(count):
        h = np.uint64(used[i])
        other, score = labels[h], sums[h]
        labels[h] = _EMPTY
        if scored and both:
            score = _score_both(score, own_rate, far_total[other], far_rate, total[other])
        elif scored:
            score = _score(score, own_rate, total[other])
        if score > best_score or (score == best_score and other < best and best != own):
            best, best_score = other, score
    return best


@inline_step
def _longest(offsets, far_offsets, both):
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
def _words_of_chunk(chunk, words):
    """Return the bounds of a chunk of bitmap words. The words of the highest degrees come one by one."""
    if chunk < _SINGLE_WORDS:
        return chunk, min(chunk + _ONE, words)
    first = _SINGLE_WORDS + (chunk - _SINGLE_WORDS) * _WORDS
    return first, min(first + _WORDS, words)


@inline_step
def _choose_chunks(
    offsets, targets, weights, far_offsets, far_targets, far_weights, both, vertices, owned, label, within,
    strength, far_strength, total, far_total, rate, single_only, salt, buckets, bucket, groups, active, moved,
    chosen, labels, sums, used, counter,
):  # fmt: skip
    words = words_of(owned)
    picked = np.empty(_WORDS << _SIX, np.uint32)
    count = _ZERO
    begin, end = _words_of_chunk(take_chunk(counter, _ONE), words)
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
            best = _best_label(
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
        begin, end = _words_of_chunk(take_chunk(counter, _ONE), words)
    return count


@inline_step
def _choose_by_worker(
    offsets, targets, weights, far_offsets, far_targets, far_weights, both, vertices, owned, label, within,
    strength, far_strength, total, far_total, rate, single_only, salt, buckets, bucket, groups, longest,
    active, moved, chosen, counter,
):  # fmt: skip
    if _words_of_chunk(load(counter, _ZERO), words_of(owned))[0] >= words_of(owned):
        return _ZERO
    labels, sums, used = new_label_table(longest)
    return _choose_chunks(
        offsets, targets, weights, far_offsets, far_targets, far_weights, both, vertices, owned, label,
        within, strength, far_strength, total, far_total, rate, single_only, salt, buckets, bucket, groups,
        active, moved, chosen, labels, sums, used, counter,
    )  # fmt: skip


@parallel
def _choose(
    offsets, targets, weights, far_offsets, far_targets, far_weights, both, vertices, owned, label, within,
    strength, far_strength, total, far_total, rate, single_only, salt, buckets, bucket, groups, active, moved,
    chosen,
):  # fmt: skip
    """Choose the best labels of a bucket, whose vertices `groups` marks unless it is None."""
    longest = _longest(offsets, far_offsets, both)
    counter = new_counter()
    count = _ZERO
    for _ in prange(WORKERS):
        count += _choose_by_worker(
            offsets, targets, weights, far_offsets, far_targets, far_weights, both, vertices, owned, label,
            within, strength, far_strength, total, far_total, rate, single_only, salt, buckets, bucket,
            groups, longest, active, moved, chosen, counter,
        )  # fmt: skip
    return count


@serial
def choose_labels(
    offsets, targets, weights, far_offsets, far_targets, far_weights, both, vertices, owned, label, within,
    strength, far_strength, total, far_total,
    integral,  # noqa: ARG001 - of GPUs
    rate, single_only, salt, buckets, bucket, active, moved, chosen,
    table_labels, table_sums, places,  # noqa: ARG001 - of GPUs
):  # fmt: skip
    """Choose the best label of each active vertex of a bucket, and make these vertices inactive.

    The score of a label is the weight of the edges to its vertices, less `rate` times the strength of the
    vertex times the total of the label. The vertex itself does not count. A vertex moves if another score is
    better than that of its own label; it takes the smallest of the best labels. If `single_only`, only
    vertices that are alone with their label move, and to no label that is a vertex of their bucket. So if
    labels were the numbers of vertices at first, vertices never leave a label that another takes. GPUs count
    the labels of the longest rows in `table_labels` and `table_sums`, in tables of `places` places. They add
    integers below 2^32 if `integral`.

    Returns
    -------
    int
        The number of vertices that will move.
    """
    return _choose(
        offsets, targets, weights, far_offsets, far_targets, far_weights, both, vertices, np.uint64(owned),
        label, within, strength, far_strength, total, far_total, rate, single_only, np.uint64(salt),
        np.uint64(buckets), np.uint64(bucket), None, active, moved, chosen,
    )  # fmt: skip


@inline_step
def _apply_by_worker(
    owned, moved, chosen, strength, far_strength, both, add, label, total, far_total, counter
):  # fmt: skip
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
        _apply_by_worker(
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
def _wake_by_worker(offsets, targets, far_offsets, far_targets, both, owned, moved, label, active, counter):
    words = words_of(owned)
    begin, end = _words_of_chunk(take_chunk(counter, _ONE), words)
    while begin < words:
        for w in range(begin, end):
            word = moved[w] & range_mask(w, _ZERO, owned)
            while word != _ZERO:
                v = (w << _SIX) + trailing_zeros(word)
                word &= word - _ONE
                _wake_row(offsets, targets, v, label, active)
                if both:
                    _wake_row(far_offsets, far_targets, v, label, active)
        begin, end = _words_of_chunk(take_chunk(counter, _ONE), words)


@parallel
def wake_neighbours(offsets, targets, far_offsets, far_targets, both, owned, moved, label, active):
    """Make the neighbours of vertices that moved active, except neighbours with the new label."""
    counter = new_counter()
    for _ in prange(WORKERS):
        _wake_by_worker(
            offsets, targets, far_offsets, far_targets, both, np.uint64(owned), moved, label, active, counter
        )


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
        count = _choose_chunks(
            offsets, targets, weights, far_offsets, far_targets, far_weights, both, vertices, owned, label,
            within, strength, far_strength, total, far_total, rate, single_only, salt, buckets, bucket, None,
            active, moved, chosen, labels, sums, used, new_counter(),
        )  # fmt: skip
        if count > _ZERO:
            add = len(total) > 0
            _apply_by_worker(
                owned, moved, chosen, strength, far_strength, both, add, label, total, far_total,
                new_counter(),
            )  # fmt: skip
            _wake_by_worker(
                offsets, targets, far_offsets, far_targets, both, owned, moved, label, active, new_counter()
            )
        moves += count
    return moves


@serial
def move_in_rounds(
    offsets, targets, weights, far_offsets, far_targets, far_weights, both, vertices, owned, label, within,
    strength, far_strength, total, far_total,
    integral,  # noqa: ARG001 - of GPUs
    rate, single_only, salt, buckets, enough, rounds, active, moved, chosen,
    table_labels, table_sums, places,  # noqa: ARG001 - of GPUs
):  # fmt: skip
    """Choose, move and wake in rounds, until at most `enough` vertices move in a round.

    A round with few edges runs on one thread. Other rounds mark the buckets of all vertices first.

    Returns
    -------
    tuple of int
        The number of rounds, of all moves, and of moves in the last round.
    """
    owned, salt, buckets = np.uint64(owned), np.uint64(salt), np.uint64(buckets)
    labels, sums, used = new_label_table(_longest(offsets, far_offsets, both))
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
                count = _choose(
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
