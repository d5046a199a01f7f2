"""Breadth-first search, compared with NetworkX and the reference, and its changes of direction."""

from __future__ import annotations

from importlib import import_module
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

import evener as ev
from evener import Engine
from evener.algorithms.bfs.direction import Tuning
from evener.partition.partition import Partition
from support import reference
from support.pair_cover import pairwise_cover
from support.reference import as_networkx, random_graph
from support.tuning import tune

ONE_TWO_FOUR = pytest.mark.parametrize("elements", [1, 2, 4])


@pytest.fixture
def always_wide(monkeypatch):
    tune(monkeypatch, "bfs", narrow=0)


def phases(result):
    return [step.phases[0] for step in result.timeline.by_superstep()]


def check_tree(graph, result, source):
    """Check that each parent is one level up over a stored edge, and -1 for unreached vertices."""
    distance, parent = result["distance"], result["parent"]
    tails, heads = reference.edges(graph)
    stored = set(zip(graph.ids[tails].tolist(), graph.ids[heads].tolist(), strict=True))
    level = dict(zip(graph.ids.tolist(), distance.tolist(), strict=True))
    for vertex, above in zip(graph.ids.tolist(), parent.tolist(), strict=True):
        if vertex == source:
            assert (above, level[vertex]) == (source, 0)
        elif level[vertex] < 0:
            assert above == -1
        else:
            assert (above, vertex) in stored
            assert level[above] == level[vertex] - 1


@ONE_TWO_FOUR
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("edges", [50, 400])
def test_distances_equal_networkx(directed, elements, edges):
    g = random_graph(directed=directed, n=80, edges=edges, seed=edges)
    for source in (0, 5, 79):
        r = ev.bfs(g, source=source, on=["cpu:1"] * elements)
        expected = nx.single_source_shortest_path_length(as_networkx(g), source)
        assert r["distance"].tolist() == [expected.get(v, -1) for v in range(g.n)]
        assert (r["distance"].dtype, r["parent"].dtype) == (np.int32, np.int64)
        check_tree(g, r, source)
        ev.verify(r)


@pytest.mark.usefixtures("always_wide")
@ONE_TWO_FOUR
def test_a_dense_core_is_searched_bottom_up(elements):
    """A short path leads to a dense core, and a long tail leaves it: frontiers are small, broad, small."""
    rng = np.random.default_rng(0)
    core, tail = 800, 30
    lead = [0, 1, 2]  # the path 0 - 1 - 2; vertex 3 is the first of the core
    path = np.concatenate([lead, [3]])
    src, dst = 3 + rng.integers(0, core, (2, 10 * core))
    end = 3 + core + np.arange(tail)
    src = np.concatenate([src, path[:-1], [5], end[:-1]])
    dst = np.concatenate([dst, path[1:], [end[0]], end[1:]])
    g = ev.Graph.from_edges(src, dst, directed=False, n=3 + core + tail)
    r = ev.bfs(g, source=0, on=["cpu:1"] * elements)
    assert (r["distance"] == reference.bfs(g, 0)[0]).all()
    check_tree(g, r, 0)
    found = [phase for phase in phases(r) if phase not in ("begin", "parents")]
    first_up, last_up = found.index("bottom-up"), len(found) - found[::-1].index("bottom-up")
    assert found[:first_up] == ["top-down"] * first_up
    assert first_up >= 3
    assert found[last_up:] == ["top-down"] * (len(found) - last_up)
    assert len(found) - last_up > tail / 2


@pytest.mark.usefixtures("always_wide")
@ONE_TWO_FOUR
def test_a_second_dense_core_is_searched_bottom_up(elements):
    """A path joins two dense cores, so the second bottom-up phase uses the bitmaps of the first again."""
    rng = np.random.default_rng(1)
    core, path = 640, 40
    one, other = rng.integers(0, core, (2, 8 * core)), core + path + rng.integers(0, core, (2, 8 * core))
    bridge = np.arange(core - 1, core + path + 1)
    src, dst = np.concatenate([one, other, [bridge[:-1], bridge[1:]]], axis=1)
    g = ev.Graph.from_edges(src, dst, directed=False, n=2 * core + path)
    source = int(one[0, 0])
    r = ev.bfs(g, source=source, on=["cpu:1"] * elements)
    assert (r["distance"] == reference.bfs(g, source)[0]).all()
    check_tree(g, r, source)
    found = phases(r)
    turns = sum(a != b for a, b in pairwise(found) if {a, b} <= {"top-down", "bottom-up"})
    assert turns >= 3
    assert found.count("bottom-up") >= 2


