"""Bitmaps, compared with arrays of booleans."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evener.kernels.cpu import bits
from evener.kernels.cpu.jit import serial
from support.bitmaps import pack, unpack


@serial
def every_bit(words, length, answer):
    for i in range(np.uint64(length)):
        answer[i] = bits.is_set(words, i)


@serial
def lowest_and_count(word):
    return bits.trailing_zeros(word), bits.population(word)


@serial
def extract_both_ways(word, mask):
    return bits.extract_bits(word, mask), bits.extract_bits_by_loop(word, mask)


@st.composite
def ranges(draw, longest=400):
    flags = np.array(draw(st.lists(st.booleans(), min_size=1, max_size=longest)))
    begin = draw(st.integers(0, len(flags)))
    return flags, begin, draw(st.integers(begin, len(flags)))


@given(ranges())
def test_count_range(drawn):
    flags, begin, end = drawn
    assert bits.count_range(pack(flags), begin, end) == flags[begin:end].sum()


@given(ranges())
def test_clear_range(drawn):
    flags, begin, end = drawn
    words = pack(flags)
    bits.clear_range(words, begin, end)
    flags[begin:end] = False
    assert (unpack(words, len(flags)) == flags).all()


@given(ranges())
def test_is_set(drawn):
    flags, _, _ = drawn
    answer = np.zeros(len(flags), bool)
    every_bit(pack(flags), len(flags), answer)
    assert (answer == flags).all()


@given(st.integers(0, 2**64 - 1), st.one_of(st.integers(0, 2**64 - 1), st.sampled_from([0, 1, 2**64 - 1])))
def test_extract_bits(word, mask):
    """`extract_bits` returns the bits under the mask as a number, lowest bit first."""
    chosen = [word >> i & 1 for i in range(64) if mask >> i & 1]
    expected = sum(bit << place for place, bit in enumerate(chosen))
    assert extract_both_ways(np.uint64(word), np.uint64(mask)) == (expected, expected)


@given(st.integers(1, 2**64 - 1))
def test_lowest_bit_and_population(word):
    assert lowest_and_count(np.uint64(word)) == ((word & -word).bit_length() - 1, word.bit_count())


@pytest.mark.parametrize("end", [5000 * 64 + 7, 3 * 4096 * 64 - 1, 3 * 4096 * 64])
def test_count_range_over_many_threads_pieces(end):
    flags = np.random.default_rng(end).random(3 * 4096 * 64) < 0.3
    words = pack(flags)
    for begin in (0, 1, 63, 64, 65, 4096 * 64 - 1, 4096 * 64, 5000 * 64 + 7):
        assert bits.count_range(words, begin, end) == flags[begin:end].sum()
