"""Message kernels, compared with NumPy, on mirrors that begin and end anywhere in a word."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evener.kernels.cpu import message
from support.bitmaps import pack, unpack
from support.pair_cover import pairwise_cover


class Mirrors(NamedTuple):
    """A contiguous range of a holder's vertices, their values and flags, and a received message."""

    begin: int
    count: int
    values: np.ndarray
    flags: np.ndarray
    sent: np.ndarray
    sent_flags: np.ndarray

    @property
    def run(self):
        return slice(self.begin, self.begin + self.count)


def drawn_mirrors(rng, count, *, begin, tail, share, dtype):
    vertices = begin + count + tail
    return Mirrors(
        begin,
        count,
        rng.integers(0, 100, vertices).astype(dtype),
        rng.random(vertices) < share,
        rng.integers(100, 200, count).astype(dtype),
        rng.random(count) < share,
    )


EDGES = [0, 1, 63, 64, 65, 127, 128, 129, 192]


@st.composite
def mirrors(draw):
    """Draw a range of a holder's vertices, often from or to the boundary of a word."""
    return drawn_mirrors(
        np.random.default_rng(draw(st.integers(0, 2**32))),
        draw(st.one_of(st.sampled_from(EDGES), st.integers(0, 200))),
        begin=draw(st.one_of(st.sampled_from(EDGES), st.integers(0, 200))),
        tail=draw(st.one_of(st.sampled_from([0, 1]), st.integers(0, 130))),
        share=draw(st.sampled_from([0.0, 0.05, 0.5, 1.0])),
        dtype=draw(st.sampled_from(["float32", "float64", "uint32"])),
    )


def many_mirrors(share):
    """Return mirrors for several threads, both in values (2^13 a thread) and in words (2^7)."""
    return drawn_mirrors(np.random.default_rng(11), 50_001, begin=37, tail=91, share=share, dtype="float64")


def words_of_noise(count):
    """Return a bitmap for `count` flags with arbitrary content."""
    return np.full((count + 63) // 64, 0xA5A5A5A5A5A5A5A5, np.uint64)


def check_take_bits(m):
    words, sent = pack(m.flags), words_of_noise(m.count)
    message.take_bits(words, m.begin, m.count, sent)
    expected = m.flags.copy()
    expected[m.run] = False
    assert (unpack(words, len(expected)) == expected).all()
    assert (sent == pack(m.flags[m.run])).all()  # no bit is set after the last flag


def check_place_bits(m):
    words, sent = pack(m.flags), pack(m.sent_flags)
    if m.count % 64:
        sent[-1] |= np.uint64(0xFFFFFFFFFFFFFFFF) << np.uint64(m.count % 64)  # set the unused bits
    message.place_bits(sent, m.count, words, m.begin)
    expected = m.flags.copy()
    expected[m.run] = m.sent_flags
    assert (words == pack(expected)).all()


def check_take_values(m):
    for emptied in (0, 1):
        values, taken = m.values.copy(), np.full(m.count + 1, 7, m.values.dtype)
        message.take_values(values, m.begin, m.count, emptied, taken)
        assert (taken[:-1] == m.values[m.run]).all()
        assert taken[-1] == 7
        expected = m.values.copy()
        if emptied:
            expected[m.run] = 0
        assert (values == expected).all()


def check_take_flagged(m):
    marks = pack(m.sent_flags)
    for emptied in (0, 1):
        values, taken = m.values.copy(), np.full(m.count, 7, m.values.dtype)
        message.take_flagged(values, m.begin, marks, emptied, taken)
        assert (taken == np.where(m.sent_flags, m.values[m.run], 0)).all()
        expected = m.values.copy()
        if emptied:
            expected[m.run][m.sent_flags] = 0
        assert (values == expected).all()


def check_list_flagged(m):
    for emptied in (0, 1):
        check_listed(m, emptied)


def check_listed(m, emptied):
    words, values = pack(m.flags), m.values.copy()
    positions = np.full(m.count + 2, 7, np.uint32)
    listed, length = np.full(m.count + 2, 7, m.values.dtype), np.array([2], np.uint64)
    message.list_flagged(words, m.begin, m.count, values, emptied, positions, listed, length)
    found = np.flatnonzero(m.flags[m.run])
    end = 2 + len(found)
    assert length.tolist() == [end]
    order = np.argsort(positions[2:end])
    assert (positions[2:end][order] == found).all()
    assert (listed[2:end][order] == m.values[m.run][found]).all()
    for rest in (positions[:2], positions[end:], listed[:2], listed[end:]):
        assert (rest == 7).all()
    left = m.values.copy()
    if emptied:
        left[m.run][found] = 0
    assert (values == left).all()
    expected = m.flags.copy()
    expected[m.run] = False
    assert (words == pack(expected)).all()


def check_place_listed(m):
    words, values = pack(m.flags), m.values.copy()
    positions = np.random.default_rng(m.count).permutation(np.flatnonzero(m.sent_flags)).astype(np.uint32)
    message.place_listed(positions, m.sent[positions], m.begin, values, words)
    check_placed(m, values, words)


def check_place_flagged(m):
    words, values = pack(m.flags), m.values.copy()
    message.place_flagged(m.sent, pack(m.sent_flags), m.begin, values, words)
    check_placed(m, values, words)


def check_placed(m, values, words):
    """Check that exactly the flagged values of the message are placed, with their flags."""
    expected, flags = m.values.copy(), m.flags.copy()
    expected[m.run][m.sent_flags] = m.sent[m.sent_flags]
    flags[m.run] |= m.sent_flags
    assert (values == expected).all()
    assert (words == pack(flags)).all()


CHECKS = [
    check_list_flagged, check_place_bits, check_place_flagged, check_place_listed, check_take_bits,
    check_take_flagged, check_take_values,
]  # fmt: skip
every_kernel = pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__[6:])