@pytest.mark.parametrize(
    ("weights", "others", "mapped", "second"),
    [
        ((1, 1), 15_000, 0, "top-down"),
        ((1, 50), 15_000, 0, "bottom-up"),
        # If any edges are in host memory, only more than 1/60 of all unexplored edges start bottom-up steps.
        ((1, 50), 15_000, 1, "top-down"),
        ((1, 50), 10_000, 1, "bottom-up"),
    ],
)
def test_edges_are_weighted_by_the_speed_of_their_element(monkeypatch, weights, others, mapped, second):
    """A hub and its 400 edges are on one element, and many more edges are on the other."""
    monkeypatch.setattr(Partition, "host_edges", property(lambda own: mapped * own.index))
    ends = np.random.default_rng(3).integers(401, 1401, (2, others))
    hub = np.stack([np.zeros(400, np.int64), np.arange(1, 401)])
    graph = ev.Graph.from_edges(*np.concatenate([hub, [[1], [401]], ends], axis=1), directed=False)
    owner = np.ones(graph.n, np.uint8)
    owner[0] = 0
    monkeypatch.setattr(import_module("evener.partition.build"), "owners", lambda *_, **__: owner)
    placed = ev.partition(graph, ["cpu:1", "cpu:1"])
    for element, weight in zip(placed.elements, weights, strict=True):
        element.weight = weight
    result = ev.bfs(placed, source=0)
    assert phases(result)[1] == second
    assert (result["distance"] == reference.bfs(graph, 0)[0]).all()


@pytest.mark.parametrize(("hub", "second"), [(True, "bottom-up"), (False, "top-down")])
@pytest.mark.usefixtures("always_wide")
def test_hubs_turn_a_search_bottom_up_sooner(hub, second):
    """About 1/50 of all edges lead out of the reached vertices: a hub, or 28 ordinary vertices."""
    rng = np.random.default_rng(4)
    n = 1500
    among = rng.integers(2, n, (2, 10_000))
    if hub:
        near = np.array([[0], [1]])
        out = np.stack([np.ones(400, int), rng.choice(np.arange(2, n), 400, replace=False)])
    else:
        near = np.stack([np.zeros(28, int), np.arange(2, 30)])
        out = np.array([[1], [2]])
    graph = ev.Graph.from_edges(*np.concatenate([near, out, among], axis=1), directed=False, n=n)
    reached = graph.out_degree()[near[1]].sum()
    assert graph.m / 60 < reached < graph.m / 45
    result = ev.bfs(graph, source=0, on=["cpu:1"])
    assert phases(result)[1:3] == ["top-down", second]
    assert (result["distance"] == reference.bfs(graph, 0)[0]).all()


@ONE_TWO_FOUR
@pytest.mark.parametrize("hubs", [1, 5, 64, 65])
@pytest.mark.parametrize("flooded", [True, False])
@pytest.mark.usefixtures("always_wide")
def test_long_rows_of_a_short_queue(monkeypatch, elements, hubs, flooded):
    """Rows have two pieces and more, one piece, one edge less, one edge more, and no edges."""
    tune(monkeypatch, "bfs", alpha=0.5, alpha_of_hubs=0.5, flood=1 << 40 if flooded else 1e-9)
    piece = 1 << 13
    lengths = (
        np.resize([2 * piece + 5, piece - 1, 0, piece, piece + 1], hubs) if hubs < 9 else np.full(hubs, 40)
    )
    lengths[0] = 2 * piece + 5
    leaves = 1 + hubs + np.arange(lengths.sum())
    src = np.concatenate([np.zeros(hubs, int), np.repeat(np.arange(1, 1 + hubs), lengths)])
    dst = np.concatenate([np.arange(1, 1 + hubs), leaves])
    graph = ev.Graph.from_edges(src, dst, directed=True)
    result = ev.bfs(graph, source=0, on=["cpu:2" if elements == 1 else "cpu:1"] * elements)
    assert "bottom-up" not in phases(result)
    assert result["distance"].tolist() == [0] + [1] * hubs + [2] * len(leaves)
    assert result["parent"].tolist() == [0] + [0] * hubs + src[hubs:].tolist()


