"""The contract of each world, and engines on fake ranks."""

from __future__ import annotations

import numpy as np
import pytest

import evener as ev
from contracts.world import WorldContract
from evener.engine.engine import Engine
from evener.system.world import SingleProcess
from evener.testing.ranks import run_ranks
from support.rank_graphs import place_for


class TestSingleProcess(WorldContract):
    def run(self, size, function):
        assert size == 1
        return [function(SingleProcess())]


class TestFakeRanks(WorldContract):
    sizes = (1, 2, 3)

    def run(self, size, function):
        return run_ranks(size, function)


# ---- engines on fake ranks -----------------------------------------------------------------------------


def engine_of(world, on="cpu:1"):
    """Return an engine whose rank r has its own path of 10 (r + 1) vertices."""
    n = 10 * (world.rank + 1)
    graph = ev.Graph.from_edges(np.arange(n - 1), np.arange(1, n), directed=False, n=n)
    engine = Engine(place_for(world, lambda: ev.partition(graph, on)), "test")
    engine.superstep("only")
    return engine


@pytest.mark.parametrize("on", ["cpu:1", "cpu:1,cpu:1"])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_values_of_kernels_are_reduced_over_ranks(on, size):
    """Each kernel returns the number of owned vertices of its partition."""
    owned = ev.Kernel(cpu=lambda count: count)
    both = ev.Kernel(cpu=lambda count: (count, 1))

    def run(world):
        engine = engine_of(world, on)
        found = [
            engine.compute(owned, engine.owned),
            engine.compute(both, engine.owned),
            engine.compute(owned, engine.owned, reduce=max),
            len(engine.compute(owned, engine.owned, reduce=list)),
        ]
        largest = max(part.owned for part in engine.partitions)
        return found, largest

    answers = run_ranks(size, run)
    vertices, elements = 10 * sum(range(1, size + 1)), size * (1 + on.count(","))
    largest = max(own for _, own in answers)
    for found, _ in answers:
        assert found == [vertices, (vertices, elements), largest, elements]


def test_values_are_gathered_in_the_order_of_partitions():
    def run(world):
        engine = engine_of(world, "cpu:1,cpu:1")
        return engine.gather([f"{world.rank}.{p}" for p in range(2)])

    assert run_ranks(2, run) == [["0.0", "0.1", "1.0", "1.1"]] * 2


def test_active_vertices_are_counted_by_rank():
    """The timeline of a rank has only its own elements."""

    def run(world):
        engine = engine_of(world)
        engine.compute(ev.Kernel(cpu=lambda count: count), engine.owned, count_next_active=True)
        engine.superstep("next")
        return [span.active for span in engine.timeline]

    assert run_ranks(2, run) == [[0, 10], [0, 20]]


def test_an_element_is_single_only_on_a_single_rank():
    assert run_ranks(1, lambda world: engine_of(world).single) == [True]
    assert run_ranks(2, lambda world: engine_of(world).single) == [False] * 2
    assert run_ranks(1, lambda world: engine_of(world, "cpu:1,cpu:1").single) == [False]


def test_shares_and_speeds_are_those_of_all_ranks():
    def run(world):
        engine = engine_of(world, "cpu:1,cpu:1")
        return engine.equal_share(100), engine.total(engine.owned), engine.slowest([5, 6, 7, 9])

    assert run_ranks(2, run) == [(25, 30, 9.0)] * 2


def test_an_error_in_a_kernel_ends_all_ranks():
    def run(world):
        engine = engine_of(world)

        def kernel(_):
            if world.rank == 1:
                raise ZeroDivisionError
            return 1

        return engine.compute(ev.Kernel(cpu=kernel), engine.owned)

    with pytest.raises(ZeroDivisionError):
        run_ranks(2, run)


def test_a_search_has_as_many_levels_on_every_rank():
    """Ranks have 10, 20 and 30 levels of one vertex; all ranks stop after the longest."""

    def run(world):
        engine = engine_of(world)
        left, levels = engine.owned_array("int64", 0), 0
        visited = ev.Kernel(cpu=lambda reached, level: int(level < len(reached)))
        while engine.compute(visited, left, levels, count_next_active=True):
            levels += 1
            engine.superstep("level")
        return levels

    assert run_ranks(3, run) == [30] * 3
