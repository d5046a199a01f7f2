"""Which vertices each policy gives to whom, and how close the shares come to what was asked."""

from __future__ import annotations

import numpy as np
import pytest

import evener as ev
from covering import pairwise_cover
from evener.partition.owners import edge_shares, owners
from evener.partition.policy import find_policy, policy_names
from evener.testing.policies import PolicyContract


class TestHigh(PolicyContract):
    name = "high"


class TestLow(PolicyContract):
    name = "low"


class TestRandom(PolicyContract):
    name = "random"


def test_every_policy_has_a_contract():
    tested = {one.name for one in PolicyContract.__subclasses__()}
    assert tested == set(policy_names())


@pytest.fixture(scope="module")
def skewed():
    """2,000 vertices whose degrees fall from some hundreds to none."""
    rng = np.random.default_rng(2)
    src, dst = (rng.random((2, 12_000)) ** 4 * 2000).astype(np.int64)
    return ev.Graph.from_edges(src, dst, directed=False, n=2000)


@pytest.mark.parametrize(
    ("alpha", "policy", "elements"),
    pairwise_cover([0, 0.1, 0.25, 0.5, 0.8, 1], policy_names(), [2, 4]),
)
def test_shares_come_within_half_a_vertex_of_alpha(skewed, policy, alpha, elements):
    pg = ev.partition(skewed, ["cpu:1"] * elements, policy=policy, alpha=alpha)
    largest = int(skewed.out_degree().max())
    edges = [row.edges for row in pg.statistics.partitions]
    wanted = [alpha] + [(1 - alpha) / (elements - 1)] * (elements - 1)
    # A cut moves by half a vertex at most; a share has two cuts.
    assert np.abs(np.array(edges) - np.array(wanted) * skewed.m).max() <= largest
    assert pg.statistics.alpha == edges[0] / skewed.m
    if alpha == 0:
        assert pg.partitions[0].owned == 0
    if alpha == 1:
        assert pg.partitions[0].owned == skewed.n


def test_high_gives_the_highest_degrees_to_the_first(skewed):
    pg = ev.partition(skewed, ["cpu:1"] * 3, policy="high", alpha=0.5)
    degree = [skewed.out_degree()[p.vertices[: p.owned]] for p in pg.partitions]
    assert degree[0].min() >= degree[1].max()
    assert degree[1].min() >= degree[2].max()
    assert len(degree[0]) < len(degree[1])


def test_low_gives_the_lowest_degrees_to_the_first(skewed):
    pg = ev.partition(skewed, ["cpu:1"] * 3, policy="low", alpha=0.5)
    degree = [skewed.out_degree()[p.vertices[: p.owned]] for p in pg.partitions]
    assert degree[0].max() <= degree[1].min()
    assert degree[1].max() <= degree[2].min()
    assert len(degree[0]) > len(degree[1])


def test_random_mixes_degrees(skewed):
    pg = ev.partition(skewed, ["cpu:1"] * 2, policy="random", alpha=0.5)
    lonely = [int((skewed.out_degree()[p.vertices[: p.owned]] == 0).sum()) for p in pg.partitions]
    # Each lonely vertex falls on either side like a coin: five standard deviations around the half.
    assert abs(lonely[0] - sum(lonely) / 2) < 5 * np.sqrt(sum(lonely)) / 2


@pytest.mark.parametrize("seed", range(3))
def test_random_mixes_the_degrees_of_a_skewed_graph(seed):
    graph = ev.read("rmat:14")
    degree = graph.out_degree().astype(float)
    order = find_policy("random").order(np.argsort(-degree, kind="stable").astype(np.uint32), seed)
    sums = degree[order].reshape(4, -1).sum(axis=1)
    # The sum of a random quarter has this standard deviation.
    deviation = degree.std() * np.sqrt(graph.n / 4 * 3 / 4)
    assert np.abs(sums - graph.m / 4).max() < 5 * deviation


@pytest.mark.parametrize("seed", range(3))
def test_random_separates_neighbours_of_a_grid_by_chance(seed):
    graph = ev.read("grid:300x300")
    pg = ev.partition(graph, ["cpu:1"] * 2, policy="random", alpha=0.5, seed=seed)
    # The number of edges that cross has this standard deviation if the owners of neighbours are independent.
    crossing = sum(p.out.boundary for p in pg.partitions) / 2
    assert abs(crossing - graph.m / 4) < 5 * np.sqrt(graph.m / 8)


