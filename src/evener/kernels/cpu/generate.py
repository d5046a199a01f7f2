"""Generators of edges and weights: Philox, Kronecker powers, uniform edges and lattices.

A kernel computes edges ``start:start + len(src)`` from their numbers only, so threads are independent. Random
words are Philox4x32-10 (Salmon et al., SC'11) with the seed as key. The counter is (edge low, edge high,
block, stream). 32-bit values are stored in uint64, so that a product of two values does not overflow.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.build import slice_bound
from evener.kernels.cpu.jit import inline_step, parallel, vertex_step

__all__ = [
    "grid",
    "integer_weights",
    "kronecker_power",
    "kronecker_weights",
    "philox",
    "real_weights",
    "sampled_kronecker",
    "uniform",
]

ZERO, ONE, TWO = np.uint64(0), np.uint64(1), np.uint64(2)
WORD = np.uint64(32)
LOW = np.uint64(0xFFFFFFFF)
MULTIPLIER_A, MULTIPLIER_B = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
WEYL_A, WEYL_B = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
EDGES, WEIGHTS = np.uint64(0), np.uint64(1)

# Edges per chunk of random words.
CHUNK = np.uint64(256)
# A random word has 10 bits for an outcome, and 22 bits to choose the outcome or its alias.
OUTCOME_BITS = np.uint64(10)
OUTCOMES = np.uint64(1 << 10)


@inline_step
def _round(a, b, c, d, key_a, key_b):
    first = MULTIPLIER_A * a
    second = MULTIPLIER_B * c
    return (second >> WORD) ^ b ^ key_a, second & LOW, (first >> WORD) ^ d ^ key_b, first & LOW


@inline_step
def philox(a, b, c, d, key):
    """Return the four words of Philox4x32-10 at a counter of four words; `key` holds two words."""
    key_a, key_b = key & LOW, key >> WORD
    for _ in range(10):
        a, b, c, d = _round(a, b, c, d, key_a, key_b)
        key_a = (key_a + WEYL_A) & LOW
        key_b = (key_b + WEYL_B) & LOW
    return a, b, c, d


@inline_step
def _fill_words(first, count, block, stream, key, words):
    """Write the random words of edges ``first:first + count``; ``words[j, i]`` is word j of edge i."""
    for i in range(count):
        edge = first + i
        a, b, c, d = philox(edge & LOW, edge >> WORD, block, stream, key)
        words[0, i] = a
        words[1, i] = b
        words[2, i] = c
        words[3, i] = d


@inline_step
def permute(vertex, mask, half, keys):
    """Return a keyed permutation of ``0..mask``, where `mask` is a power of two minus one."""
    vertex = (vertex + keys[0]) & mask
    vertex = ((vertex ^ (vertex >> half)) * keys[1]) & mask
    vertex = ((vertex ^ (vertex >> half)) * keys[2]) & mask
    vertex = ((vertex ^ (vertex >> half)) * keys[3]) & mask
    return vertex ^ (vertex >> half)


@inline_step
def _draw(random, table, radix, cut, alias, rows, columns, src, dst):
    """Append the digits of one outcome to the tail and head of each edge."""
    for i in range(len(src)):
        word = np.uint64(random[i])
        name = (word & (OUTCOMES - ONE)) + table
        other = np.uint64(alias[name])
        outcome = name if (word >> OUTCOME_BITS) < cut[name] else other
        src[i] = src[i] * radix + rows[outcome]
        dst[i] = dst[i] * radix + columns[outcome]


@inline_step
def _permute_all(vertices, mask, half, keys):
    for i in range(len(vertices)):
        vertices[i] = permute(np.uint64(vertices[i]), mask, half, keys)


@inline_step
def _sampled_part(
    start, first, last, key, draws, radices, cut, alias, rows, columns, mask, half, keys, src, dst
):
    words = np.empty((4, CHUNK), np.uint32)
    for begin in range(first, last, CHUNK):
        end = min(begin + CHUNK, last)
        tails, heads = src[begin:end], dst[begin:end]
        tails[:] = 0
        heads[:] = 0
        for draw in range(draws):
            if draw & np.uint64(3) == ZERO:
                _fill_words(start + begin, end - begin, draw >> TWO, EDGES, key, words)
            last_draw = np.uint64(draw + ONE == draws)
            table, radix = last_draw << OUTCOME_BITS, radices[last_draw]
            _draw(words[draw & np.uint64(3)], table, radix, cut, alias, rows, columns, tails, heads)
        if mask != ZERO:
            _permute_all(tails, mask, half, keys)
            _permute_all(heads, mask, half, keys)


@parallel
def sampled_kronecker(
    start, key, draws, radices, cut, alias, rows, columns, mask, half, keys, src, dst, parts
):
    """Draw edges from a Kronecker power of a probability matrix, several levels per random word.

    Walker's alias method draws one of ``radices[0]`` rows and columns. The tables have 2 x 1024 entries. The
    second half and ``radices[1]`` are for the last draw, which covers the remaining levels. A `mask` other
    than 0 permutes the vertices.
    """
    for p in prange(parts):
        first, last = slice_bound(len(src), p, parts), slice_bound(len(src), p + 1, parts)
        _sampled_part(
            np.uint64(start), first, last, np.uint64(key), np.uint64(draws), radices, cut, alias, rows,
            columns, np.uint64(mask), np.uint64(half), keys, src, dst,
        )  # fmt: skip


@vertex_step
def _uniform_edge(edge, key, n):
    a, b, _, _ = philox(edge & LOW, edge >> WORD, ZERO, EDGES, key)
    return np.uint32((a * n) >> WORD), np.uint32((b * n) >> WORD)


@parallel
def uniform(start, key, n, src, dst):
    """Draw tail and head of each edge uniformly from `n` vertices."""
    for i in prange(len(src)):
        src[i], dst[i] = _uniform_edge(np.uint64(start) + np.uint64(i), np.uint64(key), np.uint64(n))


@vertex_step
def _grid_edge(edge, rows, columns):
    across = rows * (columns - ONE)
    if edge < across:
        vertex = edge + edge // (columns - ONE)
        return np.uint32(vertex), np.uint32(vertex + ONE)
    return np.uint32(edge - across), np.uint32(edge - across + columns)


@parallel
def grid(start, rows, columns, src, dst):
    """Write the edges of a lattice, first along the rows, then along the columns."""
    for i in prange(len(src)):
        src[i], dst[i] = _grid_edge(np.uint64(start) + np.uint64(i), np.uint64(rows), np.uint64(columns))


@vertex_step
def _power_edge(edge, power, radix, rows, columns):
    row, column, place = ZERO, ZERO, ONE
    for _ in range(power):
        entry = edge % np.uint64(len(rows))
        edge //= np.uint64(len(rows))
        row += place * rows[entry]
        column += place * columns[entry]
        place *= radix
    return np.uint32(row), np.uint32(column)


@parallel
def kronecker_power(start, power, radix, rows, columns, src, dst):
    """Write edges of the exact Kronecker power; each digit of the edge number selects a matrix entry."""
    for i in prange(len(src)):
        edge = np.uint64(start) + np.uint64(i)
        src[i], dst[i] = _power_edge(edge, np.uint64(power), np.uint64(radix), rows, columns)


@vertex_step
def _product(edge, power, entries):
    product = 1.0
    for _ in range(power):
        product *= entries[edge % np.uint64(len(entries))]
        edge //= np.uint64(len(entries))
    return product


@parallel
def kronecker_weights(start, power, entries, out):
    """Write weights of the exact Kronecker power: the product of the matrix entries."""
    for i in prange(len(out)):
        out[i] = _product(np.uint64(start) + np.uint64(i), np.uint64(power), entries)


@vertex_step
def _weight_word(edge, key):
    return philox(edge & LOW, edge >> WORD, ZERO, WEIGHTS, key)[0]


@parallel
def integer_weights(start, key, low, span, out):
    """Draw integer weights uniformly from ``low .. low + span - 1``."""
    for i in prange(len(out)):
        word = _weight_word(np.uint64(start) + np.uint64(i), np.uint64(key))
        out[i] = np.int64(low) + np.int64((word * np.uint64(span)) >> WORD)


@parallel
def real_weights(start, key, out):
    """Draw float32 weights uniformly from the multiples of ``2**-24`` in (0, 1]."""
    for i in prange(len(out)):
        word = _weight_word(np.uint64(start) + np.uint64(i), np.uint64(key))
        out[i] = np.float32((word >> np.uint64(8)) + ONE) * np.float32(2.0**-24)
