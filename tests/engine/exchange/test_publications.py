"""What ends the publication of an array on ranks: views, other engines, errors."""

from __future__ import annotations

import numpy as np
import pytest

import evener as ev
from evener.engine.engine import Engine
from evener.errors import MpiError
from evener.testing.ranks import run_ranks


def place(n=40):
    ends = np.random.default_rng(n).integers(0, n, (2, 8 * n))
    return ev.partition(ev.Graph.from_edges(*ends, n=n, directed=False), "cpu:1", policy="random")


def fill(part, value):
    part[:] = value


def fail(part, value):
    fill(part, value)
    raise ZeroDivisionError


FILL, FAIL = ev.Kernel(cpu=fill), ev.Kernel(cpu=fail)


def owned(engine, array):
    return array.first(engine.owned.parts)


def mirrors(engine, array):
    (part,), (count,) = engine.download(array), engine.owned
    return set(part[count:].tolist())


def test_a_view_that_is_empty_on_one_rank_ends_a_publication_on_all():
    """Rank 0 fills nothing, and both ranks send the array again."""

    def run(world):
        engine = Engine(place(), "test")
        array = engine.array("float64", 0)
        engine.compute(FILL, owned(engine, array), 1.0, publish=array)
        changed = array.first([world.rank * own for own in engine.owned])
        engine.compute(FILL, changed, 2.0)
        engine.pull(array)
        return mirrors(engine, array)

    assert run_ranks(2, run) == [{2.0}, {1.0}]


def test_mirrors_keep_their_values_until_the_pull():
    def run(_):
        engine = Engine(place(), "test")
        array = engine.array("float64", 0)
        engine.compute(FILL, owned(engine, array), 1.0, publish=array)
        engine.push(array, "add")
        (part,), (count,) = engine.download(array), engine.owned
        return set(part[:count].tolist())

    for late in (0, 1):
        for eager in (False, True):
            assert run_ranks(2, run, late=late, eager=eager) == [{1.0}] * 2


def test_the_next_run_gets_no_message_of_a_run_that_did_not_finish():
    """A driver returns early, and its engine is dropped."""

    def run(_):
        engine = Engine(place(), "test")
        array = engine.array("float64", 0)
        engine.compute(FILL, owned(engine, array), 1.0, publish=array)
        del engine, array
        engine = Engine(place(), "test")
        array = engine.array("float64", 0)
        for value in (2.0, 3.0):
            engine.compute(FILL, owned(engine, array), value, publish=array)
            engine.pull(array)
            assert mirrors(engine, array) == {value}
        engine.finish()

    for late in (0, 1):
        run_ranks(2, run, late=late)


def test_two_engines_may_alternate():
    def run(_):
        engines = [Engine(place(), "test") for _ in range(2)]
        arrays = [engine.array("float64", 0) for engine in engines]
        for value in (1.0, 2.0):
            for k in range(2):
                engines[k].compute(FILL, owned(engines[k], arrays[k]), value + k, publish=arrays[k])
            for k in range(2):
                engines[k].pull(arrays[k])
                assert mirrors(engines[k], arrays[k]) == {value + k}

    for late in (0, 1):
        run_ranks(2, run, late=late)


@pytest.mark.parametrize("verb", ["publish", "pull_before"])
def test_no_exchange_follows_a_failed_one(verb):
    """The kernel fails on all ranks. Messages that were sent before would arrive as later ones."""

    def run(_):
        engine = Engine(place(), "test")
        array, other = engine.array("float64", 0), engine.array("float64", 0)
        with pytest.raises(ZeroDivisionError):
            engine.compute(FAIL, owned(engine, other), 1.0, **{verb: array})
        engine.compute(FILL, array, 3.0)  # without an exchange
        for again in (engine, Engine(place(), "test")):
            with pytest.raises(
                MpiError, match=r"^an earlier exchange between ranks has failed, and its .* job"
            ):
                again.pull(array)

    run_ranks(2, run)


def test_a_failed_kernel_without_messages_changes_nothing():
    def run(_):
        engine = Engine(place(), "test")
        array = engine.array("float64", 0)
        with pytest.raises(ZeroDivisionError):
            engine.compute(FAIL, owned(engine, array), 1.0)
        engine.compute(FILL, owned(engine, array), 2.0, publish=array)
        engine.pull(array)
        assert mirrors(engine, array) == {2.0}

    run_ranks(2, run)
