"""The next run of an algorithm gets the work arrays of the last run, which are freed in time."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import evener as ev
from evener.engine.engine import Engine
from evener.system import memory

WANTED = ("bits", "uint64", 0), ("owned", "uint32", None), (3, "uint8", 255)


@pytest.fixture
def placed():
    return ev.partition(ev.read("grid:9x9"), "cpu:1,cpu:1")


def run(placed, algorithm="search", *, ends=True):
    """Return the parts of the arrays of a run, which changes them all."""
    engine = Engine(placed, algorithm)
    bits, values, bytes_ = engine.work_arrays(*WANTED)
    assert bits.bits
    for element, one, own, some in zip(placed.elements, bits, values, bytes_, strict=True):
        assert not element.download(one).any()
        assert (element.download(some) == 255).all()
        for part in (one, own, some):
            element.run(part.fill, 7)
    if ends:
        engine.finish()
    return [*bits, *values, *bytes_]


def shared(one, other):
    return [np.shares_memory(a, b) for a, b in zip(one, other, strict=True)]


def test_the_next_run_gets_the_same_arrays_filled_again(placed):
    first, second, third = (run(placed) for _ in range(3))
    assert all(shared(first, second))
    assert all(shared(first, third))


def test_two_runs_at_a_time_share_no_array(placed):
    run(placed)
    first, second = run(placed, ends=False), run(placed)
    assert not any(shared(first, second))


def test_another_algorithm_and_the_run_after_a_failed_one_get_other_arrays(placed):
    first = run(placed)
    assert not any(shared(first, run(placed, "other")))
    failed = run(placed, "other", ends=False)
    assert not any(shared(failed, run(placed, "other")))


@pytest.mark.parametrize("ends", ["graph", "shortage", "placement"])
def test_kept_arrays_are_freed(ends):
    placed = ev.partition(ev.read("grid:9x9"), "cpu:1,cpu:1")
    gc.disable()
    try:
        kept = [weakref.ref(part) for part in run(placed)]
        assert all(part() is not None for part in kept)
        if ends == "graph":
            del placed
        elif ends == "shortage":
            assert memory.release_on_devices()
            assert not memory.release_on_devices()
        else:
            run(placed, "other")
        freed = [part() is None for part in kept]
    finally:
        gc.enable()
    assert all(freed)
