"""Jobs on GPUs equal NumPy, pandas and CPUs, and GIM-V with MapReduce equals the fused engine on CPUs."""

from __future__ import annotations

import numpy as np
import pytest

import evener as ev
from evener.elements.cuda.discovery import gpus
from evener.programs import operator_sets
from support.mapreduce_cases import (
    DISTINCT,
    SKEWED,
    check_combined,
    check_reduced,
    join,
    pair,
    pairs_of,
    spread,
)

TWO_GPUS = pytest.param(
    "cuda:0,cuda:1", marks=pytest.mark.skipif(gpus() < 2, reason="the machine has one GPU")
)
PLACES = ["cuda:0", "cpu:1,cuda:0", TWO_GPUS]
SPLITS = ["cuda:0,cuda:0", "cpu:1,cuda:0", *(["cuda:0,cuda:1"] if gpus() > 1 else [])]


@pytest.fixture(scope="module")
def graph():
    """A weighted graph with hubs of more records than a warp combines, and vertices without edges."""
    source = ev.read("rmat:14,seed=2")
    ends = np.repeat(np.arange(source.n), np.diff(source.offsets.astype(np.int64))), source.targets
    once = ends[0] < ends[1]
    weights = ((ends[0] + ends[1]) % 5 + 1.0).astype(np.float32)
    return ev.Graph.from_edges(
        *(own[once] for own in ends), weights=weights[once], n=source.n, directed=False
    )


@pytest.mark.parametrize(
    ("case", "dtype"),
    [
        ("pagerank", np.float32),
        ("pagerank", np.float64),
        ("connected_components", np.float32),
        ("connected_components", np.int64),
        ("shortest_paths", np.float32),
        ("shortest_paths", np.float64),
    ],
)
def test_operator_sets(graph, case, dtype):
    """Only messages of 4 bytes are packed with their keys. With 8 MiB, the run uses several chunks."""
    operators = getattr(operator_sets, case)(graph, *([0] if case == "shortest_paths" else []))
    operators["v0"] = np.nan_to_num(operators["v0"], posinf=1e6).astype(dtype)
    if case == "pagerank":
        operators["until"] = 20
    expected = ev.gimv(graph, **operators, on="cpu")["value"]
    for on, memory in (("cuda:0", None), ("cuda:0", "8MiB"), *((split, None) for split in SPLITS)):
        pg = ev.partition(graph, on, gpu_memory=memory, directions="out")
        result = ev.gimv(pg, **operators, engine="mapreduce")
        np.testing.assert_allclose(result["value"], expected, rtol=1e-5)
    phases = {phase for phase, _ in result.timeline.by_phase()}
    assert phases == {"map", "sort", "reduce", "transfer", "assign"}


def test_directed_edges_and_every_parameter():
    random = np.random.default_rng(5)
    graph = ev.Graph.from_edges(
        random.integers(0, 30, 200), random.integers(0, 40, 200), weights=random.integers(-3, 9, 200), n=40
    )
    arguments = {
        "combine2": lambda m, v, degree, vertex, n: m * v + degree + vertex % n,
        "combine_all": lambda x, y: max(x, y),
        "assign": lambda old, new, degree, vertex, n, total, initial: (
            old + max(new, 0) + degree + vertex + n + int(total) + initial
        ),
        "v0": random.integers(1, 9, 40),
        "until": 2,
    }
    fused = ev.gimv(graph, **arguments, on="cpu")["value"]
    assert (ev.gimv(graph, **arguments, engine="mapreduce", on="cuda:0")["value"] == fused).all()


# ---- jobs ---------------------------------------------------------------------------------------------


def mean_and_size(key, values):
    total = 0.0
    for weight in values[0]:
        total += weight
    return total / len(values[0]), values[1].sum() + key, max(values[0])


@pytest.mark.skipif(gpus() < 2, reason="the machine has one GPU")
def test_results_wait_for_a_slow_function_on_the_second_gpu(graph):
    """Kernels with loops of users are waited for on another thread, whose current GPU is the first one."""

    def count_steps(s, t):
        steps = 0
        while steps < 20000 + (s + t) % 7:
            steps += 1 + (steps * t) % 2
        return steps, 1

    for _ in range(3):
        rows = ev.mapreduce(graph, count_steps, combine=lambda x, y: x + y, on="cuda:1")
        assert rows.outcome["pairs"] == graph.m
        assert rows.values.sum() == graph.m


