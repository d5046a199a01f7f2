"""The parity matrix on GPUs, and on GPUs with CPUs: all answers equal those of the reference."""

from __future__ import annotations

from importlib import import_module
from itertools import cycle, islice, pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import evener as ev
from evener.elements import usable_cores
from evener.elements.cuda.discovery import gpus
from evener.elements.cuda.element import CudaElement
from evener.graph.generators import models as generate
from evener.partition.footprint import PREFIX_EDGES, Tiers
from support import graphs, parity_cases, reference
from support.expected_results import ITERATIONS, RELATIVE, Truth, source_alone, truth_of
from support.host_tiers import keep_on_host
from support.pair_cover import pairwise_cover
from support.parity_cases import ALPHAS, POLICIES, directions, generated_graphs, small_graphs
from support.sanitizer_sizes import RUNS, sized
from support.tuning import tune

CPU_OF_TWO = f"cpu:{min(2, usable_cores())}"
MIXED = [["cpu:1", "cuda:0"], ["cuda:0", CPU_OF_TWO], ["cpu:1", "cuda:0", "cuda:0", "cpu:1"]]
SPLITS = [["cuda:0"], ["cuda:0", "cuda:0"], *MIXED]
if gpus() > 1:
    SPLITS += [["cuda:0", "cuda:1"], ["cpu:1", "cuda:0", "cuda:1"]]

ALONE = [on for on in SPLITS if on not in MIXED and "cpu:1" not in on]
# CPU kernels compile for half a minute per weight dtype, so splits with a CPU use only these.
WITH_A_CPU = ["int32", "float64"]

everywhere = pytest.mark.parametrize("on", SPLITS, ids=",".join)


def placements(seed):
    """Yield every split with two policies and CPU shares in turn; a single element needs one placement."""
    policies, alphas = (islice(cycle(each), seed % len(each), None) for each in (POLICIES, ALPHAS))
    for on in sized(SPLITS, SPLITS[seed % 2 :: 2]):
        for _ in range(sized(2, 1) if len(on) > 1 else 1):
            yield {"on": on, "policy": next(policies), "alpha": next(alphas)}


# ---- narrow frontiers --------------------------------------------------------------------------------


GRIDS = sized(["grid:1000x3", "grid:300x300"], ["grid:40x3", "grid:40x40"])


@pytest.mark.parametrize(
    ("spec", "narrow", "levels"),
    pairwise_cover(
        [*GRIDS, "rmat:12", "rmat:10,directed", "uniform:10"],
        sized([0, 3, 300, 1 << 13, 1 << 20], [0, 300, 1 << 20]),
        [1, 64],
    ),
)
def test_narrow_frontiers(monkeypatch, spec, narrow, levels):
    tune(monkeypatch, "bfs", narrow=narrow, narrow_levels=levels, fused_narrow_levels=1)
    graph = ev.read(spec)
    number = int(graph.out_degree().argmax())
    result = ev.bfs(graph, source=graph.ids[number], on="cuda:0")
    assert (result["distance"] == reference.bfs(graph, number)[0]).all()
    ev.verify(result)
    if narrow > graph.m:
        assert {step.phases[0] for step in result.timeline.by_superstep()} == {"search", "narrow"}


@parity_cases.narrow_searches
def test_narrow_levels(monkeypatch, name, narrow, levels, directed):
    parity_cases.check_narrow_levels(
        monkeypatch, name, "cuda:0", directed=directed, narrow=narrow, levels=levels
    )


@parity_cases.searches_at_once
def test_levels_at_once(monkeypatch, name, stored, narrow, most, up, broad):
    """A GPU searches the same levels in one kernel as the host does level by level."""
    parity_cases.check_levels_at_once(monkeypatch, "cuda:0", name, stored, narrow, most, up, broad)


@parity_cases.few_narrow_levels_among_all
def test_few_narrow_levels_among_all(monkeypatch, most, among_all):
    parity_cases.check_few_narrow_levels_among_all(monkeypatch, "cuda:0", most, among_all)


# ---- every graph -------------------------------------------------------------------------------------


