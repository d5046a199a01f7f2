"""Policies: owners computed by hand, shares, and the contract of every policy."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import evener as ev
from contracts.policies import PolicyContract
from evener.partition.owners import edge_shares
from evener.partition.policy import PLANNED, check_needs, find_policy, policy_names
from support.owners import owners
from support.pair_cover import pairwise_cover


class TestHigh(PolicyContract):
    name = "high"


class TestLow(PolicyContract):
    name = "low"


class TestRandom(PolicyContract):
    name = "random"


class TestCPG(PolicyContract):
    name = "C-PG"


class TestCR(PolicyContract):
    name = "C-R"


class TestDPOH(PolicyContract):
    name = "DP-OH"


class TestDPOL(PolicyContract):
    name = "DP-OL"


class TestDPRH(PolicyContract):
    name = "DP-RH"


class TestDPRL(PolicyContract):
    name = "DP-RL"


class TestPDHO(PolicyContract):
    name = "PD-HO"


class TestPDLO(PolicyContract):
    name = "PD-LO"


class TestPDHR(PolicyContract):
    name = "PD-HR"


class TestPDLR(PolicyContract):
    name = "PD-LR"


class TestIO(PolicyContract):
    name = "io"


class TestContiguous(PolicyContract):
    name = "contiguous"


class TestLPT(PolicyContract):
    name = "lpt"


class TestRoundRobin(PolicyContract):
    name = "round-robin"
    tolerance = np.inf


class TestHash(PolicyContract):
    name = "hash"
    tolerance = np.inf


class TestChunking(PolicyContract):
    name = "chunking"
    tolerance = np.inf


class TestLDG(PolicyContract):
    name = "ldg"
    tolerance = np.inf  # its shares count vertices


class TestMW(PolicyContract):
    name = "mw"
    tolerance = 1.0  # its workloads count crossing edges too


class TestMI(PolicyContract):
    name = "mi"


class TestMETIS(PolicyContract):
    name = "metis"
    tolerance = 0.2

    @pytest.fixture(autouse=True)
    def _pymetis(self):
        pytest.importorskip("pymetis")


def test_every_policy_has_a_contract():
    tested = {one.name for one in PolicyContract.__subclasses__()}
    assert tested == set(policy_names())


@pytest.fixture(scope="module")
def skewed():
    """Return a graph of 2,000 vertices with degrees from some hundreds to zero."""
    rng = np.random.default_rng(2)
    src, dst = (rng.random((2, 12_000)) ** 4 * 2000).astype(np.int64)
    return ev.Graph.from_edges(src, dst, directed=False, n=2000)


@pytest.mark.parametrize(
    ("alpha", "policy", "elements"),
    pairwise_cover([0, 0.1, 0.25, 0.5, 0.8, 1], [*PLANNED, "C-PG"], [2, 4]),
)
def test_shares_are_within_half_a_vertex_of_alpha(skewed, policy, alpha, elements):
    pg = ev.partition(skewed, ["cpu:1"] * elements, policy=policy, alpha=alpha)
    largest = int(skewed.out_degree().max())
    edges = [row.edges for row in pg.statistics.partitions]
    wanted = [alpha] + [(1 - alpha) / (elements - 1)] * (elements - 1)
    # Each cut is wrong by at most half a vertex, and a share has two cuts.
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
    # Each vertex without edges is on either side with probability 1/2. Allow five standard deviations.
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
    # Vertex 0 has four out-edges, and vertex 1 has five in-edges, so vertex 1 has the highest degree.
    g = ev.Graph.from_edges([0, 0, 0, 0, 2, 3, 4, 5], [1, 6, 7, 8, 1, 1, 1, 1])
    pg = ev.partition(g, ["cpu:1"], policy="high")
    assert pg.partitions[0].vertices[:2].tolist() == [1, 0]


def test_without_alpha_shares_follow_the_threads():
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


def test_even_policies_ignore_alpha():
    assert edge_shares([1, 800], 0.1, on_cpu=[True, False], policy="C-R").tolist() == [0.5, 0.5]


# ---- owners by hand ----------------------------------------------------------------------------------

# Degrees of the vertices 0..7, 24 in total. The order by descending degree is 1 2 3 4 0 5 6 7.
DEGREE = np.array([2, 7, 5, 4, 3, 1, 1, 1], np.uint64)
BY_DEGREE = np.array([1, 2, 3, 4, 0, 5, 6, 7], np.uint32)


def owners_of(policy, shares, **more):
    return owners(BY_DEGREE, DEGREE, policy=policy, shares=np.array(shares), **more).tolist()


def test_cuts_by_hand():
    # Half of 24 is 12: 7 + 5. From below, 1 + 1 + 1 + 2 + 3 + 4 is 12.
    assert owners_of("high", [0.5, 0.5]) == [1, 0, 0, 1, 1, 1, 1, 1]
    assert owners_of("low", [0.5, 0.5]) == [0, 1, 1, 0, 0, 0, 0, 0]


MACHINES = {"on_cpu": [True, False] * 2, "ranks": [0, 0, 1, 1]}


def test_dp_by_hand():
    """Two machines have a CPU and a GPU each; α is a third.

    O: machine 0 gets vertices until it has 12 edges: 0, 1 and 2 (2 + 7 + 5 = 14). Machine 1 gets the other 10
    edges. H: the CPU of machine 0 should get a third of 14, which is 4.67. Vertex 1 (7) is nearer than
    nothing (0). The CPU of machine 1 should get 3.33: vertex 3 (4).
    L: the CPU of machine 0 gets vertex 0 (2) and vertex 2 (5), because 7 is nearer than 2. The CPU of machine
    1 gets the vertices 7, 6 and 5 with 3 edges.
    """
    shares = [1 / 6, 2 / 6] * 2
    assert owners_of("DP-OH", shares, **MACHINES) == [1, 0, 1, 2, 3, 3, 3, 3]
    assert owners_of("DP-OL", shares, **MACHINES) == [0, 1, 0, 3, 3, 2, 2, 2]


def test_pd_by_hand():
    """Two machines have a CPU and a GPU each; α is a half.

    H: the CPUs get 1 and 2 (12 edges), the GPUs get the rest. O: each CPU should get 6 edges, so the first is
    full with vertex 1 (7). Each GPU should get 6: vertices 0 and 3 (2 + 4), then 4, 5, 6 and 7.
    L: the CPUs get 7 6 5 0 4 3 (12 edges). O: 0 and 3, then the rest. The GPUs get 1 and 2.
    """
    shares = [0.25] * 4
    assert owners_of("PD-HO", shares, **MACHINES) == [1, 0, 2, 1, 3, 3, 3, 3]
    assert owners_of("PD-LO", shares, **MACHINES) == [0, 1, 3, 0, 2, 2, 2, 2]


@pytest.mark.parametrize("policy", ["DP-RH", "PD-HR"])
def test_random_phases(skewed, policy):
    """Each rank gets random degrees, and the CPU of each rank gets the highest of these degrees."""
    degree = skewed.out_degree()
    by_degree = np.argsort(-degree.astype(np.int64), kind="stable").astype(np.uint32)
    owner = owners(by_degree, degree, policy=policy, shares=np.array([0.2, 0.3] * 2), **MACHINES)
    lowest, highest = ([get(degree[owner == p]) for p in range(4)] for get in (np.min, np.max))
    assert lowest[0] >= highest[1]
    assert lowest[2] >= highest[3]
    # PD cuts between CPUs and GPUs once for all ranks.
    if policy == "PD-HR":
        assert min(lowest[0], lowest[2]) >= max(highest[1], highest[3])
    edges, largest = np.bincount(owner, weights=degree), int(degree.max())
    assert np.abs(edges - np.array([0.2, 0.3] * 2) * degree.sum()).max() <= 2 * largest


@pytest.mark.parametrize(
    ("policy", "same"),
    [("DP-OH", "high"), ("DP-RL", "low"), ("PD-HO", "high"), ("PD-LR", "low")],
)
def test_one_rank_has_only_the_parallel_phase(skewed, policy, same):
    degree = skewed.out_degree()
    by_degree = np.argsort(-degree.astype(np.int64), kind="stable").astype(np.uint32)
    shares = np.array([0.3, 0.4, 0.3])
    gpus = {"on_cpu": [True, False, False]}
    found = owners(by_degree, degree, policy=policy, shares=shares, **gpus)
    assert (found == owners(by_degree, degree, policy=same, shares=shares)).mean() > 0.99


def test_pg_by_hand():
    """A CPU and a GPU with r = 2 have shares of 1/3 and 2/3. Loads (CPU, GPU / 2) are in parentheses.

    0 (2) CPU, as loads are equal: (2, 0). 1 (7) GPU: (2, 3.5). 2 (5) CPU: (7, 3.5). 3 (4) GPU: (7, 5.5).
    4 (3) GPU: (7, 7). 5 (1) CPU, as loads are equal: (8, 7). 6 (1) GPU: (8, 7.5). 7 (1) GPU: (8, 8).
    """
    gpu = {"on_cpu": [True, False]}
    assert owners_of("C-PG", [1 / 3, 2 / 3], **gpu) == [0, 1, 0, 1, 1, 0, 1, 1]
    # The GPU has room for 8 edges: it gets 1 (7), has no room for 3 and 4, and gets 5 (1).
    assert owners_of("C-PG", [1 / 3, 2 / 3], most_edges=[np.inf, 8], **gpu) == [0, 1, 0, 0, 0, 1, 0, 0]
    # Without a CPU, full GPUs continue. Vertex 1 (7) fits on neither GPU, so limits are ignored afterwards.
    # Vertex 1 goes to 1 (2, 7), 2 to 0 (7, 7), 3 to 0 (11, 7). Vertex 4 goes to 1 (11, 10), 5 to 1 (11, 11).
    # Vertex 6 goes to 0, and 7 to 1.
    gpus = {"on_cpu": [False, False], "most_edges": [6, 6]}
    assert owners_of("C-PG", [0.5, 0.5], **gpus) == [0, 1, 0, 0, 1, 1, 0, 1]


@pytest.mark.parametrize("room", [0, 1000, 5000])
def test_pg_never_overfills(skewed, room):
    degree = skewed.out_degree()
    shares = np.array([0.1, 0.45, 0.45])
    owner = owners(
        np.arange(skewed.n, dtype=np.uint32), degree, policy="C-PG", shares=shares,
        on_cpu=[True, False, False], most_edges=[np.inf, room, room],
    )  # fmt: skip
    edges = np.bincount(owner, weights=degree, minlength=3)
    assert edges[1:].max() <= room
    assert edges[1:].min() >= 0.97 * room


@pytest.mark.parametrize("policy", ["C-PG", "lpt"])
@pytest.mark.parametrize("shares", [[0.25] * 4, [0.7, 0.1, 0.0, 0.2]])
def test_least_loaded_equals_a_simple_greedy_loop(policy, shares):
    """A loop over all elements for each vertex finds the same owners."""
    degree = np.random.default_rng(1).zipf(1.8, 2000).clip(max=500).astype(np.uint64)
    by_degree = np.argsort(-degree.astype(np.int64), kind="stable").astype(np.uint32)
    owner = owners(by_degree, degree, policy=policy, shares=np.array(shares))
    expected = np.zeros(len(degree), int)
    loads = [0.0 if share else np.inf for share in shares]
    for v in range(len(degree)) if policy == "C-PG" else by_degree:
        expected[v] = p = int(np.argmin(np.round(loads, 6)))
        loads[p] += int(degree[v]) / shares[p]
    # Loads that are equal as fractions may differ as floats.
    assert (owner == expected).mean() > 0.99
    edges = [np.bincount(one, weights=degree, minlength=4) for one in (owner, expected)]
    assert np.abs(edges[0] - edges[1]).max() <= 2


def test_lpt_by_hand():
    """S13, figure 6: tasks of 8, 5, 4, 3 and 1 on three processors give loads of 8, 6 and 7."""
    degree = np.array([8, 5, 4, 3, 1], np.uint64)
    by_degree = np.arange(5, dtype=np.uint32)
    assert owners(by_degree, degree, policy="lpt", shares=np.full(3, 1 / 3)).tolist() == [0, 1, 2, 2, 1]
    # Vertices without edges are divided too.
    none = owners(
        np.arange(6, dtype=np.uint32), np.zeros(6, np.uint64), policy="lpt", shares=np.full(3, 1 / 3)
    )
    assert none.tolist() == [0, 1, 2, 0, 1, 2]


def test_policies_without_degrees_by_hand():
    thirds = [1 / 3] * 3
    assert owners_of("round-robin", thirds) == [0, 1, 2, 0, 1, 2, 0, 1]
    assert owners_of("chunking", thirds) == [0, 0, 0, 1, 1, 1, 2, 2]
    # The first output of SplitMix64 with state 0, by Vigna's splitmix64.c.
    golden = np.array([0x9E3779B97F4A7C15], np.uint64)
    from evener.kernels.cpu.mixing import mix

    assert int(mix(golden)[0]) == 0xE220A8397B1DCDAF


def test_contiguous_by_hand():
    """The halves of the ten edges end after the third vertex, whatever its place by degree."""
    degree = np.array([1, 3, 1, 0, 4, 1], np.uint64)
    by_degree = np.argsort(-degree.astype(int), kind="stable").astype(np.uint32)
    found = owners(by_degree, degree, policy="contiguous", shares=np.array([0.5, 0.5]))
    assert found.tolist() == [0, 0, 0, 1, 1, 1]


def test_io_by_hand():
    # A third is 8 edges: 2 + 7 reaches 8, and then 5 + 4.
    assert owners_of("io", [1 / 3] * 3) == [0, 0, 1, 1, 2, 2, 2, 2]


def owners_of_triangles(policy, shares):
    """Return the owners of two triangles, 0 2 4 and 1 3 5, with the edge 4-1."""
    graph = ev.Graph.from_edges([0, 2, 4, 1, 3, 5, 4], [2, 4, 0, 3, 5, 1, 1], directed=False)
    degree = graph.out_degree()
    by_degree = np.argsort(-degree.astype(np.int64), kind="stable").astype(np.uint32)
    return owners(by_degree, degree, policy=policy, shares=np.array(shares), graph=graph).tolist()


def test_ldg_by_hand():
    """The capacity is 3. Vertex 0 goes to element 0. Vertex 1, without placed neighbours, goes to element 1.

    The other vertices follow their neighbours. Vertex 4 has scores of 2/3 on element 0 and 1/3 on element 1.
    """
    assert owners_of_triangles("ldg", [0.5, 0.5]) == [0, 1, 0, 1, 0, 1]


def test_workloads_by_hand():
    """The degrees are 2 3 2 2 3 2. A crossing edge adds one edge of work to both elements.

    MW puts each vertex on the element that then has less work. Vertex 0 goes to 0 (work 2, 0), 1 to 1 (2, 3).
    Vertex 2 would give 4 or 3 + 2 + 1 = 6: to 0 (4, 3). Vertex 3 would give 4 + 2 + 1 = 7 or 5: to 1 (4, 5).
    Vertex 4, a neighbour of 0, 2 and 1, would give 4 + 3 + 1 = 8 or 5 + 3 + 2 = 10: to 0 (8, 6).
    Vertex 5, a neighbour of 3 and 1, would give 8 + 2 + 2 = 12 or 8: to 1.
    """
    assert owners_of_triangles("mw", [0.5, 0.5]) == [0, 1, 0, 1, 0, 1]
    # MI puts 0, 1 and 2 on element 0, which then has its share of 7 of 14 edges. The others go to element 1.
    assert owners_of_triangles("mi", [0.5, 0.5]) == [0, 0, 0, 1, 1, 1]


def test_metis_separates_cliques():
    pytest.importorskip("pymetis")
    a, b = owners_of_triangles("metis", [0.5, 0.5])[:2]
    assert owners_of_triangles("metis", [0.5, 0.5]) == [a, b] * 3
    assert a != b


def test_metis_needs_its_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymetis", None)
    with pytest.raises(ev.ArgumentError, match=r"metis needs pymetis.*evener\[metis\]"):
        owners_of_triangles("metis", [0.5, 0.5])


# ---- other properties --------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", PLANNED)
def test_cuts_of_many_vertices_match_the_shares_of_edges(policy):
    rng = np.random.default_rng(8)
    degree = (rng.pareto(1.2, 100_000) * 3).astype(np.uint64)
    by_degree = np.argsort(-degree.astype(np.int64), kind="stable").astype(np.uint32)
    shares = np.array([0.05, 0.4, 0.001, 0.549])
    owner = owners(by_degree, degree, policy=policy, shares=shares)
    order = find_policy(policy).order(by_degree, 0)
    # Elements get consecutive vertices. Each cut is wrong by at most half of a vertex next to the cut.
    assert (np.diff(owner[order].astype(int)) >= 0).all()
    edges = np.bincount(owner, weights=degree, minlength=4).cumsum()
    ends = [degree[order[owner[order] == p][-1]] for p in range(3)]
    following = [degree[order[owner[order] == p + 1][0]] for p in range(3)]
    off = np.abs(edges[:3] - shares.cumsum()[:3] * degree.sum())
    assert (off <= np.maximum(ends, following) / 2).all()


def test_vertices_without_edges_are_divided_too():
    owner = owners(
        np.arange(8, dtype=np.uint32), np.zeros(8, np.uint64), policy="high", shares=np.full(4, 0.25)
    )
    assert np.bincount(owner).tolist() == [2, 2, 2, 2]


@pytest.mark.parametrize("policy", ["high", "C-PG", "DP-OH"])
def test_more_elements_than_a_byte_can_number(policy):
    owner = owners(
        np.arange(600, dtype=np.uint32),
        np.full(600, 2, np.uint64),
        policy=policy,
        shares=np.full(300, 1 / 300),
        ranks=np.arange(300) // 2,
    )
    assert np.bincount(owner).tolist() == [2] * 300


def test_an_unknown_policy_is_rejected():
    with pytest.raises(ev.ArgumentError, match=r"policy=: expected one of C-PG, .*found 'best'"):
        owners(np.arange(2, dtype=np.uint32), np.ones(2, np.uint64), policy="best", shares=np.full(2, 0.5))


def test_policies_that_need_more_than_ranks_know_are_rejected():
    check_needs("DP-RH", "positions")
    check_needs("hash", "positions")
    message = (
        r"C-PG needs the degrees of all vertices, and each rank knows only the positions .*; use one of C-R, "
    )
    with pytest.raises(ev.ArgumentError, match=message):
        check_needs("C-PG", "positions")
    check_needs("C-PG", "degrees")
    with pytest.raises(ev.ArgumentError, match="ldg needs all edges of the graph"):
        check_needs("ldg", "degrees")
