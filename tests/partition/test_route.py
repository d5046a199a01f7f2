"""Routes store the owner's mirrored vertices as a list and as a bitmap."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evener.partition.route import Route


@given(st.sets(st.integers(0, 299), min_size=1), st.integers(0, 100))
def test_bitmap_and_counts(index, more):
    owned = max(index) + 1 + more
    route = Route.from_index(0, 1, 7, np.array(sorted(index), np.uint32), owned)
    flags = [v in index for v in range(-(-owned // 64) * 64)]
    words = [int("".join("01"[flag] for flag in flags[at : at + 64][::-1]), 2) for at in range(0, owned, 64)]
    assert route.owner_bitmap.tolist() == words
    assert route.owner_bitmap.dtype == np.uint64
    assert route.rank.tolist() == [sum(flags[: 64 * word]) for word in range(len(words) + 1)]
    assert route.rank.dtype == np.uint32
    run = max(index) - min(index) + 1 == len(index)
    assert route.first == (min(index) if run else None)
