"""The pseudo-random permutation: every number occurs once, and keys give different orders."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evener.graph.arrays import read_only
from evener.kernels.cpu.permutation import ROUNDS, shuffle, shuffled_places


def shuffled(n, seed=0):
    keys = np.random.default_rng(seed).integers(0, 1 << 64, ROUNDS, dtype=np.uint64)
    order = np.empty(n, np.uint32)
    shuffle(read_only(np.arange(n, dtype=np.uint32)), read_only(keys), order)
    return order


def by_hand(n, keys):
    """Yield the place of each number, from the same network on Python integers."""

    def mix(word):
        word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        word = (word ^ (word >> 27)) * 0x94D049BB133111EB % 2**64
        return word ^ (word >> 31)

    half = max(1, ((n - 1).bit_length() + 1) // 2)

    def permuted(number):
        left, right = divmod(number, 2**half)
        for key in keys:
            left, right = right, left ^ mix((right + key) % 2**64) % 2**half
        return left * 2**half + right

    for number in range(n):
        place = permuted(number)
        while place >= n:
            place = permuted(place)
        yield place


@pytest.mark.parametrize("n", [0, 1, 2, 3, 5, 64, 1000, 2**14, 2**16 + 1])
def test_every_number_occurs_once(n):
    assert np.sort(shuffled(n)).tolist() == list(range(n))


@given(st.integers(1, 5000), st.integers(0, 2**63))
def test_every_number_occurs_once_for_any_seed(n, seed):
    assert np.bincount(shuffled(n, seed), minlength=n).tolist() == [1] * n


@pytest.mark.parametrize("n", [1, 2, 5, 16, 17, 300])
def test_order_equals_the_network_on_python_integers(n):
    keys = [int(key) for key in np.random.default_rng(4).integers(0, 1 << 64, ROUNDS, dtype=np.uint64)]
    assert shuffled(n, 4).tolist() == list(by_hand(n, keys))


def test_keys_give_different_orders():
    orders = [shuffled(10_000, seed) for seed in range(5)]
    # Two random orders agree in one place on average.
    agree = [(one == other).sum() for i, one in enumerate(orders) for other in orders[:i]]
    assert max(agree) < 10


def test_values_move_with_their_places():
    values = (np.arange(1000, dtype=np.uint32) * 7) % 1000
    keys = np.arange(ROUNDS, dtype=np.uint64)
    order = np.empty(1000, np.uint32)
    shuffle(read_only(values), read_only(keys), order)
    places = np.empty(1000, np.uint32)
    shuffle(read_only(np.arange(1000, dtype=np.uint32)), read_only(keys), places)
    assert (order == values[places]).all()


@pytest.mark.parametrize("n", [1, 5, 17, 10_000])
def test_places_are_the_inverse_of_the_order(n):
    keys = read_only(np.random.default_rng(4).integers(0, 1 << 64, ROUNDS, dtype=np.uint64))
    places = np.empty(n, np.uint32)
    shuffled_places(read_only(np.arange(n, dtype=np.uint32)), n, keys, places)
    assert shuffled(n, 4)[places].tolist() == list(range(n))
