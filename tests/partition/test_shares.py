"""Shares: every policy gives an element its share of the edges that are stored, whatever is stored."""

from __future__ import annotations

import numpy as np
import pytest

import evener as ev
from evener.elements import CpuElement
from evener.partition.degrees import vertices_as_stored
from evener.partition.estimate import GraphSizes, estimate_shares
from evener.partition.policy import find_policy, policy_names
from evener.testing.ranks import run_ranks
from support.fake_gpu import FakeGpu
from support.owners import owners

N, EDGES = 2000, 16_000
# The policies that by definition do not give shares of the stored edges, and what they divide instead.
OTHERS = {
    "chunking": "vertices",
    "hash": "vertices",
    "io": "all edges",
    "ldg": "vertices",
    "mw": "workload",
    "round-robin": "vertices",
}
FOLLOWING = [name for name in policy_names() if name not in OTHERS]
# METIS may exceed a share by 3%.
TOLERANCE = {"metis": 0.04}


@pytest.fixture(scope="module")
def graph():
    """Return a graph whose hubs of in-edges have few out-edges, with loops and parallel edges."""
    heads, tails = (np.random.default_rng(3).random((2, EDGES)) ** 2 * N).astype(np.int64)
    loops = np.arange(0, N, 50)
    # The last hundred vertices have no edges.
    return ev.Graph.from_edges(
        np.append(N - 1 - tails, loops), np.append(heads, loops), directed=True, n=N + 100
    )


@pytest.fixture(scope="module")
def path(graph, tmp_path_factory):
    path = tmp_path_factory.mktemp("shares") / "graph.evg"
    ev.write(graph, path)
    return path


def stored(graph, directions):
    """Return how many edges are stored with each vertex."""
    into, out = np.asarray(graph.in_degree(), int), np.asarray(graph.out_degree(), int)
    return {"in": into, "out": out, "both": into + out}[directions] if graph.directed else out


def owners_in(placements):
    """Return the owner of each vertex from the partitions of all ranks."""
    parts = [part for placed in placements for part in placed.partitions]
    owner = np.full(sum(part.owned for part in parts), -1)
    for part in parts:
        owner[np.asarray(part.vertices[: part.owned])] = part.index
    return owner


def assert_shares(owner, degree, shares, tolerance=0.0):
    """Check shares up to the largest vertex for each cut: a vertex at a cut has one owner."""
    edges = np.bincount(owner, weights=degree, minlength=len(shares))
    allowed = len(shares) * degree.max() + tolerance * degree.sum()
    assert np.abs(edges - np.asarray(shares) * degree.sum()).max() <= allowed, edges / degree.sum()


def test_the_policies_with_other_shares_are_known():
    declared = {name: find_policy(name).balances for name in policy_names()}
    assert {name: what for name, what in declared.items() if what != "stored edges"} == OTHERS


@pytest.mark.parametrize("directions", ["in", "out", "both"])
@pytest.mark.parametrize("policy", policy_names())
def test_the_share_is_that_of_the_stored_edges(graph, path, policy, directions):
    """One process, ranks with the whole graph and ranks with parts choose the same owners."""
    rule, degree = find_policy(policy), stored(graph, directions)
    how = {"policy": policy, "alpha": 0.3, "directions": directions, "seed": 5}
    one = ev.partition(graph, ["cpu:1", "cpu:1"], **how)
    owner = owners_in([one])
    if rule.balances == "workload":
        assert 0 < np.bincount(owner, weights=degree)[0] < degree.sum()
    else:
        every = {"stored edges": degree, "all edges": stored(graph, "both"), "vertices": np.ones(graph.n)}
        share = 0.5 if rule.even else 0.3
        tolerance = 0.05 if policy == "hash" else TOLERANCE.get(policy, 0.0)
        assert_shares(owner, every[rule.balances], [share, 1 - share], tolerance)
    real = np.bincount(owner, weights=degree, minlength=2) / degree.sum()
    assert one.statistics.alpha == pytest.approx(real[0])
    assert [part.edge_share for part in one.statistics.partitions] == pytest.approx(real)

    families = policy.startswith(("DP-", "PD-"))  # they divide among ranks, so one process has other owners
    whole = owners_in(run_ranks(2, lambda _: ev.partition(graph, "cpu:1", **how)))
    if families:
        given = vertices_as_stored(
            graph, np.argsort(-stored(graph, "both"), kind="stable"), stored(graph, "both"),
            graph.out_degree(), directions,
        )  # fmt: skip
        expected = owners(
            given.by_degree, given.degree, policy=policy, shares=np.array([0.3, 0.7]), ranks=[0, 1], seed=5
        )
    assert (whole == (expected if families else owner)).all()
    if rule.needs != "edges":
        parts = owners_in(run_ranks(2, lambda _: ev.partition(path, "cpu:1", **how)))
        assert (parts == whole).all()


