"""Tables of the labels of neighbours, and the label with the best score.

`label_sums_cpu` describes the arrays.
"""

from __future__ import annotations

import numpy as np

from evener.kernels.cpu.jit import inline_step, inlined, vertex_step

__all__ = ["add_to_label", "best_label", "label_shift", "new_label_table"]

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_EMPTY = np.uint32(0xFFFFFFFF)
# 2^64 over the golden ratio: Fibonacci hashing (Knuth, The Art of Computer Programming, 6.4).
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_SIXTY_FOUR = np.uint64(64)


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
def best_label(
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
