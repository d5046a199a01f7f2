"""Partition sizes estimated from degrees, compared with real partitions."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

import evener as ev
from evener.partition.estimate import GraphSizes
from evener.partition.sizes import Degrees, ElementShare, owned_by_degree, partition_sizes


def estimated(degrees, policy, shares):
    return partition_sizes(degrees, owned_by_degree(degrees, policy, shares))


@pytest.fixture(scope="module")
def graph():
    return ev.read("rmat:14")


@pytest.mark.parametrize("policy", ["random", "high", "low"])
@pytest.mark.parametrize("alpha", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_sizes_are_near_those_of_real_partitions(graph, policy, alpha):
    placed = ev.partition(graph, ["cpu:1", "cpu:1"], policy=policy, alpha=alpha)
    found = estimated(Degrees.of(graph.out_degree()), policy, [alpha, 1 - alpha])
    # In random order, the few hubs give a standard deviation of about 110 vertices.
    vertices = 330 if policy == "random" else 30
    for share, sizes in zip(ElementShare.all_of(placed), found, strict=True):
        real = share.sizes
        assert sizes.connected == pytest.approx(real.connected, rel=0.06, abs=vertices)
        assert sizes.edges == pytest.approx(real.edges, rel=0.03)
        assert sizes.vertices == pytest.approx(real.vertices, rel=0.06, abs=vertices)
        # In a small graph, hubs are often neighbours of each other, so other edges reach more vertices.
        assert sizes.mirrors == pytest.approx(real.mirrors, rel=0.25, abs=30)
        assert sizes.remote_mirrors == pytest.approx(real.remote_mirrors, rel=0.25, abs=30)


def test_long_runs_of_mirrors_without_gaps_are_counted(monkeypatch):
    """If nearly all vertices of a long run have a mirror, all get one."""
    for module in ("evener.partition.sizes", "evener.partition.partition"):
        monkeypatch.setattr(import_module(module), "LONG_RUN", 1000)
    graph = ev.read("rmat:17")
    real = ElementShare.all_of(ev.partition(graph, ["cpu:1", "cpu:1"], policy="low", alpha=0.1))[0].sizes
    found = estimated(Degrees.of(graph.out_degree()), "low", [0.1, 0.9])[0]
    assert real.remote_mirrors == real.connected
    assert found.remote_mirrors == found.connected == pytest.approx(real.connected, rel=0.06)


@pytest.fixture(scope="module")
def cited():
    """Return a graph with out-degree ten and skewed in-degrees."""
    rng = np.random.default_rng(5)
    heads = (20000 * rng.random(200000) ** 3).astype(np.int64)
    return ev.Graph.from_edges(np.repeat(np.arange(20000), 10), heads, n=20000)


@pytest.mark.parametrize("policy", ["random", "high", "low"])
@pytest.mark.parametrize("directions", ["in", "out", "both"])
def test_directed_sizes_count_stored_edges(cited, directions, policy):
    placed = ev.partition(cited, ["cpu:1", "cpu:1"], alpha=0.3, policy=policy, directions=directions, seed=1)
    found = estimated(GraphSizes.of(cited, directions).degrees, policy, [0.3, 0.7])
    for one, sizes in zip(ElementShare.all_of(placed), found, strict=True):
        assert sizes.edges == pytest.approx(one.sizes.edges, rel=0.1)
        # In random order, the few hubs of in-edges displace hundreds of vertices.
        assert sizes.vertices == pytest.approx(
            one.sizes.vertices, rel=0.05, abs=400 if policy == "random" else 20
        )
        assert sizes.mirrors == pytest.approx(one.sizes.mirrors, rel=0.15, abs=30)


def test_three_elements_share_everything(graph):
    found = estimated(Degrees.of(graph.out_degree()), "high", [0.2, 0.3, 0.5])
    assert sum(sizes.vertices for sizes in found) == pytest.approx(graph.n, abs=3)
    assert sum(sizes.edges for sizes in found) == pytest.approx(graph.m, abs=3)
    # Each mirror has one owner.
    remote = sum(sizes.remote_mirrors for sizes in found)
    assert sum(sizes.mirrors for sizes in found) == pytest.approx(remote, abs=6)


def test_shares_of_real_partitions_are_counted():
    placed = ev.partition(ev.read("rmat:10"), ["cpu:1", "cpu:1", "cpu:1"])
    for p, share in enumerate(ElementShare.all_of(placed)):
        assert share.sizes.vertices + share.sizes.mirrors == len(placed.partitions[p].vertices)
        owned = set(placed.partitions[p].vertices[: share.sizes.vertices].tolist())
        others = [one.vertices[one.owned :].tolist() for q, one in enumerate(placed.partitions) if q != p]
        assert share.sizes.remote_mirrors == sum(v in owned for other in others for v in other)
    assert sum(share.sizes.edges for share in ElementShare.all_of(placed)) == placed.graph.m


def test_edges_in_host_memory_are_counted():
    placed = ev.partition(ev.read("rmat:8"), ["cpu:1"])
    (partition,) = placed.partitions

    class PartlyOnHost:
        host_part = np.zeros(32, np.uint32)
        nbytes = partition.out.targets.nbytes

        def __len__(self):
            return partition.out.count

    edges = replace(partition.out, targets=PartlyOnHost())
    placed.partitions = [replace(partition, out=edges, in_=edges)]
    assert [share.host_edges for share in ElementShare.all_of(placed)] == [32]


def test_degrees_are_counted():
    found = Degrees.of(np.array([3, 0, 3, 1], np.uint64))
    assert (found.degree == [3, 1, 0]).all()
    assert (found.count == [2, 1, 1]).all()
    assert (found.connected == [1, 1, 0]).all()
    assert (found.groups.targeting == [3, 1, 0]).all()
    assert found.edges == 7


def test_degrees_of_one_stored_direction():
    found = Degrees.of(*np.array([[2, 0, 0, 2, 1, 2], [1, 0, 2, 4, 1, 5]], np.uint64))
    assert (found.degree == [2, 1, 0]).all()
    assert (found.count == [3, 1, 2]).all()
    assert (found.connected == [1, 1, 0.5]).all()
    assert (found.groups.first == [0, 2, 3]).all()
    assert found.groups.share == pytest.approx([1 / 3, 2 / 3, 1, 0.5, 0.5])
    assert (found.groups.targeting == [1, 4.5, 1, 0, 2]).all()


@pytest.mark.parametrize("policy", ["low", "high", "random"])
def test_owners_of_each_degree(policy):
    degrees = Degrees.of(np.array([4, 2, 1, 1, 0], np.uint64))
    found = owned_by_degree(degrees, policy, [0.5, 0.5])
    assert found.sum(axis=0) == pytest.approx(degrees.count)
    assert found @ degrees.degree == pytest.approx([4, 4])
    expected = {
        "high": [[1, 0, 0, 0], [0, 1, 2, 1]],
        "low": [[0, 1, 2, 1], [1, 0, 0, 0]],
        "random": [[0.5, 0.5, 1, 0.5]] * 2,
    }
    assert found == pytest.approx(np.array(expected[policy]))


def test_a_graph_without_edges():
    found = estimated(Degrees.of(np.zeros(10, np.uint64)), "high", [0.5, 0.5])
    assert sum(sizes.vertices for sizes in found) == 10
    assert all(sizes.mirrors == sizes.remote_mirrors == sizes.edges == 0 for sizes in found)
