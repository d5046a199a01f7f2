"""The probe of routes between ranks."""

from __future__ import annotations

from itertools import combinations

import pytest

from evener.system.probe import measure_routes, rounds
from evener.testing.ranks import run_ranks


@pytest.mark.parametrize("size", range(2, 8))
def test_each_pair_is_in_one_round_and_no_rank_is_in_two_pairs_of_a_round(size):
    found = rounds(size)
    assert sorted(pair for pairs in found for pair in pairs) == list(combinations(range(size), 2))
    for pairs in found:
        ranks = [rank for pair in pairs for rank in pair]
        assert len(ranks) == len(set(ranks))


def test_all_ranks_know_all_routes():
    first, *others = run_ranks(3, measure_routes)
    assert others == [first, first]
    assert [(one.first, one.second) for one in first] == [(0, 1), (0, 2), (1, 2)]