@pytest.mark.parametrize("policy", FOLLOWING)
def test_shares_of_four_elements_and_of_gpus(graph, policy):
    """CPUs and GPUs of one process: the CPUs share α, and the GPUs the rest."""
    for directions in ("in", "out"):
        elements = [
            CpuElement("cpu:1", 1),
            FakeGpu("cuda:0", 0),
            FakeGpu("cuda:1", 1),
            CpuElement("cpu:1", 1),
        ]
        placed = ev.partition(graph, elements, policy=policy, alpha=0.6, directions=directions)
        shares = [0.25] * 4 if find_policy(policy).even else [0.3, 0.2, 0.2, 0.3]
        assert_shares(owners_in([placed]), stored(graph, directions), shares, TOLERANCE.get(policy, 0.0))


@pytest.mark.parametrize("policy", [name for name in FOLLOWING if not find_policy(name).even])
@pytest.mark.parametrize("directions", ["in", "out"])
def test_one_side_may_have_all_stored_edges(graph, policy, directions):
    for alpha in (0.0, 1.0):
        placed = ev.partition(graph, ["cpu:1"] * 3, policy=policy, alpha=alpha, directions=directions)
        assert placed.statistics.alpha == alpha


@pytest.mark.parametrize("policy", FOLLOWING)
def test_a_vertex_with_more_edges_than_a_share(policy):
    """A star of in-edges: the center is alone on its element, or with vertices that have no stored edge."""
    star = ev.Graph.from_edges(np.arange(1, 40), np.zeros(39, int), directed=True)
    for directions in ("in", "out"):
        placed = ev.partition(star, ["cpu:1"] * 3, policy=policy, alpha=0.2, directions=directions)
        degree = stored(star, directions)
        shares = [1 / 3] * 3 if find_policy(policy).even else [0.2, 0.4, 0.4]
        assert_shares(owners_in([placed]), degree, shares, TOLERANCE.get(policy, 0.0))


@pytest.mark.parametrize("policy", [name for name in FOLLOWING if not find_policy(name).even])
def test_vertices_without_stored_edges_do_not_count(policy):
    """A third of the vertices have no in-edge, and the others have one each."""
    graph = ev.Graph.from_edges(np.zeros(200, int), np.arange(1, 201), n=300, directed=True)
    placed = ev.partition(graph, ["cpu:1"] * 2, policy=policy, alpha=0.5, directions="in")
    assert placed.statistics.alpha == pytest.approx(0.5, abs=0.06)


@pytest.mark.parametrize("directions", ["in", "out", "both"])
@pytest.mark.parametrize("directed", [True, False])
def test_high_gives_the_first_element_the_largest_vertices(graph, directed, directions):
    """`high` and `low` order by the stored edges, not by the edges of both directions."""
    given = graph if directed else ev.read("rmat:8")
    degree = stored(given, directions)
    for policy, sign in (("high", 1), ("low", -1)):
        placed = ev.partition(given, ["cpu:1"] * 2, policy=policy, alpha=0.4, directions=directions)
        owner = owners_in([placed])
        first, second = sign * degree[owner == 0], sign * degree[owner == 1]
        assert first.min() >= second.max()


@pytest.mark.parametrize("directions", ["in", "out", "both"])
@pytest.mark.parametrize("policy", ["high", "low"])
def test_estimated_edges_equal_those_of_the_placement(graph, policy, directions):
    """A plan names the share that the placement then has, also if one vertex has more edges than a share."""
    star = ev.Graph.from_edges(np.arange(1, 40), np.zeros(39, int), directed=True)
    for given in (graph, star):
        for alpha in (0.0, 0.05, 0.45, 0.8, 1.0):
            elements = [CpuElement("cpu:1", 1)] * 3
            placed = ev.partition(given, elements, policy=policy, alpha=alpha, directions=directions)
            found, _ = estimate_shares(GraphSizes.of(given, directions), elements, policy, alpha)
            for one, part in zip(found, placed.partitions, strict=True):
                assert (one.sizes.edges, one.sizes.vertices) == (part.stored_edges, part.owned)


@pytest.mark.parametrize("name", ["pagerank", "hits", "bfs", "wcc"])
def test_algorithms_have_the_share_of_the_edges_that_they_store(graph, tmp_path, name):
    """The share is right for a first run, a kept placement, another run, a folder and a plan."""
    run, more = getattr(ev, name), {"source": 0} if name == "bfs" else {}
    for policy in ("high", "low"):
        for _ in range(2):
            placed = run(graph, on=["cpu:1", "cpu:1"], policy=policy, alpha=0.5, **more).partitioned
            degree = stored(graph, placed.directions)
            assert_shares(owners_in([placed]), degree, [0.5, 0.5])
            assert placed.statistics.alpha == pytest.approx(0.5, abs=2 * degree.max() / degree.sum())
        plan = ev.plan(graph, name, on=["cpu:1", "cpu:1"], policy=policy, alpha=0.5)
        assert [one.sizes.edges for one in plan.shares] == [part.stored_edges for part in placed.partitions]
        folder = tmp_path / f"{name}-{policy}"
        ev.write_partitioned(placed, folder)
        again = ev.read_partitioned(folder)
        assert again.statistics.alpha == placed.statistics.alpha