@directions
@small_graphs
def test_small_graphs(name, directed):
    truth = truth_of(graphs.SMALL[name](), directed=directed)
    for placement in placements(list(graphs.SMALL).index(name) + 3 * directed):
        truth.check(**placement)


@directions
@pytest.mark.parametrize("name", graphs.LARGE)
def test_large_graphs(name, directed):
    truth = truth_of(graphs.LARGE[name](), directed=directed)
    truth.check(on=["cuda:0"])
    policies = POLICIES if directed else POLICIES[1:] + POLICIES[:1]
    several = list(zip([["cuda:0"] * 2, *MIXED[::2]], policies, [0.3, 0.5, 0.7], strict=True))
    which = (list(graphs.LARGE).index(name) + directed) % 3
    for on, policy, alpha in sized(several, several[which : which + 1]):
        truth.check(on=on, policy=policy, alpha=alpha)


@generated_graphs
def test_generated_graphs(name):
    mixed = {"on": ["cpu:1", "cuda:0"], "policy": "high", "alpha": 0.5}
    parity_cases.check_a_generated_graph(name, [{"on": ["cuda:0"]}, mixed])


@pytest.fixture(scope="module")
def heavy():
    """About 130,000 vertices and 3.7 million edges give work to every thread of a GPU."""
    graph = generate.rmat(sized(17, 12)).build()
    tails, heads = reference.edges(graph)
    weights = np.random.default_rng(17).random(graph.m)
    weighted = ev.Graph.from_edges(tails, heads, weights, directed=True, n=graph.n)
    return Truth(weighted, int(weighted.out_degree().argmax()))


@pytest.mark.parametrize("on", [["cuda:0"], ["cuda:0"] * 2, ["cpu:1", "cuda:0"]], ids=",".join)
def test_a_graph_for_every_thread(heavy, on):
    heavy.check(on=on, alpha=None if len(on) == 1 else 0.3)


@pytest.mark.parametrize("on", [["cuda:0"], ["cpu:1", "cuda:0"]], ids=",".join)
@directions
def test_a_hub_with_more_edges_than_blocks_have_threads(on, directed):
    """One row of 300,000 edges is cut into many pieces in all kernels over edges."""
    truth = truth_of(graphs.star(sized(300_000, 10_000)), directed=directed)
    truth.check(on=on, policy="low", alpha=None if len(on) == 1 else 0.2)


@directions
@everywhere
def test_the_empty_graph(on, directed):
    parity_cases.check_the_empty_graph(on, directed=directed)


@directions
def test_a_source_without_out_edges_reaches_itself(directed):
    parity_cases.check_a_source_without_out_edges(SPLITS, directed=directed)


@directions
def test_a_source_alone_in_its_partition(directed):
    truth = source_alone(directed=directed)
    for on in (["cuda:0", "cuda:0"], ["cpu:1", "cuda:0"]):
        truth.check(on=on, policy="low", alpha=0.001)
    truth.check(on=["cpu:1", "cuda:0"], policy="high", alpha=0.999)  # on the GPU


@pytest.mark.parametrize("on", [["cpu:1", "cuda:0"], ["cuda:0", "cpu:1"], ["cuda:0", "cuda:0"]], ids=",".join)
def test_a_search_with_two_bottom_up_phases(monkeypatch, on):
    parity_cases.check_a_search_that_turns_up_twice(monkeypatch, on)


@settings(max_examples=sized(30, 10), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    graph=graphs.drawn_graphs(),
    on=st.sampled_from(SPLITS),
    policy=st.sampled_from(POLICIES),
    alpha=st.sampled_from(ALPHAS),
    source=st.integers(0, 2**16),
)
def test_drawn_graphs(graph, on, policy, alpha, source):
    truth = Truth(graph, source % graph.n)
    truth.check(on=["cuda:0"])
    truth.check(on=on, policy=policy, alpha=alpha)


