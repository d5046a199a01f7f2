"""Shortest paths equal Dijkstra's to the last bit, for any split and any search."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evener.algorithms.sssp import sssp as module
from evener.algorithms.sssp.sssp import sssp
from evener.elements import CpuElement
from evener.errors import ArgumentError, UnknownVertexError
from evener.graph.graph import Graph
from evener.partition.build import partition
from evener.spec.verify import verify
from support import reference
from support.pair_cover import pairwise_cover
from support.tuning import tune

splits = pytest.mark.parametrize(
    ("parts", "policy"),
    [(1, "random")] + [(parts, policy) for parts in (2, 4) for policy in ("random", "high", "low")],
)

# The default thresholds of sweeps; sweep whenever there is an edge; never sweep.
sweeps = st.sampled_from([(module.EDGES_TO_SWEEP, module.EDGES_TO_SWEEP_AGAIN), (1 << 40, 1 << 40), (1, 1)])

# Weights with plateaus, weights whose sums round, and ordinary weights.
weights_of = {
    "int64": st.integers(0, 9),
    "int32": st.integers(0, 255),
    "float64": st.one_of(st.sampled_from([0.0, 0.1, 0.2, 0.3, 1e-30, np.inf]), st.floats(0, 10)),
    "float32": st.floats(0, 10, width=32),
}


@st.composite
def graphs(draw, dtypes=("int64", "float64")):
    """Draw weighted edges among up to 20 vertices, with self-loops, repeated edges and isolated vertices."""
    n = draw(st.integers(1, 20))
    ends = st.integers(0, n - 1)
    dtype = draw(st.sampled_from(dtypes))
    edges = draw(st.lists(st.tuples(ends, ends, weights_of[dtype]), max_size=60))
    src, dst = np.array([e[:2] for e in edges], dtype=np.int64).reshape(-1, 2).T
    weights = np.array([e[2] for e in edges], dtype=dtype)
    return Graph.from_edges(src, dst, weights, directed=draw(st.booleans()), n=n)


def run(graph, sweep=(module.EDGES_TO_SWEEP, module.EDGES_TO_SWEEP_AGAIN), **options):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "EDGES_TO_SWEEP", sweep[0])
        patch.setattr(module, "EDGES_TO_SWEEP_AGAIN", sweep[1])
        return sssp(graph, **{"source": 0, **options})


def dijkstra(graph, source):
    """Return NetworkX's distances. It adds weights along paths in float64 too, so distances are equal."""
    found = nx.single_source_dijkstra_path_length(reference.as_networkx(graph), source)
    distance = np.full(graph.n, np.inf)
    distance[list(found)] = list(found.values())
    return distance


def check_tree(graph, source, distance, parent):
    """Check that each parent edge is tight without rounding error, and that parents lead to the source."""
    tails, heads = reference.edges(graph)
    weights = np.ones(graph.m) if graph.weights is None else graph.weights.astype(np.float64)
    tight = {(u, v) for u, v, w in zip(tails, heads, weights, strict=True) if distance[u] + w == distance[v]}
    for v in range(graph.n):
        if v == source or np.isinf(distance[v]):
            assert parent[v] == (source if v == source else -1)
            continue
        assert (parent[v], v) in tight
        walk = v
        for _ in range(graph.n):
            walk = parent[walk]
        assert walk == source


# ---- against another implementation -----------------------------------------------------------------


@splits
@settings(max_examples=25, deadline=None)
@given(graph=graphs(), sweep=sweeps, delta=st.sampled_from([None, 0.3, 2, np.inf]), data=st.data())
def test_agrees_with_dijkstra(parts, policy, graph, sweep, delta, data):
    source = data.draw(st.integers(0, graph.n - 1))
    placed = partition(graph, ["cpu:1"] * parts, policy=policy)
    r = run(placed, sweep, source=source, delta=delta)
    assert r["distance"].dtype == np.float64
    assert r["parent"].dtype == np.int64
    np.testing.assert_array_equal(r["distance"], dijkstra(graph, source))
    check_tree(graph, source, r["distance"], r["parent"])


@settings(max_examples=15, deadline=None)
@given(graph=graphs(("int32", "float32")), sweep=sweeps)
def test_narrow_weights(graph, sweep):
    r = run(graph, sweep, source=0, on=["cpu:1"])
    np.testing.assert_array_equal(r["distance"], dijkstra(graph, 0))
    check_tree(graph, 0, r["distance"], r["parent"])


@pytest.mark.parametrize(
    ("parts", "policy", "integer", "directed"),
    pairwise_cover([1, 2, 4], ["random", "high", "low"], [True, False], [True, False]),
)
def test_a_larger_graph(parts, policy, integer, directed):
    """The graph has rows longer than a vector, several runs of the queue, and both kinds of search."""
    graph = reference.random_graph(directed=directed, n=1500, edges=30_000, integer=integer)
    r = sssp(graph, source=3, on=["cpu:1"] * parts, policy=policy)
    np.testing.assert_array_equal(r["distance"], dijkstra(graph, 3))
    verify(r)
    assert {span.phase for span in r.timeline} >= {"settle", "sweep"}


