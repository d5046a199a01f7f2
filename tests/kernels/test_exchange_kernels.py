"""Exchange kernels, compared with NumPy, on routes that begin anywhere in a shared word."""

from __future__ import annotations

from threading import Thread
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evener.kernels.cpu import exchange
from support.bitmaps import pack, unpack


class Boundary(NamedTuple):
    """A route and the state of both sides, with arrays of booleans for flags."""

    index: np.ndarray
    begin: int
    mirrored: np.ndarray
    owned: np.ndarray
    mirror_flags: np.ndarray
    flags: np.ndarray

    @property
    def run(self):
        return slice(self.begin, self.begin + len(self.index))

    @property
    def by_index(self):
        return self.index, self.begin

    @property
    def by_bitmap(self):
        held = np.zeros(-(-len(self.owned) // 64) * 64, dtype=bool)
        held[self.index] = True
        before = np.cumsum([0, *held.reshape(-1, 64).sum(axis=1)], dtype=np.uint32)
        return self.begin, pack(held), before

    def after(self, kernel, *names, route=None):
        """Run a kernel on copies of the named arrays, and return the copies and the kernel's value."""
        arrays = [getattr(self, name) for name in names]
        given = [pack(a) if a.dtype == bool else a.copy() for a in arrays]
        answer = kernel(*(route or self.by_index), *given)
        left = [unpack(g, len(a)) if a.dtype == bool else g for a, g in zip(arrays, given, strict=True)]
        return left, answer


def drawn_boundary(rng, k, *, begin, tail, spread, share, dtype):
    owned_count = max(k + spread, 1)
    index = np.sort(rng.choice(owned_count, k, replace=False)).astype(np.uint32)
    mirrors = begin + k + tail
    return Boundary(
        index,
        begin,
        rng.integers(0, 100, mirrors).astype(dtype),
        rng.integers(0, 100, owned_count).astype(dtype),
        rng.random(mirrors) < share,
        rng.random(owned_count) < share,
    )


@st.composite
def boundaries(draw, dtypes=("float32", "float64", "uint32")):
    """Draw routes of lengths near a word, with owned vertices before and other routes after them."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return drawn_boundary(
        rng,
        draw(st.one_of(st.integers(1, 200), st.sampled_from([63, 64, 65, 127, 128, 129]))),
        begin=draw(st.one_of(st.integers(0, 200), st.sampled_from([0, 1, 63, 64, 65, 128]))),
        tail=draw(st.integers(0, 130)),
        spread=draw(st.integers(0, 300)),
        share=draw(st.sampled_from([0.0, 0.05, 0.5, 1.0])),
        dtype=draw(st.sampled_from(dtypes)),
    )


def long_boundary(share):
    """Return a route for several threads, both in values (2^13 a thread) and in words (2^7)."""
    rng = np.random.default_rng(11)
    return drawn_boundary(rng, 50_001, begin=37, tail=91, spread=33_333, share=share, dtype="float64")


def check_pull(b):
    mirrored = b.mirrored.copy()
    mirrored[b.run] = b.owned[b.index]
    (owned, found), _ = b.after(exchange.pull, "owned", "mirrored")
    assert (found == mirrored).all()
    assert (owned == b.owned).all()


def check_pull_bits(b):
    mirror_flags = b.mirror_flags.copy()
    mirror_flags[b.run] = b.flags[b.index]
    (flags, found), _ = b.after(exchange.pull_bits, "flags", "mirror_flags", route=b.by_bitmap)
    assert (found == mirror_flags).all()
    assert (flags == b.flags).all()


def check_pull_flagged(b):
    moves = b.flags[b.index]
    mirrored, mirror_flags = b.mirrored.copy(), b.mirror_flags.copy()
    mirrored[b.run][moves] = b.owned[b.index][moves]
    mirror_flags[b.run] |= moves
    (_, flags, found, marks), count = b.after(
        exchange.pull_flagged, "owned", "flags", "mirrored", "mirror_flags", route=b.by_bitmap
    )
    assert (found == mirrored).all()
    assert (marks == mirror_flags).all()
    assert (flags == b.flags).all()
    assert count == moves.sum()


def check_push_or_bits(b):
    flags, mirror_flags = b.flags.copy(), b.mirror_flags.copy()
    flags[b.index] |= mirror_flags[b.run]
    moved = mirror_flags[b.run].sum()
    mirror_flags[b.run] = False
    (left, found), count = b.after(exchange.push_or_bits, "mirror_flags", "flags")
    assert (found == flags).all()
    assert (left == mirror_flags).all()
    assert count == moved


def check_push_add(b):
    owned, mirrored = b.owned.copy(), b.mirrored.copy()
    owned[b.index] += mirrored[b.run]
    mirrored[b.run] = 0
    (left, found), _ = b.after(exchange.push_add, "mirrored", "owned")
    assert (found == owned).all()
    assert (left == mirrored).all()


def check_push_min(b):
    owned = b.owned.copy()
    owned[b.index] = np.minimum(owned[b.index], b.mirrored[b.run])
    (left, found), _ = b.after(exchange.push_min, "mirrored", "owned")
    assert (found == owned).all()
    assert (left == b.mirrored).all()


FLAGGED = ("mirrored", "mirror_flags", "owned", "flags")


def check_push_add_flagged(b):
    owned, mirrored, mirror_flags, flags = (a.copy() for a in (b.owned, b.mirrored, b.mirror_flags, b.flags))
    moves = mirror_flags[b.run].copy()
    owned[b.index] += np.where(moves, mirrored[b.run], 0).astype(owned.dtype)
    mirrored[b.run][moves] = 0
    flags[b.index] |= mirror_flags[b.run]
    mirror_flags[b.run] = False
    found, count = b.after(exchange.push_add_flagged, *FLAGGED)
    for one, other in zip(found, (mirrored, mirror_flags, owned, flags), strict=True):
        assert (one == other).all()
    assert count == moves.sum()


def check_push_min_flagged(b):
    owned, mirror_flags, flags = (a.copy() for a in (b.owned, b.mirror_flags, b.flags))
    lowered = mirror_flags[b.run] & (b.mirrored[b.run] < owned[b.index])
    owned[b.index[lowered]] = b.mirrored[b.run][lowered]
    flags[b.index[lowered]] = True
    mirror_flags[b.run] = False
    moved = b.mirror_flags[b.run].sum()
    found, count = b.after(exchange.push_min_flagged, *FLAGGED)
    for one, other in zip(found, (b.mirrored, mirror_flags, owned, flags), strict=True):
        assert (one == other).all()
    assert count == moved


def check_push_set_flagged(b):
    owned, mirror_flags, flags = (a.copy() for a in (b.owned, b.mirror_flags, b.flags))
    moves = mirror_flags[b.run].copy()
    owned[b.index[moves]] = b.mirrored[b.run][moves]
    flags[b.index] |= moves
    mirror_flags[b.run] = False
    found, _ = b.after(exchange.push_set_flagged, *FLAGGED)
    for one, other in zip(found, (b.mirrored, mirror_flags, owned, flags), strict=True):
        assert (one == other).all()


CHECKS = [
    check_pull,
    check_pull_bits,
    check_pull_flagged,
    check_push_add,
    check_push_add_flagged,
    check_push_min,
    check_push_min_flagged,
    check_push_or_bits,
    check_push_set_flagged,
]
every_kernel = pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__[6:])


def test_every_kernel_has_its_twin():
    assert {f"check_{name}" for name in exchange.__all__} == {check.__name__ for check in CHECKS}


@every_kernel
@settings(max_examples=60)
@given(b=boundaries())
def test_routes_of_any_shape(check, b):
    check(b)


@every_kernel
def test_routes_for_many_threads(check):
    """The pieces of several threads meet without a gap; other tests have one piece."""
    for share in (0.0, 0.01, 0.7, 1.0):
        check(long_boundary(share))


def test_push_min_with_infinity():
    index = np.arange(4, dtype=np.uint32)
    mirrored, owned = np.array([np.inf, 1, np.inf, 3]), np.array([np.inf, np.inf, 2, 2])
    exchange.push_min(index, 0, mirrored, owned)
    assert owned.tolist() == [np.inf, 1, 2, 2]


def test_two_owners_clear_the_words_of_one_holder_concurrently():
    """The routes of both owners are adjacent in the holder's bitmap and share a word."""
    for seed in range(200):
        rng = np.random.default_rng(seed)
        k = int(rng.integers(1, 40))
        mirror_flags = rng.random(5 + 2 * k + 70) < 0.6
        words = pack(mirror_flags)
        index = np.arange(k, dtype=np.uint32)
        flags = [np.zeros(1, np.uint64), np.zeros(1, np.uint64)]
        threads = [
            Thread(target=exchange.push_or_bits, args=(index, 5 + p * k, words, flags[p])) for p in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for p in range(2):
            assert (unpack(flags[p], k) == mirror_flags[5 + p * k : 5 + (p + 1) * k]).all()
        mirror_flags[5 : 5 + 2 * k] = False
        assert (unpack(words, len(mirror_flags)) == mirror_flags).all()