def test_directed_degrees_count_edges_in_and_out():
    # 0 has four edges out, 1 has five in (from 0 and 2..5), so 1 is the highest.
    g = ev.Graph.from_edges([0, 0, 0, 0, 2, 3, 4, 5], [1, 6, 7, 8, 1, 1, 1, 1])
    pg = ev.partition(g, ["cpu:1"], policy="high")
    assert pg.partitions[0].vertices[:2].tolist() == [1, 0]


def test_without_alpha_the_threads_decide():
    assert edge_shares([1, 3], None).tolist() == [0.25, 0.75]
    assert edge_shares([5], None).tolist() == [1.0]


@pytest.mark.parametrize(
    ("threads", "alpha", "on_cpu", "shares"),
    [
        ([1, 1], 0.8, None, [0.8, 0.2]),
        ([1, 1], 0.8, [True, True], [0.8, 0.2]),
        ([2, 1, 3], 0.2, None, [0.2, 0.2, 0.6]),
        ([4, 1, 1], 0.5, [True, False, False], [0.5, 0.25, 0.25]),
        ([1, 1, 4], 0.5, [False, False, True], [0.25, 0.25, 0.5]),
        ([1, 3, 2], 0.6, [True, True, False], [0.15, 0.45, 0.4]),
        ([1, 1], 0.0, None, [0.0, 1.0]),
        ([1, 1], 1, None, [1.0, 0.0]),
        ([7], 0.3, None, [1.0]),
    ],
)
def test_alpha_is_the_share_of_the_cpu_side(threads, alpha, on_cpu, shares):
    assert edge_shares(threads, alpha, on_cpu=on_cpu) == pytest.approx(shares)


def test_owners_by_hand():
    # Degrees 5 4 3 2 1 1, sixteen in all. Half of them is 8: 5 + 4 misses it by 1, 5 alone by 3.
    degree = np.array([1, 5, 4, 3, 2, 1], np.uint64)
    by_degree = np.array([1, 2, 3, 4, 0, 5], np.uint32)
    half = np.array([0.5, 0.5])
    assert owners(by_degree, degree, policy="high", shares=half).tolist() == [1, 0, 0, 1, 1, 1]
    # From below: 1 + 1 + 2 + 3 is 7, with 4 more it is 11.
    assert owners(by_degree, degree, policy="low", shares=half).tolist() == [0, 1, 1, 0, 0, 0]


@pytest.mark.parametrize("policy", policy_names())
def test_cuts_of_many_vertices_are_where_their_edges_sum_up_to_the_shares(policy):
    rng = np.random.default_rng(8)
    degree = (rng.pareto(1.2, 100_000) * 3).astype(np.uint64)
    by_degree = np.argsort(-degree.astype(np.int64), kind="stable").astype(np.uint32)
    shares = np.array([0.05, 0.4, 0.001, 0.549])
    owner = owners(by_degree, degree, policy=policy, shares=shares)
    order = find_policy(policy).order(by_degree, 0)
    # One after another, and each with its share of the edges to within half of the vertices at its two ends.
    assert (np.diff(owner[order].astype(int)) >= 0).all()
    edges = np.bincount(owner, weights=degree, minlength=4).cumsum()
    ends = [degree[order[owner[order] == p][-1]] for p in range(3)]
    following = [degree[order[owner[order] == p + 1][0]] for p in range(3)]
    off = np.abs(edges[:3] - shares.cumsum()[:3] * degree.sum())
    assert (off <= np.maximum(ends, following) / 2).all()


def test_vertices_without_edges_are_shared_out_too():
    owner = owners(
        np.arange(8, dtype=np.uint32), np.zeros(8, np.uint64), policy="high", shares=np.full(4, 0.25)
    )
    assert np.bincount(owner).tolist() == [2, 2, 2, 2]


def test_more_elements_than_a_byte_can_number():
    owner = owners(
        np.arange(600, dtype=np.uint32),
        np.full(600, 2, np.uint64),
        policy="high",
        shares=np.full(300, 1 / 300),
    )
    assert (owner == np.arange(600) // 2).all()


def test_unknown_policy_is_refused():
    with pytest.raises(ev.ArgumentError, match=r"policy=: expected one of high, .*found 'best'"):
        owners(np.arange(2, dtype=np.uint32), np.ones(2, np.uint64), policy="best", shares=np.full(2, 0.5))