@directions
@small_graphs
def test_edges_in_host_memory(monkeypatch, name, directed):
    """The GPU reads some or all edges from host memory, and some or all rows have prefixes."""
    truth = truth_of(graphs.SMALL[name](), directed=directed)
    keep_on_host(monkeypatch, Tiers(0.4, 3))
    truth.check(on=["cuda:0"])
    keep_on_host(monkeypatch, Tiers(1.0, 1 << 32))
    truth.check(on=["cpu:1", "cuda:0"], policy="high", alpha=0.3)


@pytest.mark.parametrize("host_share", [0.4, 1.0])
@pytest.mark.parametrize("stored", ["undirected", "both"])
@pytest.mark.parametrize("name", ["two cores", "star", "late hub", "random"])
def test_levels_at_once_over_edges_in_host_memory(monkeypatch, name, stored, host_share):
    keep_on_host(monkeypatch, Tiers(host_share, 1 << 32))
    parity_cases.check_levels_at_once(
        monkeypatch, "cuda:0", name, stored, narrow=0, most=1024, up=10**6, broad=2
    )


@pytest.mark.parametrize("directed", [False, True])
def test_bottom_up_steps_read_prefixes(monkeypatch, directed):
    """The prefixes are overwritten in host memory with an unreachable vertex, and must not be read there."""
    tune(monkeypatch, "bfs", narrow=0, alpha=10**6)
    keep_on_host(monkeypatch, Tiers(1.0, 1 << 32))
    ends, unreachable = np.random.default_rng(7).integers(0, 300, (2, 900)), 300
    graph = ev.Graph.from_edges(*ends, directed=directed, n=301)
    pg = ev.partition(graph, "cuda:0")
    edges = pg.partitions[0].in_
    for begin, end in pairwise(pg.elements[0].download(edges.offsets).tolist()):
        edges.targets.host_part[begin : min(begin + PREFIX_EDGES, end)] = unreachable
    source = int(graph.out_degree().argmax())
    assert (ev.bfs(pg, source=source)["distance"] == reference.bfs(graph, source)[0]).all()


# ---- parameters outside the matrix -------------------------------------------------------------------


WEIGHTS = ["uint8", "int16", "int32", "int64", "float32", "float64"]


def weighted(dtype, *, directed):
    rng = np.random.default_rng(9)
    src, dst = rng.integers(0, 400, (2, 2000))
    whole = np.dtype(dtype).kind in "iu"
    weights = rng.integers(0, 120, 2000) if whole else rng.random(2000)
    return ev.Graph.from_edges(src, dst, weights.astype(dtype), directed=directed, n=400)


@directions
@pytest.mark.parametrize("dtype", WEIGHTS)
def test_weights_of_every_type(dtype, directed):
    graph = weighted(dtype, directed=directed)
    assert graph.weights.dtype == dtype
    truth = Truth(graph, int(graph.out_degree().argmax()))
    for i, on in enumerate(SPLITS if dtype in WITH_A_CPU else ALONE):
        pg = ev.partition(graph, on, policy=POLICIES[i % 3], alpha=0.4)
        truth.check_sssp(ev.sssp(pg, source=truth.source))
        for rank in ("float32", "float64"):
            truth.check_pagerank(ev.pagerank(pg, tol=0, max_iter=ITERATIONS, dtype=rank))


@pytest.mark.parametrize("dtype", WEIGHTS)
@pytest.mark.parametrize("edges_to_sweep", [1, 10**9])
def test_buckets_and_sweeps_agree(monkeypatch, dtype, edges_to_sweep):
    """With one limit only buckets settle vertices, and with the other every bucket starts sweeps."""
    module = import_module("evener.algorithms.sssp.sssp")
    monkeypatch.setattr(module, "EDGES_TO_SWEEP", edges_to_sweep)
    graph = weighted(dtype, directed=True)
    truth = Truth(graph, int(graph.out_degree().argmax()))
    for on in (["cuda:0"], ["cpu:1", "cuda:0"])[: 1 + (dtype in WITH_A_CPU)]:
        pg = ev.partition(graph, on, alpha=0.4)
        for delta, most in ((None, 16), (0.5, 3), (0.5, 1 << 20), (40, 1)):
            tune(monkeypatch, "sssp", buckets=most)
            truth.check_sssp(ev.sssp(pg, source=truth.source, delta=delta))