@ONE_TWO_FOUR
def test_a_chain_is_searched_from_its_end(elements):
    n = 300
    order = np.random.default_rng(2).permutation(n)
    g = ev.Graph.from_edges(order[:-1], order[1:], directed=True, n=n)
    r = ev.bfs(g, source=int(order[0]), on=["cpu:1"] * elements)
    assert r["distance"][order].tolist() == list(range(n))
    assert r["parent"][order].tolist() == [order[0], *order[:-1]]
    last = ev.bfs(g, source=int(order[-1]), on=["cpu:1"] * elements)
    assert (last["distance"] >= 0).sum() == 1


@ONE_TWO_FOUR
@pytest.mark.parametrize("n", [63, 64, 65, 127, 128, 129, 4095, 4096, 4097])
def test_a_star_with_sizes_near_word_boundaries(n, elements):
    hub = n // 2
    leaves = np.delete(np.arange(n), hub)
    g = ev.Graph.from_edges(np.full(n - 1, hub), leaves, directed=False, n=n)
    for source in (hub, 0, n - 1):
        r = ev.bfs(g, source=source, on=["cpu:1"] * elements, policy="high")
        expected = np.full(n, 1 if source == hub else 2)
        expected[[hub, source]] = [0 if source == hub else 1, 0]
        assert (r["distance"] == expected).all()
        parent = np.full(n, hub)
        parent[[hub, source]] = source
        assert (r["parent"] == parent).all()


@pytest.mark.usefixtures("always_wide")
def test_directed_edges_are_followed_one_way_in_both_phases():
    rng = np.random.default_rng(3)
    # All but two edges lead out of the lower half.
    src, dst = rng.integers(0, 300, 4000), rng.integers(0, 600, 4000)
    g = ev.Graph.from_edges(np.append(src, [400, 500]), np.append(dst, [3, 400]), n=600)
    for elements in (1, 2, 4):
        r = ev.bfs(g, source=500, on=["cpu:1"] * elements)
        assert "bottom-up" in phases(r)
        assert (r["distance"] == reference.bfs(g, 500)[0]).all()
        check_tree(g, r, 500)


@pytest.mark.usefixtures("always_wide")
@ONE_TWO_FOUR
def test_out_edges_only_are_searched_top_down(elements):
    g = ev.read("rmat:9,directed")
    pg = ev.partition(g, ["cpu:1"] * elements, directions="out")
    for source in np.flatnonzero(g.out_degree())[:4].tolist():
        r = ev.bfs(pg, source=source)
        assert "bottom-up" in phases(ev.bfs(g, source=source, on=["cpu:1"] * elements))
        assert "bottom-up" not in phases(r)
        assert (r["distance"] == reference.bfs(g, source)[0]).all()
        check_tree(g, r, source)
    with pytest.raises(ev.ArgumentError, match='needs edges in direction "both"'):
        ev.bfs(ev.partition(g, directions="in"), source=0)


@ONE_TWO_FOUR
def test_results_use_the_ids_of_the_graph(elements):
    g = ev.Graph.from_edges([1000, 70, 70, 5], [70, 5, 8, 1000])
    r = ev.bfs(g, source=70, on=["cpu:1"] * elements)
    assert dict(zip(g.ids.tolist(), r["distance"].tolist(), strict=True)) == {5: 1, 8: 1, 70: 0, 1000: 2}
    assert dict(zip(g.ids.tolist(), r["parent"].tolist(), strict=True)) == {5: 70, 8: 70, 70: 70, 1000: 5}


