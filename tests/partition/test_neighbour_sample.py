"""Mirrors estimated from a sample of vertices, compared with real partitions."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

import evener as ev
from evener.partition.estimate import GraphSizes
from evener.partition.neighbour_sample import NeighbourSample
from evener.partition.sizes import ElementShare, owned_by_degree, partition_sizes
from support.pair_cover import pairwise_cover

HOME = import_module("evener.partition.neighbour_sample")
SPLITS = [[0.1, 0.9], [0.5, 0.5], [0.9, 0.1], [0.2, 0.3, 0.5]]


def _stars():
    """Return a graph of twenty hubs with five hundred leaves each."""
    return ev.Graph.from_edges(np.repeat(np.arange(20), 500), np.arange(20, 10_020), directed=False)


def _tree():
    """Return a tree of a thousand vertices, and a hundred vertices without edges."""
    below = np.arange(1, 1000)
    return ev.Graph.from_edges(below * 9 // 10 // 2, below, directed=False, n=1100)


GRAPHS = {
    "grid": (lambda: ev.read("grid:200x200"), "both"),
    "rmat": (lambda: ev.read("rmat:15"), "both"),
    "sparse": (lambda: ev.read("rmat:15,edge_factor=3"), "both"),
    "uniform": (lambda: ev.read("uniform:13"), "both"),
    "stars": (_stars, "both"),
    "tree": (_tree, "both"),
    "directed": (lambda: ev.read("rmat:13,directed"), "both"),
    "of in-edges": (lambda: ev.read("rmat:13,directed"), "in"),
}


@pytest.fixture(scope="module")
def graphs():
    return {name: make() for name, (make, _) in GRAPHS.items()}


def estimated(sizes, policy, shares):
    return partition_sizes(
        sizes.degrees, owned_by_degree(sizes.degrees, policy, shares), sizes.mirrored(policy, shares)
    )


@pytest.mark.parametrize(("name", "shares", "policy"), pairwise_cover(list(GRAPHS), SPLITS, ["high", "low"]))
def test_estimated_mirrors_are_near_those_of_real_partitions(graphs, monkeypatch, name, policy, shares):
    """The error is at most 5%, or 2% of all vertices; a sample has a standard error of 0.005."""
    monkeypatch.setattr(
        import_module("evener.partition.build"), "edge_shares", lambda *_, **__: np.array(shares)
    )
    graph, directions = graphs[name], GRAPHS[name][1]
    assert graph.reverse is not None  # both directions are in memory
    placed = ev.partition(graph, ["cpu:1"] * len(shares), policy=policy, alpha=0.5, directions=directions)
    found = estimated(GraphSizes.of(graph, directions), policy, shares)
    for one, part in zip(ElementShare.all_of(placed), found, strict=True):
        assert part.mirrors == pytest.approx(one.sizes.mirrors, rel=0.05, abs=graph.n / 50)
        assert part.remote_mirrors == pytest.approx(one.sizes.remote_mirrors, rel=0.05, abs=graph.n / 50)


@pytest.mark.parametrize("policy", ["high", "low"])
def test_every_vertex_of_a_small_graph_is_sampled(policy):
    """The estimate for a path of ten vertices and a hub is exact."""
    ends = np.array([*((v, v + 1) for v in range(9)), *((10, v) for v in range(11, 31))]).T
    graph = ev.Graph.from_edges(*ends, directed=False)
    placed = ev.partition(graph, ["cpu:1"] * 2, policy=policy, alpha=0.4)
    shares = [one.edge_share for one in placed.statistics.partitions]
    found = estimated(GraphSizes.of(graph), policy, shares)
    for one, part in zip(ElementShare.all_of(placed), found, strict=True):
        assert (part.mirrors, part.remote_mirrors) == (one.sizes.mirrors, one.sizes.remote_mirrors)


def test_hubs_are_sampled_in_proportion_to_their_edges(monkeypatch):
    """A uniform sample would contain none of ten hubs among 100,000 vertices."""
    monkeypatch.setattr(HOME, "_SAMPLED", 64)
    hubs = np.repeat(np.arange(10), 10_000)
    graph = ev.Graph.from_edges(hubs, np.arange(10, 100_010), directed=False)
    mirrored = GraphSizes.of(graph).mirrored("high", [0.5, 0.5])
    np.testing.assert_allclose(mirrored, [[0, 1], [1, 0]], rtol=1e-12)


def test_a_partition_without_a_sampled_vertex_is_unknown(monkeypatch):
    monkeypatch.setattr(HOME, "_SAMPLED", 4)
    mirrored = GraphSizes.of(ev.read("uniform:10")).mirrored("high", [0.9999, 0.0001])
    assert np.isnan(mirrored[[0, 1], [1, 0]]).all()


def test_a_graph_without_rows_in_memory_is_not_sampled():
    directed = ev.read("rmat:8,directed")
    assert GraphSizes.of(directed, "out").neighbours is None  # its in-edges would have to be built
    assert directed.stored_directions == ("out",)
    assert GraphSizes.of(directed, "in").neighbours is not None
    assert GraphSizes.of(ev.Graph.from_edges([], [], n=5)).neighbours is None
    assert GraphSizes.of(directed, "in").mirrored("random", [0.5, 0.5]) is None
    assert GraphSizes.of(directed, "both").neighbours is None
    assert directed.stored_directions == ("out",)
    assert directed.reverse is not None
    assert isinstance(GraphSizes.of(directed, "both").neighbours, NeighbourSample)