@pytest.mark.parametrize("most", [1, 3, 1000])
def test_buckets_are_settled_one_after_the_other(monkeypatch, most):
    """On a path of 20 edges of weight 3, each vertex has its own bucket of width 2."""
    module = import_module("evener.algorithms.sssp.sssp")
    tune(monkeypatch, "sssp", buckets=most)
    monkeypatch.setattr(module, "EDGES_TO_SWEEP", 1)
    graph = ev.Graph.from_edges(range(20), range(1, 21), np.full(20, 3), directed=True)
    result = ev.sssp(graph, source=0, on="cuda:0", delta=2)
    assert result["distance"].tolist() == list(range(0, 63, 3))
    steps = [step for step in result.timeline.by_superstep() if step.phases == ("settle",)]
    assert [step.active for step in steps] == [most] * (21 // most) + [21 % most][: 21 % most]


@pytest.mark.parametrize(
    ("dtype", "weight"), [("int32", 2**30), ("uint32", 2**32 - 1), ("int64", 2**30), ("int64", 2**40)]
)
def test_integers_too_long_for_32_bits(dtype, weight):
    """A path of 40 edges of this weight, with a chord of the same weight that saves one edge."""
    path = np.arange(40)
    src, dst = np.append(path, 0), np.append(path + 1, 2)
    graph = ev.Graph.from_edges(src, dst, np.full(41, weight).astype(dtype))
    hops = np.array([0, 1, 1, *range(2, 40)])
    for on in SPLITS if dtype in WITH_A_CPU else ALONE:
        found = ev.sssp(ev.partition(graph, on, alpha=0.5), source=0)
        assert found["distance"].tolist() == (hops * float(weight)).tolist()
        assert found["parent"].tolist() == [0, 0, 0, *range(2, 40)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_personalized_ranks_of_either_precision(dtype):
    graph = graphs.build(graphs.LARGE["rmat"](), directed=True)
    chances = np.random.default_rng(2).random(graph.n)
    chances[::3] = 0
    expected = reference.pagerank(graph, iterations=ITERATIONS, personalization=chances)
    relative = RELATIVE if dtype == "float32" else 1e-12
    for i, on in enumerate(SPLITS):
        pg = ev.partition(graph, on, policy=POLICIES[i % 3], alpha=0.4)
        found = ev.pagerank(pg, tol=0, max_iter=ITERATIONS, personalization=chances, dtype=dtype)
        assert found["rank"].dtype == dtype
        np.testing.assert_allclose(found["rank"], expected, rtol=relative, atol=0)


@everywhere
def test_pagerank_stops_at_the_tolerance(on):
    """The run stops when the L1 change of one iteration is below the tolerance."""
    graph = graphs.build(graphs.SMALL["rmat"](), directed=True)
    found = ev.pagerank(ev.partition(graph, on, alpha=0.5), tol=1e-10, dtype="float64")
    expected = reference.pagerank(graph, tol=1e-10)
    np.testing.assert_allclose(found["rank"], expected, rtol=1e-12, atol=0)


@pytest.mark.parametrize(
    ("on", "push_cost", "narrow", "levels"),
    [
        (["cuda:0"], 0, -1, 3),
        (["cuda:0"], 1e9, -1, 3),
        (["cuda:0"], 0, 25, 3),
        (["cuda:0"], 0, 25, 1024),
        (["cpu:1", "cuda:0"], 0, 25, 3),
        (["cpu:1", "cuda:0"], 1e9, 25, 3),
    ],
)
def test_more_paths_than_float64_can_count(monkeypatch, on, push_cost, narrow, levels):
    """There are over 2^1024 paths, and the middles of a joint share its dependencies evenly.

    Several elements, and runs without narrow levels, push or pull every step.
    """
    module = import_module("evener.algorithms.betweenness.betweenness")
    monkeypatch.setattr(module, "PUSH_COST", push_cost)
    stages, width = sized((700, 4), (130, 256))
    monkeypatch.setattr(module, "NARROW", narrow * width)
    monkeypatch.setattr(module, "NARROW_LEVELS", levels)
    src, dst, joints, middles = graphs.diamonds(stages, width)
    graph = ev.Graph.from_edges(src, dst)
    pg = ev.partition(graph, on, alpha=0.5)
    found = ev.betweenness(pg, sources=[0], normalized=False)["centrality"] / graph.n
    behind = (width + 1.0) * (stages - joints)
    np.testing.assert_allclose(found[joints[1:]], behind[1:], rtol=1e-12)
    np.testing.assert_allclose(found[middles], np.repeat((1 + behind[1:]) / width, width).reshape(-1, width))


@pytest.mark.parametrize("narrow", [-1, 100])
def test_path_counts_too_far_apart_are_refused(monkeypatch, narrow):
    monkeypatch.setattr(import_module("evener.algorithms.betweenness.betweenness"), "NARROW", narrow)
    src, dst, _, middles = graphs.diamonds(950, 4)
    path = 1 + middles.max() + np.arange(2 * 950)
    src, dst = np.concatenate([src, [0], path[:-1]]), np.concatenate([dst, path])
    with pytest.raises(
        ev.ArgumentError, match=r"at distance 1\d\d\d from source 0 differ by a factor of over 2\^1700"
    ):
        ev.betweenness(ev.Graph.from_edges(src, dst), sources=[0], on="cuda:0")


@everywhere
def test_betweenness_of_all_sources(on):
    graph = reference.random_graph(directed=True)
    found = ev.betweenness(ev.partition(graph, on, alpha=0.5), normalized=False)["centrality"]
    np.testing.assert_allclose(found, reference.betweenness(graph), rtol=RELATIVE, atol=1e-12)


def test_graphs_with_string_ids():
    names = ["ann", "bob", "cyd", "dan", "eve"]
    graph = ev.Graph.from_edges(["ann", "bob", "dan"], ["bob", "cyd", "eve"], directed=True)
    assert graph.ids.tolist() == names
    for on in SPLITS:
        pg = ev.partition(graph, on, alpha=0.5)
        assert ev.bfs(pg, source="ann")["distance"].tolist() == [0, 1, 2, -1, -1]
        assert ev.wcc(pg)["component"].tolist() == ["ann", "ann", "ann", "dan", "dan"]


@parity_cases.giants_apart
@pytest.mark.parametrize(
    "on",
    [["cuda:0"] * 3, ["cpu:1", "cuda:0", "cuda:0"], ["cuda:0", "cpu:1", "cuda:0"]],
    ids=",".join,
)
def test_giant_trees_that_one_edge_joins(monkeypatch, on, directed, joined):
    parity_cases.check_giants_apart(monkeypatch, on, directed=directed, joined=joined)


# ---- repeated runs -----------------------------------------------------------------------------------


@pytest.mark.parametrize("on", SPLITS[:3], ids=",".join)
def test_a_hundred_runs_agree(on):
    parity_cases.check_many_runs(on, alpha=0.5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_one_gpu_gives_the_same_ranks_to_the_bit(dtype):
    graph = graphs.build(graphs.LARGE["rmat"](), directed=True)
    pg = ev.partition(graph, "cuda:0")
    first = ev.pagerank(pg, dtype=dtype)
    for _ in range(RUNS - 1):
        again = ev.pagerank(pg, dtype=dtype)
        assert again.outcome == first.outcome
        assert (again["rank"] == first["rank"]).all()
    placed_anew = ev.pagerank(graph, dtype=dtype, on="cuda:0")
    assert (placed_anew["rank"] == first["rank"]).all()


# ---- every kernel ------------------------------------------------------------------------------------


def test_the_matrix_reaches_every_kernel(monkeypatch):
    splits = [["cuda:0"], ["cuda:0"] * 4, ["cpu:1", "cuda:0"]]
    parity_cases.check_that_every_kernel_is_reached(monkeypatch, CudaElement, splits)
