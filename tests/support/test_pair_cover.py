"""`pairwise_cover` contains every pair of values."""

from __future__ import annotations

from itertools import product

from support.pair_cover import pairwise_cover


def test_every_pair_of_values_occurs():
    lists = ["abc", [1, 2], [True, False, None], "xy"]
    rows = pairwise_cover(*lists)
    assert len(rows) < 3 * 2 * 3 * 2 / 2
    for i in range(len(lists)):
        for j in range(i + 1, len(lists)):
            assert {(row[i], row[j]) for row in rows} == set(product(lists[i], lists[j]))
