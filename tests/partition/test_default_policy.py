"""The default policy of equal elements: contiguous vertices where near numbers are near in the graph."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

import evener as ev
from evener.errors import ArgumentError
from evener.partition.default_policy import default_policy
from evener.partition.neighbour_sample import NeighbourSample
from evener.testing.ranks import run_ranks

HOME = import_module("evener.partition.neighbour_sample")
ROWS = 300


@pytest.fixture(scope="module")
def grid():
    """Return a grid of 300 rows, and the same grid with its vertices numbered at random."""
    graph = ev.read(f"grid:{ROWS}x{ROWS}")
    number = np.random.default_rng(1).permutation(graph.n)
    tails = np.repeat(np.arange(graph.n), np.diff(graph.offsets).astype(int))
    once = tails < graph.targets
    shuffled = ev.Graph.from_edges(number[tails[once]], number[graph.targets[once]], directed=False)
    return graph, shuffled


@pytest.mark.parametrize("parts", [2, 4, 8])
def test_a_grid_is_cut_into_runs_of_rows(grid, parts):
    assert default_policy(grid[0], "both", [1 / parts] * parts) == "contiguous"
    assert default_policy(grid[1], "both", [1 / parts] * parts) == "random"


@pytest.mark.parametrize("name", ["rmat:16", "uniform:16", "rmat:16,directed"])
def test_random_numbers_give_random_vertices(name):
    assert default_policy(ev.read(name), "in", [0.5, 0.5]) == "random"


def test_only_equal_elements_get_contiguous_vertices(grid):
    assert default_policy(grid[0], "both", [0.4, 0.6]) == "random"
    assert ev.partition(grid[0], ["cpu:1", "cpu:2"]).policy == "random"
    assert ev.partition(grid[0], ["cpu:1", "cpu:1"]).policy == "contiguous"
    assert ev.partition(grid[0], ["cpu:1", "cpu:1"], policy="random").policy == "random"
    with pytest.raises(ArgumentError, match="found 'auto'"):
        ev.partition(grid[0], policy="auto")


def test_algorithms_and_plans_make_the_same_choice(grid):
    placed = ev.wcc(grid[0], on="cpu:1,cpu:1").partitioned
    # Each cut is between two rows of 300 vertices.
    assert [(p.owned, p.mirrors) for p in placed.partitions] == [(ROWS * ROWS // 2, ROWS)] * 2
    plan = ev.plan(grid[0], "wcc", on="cpu:1,cpu:1")
    assert plan.policy == placed.policy == "contiguous"
    assert ev.plan(grid[1], "wcc", on="cpu:1,cpu:1").policy == "random"


def test_all_ranks_make_the_choice_of_the_first(grid, monkeypatch):
    """A rank with other edges in memory could choose otherwise."""
    ranks = iter(["contiguous", "random"])
    monkeypatch.setattr(import_module("evener.partition.build"), "default_policy", lambda *_: next(ranks))
    found = run_ranks(2, lambda _: ev.partition(grid[0], "cpu:1").policy)
    assert len(set(found)) == 1


@pytest.mark.parametrize("parts", [2, 3])
@pytest.mark.parametrize(
    ("name", "directions"), [("grid:200x200", "both"), ("rmat:13", "both"), ("rmat:13,directed", "in")]
)
def test_mirrors_of_contiguous_vertices_are_estimated(name, directions, parts):
    """The error is at most 5%, or 2% of all vertices, as for policies that order by degree."""
    graph = ev.read(name)
    assert graph.reverse is not None  # both directions are in memory
    placed = ev.partition(graph, ["cpu:1"] * parts, policy="contiguous", directions=directions)
    sample = NeighbourSample.by_number(graph, directions)
    found = sample.between([1 / parts] * parts)
    for q, partition in enumerate(placed.partitions):
        mirrors = np.diff(partition.mirror_bounds)
        for p, owner in enumerate(placed.partitions):
            expected = found[p, q] * owner.connected
            assert expected == pytest.approx(mirrors[p], rel=0.05, abs=graph.n / 50)


def test_a_directed_graph_without_the_needed_rows_is_not_sampled():
    graph = ev.read("rmat:8,directed")
    assert NeighbourSample.by_number(graph, "out") is None
    assert graph.stored_directions == ("out",)
