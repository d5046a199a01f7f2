"""Atomic updates on one thread, and on many threads that update the same few elements."""

from __future__ import annotations

import numpy as np
import pytest
from numba import prange

from evener.kernels.cpu import atomics
from evener.kernels.cpu.jit import parallel, serial

ROUNDS = 200_000
MEETING_PLACES = 3


@serial
def one_of_each(array, value):
    return (
        atomics.fetch_add(array, np.uint64(0), value),
        atomics.fetch_min(array, np.uint64(1), value),
    )


@serial
def one_of_each_whole(array, value):
    return (
        atomics.fetch_max(array, np.uint64(0), value),
        atomics.fetch_or(array, np.uint64(1), value),
        atomics.fetch_and(array, np.uint64(2), value),
    )


@serial
def swap(array, expected, desired):
    return atomics.compare_and_swap(array, np.uint64(0), expected, desired), atomics.load(array, np.uint64(0))


@pytest.mark.parametrize("dtype", ["uint32", "uint64", "int32", "int64", "float32", "float64"])
def test_add_and_min_return_the_old_value(dtype):
    array = np.array([5, 9, 7], dtype)
    assert one_of_each(array, array.dtype.type(4)) == (5, 9)
    assert array.tolist() == [9, 4, 7]


@pytest.mark.parametrize("dtype", ["uint32", "uint64", "int32", "int64"])
def test_max_or_and_return_the_old_value(dtype):
    array = np.array([5, 9, 12], dtype)
    assert one_of_each_whole(array, array.dtype.type(6)) == (5, 9, 12)
    assert array.tolist() == [6, 15, 4]


@pytest.mark.parametrize(("dtype", "low", "high"), [("int32", -1, 1), ("uint32", 1, 2**32 - 1)])
def test_min_and_max_compare_by_type(dtype, low, high):
    array = np.array([low, high, 0], dtype)
    one_of_each_whole(array, array.dtype.type(high))
    assert array[0] == high
    one_of_each(array, array.dtype.type(low))
    assert array[1] == low


@pytest.mark.parametrize("dtype", ["uint32", "uint64"])
def test_compare_and_swap(dtype):
    array = np.array([5], dtype)
    assert swap(array, array.dtype.type(4), array.dtype.type(8)) == (False, 5)
    assert swap(array, array.dtype.type(5), array.dtype.type(8)) == (True, 8)


@parallel
def crowd(count, least, most, seen, sums, wins):
    for i in prange(ROUNDS):
        k = np.uint64(i)
        place = k % np.uint64(MEETING_PLACES)
        atomics.fetch_add(count, place, np.uint64(1))
        atomics.fetch_add(sums, place, np.float64(2))
        atomics.fetch_min(least, place, np.uint32(ROUNDS - i))
        atomics.fetch_max(most, place, np.uint32(i))
        bit = np.uint64(1) << (k & np.uint64(63))
        if atomics.fetch_or(seen, (k >> np.uint64(6)) % np.uint64(1000), bit) & bit == np.uint64(0):
            atomics.fetch_add(wins, np.uint64(0), np.uint64(1))


def test_concurrent_updates_lose_nothing():
    places = np.arange(ROUNDS) % MEETING_PLACES
    for _ in range(5):
        count, sums = np.zeros(MEETING_PLACES, np.uint64), np.zeros(MEETING_PLACES)
        least, most = np.full(MEETING_PLACES, 2**32 - 1, np.uint32), np.zeros(MEETING_PLACES, np.uint32)
        seen, wins = np.zeros(1000, np.uint64), np.zeros(1, np.uint64)
        crowd(count, least, most, seen, sums, wins)
        assert (count == np.bincount(places)).all()
        assert (sums == 2 * np.bincount(places)).all()
        assert most.tolist() == [np.flatnonzero(places == p).max() for p in range(MEETING_PLACES)]
        assert least.tolist() == [ROUNDS - np.flatnonzero(places == p).max() for p in range(MEETING_PLACES)]
        assert wins[0] == 64_000  # the first thread to set a bit wins it


@parallel
def climb(array, wins):
    for i in prange(ROUNDS):
        while True:
            before = atomics.load(array, np.uint64(0))
            if atomics.compare_and_swap(array, np.uint64(0), before, before + np.uint64(1)):
                break
        wins[i] = before


def test_every_concurrent_swap_is_won_once():
    array, wins = np.zeros(1, np.uint64), np.zeros(ROUNDS, np.uint64)
    climb(array, wins)
    assert array[0] == ROUNDS
    assert (np.sort(wins) == np.arange(ROUNDS)).all()