def test_every_kernel_has_its_twin():
    assert {f"check_{name}" for name in message.__all__} == {check.__name__ for check in CHECKS}


@every_kernel
@settings(max_examples=100)
@given(m=mirrors())
def test_mirrors_anywhere(check, m):
    check(m)


@every_kernel
def test_mirrors_at_the_edges_of_words(check):
    """Cover each pair of first vertex and length near the boundaries of words."""
    for begin, count, tail, share in pairwise_cover(EDGES, EDGES, [0, 1, 64], [0.0, 0.5, 1.0]):
        rng = np.random.default_rng(begin + count)
        check(drawn_mirrors(rng, count, begin=begin, tail=tail, share=share, dtype="float64"))


@every_kernel
def test_mirrors_for_many_threads(check):
    """The pieces of several threads meet without a gap; other tests have one piece."""
    for share in (0.0, 0.01, 0.7, 1.0):
        check(many_mirrors(share))


def test_taken_and_placed_values_are_equal():
    """A message as bits and as a list is written from vertices 37 and up, and read into 130 and up.

    The kernels that write a message and those that read it agree on its layout.
    """
    dtype = "float32"
    rng = np.random.default_rng(3)
    flags, values = rng.random(500) < 0.4, rng.integers(0, 100, 500).astype(dtype)
    words, sent = pack(flags), words_of_noise(300)
    message.take_bits(words, 37, 300, sent)
    placed = pack(np.ones(600, bool))
    message.place_bits(sent, 300, placed, 130)
    assert (unpack(placed, 600)[130:430] == flags[37:337]).all()

    positions, listed, length = np.zeros(300, np.uint32), np.zeros(300, dtype), np.zeros(1, np.uint64)
    message.list_flagged(pack(flags), 37, 300, values, 0, positions, listed, length)
    there, marks = np.zeros(600, dtype), pack(np.zeros(600, bool))
    k = int(length[0])
    message.place_listed(positions[:k], listed[:k], 130, there, marks)
    assert (there[130:430] == np.where(flags[37:337], values[37:337], 0)).all()
    assert (unpack(marks, 600)[130:430] == flags[37:337]).all()
    assert there.sum() == values[37:337][flags[37:337]].sum()
