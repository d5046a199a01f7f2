"""CPU twins of the kernels in ``kernels/cuda/numbering.cu``: number the vertices of several partitions."""

from __future__ import annotations

import numpy as np

from evener.kernels.cpu.jit import serial
from evener.kernels.cpu.permutation import shuffled_places

__all__ = [
    "count_bits",
    "degrees_from",
    "flagged_range",
    "needed_in_order",
    "number_all",
    "number_partition",
    "numbers_on_owner",
    "owner_bounds",
    "owner_keys",
    "owners_of_places",
    "reversed_places",
    "set_bits",
    "shuffled_places",
    "sum_pieces",
    "vertices_of_keys",
]

_LOW_HALF = np.uint64(0xFFFFFFFF)
_ONE = np.uint64(1)


@serial
def reversed_places(positions, n, places):
    for i in range(len(places)):
        places[i] = n - 1 - positions[i]


@serial
def sum_pieces(degree, places, piece, sums):
    for v in range(len(degree)):
        sums[places[v] // piece] += degree[v]


@serial
def degrees_from(degree, places, first, found):
    for v in range(len(degree)):
        i = np.int64(places[v]) - first
        if 0 <= i < len(found):
            found[i] = degree[v]


@serial
def owners_of_places(places, cuts, owner):
    for v in range(len(owner)):
        owner[v] = np.sum(cuts <= np.uint64(places[v]))


@serial
def owner_keys(by_degree, owner, keys):
    for i in range(len(keys)):
        keys[i] = np.uint64(owner[by_degree[i]]) << np.uint64(32) | np.uint64(i)


@serial
def owner_bounds(keys, bounds):
    for p in range(len(bounds)):
        bounds[p] = np.sum(keys < np.uint64(p) << np.uint64(32))


@serial
def vertices_of_keys(keys, by_degree, vertices):
    for i in range(len(keys)):
        vertices[i] = by_degree[keys[i] & _LOW_HALF]


@serial
def number_all(vertices, number):
    for i in range(len(vertices)):
        number[vertices[i]] = i


@serial
def needed_in_order(vertices, needed, state, flags):
    for i in range(len(vertices)):
        flags[i] = needed[vertices[i]] == state


@serial
def flagged_range(flags, begin, end):
    first, last = ~np.uint64(0), ~np.uint64(0)
    for i in range(begin, end):
        if flags[i]:
            first = min(first, np.uint64(i))
            last = min(last, ~np.uint64(i))
    return first, last


@serial
def number_partition(vertices, flags, ends, first, owned, own, position):
    for i in range(len(vertices)):
        place = i - first
        if not 0 <= place < owned:
            if not flags[i]:
                continue
            place = owned + ends[i] - 1
        own[place] = vertices[i]
        position[vertices[i]] = place


@serial
def numbers_on_owner(mirrors, number, first, index):
    for i in range(len(mirrors)):
        index[i] = number[mirrors[i]] - first


@serial
def set_bits(index, bitmap):
    for i in range(len(index)):
        bitmap[index[i] // 64] |= _ONE << np.uint64(index[i] % 64)


@serial
def count_bits(bitmap, counts):
    for w in range(len(bitmap)):
        word = bitmap[w]
        while word:
            counts[w + 1] += _ONE
            word &= word - _ONE
