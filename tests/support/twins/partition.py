"""CPU twins of the kernels in ``kernels/cuda/partition.cu``: build a partition on a GPU."""

from __future__ import annotations

import numpy as np

from evener.kernels.cpu.jit import serial
from evener.kernels.cpu.partition import NEEDED, NOT_NEEDED, OWN
from evener.kernels.vertex import NO_VERTEX

__all__ = [
    "add_degrees",
    "block_rows",
    "degree_keys",
    "edge_keys",
    "mark_owned",
    "mark_targets",
    "number_by_keys",
    "put_targets",
    "put_weighted",
    "row_bounds",
    "scatter_ids",
    "scatter_rows",
    "scatter_values",
    "take_degrees",
]

_LOW_HALF = 0xFFFFFFFF


@serial
def add_degrees(offsets, degree):
    highest = np.uint64(0)
    for v in range(len(degree)):
        total = degree[v] + (offsets[v + 1] - offsets[v])
        degree[v] = total
        highest = max(highest, total)
    return ~highest


@serial
def degree_keys(degree, keys):
    for v in range(len(keys)):
        keys[v] = np.uint64(_LOW_HALF - degree[v]) << np.uint64(32) | np.uint64(v)


@serial
def number_by_keys(keys, vertices, local):
    for i in range(len(keys)):
        v = keys[i] & np.uint64(_LOW_HALF)
        vertices[i] = v
        local[v] = i


@serial
def take_degrees(degree, owned, own):
    for i in range(len(owned)):
        own[i] = degree[owned[i]]


@serial
def mark_owned(owned, needed):
    for i in range(len(owned)):
        needed[owned[i]] = OWN


@serial
def row_bounds(offsets, owned, bounds):
    longest = np.uint64(0)
    bounds[0] = 0
    for i in range(len(owned)):
        length = offsets[np.int64(owned[i]) + 1] - offsets[owned[i]]
        longest = max(longest, length)
        bounds[i + 1] = bounds[i] + length
    return ~longest


@serial
def block_rows(bounds, step, rows, ends):
    row = 0
    for k in range(len(rows)):
        while bounds[row] + np.uint64(row) < np.uint64(k * step):
            row += 1
        rows[k] = row
        ends[k] = bounds[row]
    end = 0
    while bounds[end] < bounds[len(bounds) - 1]:
        end += 1
    return end


@serial
def scatter_rows(offsets, number, bounds, first, begin, end, piece, out):
    v = 0
    for e in range(begin, end):
        while offsets[v + 1] <= np.uint64(e):
            v += 1
        row = np.int64(number[v]) - first
        if 0 <= row < len(bounds) - 1:
            out[bounds[row] + np.uint64(e) - offsets[v]] = piece[e - begin]


@serial
def mark_targets(targets, needed):
    boundary = 0
    for e in range(len(targets)):
        known = needed[targets[e]]
        boundary += known != OWN
        if known == NOT_NEEDED:
            needed[targets[e]] = NEEDED
    return boundary


@serial
def edge_keys(bounds, position, targets, first, last, keys):
    for row in range(first, last):
        for e in range(bounds[row], bounds[row + 1]):
            keys[e - bounds[first]] = np.uint64(row - first) << np.uint64(32) | np.uint64(
                position[targets[e]]
            )


@serial
def put_targets(keys, begin, targets):
    for i in range(len(keys)):
        targets[begin + i] = keys[i] & np.uint64(_LOW_HALF)


@serial
def put_weighted(keys, order, given, begin, targets, weights):
    for i in range(len(order)):
        targets[begin + i] = keys[order[i]] & np.uint64(_LOW_HALF)
        weights[begin + i] = given[order[i]]


@serial
def scatter_values(vertices, values, owned, gathered):
    for i in range(owned):
        gathered[vertices[i]] = values[i]


@serial
def scatter_ids(vertices, numbers, to_global, ids, owned, gathered):
    beyond = np.uint64(0)
    limit = np.uint64(len(to_global) if len(to_global) > 0 else len(gathered))
    for i in range(owned):
        number = np.uint64(numbers[i])
        if number == NO_VERTEX:
            gathered[vertices[i]] = -1
        elif number >= limit:
            beyond += np.uint64(1)
        else:
            if len(to_global) > 0:
                number = np.uint64(to_global[number])
            gathered[vertices[i]] = ids[number] if len(ids) > 0 else np.int64(number)
    return beyond
