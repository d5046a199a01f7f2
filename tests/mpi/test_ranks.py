"""Ranks that run as threads give the answers of the reference for any number of ranks."""

from __future__ import annotations

from functools import partial

import pytest

import evener as ev
from evener.errors import MpiError
from evener.partition.policy import policy_names
from evener.system.world import current_world
from evener.testing.ranks import run_ranks
from support import graphs
from support.expected_results import truth_of
from support.pair_cover import pairwise_cover

SPLITS = [(2, "cpu:1", "random"), (3, "cpu:1", "high"), (2, "cpu:1,cpu:1", "low"), (4, "cpu:1", "random")]
NAMES = [name for name in sorted(graphs.SMALL) if name != "empty"]


@pytest.mark.parametrize(("name", "split", "directed"), pairwise_cover(NAMES, SPLITS, [False, True]), ids=str)
def test_five_algorithms(name, split, directed):
    ranks, on, policy = split
    truth = truth_of(graphs.SMALL[name](), directed=directed)
    run_ranks(ranks, lambda _: truth.check(on=on, policy=policy, alpha=0.4))


# One policy of each kind; the everyday command leaves out the others.
SOME = ("random", "high", "hash", "ldg", "metis", "PD-LR")


@pytest.mark.parametrize(
    "policy", [pytest.param(name, marks=[pytest.mark.slow] * (name not in SOME)) for name in policy_names()]
)
def test_every_policy(policy):
    """Every policy works with two elements on each of two to four ranks."""
    if policy == "metis":
        pytest.importorskip("pymetis")
    ranks = 2 + policy_names().index(policy) % 3
    truth = truth_of(graphs.SMALL["rmat"](), directed=ranks == 3)
    run_ranks(ranks, lambda _: truth.check(on="cpu:1,cpu:1", policy=policy, alpha=0.3))


def test_ranks_may_have_different_elements():
    truth = truth_of(graphs.SMALL["rmat"](), directed=True)
    run_ranks(3, lambda world: truth.check(on=["cpu:1"] * (world.rank + 1)))


@pytest.mark.parametrize(
    ("argument", "values"), [("policy", ["random", "high"]), ("alpha", [0.2, 0.3]), ("seed", [0, 7])]
)
def test_ranks_with_different_arguments(argument, values):
    graph = ev.read("rmat:5")
    sentence = f"partition: expected the same {argument} on all ranks, found {values[0]!r} on rank 0 and "
    with pytest.raises(MpiError, match=f"{sentence}{values[1]!r} on rank 1; give all ranks"):
        run_ranks(2, lambda world: ev.partition(graph, "cpu:1", **{argument: values[world.rank]}))


@pytest.mark.parametrize(
    ("algorithm", "argument", "values"),
    [("bfs", "source", [0, 3]), ("pagerank", "damping", [0.85, 0.9]), ("sssp", "delta", [2.0, 1.0])],
)
def test_ranks_that_call_an_algorithm_differently(algorithm, argument, values):
    graph = ev.read("rmat:5,weights=1..9")
    run = partial(ev.sssp, source=0) if algorithm == "sssp" else getattr(ev, algorithm)
    sentence = f"{algorithm}: expected the same {argument} on all ranks, found {values[0]!r} on rank 0 and "
    with pytest.raises(MpiError, match=f"{sentence}{values[1]!r} on rank 1; give all ranks the same"):
        run_ranks(2, lambda world: run(graph, on="cpu:1", **{argument: values[world.rank]}))


def test_ranks_with_different_sources():
    with pytest.raises(
        MpiError, match=r"expected the same sources on all ranks, found \[0\] on rank 0 and \[0, 1\]"
    ):
        run_ranks(2, lambda world: ev.bfs("rmat:5", sources=[0, 1][: world.rank + 1], each=True, on="cpu:1"))


def test_ranks_that_run_different_algorithms():
    with pytest.raises(
        MpiError, match="expected the same call on all ranks, found pagerank on rank 0 and wcc on rank 1; all"
    ):
        run_ranks(2, lambda world: [ev.pagerank, ev.wcc][world.rank]("rmat:5", on="cpu:1"))


def test_ranks_with_different_graphs():
    with pytest.raises(
        MpiError, match="the same number of vertices of graph on all ranks, found 8 on rank 0 and 16 on"
    ):
        run_ranks(2, lambda world: ev.partition(ev.read(f"rmat:{3 + world.rank}"), "cpu:1"))


def test_each_rank_gets_the_values_of_its_block():
    """Values are in id order, and parents are ids. Some blocks are empty if ranks outnumber vertices."""
    graph = ev.Graph.from_edges([10, 20, 30, 40], [20, 30, 10, 50], directed=False)

    def search(_):
        result = ev.bfs(graph, source=10, on="cpu:1")
        return result["distance"].tolist(), result["parent"].tolist(), result.partitioned.block

    assert run_ranks(2, search) == [([0, 1], [10, 10], range(2)), ([1, -1, -1], [10, -1, -1], range(2, 5))]
    assert [len(block) for *_, block in run_ranks(7, search)] == [0, 1, 1, 0, 1, 1, 1]


@pytest.mark.parametrize("policy", ["C-PG", "DP-OH", "PD-LR"])
def test_ranks_are_the_machines_of_a_comparison(policy):
    """Two ranks have the partition sizes that `compare_policies` gives for two machines."""
    graph = ev.read("rmat:8")

    def place(_):
        pg = ev.partition(graph, "cpu:1,cpu:1", policy=policy)
        return [(part.edges, part.vertices) for part in pg.statistics.partitions]

    (found,) = ev.compare_policies(graph, "bfs", on="cpu:1,cpu:1", machines=2, policies=[policy])
    assert run_ranks(2, place) == [list(zip(found.edges, found.vertices, strict=True))] * 2


def test_each_rank_has_its_own_partitions():
    graph = ev.read("rmat:8")

    def place(world):
        pg = ev.partition(graph, "cpu:1,cpu:1")
        assert current_world() is world
        return pg.ranks, [partition.index for partition in pg.partitions], len(pg.elements)

    assert run_ranks(2, place) == [([0, 0, 1, 1], [0, 1], 2), ([0, 0, 1, 1], [2, 3], 2)]