def test_parents_of_named_vertices_are_names():
    g = ev.Graph.from_edges(["a", "b", "d"], ["b", "c", "a"])
    r = ev.bfs(g, source="a")
    assert r["parent"].tolist() == ["a", "a", "b", None]


@ONE_TWO_FOUR
@pytest.mark.parametrize("directed", [True, False])
def test_out_edges_of_reached_vertices_are_counted(directed, elements):
    """Graph500 counts an undirected edge once."""
    g = ev.Graph.from_edges([0, 1, 1, 4], [1, 2, 3, 5], directed=directed, n=6)
    assert ev.bfs(g, source=0, on=["cpu:1"] * elements).edges == 3


def test_an_unknown_source_is_refused():
    g = ev.Graph.from_edges([1, 2], [2, 7])
    for source in (0, 3, -1, 8):
        with pytest.raises(ev.UnknownVertexError, match=f"vertex {source} is not in the graph"):
            ev.bfs(g, source=source)
    with pytest.raises(
        ev.UnknownVertexError, match=r"integers, as in the graph, found 'b'; name another vertex with source="
    ):
        ev.bfs(g, source="b")


def test_a_placed_graph_cannot_be_placed_again():
    pg = ev.partition(ev.Graph.from_edges([0], [1]), ["cpu:1"])
    with pytest.raises(ev.ArgumentError, match="already placed"):
        ev.bfs(pg, source=0, on=["cpu:1"])
    for more in ({"alpha": 0.5}, {"policy": "high"}, {"gpu_memory": "1GiB"}):
        with pytest.raises(ev.ArgumentError, match="already placed"):
            ev.bfs(pg, source=0, **more)
    one_way = ev.partition(ev.Graph.from_edges([0], [1]), ["cpu:1"], directions="in")
    with pytest.raises(ev.ArgumentError, match=r'in direction "both", and the graph was placed with "in"'):
        ev.bfs(one_way, source=0)


@pytest.mark.parametrize("on", [["cpu"], ["cpu", "cpu"]], ids=len)
def test_distances_do_not_depend_on_the_order_of_threads(on):
    rng = np.random.default_rng(6)
    src, dst = (rng.random((2, 60_000)) ** 2 * 5000).astype(np.int64)
    g = ev.Graph.from_edges(src, dst, n=5000)
    pg = ev.partition(g, on)
    expected = reference.bfs(g, 7)[0]
    tails, heads = reference.edges(g)
    stored = set(zip(tails.tolist(), heads.tolist(), strict=True))
    for _ in range(100):
        r = ev.bfs(pg, source=7)
        assert (r["distance"] == expected).all()
        reached = np.flatnonzero(expected > 0)
        above = r["parent"][reached]
        assert (expected[above] == expected[reached] - 1).all()
        assert set(zip(above.tolist(), reached.tolist(), strict=True)) <= stored