def test_many_threads_agree():
    graph = reference.random_graph(directed=False, n=3000, edges=60_000)
    alone, together = sssp(graph, source=3, on=["cpu:1"]), sssp(graph, source=3, on=["cpu"])
    np.testing.assert_array_equal(alone["distance"], together["distance"])
    verify(together)


# ---- edges of weight zero ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "policy", "weight"), pairwise_cover([1, 2, 4], ["random", "high", "low"], [0, 0.0, 1e-30])
)
def test_parents_on_a_plateau_have_no_cycle(parts, policy, weight):
    """One edge of weight 4 leads to a ring with chords, whose edges do not change the distance."""
    ring = np.arange(1, 31)
    src = np.concatenate([[0], ring, ring, [5]])
    dst = np.concatenate([[1], np.roll(ring, -1), np.roll(ring, -7), [31]])
    weights = np.full(len(src), weight)
    weights[0] = 4
    graph = Graph.from_edges(src, dst, weights, directed=False, n=33)
    r = sssp(graph, source=0, on=["cpu:1"] * parts, policy=policy)
    assert r["distance"].tolist() == [0.0] + [4.0] * 31 + [np.inf]
    check_tree(graph, 0, r["distance"], r["parent"])


def test_a_sweep_onto_a_plateau_sets_no_parent(monkeypatch):
    """The search starts to sweep between vertices 1 and 2, on a plateau of weight 0.

    If a sweep made 2 the parent of 3, it could also make 3 the parent of 2.
    """
    tune(monkeypatch, "sssp", narrow=0)
    graph = Graph.from_edges(
        [0, 1, 2, 3, 3, 3], [1, 2, 3, 4, 5, 6], [4.0, 0.0, 0.0, 9.0, 9.0, 9.0], directed=False
    )
    r = run(graph, (graph.m // 4, 2), source=0, on=["cpu:1"], delta=np.inf)
    assert [span.phase for span in r.timeline if span.phase != "narrow"][2] == "sweep"
    check_tree(graph, 0, r["distance"], r["parent"])


def test_all_weights_are_zero():
    graph = Graph.from_edges([0, 1, 2], [1, 2, 3], [0, 0, 0])
    assert sssp(graph, source=0)["parent"].tolist() == [0, 0, 1, 2]


# ---- ranges of numbers ------------------------------------------------------------------------------


@pytest.mark.parametrize("parts", [1, 2])
def test_integers_too_long_for_32_bits(parts):
    """The third edge passes 2³¹, so the search runs again in float64; a single weight may pass 2³¹ too."""
    graph = Graph.from_edges([0, 1, 2, 0], [1, 2, 3, 2], [2**30, 2**30 - 2, 7, 2**31 - 2], n=5)
    r = sssp(graph, source=0, on=["cpu:1"] * parts)
    assert r["distance"].tolist() == [0.0, 2.0**30, 2.0**31 - 2, 2.0**31 + 5, np.inf]
    assert r["parent"][[0, 1, 3, 4]].tolist() == [0, 0, 2, -1]
    graph = Graph.from_edges([0, 1], [1, 2], [2**40, 3])
    assert sssp(graph, source=0)["distance"].tolist() == [0.0, 2.0**40, 2.0**40 + 3]


@pytest.mark.parametrize("delta", [1e-9, 1e-300])
def test_a_bucket_narrower_than_rounding_ends(delta):
    graph = Graph.from_edges([0, 1, 2], [1, 2, 3], [1e17, 2.0, 1e300])
    assert sssp(graph, source=0, delta=delta)["distance"].tolist() == [0.0, 1e17, 1e17 + 2, 1e300]


def test_infinite_weight_is_no_edge():
    graph = Graph.from_edges([0, 1], [1, 2], [1.0, np.inf])
    r = sssp(graph, source=0)
    assert r["distance"].tolist() == [0.0, 1.0, np.inf]
    assert r["parent"].tolist() == [0, 0, -1]


@pytest.mark.parametrize(
    ("dtype", "weight", "width"),
    [(np.float32, 2.0**127, 3 * 2.0**127), (np.float64, 2.0**1022, 1.0)],  # 2 times the mean, times n / m
)
def test_weights_may_sum_to_more_than_their_type_holds(dtype, weight, width):
    graph = Graph.from_edges([0, 1], [1, 2], np.array([weight, weight], dtype))
    assert module._bucket_width(graph) == width
    assert sssp(graph, source=0)["distance"].tolist() == [0.0, weight, 2 * weight]


@splits
def test_missing_weights_count_as_one(parts, policy):
    graph = Graph.from_edges([0, 0, 1, 3], [1, 2, 3, 4], n=6)
    r = sssp(graph, source=0, on=["cpu:1"] * parts, policy=policy)
    assert r.algorithm == "sssp"
    assert r["distance"].dtype == np.float64
    assert r["distance"].tolist() == [0, 1, 1, 2, 3, np.inf]
    assert r["parent"].tolist() == [0, 0, 0, 1, 3, -1]


# ---- edge cases -------------------------------------------------------------------------------------


def test_ids_of_the_graph():
    graph = Graph.from_edges([10, 70, 10], [70, 50, 50], [2, 3, 9])
    r = sssp(graph, source=10)
    assert r["distance"].tolist() == [0.0, 5.0, 2.0]
    assert r["parent"].tolist() == [10, 70, 10]


def test_one_vertex():
    r = sssp(Graph.from_edges([0], [0], [3]), source=0)
    assert (r["distance"].tolist(), r["parent"].tolist()) == ([0.0], [0])
    r = sssp(Graph.from_edges([], [], [], n=2), source=1, on=["cpu:1"] * 2)
    assert (r["distance"].tolist(), r["parent"].tolist()) == ([np.inf, 0.0], [-1, 1])


@pytest.mark.parametrize("n", [0, 3])
def test_unknown_source(n):
    with pytest.raises(UnknownVertexError, match="vertex 5 is not in the graph"):
        sssp(Graph.from_edges([], [], [], n=n), source=5)


@pytest.mark.parametrize("bad", [-1.5, np.nan])
def test_bad_weight_is_named(bad):
    """`from_edges` would refuse NaN, so the weight is changed after the graph is built."""
    graph = Graph.from_edges([10, 10, 30], [20, 30, 20], [1.0, 2.0, 3.0])
    weights = graph.weights.copy()
    weights[2] = bad
    graph = Graph(graph.offsets, graph.targets, weights=weights, ids=graph.ids, directed=True, validate=False)
    with pytest.raises(ArgumentError, match=f"edge from 30 to 20 weighs {bad}; shortest paths need weights"):
        sssp(graph, source=10)


@pytest.mark.parametrize("delta", [0, -2, np.nan, 10**400])
def test_bad_delta(delta):
    with pytest.raises(ArgumentError, match="delta=: expected a number above 0"):
        sssp(Graph.from_edges([0], [1], [1]), source=0, delta=delta)


def test_progress_names_the_algorithm_without_weights():
    seen = []
    result = sssp(Graph.from_edges([0, 1], [1, 2]), source=0, progress=seen.append)
    assert {p.algorithm for p in seen} == {result.algorithm} == {"sssp"}
    assert result["distance"].tolist() == [0.0, 1.0, 2.0]
    assert result["distance"].dtype == np.float64


def test_counts_edges_and_reports_progress():
    seen = []
    graph = Graph.from_edges([0, 1, 3], [1, 2, 4], [1, 2, 3], directed=False)
    r = sssp(graph, source=0, progress=seen.append)
    assert r.edges == 2
    assert [p.algorithm for p in seen] == ["sssp"] * len(seen)
    assert r.timeline.supersteps == len(seen)


# ---- narrow frontiers ------------------------------------------------------------------------------------


def phases(result):
    return {step.phases[0] for step in result.timeline.by_superstep()}


@settings(max_examples=100)
@given(
    graph=graphs(tuple(weights_of)),
    narrow=st.sampled_from([0, 1, 3, 10**6]),
    edges=st.sampled_from([0, 3, 10**6]),
    sweep=sweeps,
    data=st.data(),
)
def test_distances_are_equal_for_any_limit_of_narrow_frontiers(graph, narrow, edges, sweep, data):
    source = data.draw(st.integers(0, graph.n - 1))
    with pytest.MonkeyPatch.context() as patch:
        tune(patch, "sssp", narrow=narrow, narrow_edges=edges)
        result = run(graph, sweep, source=source, on="cpu:1")
    assert (result["distance"] == dijkstra(graph, source)).all()
    verify(result)
    assert "narrow" in phases(result)
    if narrow == edges == 10**6:
        assert "sweep" not in phases(result)


def test_a_hub_is_left_to_all_threads(monkeypatch):
    """One thread searches the vertex before the hub and the path behind it."""
    tune(monkeypatch, "sssp", narrow=60)
    leaves, path = np.arange(2, 102), np.arange(102, 122)
    src = np.concatenate([[0], np.ones(100, int), [5], path[:-1]])
    dst = np.concatenate([[1], leaves, [102], path[1:]])
    graph = Graph.from_edges(src, dst, np.arange(1, len(src) + 1), directed=True)
    result = run(graph, (1 << 40, 1 << 40), source=0, on="cpu:1")
    assert (result["distance"] == dijkstra(graph, 0)).all()
    assert phases(result) >= {"narrow", "settle"}
    assert phases(run(graph, (1 << 40, 1 << 40), source=5, on="cpu:1")) == {"begin", "narrow", "parents"}


def test_one_thread_continues_behind_a_hub(monkeypatch):
    """All threads settle the bucket of the leaves; one leaf leads to a path in far buckets."""
    tune(monkeypatch, "sssp", narrow=60)
    path = np.arange(101, 121)
    src = np.concatenate([np.zeros(100, int), [1], path[:-1]])
    dst = np.concatenate([np.arange(1, 101), [101], path[1:]])
    graph = Graph.from_edges(src, dst, np.where(src == 0, 5, 1000), directed=True)
    result = run(graph, (1, 1), source=0, on="cpu:1", delta=100)
    assert (result["distance"] == dijkstra(graph, 0)).all()
    taken = [step.phases[0] for step in result.timeline.by_superstep()]
    assert "narrow" in taken[taken.index("settle") :]


@pytest.mark.parametrize("most", [1, 3, 1000])
def test_buckets_are_settled_one_after_the_other(monkeypatch, most):
    """On a path of 20 edges of weight 3, each vertex has its own bucket of width 2."""
    tune(monkeypatch, "sssp", buckets=most, one_thread=False)
    graph = Graph.from_edges(range(20), range(1, 21), np.full(20, 3))
    result = run(graph, (1, 1), source=0, on="cpu:1", delta=2)
    assert result["distance"].tolist() == list(range(0, 63, 3))
    steps = [step for step in result.timeline.by_superstep() if step.phases == ("settle",)]
    assert [step.active for step in steps] == [most] * (21 // most) + [21 % most][: 21 % most]


def test_vertices_that_one_thread_leaves_are_counted_once(monkeypatch):
    """One thread leaves a hub of too many edges, and then its 100 leaves in the next bucket."""
    tune(monkeypatch, "sssp", narrow=60)
    graph = Graph.from_edges(np.zeros(100, int), range(1, 101), np.full(100, 5), directed=True)
    steps = run(graph, (1, 1), source=0, on="cpu:1", delta=2).timeline.by_superstep()
    assert [step.active for step in steps if step.phases == ("settle",)] == [1, 100]


@pytest.mark.parametrize(
    ("width", "weights"),
    [(1e-300, [1.0, 2.0]), (0.1, [0.1, 0.2]), (1e300, [1.0, 2.0]), (0.3, [5e-324, 1e-310]), (1, [0, 0])],
)
def test_a_bucket_ends_above_the_nearest_vertex(monkeypatch, width, weights):
    """Rounding never makes a bucket empty; otherwise the search would not end."""
    tune(monkeypatch, "sssp", one_thread=False, buckets=16)  # one thread needs no buckets
    graph = Graph.from_edges([0, 1], [1, 2], np.array(weights))
    found = run(graph, (1, 1), source=0, on="cpu:1", delta=width)["distance"]
    assert found.tolist() == [0, weights[0], weights[0] + weights[1]]


def test_several_elements_have_no_narrow_supersteps():
    graph = Graph.from_edges(range(20), range(1, 21), np.ones(20))
    assert "narrow" not in phases(sssp(graph, source=0, on="cpu:1,cpu:1"))


@pytest.mark.parametrize("heaviest", [255, 256])
@pytest.mark.parametrize("on", ["cpu:1", "cpu:1,cpu:1"])
def test_weights_are_bytes_only_if_all_fit(on, heaviest):
    """Paths are longer than a byte holds; a weight of 256 as a byte would be 0."""
    graph = Graph.from_edges(range(4), range(1, 5), np.array([heaviest, 0, 1, heaviest]))
    placed = partition(graph, on=on)
    for _ in range(2):  # the second run uses the bytes of the first
        found = sssp(placed, source=0)["distance"]
        assert found.tolist() == [0, heaviest, heaviest, heaviest + 1, 2 * heaviest + 1]
    kept = ["byte_weights" in own.in_.derived for own in placed.partitions]
    assert kept == [heaviest < 256] * len(placed.partitions)


def test_an_interrupted_run_leaves_no_bytes(monkeypatch):
    graph = Graph.from_edges(range(4), range(1, 5), np.array([7, 8, 9, 10]))
    placed = partition(graph, on="cpu:1")
    kernel = CpuElement.kernel

    def interrupted(element, name):
        if name == "fill.narrow":
            raise KeyboardInterrupt
        return kernel(element, name)

    with monkeypatch.context() as patched:
        patched.setattr(CpuElement, "kernel", interrupted)
        with pytest.raises(KeyboardInterrupt):
            sssp(placed, source=0)
    assert sssp(placed, source=0)["distance"].tolist() == [0, 7, 15, 24, 34]
