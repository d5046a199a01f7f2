"""The pool of pages that later runs use again."""

from __future__ import annotations

import gc
import subprocess
import sys

import numpy as np
import pytest

import evener as ev
from evener.elements import cpu as cpu_module
from evener.elements import page_pool as pool
from evener.elements import parse_elements
from evener.elements.page_pool import MIN_POOLED_BYTES, PagePool


def fresh(length):
    return np.empty(length, np.uint64)


@pytest.fixture
def pages(monkeypatch):
    """An empty pool for all CPU elements."""
    empty = PagePool(fresh)
    monkeypatch.setattr(cpu_module, "_pool", empty)
    return empty


def address(array):
    return array.__array_interface__["data"][0]


def test_pages_are_used_again_once_no_view_is_left(pages):
    first = pages.take(MIN_POOLED_BYTES)
    view, at = first[3:].view(np.float32)[1:], address(first)
    del first
    assert pages.nbytes == 0
    assert address(pages.take(MIN_POOLED_BYTES)) != at
    del view
    gc.collect()
    assert pages.nbytes == 2 * MIN_POOLED_BYTES
    assert at in {address(one) for one in [pages.take(MIN_POOLED_BYTES), pages.take(MIN_POOLED_BYTES)]}


def test_arrays_of_similar_sizes_share_pages(pages):
    at = address(pages.take(MIN_POOLED_BYTES * 15 // 8))
    assert address(pages.take(MIN_POOLED_BYTES * 15 // 8 - 4000)) == at
    assert address(pages.take(MIN_POOLED_BYTES)) != at


@pytest.mark.parametrize(
    "nbytes",
    [
        MIN_POOLED_BYTES,
        MIN_POOLED_BYTES + 1,
        MIN_POOLED_BYTES * 9 // 8 + 1,
        MIN_POOLED_BYTES * 17 // 8 + 1,
        3 * MIN_POOLED_BYTES - 1,
    ],
)
def test_pages_are_at_most_an_eighth_too_large(pages, nbytes):
    assert nbytes <= pages.take(nbytes).nbytes <= nbytes * 9 // 8 + 8


@pytest.mark.parametrize(
    ("nbytes", "eighths"),
    [(MIN_POOLED_BYTES, 8), (MIN_POOLED_BYTES + 1, 9), (MIN_POOLED_BYTES * 9 // 8 + 1, 10)],
)
def test_sizes_are_eighths_of_powers_of_two(pages, nbytes, eighths):
    assert pages.take(nbytes).nbytes == MIN_POOLED_BYTES * eighths // 8


def test_pages_may_be_freed_while_others_are_added(monkeypatch):
    """The garbage collector may free one array while the pool adds the pages of another."""
    pages = PagePool(fresh)
    held = [pages.take(MIN_POOLED_BYTES)]

    def available():
        held.clear()
        return 1 << 40

    monkeypatch.setattr(pool, "available", available)
    pages.take(MIN_POOLED_BYTES)
    assert pages.nbytes == 2 * MIN_POOLED_BYTES


def test_pages_in_use_are_not_in_the_pool(pages):
    pages.take(MIN_POOLED_BYTES)
    assert pages.nbytes == MIN_POOLED_BYTES
    held = pages.take(MIN_POOLED_BYTES)
    assert pages.nbytes == 0
    del held
    assert pages.nbytes == MIN_POOLED_BYTES


def test_the_pool_keeps_a_limited_part_of_available_memory(monkeypatch):
    monkeypatch.setattr(pool, "available", lambda: 3 * MIN_POOLED_BYTES * 16)
    pages = PagePool(fresh)
    held = [pages.take(MIN_POOLED_BYTES) for _ in range(3)]
    del held
    assert pages.nbytes == 3 * MIN_POOLED_BYTES
    pages.take(2 * MIN_POOLED_BYTES)
    assert pages.nbytes == 3 * MIN_POOLED_BYTES
    pages.take(3 * MIN_POOLED_BYTES)
    assert pages.nbytes == 3 * MIN_POOLED_BYTES
    pages.take(4 * MIN_POOLED_BYTES)  # more than the limit of the pool
    assert pages.nbytes == 3 * MIN_POOLED_BYTES


def test_the_least_recently_used_sizes_are_freed_first(monkeypatch):
    """Sizes that every run takes stay in the pool when a run on another graph exceeds its limit."""
    monkeypatch.setattr(pool, "available", lambda: 6 * MIN_POOLED_BYTES * 16)
    made = []
    pages = PagePool(lambda length: made.append(8 * length // MIN_POOLED_BYTES) or fresh(length))
    for _ in range(3):
        pages.take(3 * MIN_POOLED_BYTES)
        pages.take(MIN_POOLED_BYTES)
        pages.take(2 * MIN_POOLED_BYTES)
    assert made == [3, 1, 2]
    pages.take(4 * MIN_POOLED_BYTES)  # replaces size 3, unused for longest, and size 1
    pages.take(2 * MIN_POOLED_BYTES)
    assert made == [3, 1, 2, 4]
    pages.take(MIN_POOLED_BYTES)
    assert made == [3, 1, 2, 4, 1]


def test_a_recently_used_size_stays(monkeypatch):
    monkeypatch.setattr(pool, "available", lambda: 4 * MIN_POOLED_BYTES * 16)
    made = []
    pages = PagePool(lambda length: made.append(8 * length // MIN_POOLED_BYTES) or fresh(length))
    two = [pages.take(MIN_POOLED_BYTES), pages.take(MIN_POOLED_BYTES)]
    two.clear()
    pages.take(2 * MIN_POOLED_BYTES)
    pages.take(MIN_POOLED_BYTES)  # the pool keeps the other array of this size
    pages.take(3 * MIN_POOLED_BYTES)
    assert made == [1, 1, 2, 3]
    pages.take(MIN_POOLED_BYTES)
    assert made == [1, 1, 2, 3]


@pytest.mark.parametrize("during", ["_settle", "_pop"])
def test_pages_may_return_while_others_are_added(monkeypatch, during):
    """From Python 3.12 on, the garbage collector may run between any two bytecodes."""
    monkeypatch.setattr(pool, "available", lambda: 4 * MIN_POOLED_BYTES * 16)
    pages = PagePool(fresh)
    held = [pages.take(MIN_POOLED_BYTES) for _ in range(8)]
    own = getattr(pages, during)

    def collected(*args):
        if held:
            held.pop()
        found = own(*args)
        if held:
            held.pop()
        return found

    monkeypatch.setattr(pages, during, collected)
    for count in (2, 1, 3, 1, 2):
        pages.take(count * MIN_POOLED_BYTES)
    assert held == [] or during == "_pop"
    held.clear()
    kept = [one for of_size in pages._kept.values() for one in of_size]
    assert pages.nbytes == sum(one.nbytes for one in kept) <= 4 * MIN_POOLED_BYTES
    assert all(pages._kept.values())


def test_the_pool_is_emptied_if_memory_is_short():
    def make(length):
        if pages.nbytes:
            raise MemoryError
        return fresh(length)

    pages = PagePool(make)
    pages.take(MIN_POOLED_BYTES)
    assert pages.nbytes == MIN_POOLED_BYTES
    assert len(pages.take(2 * MIN_POOLED_BYTES)) == 2 * MIN_POOLED_BYTES // 8


@pytest.mark.parametrize(
    ("dtype", "fill"),
    [
        ("uint8", 3),
        ("uint32", 0),
        ("uint32", 0xFFFFFFFF),
        ("float32", -0.5),
        ("float64", np.inf),
        ("int64", -7),
    ],
)
@pytest.mark.parametrize("more", [0, 1, 5])
def test_large_arrays_of_used_pages_are_filled(pages, dtype, fill, more):
    element = parse_elements(["cpu"])[0]
    length = MIN_POOLED_BYTES // np.dtype(dtype).itemsize + more
    element.allocate(length, dtype)[:] = 1
    assert pages.nbytes
    array = element.allocate(length, dtype, fill)
    assert (array.shape, array.dtype) == ((length,), np.dtype(dtype))
    assert (array == fill).all()


def test_a_result_keeps_its_values_during_later_runs(pages):
    graph = ev.read("uniform:19,edge_factor=2")
    placed = ev.partition(graph, on="cpu")
    result = ev.bfs(placed, source=3)
    truth = result["distance"].copy()
    again = ev.bfs(placed, source=3)
    for source in (5, 7):
        ev.bfs(placed, source=source)
    assert pages.nbytes
    assert (again["distance"] == truth).all()


def test_arrays_at_the_end_of_the_process_cause_no_error():
    """At the end of the process, the pool's own modules may be gone."""
    code = """
import threading
from evener.elements import parse_elements
threading.kept = parse_elements("cpu:1")[0].allocate(1 << 20, "u8", 0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""


@pytest.mark.parametrize("nbytes", [1 << 62, MIN_POOLED_BYTES // 2])
def test_an_allocation_error_names_the_size(pages, monkeypatch, nbytes):
    def refuse(*_):
        raise MemoryError("Unable to allocate")

    monkeypatch.setattr(pages, "_make", refuse)
    monkeypatch.setattr(cpu_module.np, "empty", refuse)
    with pytest.raises(ev.OutOfMemoryError, match=r"refused an array of .*, with .* available") as caught:
        parse_elements("cpu:1")[0].allocate(nbytes, "uint8")
    assert caught.value.needed == nbytes
    assert caught.value.available > 0
