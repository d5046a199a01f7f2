"""Components, compared with NetworkX and the reference implementation."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import evener as ev
from evener.algorithms.wcc.wcc import LINKED_FIRST
from support import parity_cases, reference
from support.reference import as_networkx, random_graph

ONE_TWO_FOUR = pytest.mark.parametrize("elements", [1, 2, 4])


@pytest.mark.parametrize("directed", [True, False])
@ONE_TWO_FOUR
def test_components_equal_networkx(directed, elements):
    g = random_graph(directed=directed, n=60, edges=50, seed=elements)
    component = ev.wcc(g, on=["cpu:1"] * elements)["component"]
    expected = {frozenset(c) for c in nx.weakly_connected_components(as_networkx(g))}
    found = {frozenset(np.flatnonzero(component == c).tolist()) for c in set(component.tolist())}
    assert found == expected
    assert all(component[v] == min(c) for c in expected for v in c)


def test_an_edge_between_two_trees_is_found_at_one_end():
    """Both ends of a directed edge skip the giant tree, so both must agree on the giant."""
    # The loops of vertex 0 come first: before 0 -> 3, the giant may be {0} or {1, 3}.
    g = ev.Graph.from_edges([0, 3, 0, 0], [0, 1, 3, 0], n=4)
    assert ev.wcc(g, on="cpu:1")["component"].tolist() == [0, 0, 2, 0]


@ONE_TWO_FOUR
def test_random_graphs_of_several_trees(elements):
    rng = np.random.default_rng(elements)
    for _ in range(40):
        n = int(rng.choice([20, 40, 63, 64, 65]))
        src, dst = rng.integers(0, n, (2, int(rng.integers(n // 2, 5 * n // 4))))
        src[: len(src) // 3] = 0
        g = ev.Graph.from_edges(src, dst, n=n)
        assert (ev.wcc(g, on=["cpu:1"] * elements)["component"] == reference.wcc(g)).all()


@pytest.mark.parametrize("elements", [1, 2])
def test_components_do_not_depend_on_the_order_of_threads(elements):
    """Threads link trees in any order; the components do not depend on the order."""
    rng = np.random.default_rng(4)
    g = ev.Graph.from_edges(*rng.integers(0, 40_000, (2, 38_000)), n=40_000)
    expected = reference.wcc(g)
    pg = ev.partition(g, ["cpu"] * elements)
    for _ in range(40):
        assert (ev.wcc(pg)["component"] == expected).all()


@ONE_TWO_FOUR
def test_a_long_chain_takes_no_more_supersteps_than_a_short_one(elements):
    lengths = [100, 5000]
    supersteps = []
    for n in lengths:
        order = np.random.default_rng(n).permutation(n)
        g = ev.Graph.from_edges(order[:-1], order[1:], directed=False, n=n)
        r = ev.wcc(g, on=["cpu:1"] * elements)
        assert not r["component"].any()
        supersteps.append(r.timeline.supersteps)
    assert supersteps[0] == supersteps[1] == (1 if elements == 1 else 2)


def test_components_are_named_by_the_smallest_id_and_counted():
    g = ev.Graph.from_edges([50, 30, 9, 70], [30, 20, 9, 80])
    r = ev.wcc(g, on=["cpu:1", "cpu:1"])
    assert dict(zip(g.ids.tolist(), r["component"].tolist(), strict=True)) == {
        9: 9,
        20: 20,
        30: 20,
        50: 20,
        70: 70,
        80: 70,
    }
    assert r["component"].dtype == np.int64
    assert r.outcome["components"] == 3


def test_components_of_named_vertices_are_names():
    g = ev.Graph.from_edges(["b", "d", "a"], ["c", "e", "a"])
    assert ev.wcc(g)["component"].tolist() == ["a", "b", "b", "d", "d"]


def test_direction_makes_no_difference():
    src, dst = np.random.default_rng(8).integers(0, 90, (2, 80))
    one = ev.wcc(ev.Graph.from_edges(src, dst, n=90), on=["cpu:1", "cpu:1"])["component"]
    assert (ev.wcc(ev.Graph.from_edges(dst, src, n=90))["component"] == one).all()
    assert (ev.wcc(ev.Graph.from_edges(src, dst, directed=False, n=90))["component"] == one).all()


def test_a_graph_placed_in_one_direction_is_refused():
    g = ev.Graph.from_edges([0, 1], [1, 2])
    with pytest.raises(ev.ArgumentError, match=r'needs edges in direction "both".*placed with "out"'):
        ev.wcc(ev.partition(g, directions="out"))


@parity_cases.giants_apart
def test_giant_trees_are_one_component_only_if_an_edge_joins_them(monkeypatch, directed, joined):
    pg, owner, late = parity_cases.check_giants_apart(
        monkeypatch, ["cpu:1"] * 3, directed=directed, joined=joined
    )
    ends = late if directed else [*late, *(edge[::-1] for edge in late)]
    for tail, head in ends:
        own = pg.partitions[owner[tail]]
        place = {number: v for v, number in enumerate(own.vertices.tolist())}
        row = own.out.targets[own.out.offsets[place[tail]] : own.out.offsets[place[tail] + 1]].tolist()
        assert row.index(place[head]) >= LINKED_FIRST
    for star, _ in late[:2]:
        own = pg.partitions[owner[star]]
        assert star in own.vertices[1:3]


@pytest.mark.usefixtures("apart_elements")
@pytest.mark.parametrize("on", [["peer:0", "peer:1"], ["peer:0", "peer:1", "peer:1"], ["apart:0", "peer:1"]])
@pytest.mark.parametrize("shape", ["rmat:8", "grid:12x12", "uniform:8,edge_factor=1,directed"])
def test_pairs_are_copied_between_memories(on, shape):
    g = ev.read(shape)
    for policy in ("random", "high", "low"):
        assert (ev.wcc(ev.partition(g, on, policy=policy))["component"] == reference.wcc(g)).all()


@pytest.mark.usefixtures("apart_elements")
@parity_cases.giants_apart
def test_giant_trees_in_several_memories(monkeypatch, directed, joined):
    parity_cases.check_giants_apart(
        monkeypatch, ["peer:0", "peer:1", "peer:2"], directed=directed, joined=joined
    )


def test_an_rmat_graph_needs_two_supersteps():
    """Two supersteps are enough on an R-MAT graph, where vertices are linked first with a remote hub."""
    g = ev.read("rmat:12")
    for policy, on in (("high", 2), ("random", 3), ("low", 4)):
        result = ev.wcc(ev.partition(g, ["cpu:1"] * on, policy=policy))
        assert result.timeline.supersteps == 2