# ---- narrow frontiers ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "narrow", "levels"),
    pairwise_cover(
        ["rmat:6", "rmat:7,directed", "grid:30x3", "uniform:6", "grid:100x1"],
        [0, 1, 7, 40, 10**6],
        [1, 2, 3, 64],
    ),
)
def test_distances_are_equal_for_any_narrow_limit(monkeypatch, spec, narrow, levels):
    tune(monkeypatch, "bfs", narrow=narrow, narrow_levels=levels)
    graph = ev.read(spec)
    source = int(graph.ids[graph.out_degree().argmax()])
    result = ev.bfs(graph, source=source, on="cpu:2")
    expected = reference.bfs(graph, int(graph.out_degree().argmax()))[0]
    assert (result["distance"] == expected).all()
    check_tree(graph, result, source)
    if narrow > graph.m:
        assert set(phases(result)) == {"begin", "narrow"}
    # The count is the out-edges of all reached vertices, with undirected edges counted once.
    reached = int(graph.out_degree()[expected >= 0].sum())
    assert result.edges == (reached if graph.directed else reached // 2)


def test_each_superstep_reports_the_edges_of_its_narrow_levels(monkeypatch):
    """Each superstep reports the edges of the previous one, so the edge of the last level is missing."""
    reported = []
    tune(monkeypatch, "bfs", narrow_levels=3)
    monkeypatch.setattr(Engine, "superstep", lambda *_, edges=0, **_more: reported.append(edges))
    ev.bfs(ev.read("grid:10x1"), source=0, on="cpu:1")
    assert reported == [0, 0, 1 + 2 + 2, 2 + 2 + 2, 2 + 2 + 2]


@pytest.mark.parametrize("leaves", [100, 20])
def test_a_frontier_of_many_vertices_is_not_narrow(monkeypatch, leaves):
    tune(monkeypatch, "bfs", narrow=50)
    src = [0] + [1] * leaves
    result = ev.bfs(ev.Graph.from_edges(src, np.arange(1, leaves + 2)), source=0, on="cpu:1")
    assert (result["distance"] == [0, 1, *[2] * leaves]).all()
    # The leaves have no edges, but the kernel has to read each leaf.
    assert (phases(result)[-1] == "narrow") == (leaves < 50)


def test_many_levels_of_a_narrow_frontier_are_one_superstep(monkeypatch):
    levels = Tuning().narrow_levels
    tune(monkeypatch, "bfs", narrow=Tuning().narrow, narrow_levels=levels)
    # The last vertex is at distance 199 + 2 from the corner, and its level is searched too.
    result = ev.bfs(ev.read("grid:200x3"), source=0, on="cpu:1")
    assert result["distance"].max() == 201
    assert phases(result) == ["begin", *["narrow"] * -(-202 // levels)]


@pytest.mark.parametrize(("narrow", "second"), [(15, "top-down"), (16, "narrow")])
def test_the_narrow_limit_is_inclusive(monkeypatch, narrow, second):
    """The hub has 16 of about a thousand edges."""
    tune(monkeypatch, "bfs", narrow=narrow)
    path = np.arange(16, 1000)
    star = np.stack([np.zeros(16, int), np.arange(1, 17)])
    graph = ev.Graph.from_edges(*np.concatenate([star, [path, path + 1]], axis=1), directed=False)
    assert phases(ev.bfs(graph, source=0, on="cpu:1"))[1] == second


def test_edges_of_a_hub_on_another_element_are_counted(monkeypatch):
    """A path on one element ends at a hub on the other, and most of that element's edges are the hub's."""
    tails = np.concatenate([np.arange(100), np.full(100, 100)])
    graph = ev.Graph.from_edges(tails, np.arange(1, 201), directed=False)
    owner = (np.arange(graph.n) < 100).astype(np.uint8)
    monkeypatch.setattr(import_module("evener.partition.build"), "owners", lambda *_, **__: owner)
    result = ev.bfs(graph, source=0, on=["cpu:1", "cpu:1"])
    assert result["distance"].tolist() == [*range(101), *[101] * 100]
    assert phases(result)[1:102] == [*["top-down"] * 100, "bottom-up"]


@pytest.mark.parametrize("narrow", [0, 60])
def test_explored_edges_are_not_counted_as_unexplored(monkeypatch, narrow):
    """A path ends at a hub with 100 leaves: its edges are few of all, but most of the unexplored ones."""
    tune(monkeypatch, "bfs", narrow=narrow)
    tails = np.concatenate([np.arange(1000), np.full(100, 1000)])
    graph = ev.Graph.from_edges(tails, np.arange(1, 1101), directed=False)
    result = ev.bfs(graph, source=0, on="cpu:1")
    assert result["distance"].tolist() == [*range(1001), *[1001] * 100]
    found = phases(result)
    assert "bottom-up" in found
    assert set(found[1 : found.index("bottom-up")]) == {"narrow" if narrow else "top-down"}


def test_several_elements_have_no_narrow_levels():
    assert "narrow" not in phases(ev.bfs(ev.read("grid:20x3"), source=0, on="cpu:1,cpu:1"))
