"""Mirrors foreseen from the neighbours of some vertices, against those of real partitions."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

import evener as ev
from evener.planning.model import Share, owned_by_degree, parts_of
from evener.planning.neighbours import Neighbours
from evener.planning.sizes import Sizes

NEIGHBOURS = import_module("evener.planning.neighbours")
SPLITS = [[0.1, 0.9], [0.5, 0.5], [0.9, 0.1], [0.2, 0.3, 0.5]]


def _stars():
    """Twenty hubs of five hundred leaves each."""
    return ev.Graph.from_edges(np.repeat(np.arange(20), 500), np.arange(20, 10_020), directed=False)


def _tree():
    """Each vertex of a thousand has another above it with a lower number, and every tenth nothing at all."""
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


def foreseen(sizes, policy, shares):
    return parts_of(
        sizes.degrees, owned_by_degree(sizes.degrees, policy, shares), sizes.mirrored(policy, shares)
    )


@pytest.mark.parametrize("shares", SPLITS, ids=str)
@pytest.mark.parametrize("policy", ["high", "low"])
@pytest.mark.parametrize("name", GRAPHS)
def test_mirrors_are_near_those_of_real_partitions(graphs, monkeypatch, name, policy, shares):
    """Off by a twentieth at most, or a fiftieth of all vertices: a sample is off by half a hundredth."""
    monkeypatch.setattr(
        import_module("evener.partition.place"), "edge_shares", lambda *_, **__: np.array(shares)
    )
    graph, directions = graphs[name], GRAPHS[name][1]
    assert graph.reverse is not None  # both directions are in memory
    placed = ev.partition(graph, ["cpu:1"] * len(shares), policy=policy, alpha=0.5, directions=directions)
    found = foreseen(Sizes.of(graph, directions), policy, shares)
    for one, part in zip(Share.all_of(placed), found, strict=True):
        assert part.mirrors == pytest.approx(one.part.mirrors, rel=0.05, abs=graph.n / 50)
        assert part.elsewhere == pytest.approx(one.part.elsewhere, rel=0.05, abs=graph.n / 50)


@pytest.mark.parametrize("policy", ["high", "low"])
def test_of_a_small_graph_every_vertex_is_looked_at(policy):
    """A path of ten and a hub: whose neighbours lie where is known for each of them."""
    ends = np.array([*((v, v + 1) for v in range(9)), *((10, v) for v in range(11, 31))]).T
    graph = ev.Graph.from_edges(*ends, directed=False)
    placed = ev.partition(graph, ["cpu:1"] * 2, policy=policy, alpha=0.4)
    shares = [one.edge_share for one in placed.statistics.partitions]
    for one, part in zip(Share.all_of(placed), foreseen(Sizes.of(graph), policy, shares), strict=True):
        assert (part.mirrors, part.elsewhere) == (one.part.mirrors, one.part.elsewhere)


def test_hubs_are_drawn_by_their_edges(monkeypatch):
    """Ten hubs among 100,000 vertices: of vertices drawn as such, hardly one would be any of them."""
    monkeypatch.setattr(NEIGHBOURS, "_DRAWN", 64)
    hubs = np.repeat(np.arange(10), 10_000)
    graph = ev.Graph.from_edges(hubs, np.arange(10, 100_010), directed=False)
    mirrored = Sizes.of(graph).mirrored("high", [0.5, 0.5])
    np.testing.assert_allclose(mirrored, [[0, 1], [1, 0]], rtol=1e-12)


def test_a_partition_that_none_of_them_belongs_to_is_not_told_of(monkeypatch):
    monkeypatch.setattr(NEIGHBOURS, "_DRAWN", 4)
    mirrored = Sizes.of(ev.read("uniform:10")).mirrored("high", [0.9999, 0.0001])
    assert np.isnan(mirrored[[0, 1], [1, 0]]).all()


def test_what_is_not_known_is_left_to_chance():
    directed = ev.read("rmat:8,directed")
    assert Sizes.of(directed, "out").neighbours is None  # its in-edges would have to be made
    assert directed.stored_directions == ("out",)
    assert Sizes.of(directed, "in").neighbours is not None
    assert Sizes.of(ev.Graph.from_edges([], [], n=5)).neighbours is None
    assert Sizes.of(directed, "in").mirrored("random", [0.5, 0.5]) is None
    assert Sizes.of(directed, "both").neighbours is None
    assert directed.stored_directions == ("out",)
    assert directed.reverse is not None
    assert isinstance(Sizes.of(directed, "both").neighbours, Neighbours)
