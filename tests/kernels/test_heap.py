"""The heap of Dijkstra's algorithm, compared with Python's `heapq`."""

from __future__ import annotations

import heapq

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evener.kernels.cpu.heap import drop_first, push
from evener.kernels.cpu.indexed_heap import lower, take_first


@pytest.mark.parametrize("dtype", [np.uint32, np.float64])
@given(steps=st.lists(st.one_of(st.none(), st.integers(0, 20)), max_size=60))
def test_the_least_key_is_first_after_any_steps(dtype, steps):
    keys, vertices = np.empty(61, dtype), np.empty(61, np.uint32)
    expected: list[int] = []
    for vertex, key in enumerate(steps):
        if key is not None:
            push(keys, vertices, np.uint64(len(expected)), dtype(key), np.uint64(vertex))
            heapq.heappush(expected, key)
        elif expected:
            assert keys[0] == expected[0]
            assert steps[vertices[0]] == keys[0]
            drop_first(keys, vertices, np.uint64(len(expected)))
            heapq.heappop(expected)
        held = len(expected)
        assert sorted(keys[:held].tolist()) == sorted(expected)
        assert all(steps[v] == key for v, key in zip(vertices[:held], keys[:held], strict=True))
        assert len(set(vertices[:held].tolist())) == held


@pytest.mark.parametrize("dtype", [np.uint32, np.float64])
@pytest.mark.parametrize("count", [2, 7, 64, 500])
def test_keys_come_out_in_order(dtype, count):
    """The heap has several levels."""
    keys, vertices = np.empty(count, dtype), np.empty(count, np.uint32)
    drawn = np.random.default_rng(count).permutation(count)
    for held, key in enumerate(drawn):
        push(keys, vertices, np.uint64(held), dtype(key), np.uint64(held))
    for held in range(count, 0, -1):
        assert keys[0] == drawn[vertices[0]] == count - held
        drop_first(keys, vertices, np.uint64(held))


@given(steps=st.lists(st.tuples(st.integers(0, 9), st.floats(0, 8)), max_size=80))
def test_keys_of_an_indexed_heap_may_fall(steps):
    """Each step lowers the key of a vertex, or adds the vertex; every third step removes the first."""
    keys, vertices, place = np.empty(10), np.empty(10, np.uint32), np.empty(10, np.uint32)
    expected: dict[int, float] = {}
    for number, (vertex, key) in enumerate(steps):
        if vertex in expected:
            key = min(key, expected[vertex])
            lower(keys, vertices, place, np.uint64(place[vertex]), key, np.uint64(vertex))
        else:
            lower(keys, vertices, place, np.uint64(len(expected)), key, np.uint64(vertex))
        expected[vertex] = key
        if number % 3 == 2:
            first = int(take_first(keys, vertices, place, np.uint64(len(expected))))
            assert expected.pop(first) <= min(expected.values(), default=np.inf)
        held = len(expected)
        assert dict(zip(vertices[:held].tolist(), keys[:held].tolist(), strict=True)) == expected
        assert vertices[place[list(expected)]].tolist() == list(expected)