@pytest.mark.parametrize("on", PLACES)
def test_jobs_equal_numpy(graph, on):
    """The hubs have several thousand records. With 2 MB, a job runs in several chunks."""
    sources = np.repeat(np.arange(graph.n), np.diff(graph.offsets.astype(np.int64)))
    targets, degrees = graph.targets, np.bincount(sources, minlength=graph.n)
    for memory in (None, "2MB"):
        options = {"on": on, "memory": memory}
        rows = ev.mapreduce(graph, lambda s, t, degree: (degree, 1), combine=lambda x, y: x + y, **options)
        keys, vertices = np.unique(degrees[degrees > 0], return_counts=True)
        np.testing.assert_array_equal(rows.keys, keys)
        np.testing.assert_array_equal(rows.values, keys * vertices)
        assert rows.outcome["pairs"] == graph.m

        rows = ev.mapreduce(graph, lambda s, t, weight: (t, weight), combine=lambda x, y: x + y, **options)
        strength = np.bincount(targets, graph.weights, graph.n)
        assert (rows.keys == np.flatnonzero(strength)).all()
        assert (rows.values == strength[rows.keys]).all()

        community = sources % 7 * 7 + targets % 7
        rows = ev.mapreduce(
            graph,
            lambda s, t, source_value, target_value: (
                (source_value * 7 + target_value, 1) if source_value != target_value else None
            ),
            combine=lambda x, y: x + y,
            values=np.arange(graph.n) % 7,
            **options,
        )
        counts = np.bincount(community, minlength=49)
        assert (rows.keys == [key for key in range(49) if key // 7 != key % 7]).all()
        assert (rows.values == counts[rows.keys]).all()

        rows = ev.mapreduce(graph, lambda s, t, weight: (t, (weight, s)), reduce=mean_and_size, **options)
        np.testing.assert_allclose(rows.values[0], strength[rows.keys] / degrees[rows.keys], rtol=1e-12)
        sums = np.bincount(targets, sources.astype(float), graph.n).astype(int)[rows.keys]
        assert (rows.values[1] == sums + rows.keys).all()
        largest = np.zeros(graph.n)
        np.maximum.at(largest, targets, graph.weights)
        assert (rows.values[2] == largest[rows.keys]).all()
    assert "merge" in {phase for phase, _ in rows.timeline.by_phase()}


@pytest.mark.parametrize("on", PLACES)
@pytest.mark.parametrize("more", [0, SKEWED, DISTINCT], ids=["spread", "skewed", "distinct"])
def test_jobs_equal_group_by_and_cpus(on, more):
    """Some edges give no pair. Keys are few, or one key has most records, or each record has its key."""
    graph = ev.read("rmat:12,edge_factor=16,seed=3")
    values = np.random.default_rng(4).integers(-20, 50, graph.n) / 8
    values = np.where(values < 0, values, values + more)
    groups = pairs_of(graph, values)
    for memory in (None, "500KB"):
        rows = ev.mapreduce(graph, pair, combine=join, values=values, on=on, memory=memory)
        check_combined(rows, groups)
        expected = ev.mapreduce(graph, pair, combine=join, values=values)
        assert (rows.to_pandas() == expected.to_pandas()).all(axis=None)
        check_reduced(ev.mapreduce(graph, pair, reduce=spread, values=values, on=on, memory=memory), groups)
    phases = {phase for phase, _ in rows.timeline.by_phase()}
    assert phases >= {"map", "hash", "transfer", "sort", "reduce"}


def test_edges_in_host_memory(graph):
    """The GPU has room for a part of the edges."""
    rows = ev.mapreduce(graph, lambda s, t, weight: (t, weight), combine=max, on="cuda:0", gpu_memory="3MiB")
    expected = np.zeros(graph.n)
    np.maximum.at(expected, graph.targets, graph.weights)
    assert (rows.keys == np.flatnonzero(expected)).all()
    assert (rows.values == expected[rows.keys]).all()


def test_keys_of_blocks_and_empty_graphs():
    graph = ev.read("rmat:12,seed=3")
    rows = ev.mapreduce(graph, lambda s, t: (t, 1), combine=max, owner="block", on="cuda:0,cuda:0")
    assert (rows.keys == np.unique(graph.targets)).all()
    with pytest.raises(ev.ArgumentError, match=r"expected vertex numbers from 0 to 4095 .* found -1; use"):
        ev.mapreduce(graph, lambda s, t: (-1, t), combine=max, owner="block", on="cuda:0")
    for empty in (ev.Graph.from_edges([], [], n=3), ev.Graph.from_edges([], [], n=0)):
        for reduction in ({"combine": max}, {"reduce": lambda key, values: len(values)}):
            assert len(ev.mapreduce(empty, lambda s, t: (t, s), on="cuda:0", **reduction)) == 0
