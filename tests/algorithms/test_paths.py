"""Searches from several sources, to a target and up to a cutoff; the expected values are NetworkX's."""

from __future__ import annotations

import pickle

import networkx as nx
import numpy as np
import pytest

import evener as ev
from evener.testing.ranks import run_ranks

SOURCES, TARGET = [3, 7, 9], 50


def edges(dtype):
    random = np.random.default_rng(1)
    return (
        random.integers(0, 300, 700),
        random.integers(0, 300, 700),
        random.integers(0, 9, 700).astype(dtype),
    )


def graph_and_networkx(dtype, *, directed):
    src, dst, weights = edges(dtype)
    theirs = nx.DiGraph() if directed else nx.Graph()
    theirs.add_nodes_from(range(300))
    for u, v, w in zip(src.tolist(), dst.tolist(), weights.tolist(), strict=True):
        known = theirs.get_edge_data(u, v, {"weight": w})["weight"]
        theirs.add_edge(u, v, weight=min(w, known))
    return ev.Graph.from_edges(src, dst, weights, directed, n=300), theirs


def expected_distances(theirs, sources, weight, limit=np.inf):
    found = np.full(300, np.inf)
    for vertex, distance in nx.multi_source_dijkstra_path_length(theirs, set(sources), weight=weight).items():
        found[vertex] = distance if distance <= limit else np.inf
    return found


def distances(result):
    found = result["distance"].astype(float)
    return np.where(found < 0, np.inf, found)


@pytest.mark.parametrize("on", ["cpu:1", "cpu:1,cpu:1"])
@pytest.mark.parametrize(("search", "weight"), [(ev.bfs, None), (ev.sssp, "weight")])
@pytest.mark.parametrize(("dtype", "directed"), [("int64", True), ("float64", False)])
def test_distances_are_those_of_networkx(dtype, directed, search, weight, on):
    """Weights of 0 are among them."""
    ours, theirs = graph_and_networkx(dtype, directed=directed)
    pg = ev.partition(ours, on)
    weight = weight or (lambda *_: 1)
    to_target = expected_distances(theirs, SOURCES, weight)[TARGET]
    for goal, limit in (
        ({}, np.inf),
        ({"cutoff": 2}, 2),
        ({"cutoff": 1.5}, 1.5),
        ({"target": TARGET}, to_target),
        ({"target": TARGET, "cutoff": 1}, min(1, to_target)),
    ):
        result = search(pg, sources=SOURCES, **goal)
        assert (distances(result) == expected_distances(theirs, SOURCES, weight, limit)).all()
        ev.verify(result)
        reached = np.isfinite(distances(result))
        assert (result["parent"] >= 0).tolist() == reached.tolist()
    path = search(pg, sources=SOURCES, target=TARGET).path(TARGET)
    assert path[0] in SOURCES
    assert path[-1] == TARGET
    length = len(path) - 1 if search is ev.bfs else nx.path_weight(theirs, path, "weight")
    assert length == to_target


def test_ranks_search_from_several_sources_to_a_target():
    """Each rank owns some of the sources, and one of them owns the target."""
    ours, theirs = graph_and_networkx("int64", directed=True)
    expected = expected_distances(theirs, SOURCES, "weight")
    expected[expected > expected[TARGET]] = np.inf

    def search(_):
        return ev.sssp(ev.partition(ours, "cpu:1"), sources=SOURCES, target=TARGET).gather()

    assert (run_ranks(2, search)[0]["distance"] == expected).all()


@pytest.mark.parametrize("id_of", [lambda v: v, lambda v: 7 * v + (1 << 60), lambda v: np.char.mod("n%d", v)])
def test_every_rank_gets_paths_and_values_from_the_blocks_of_all_ranks(tmp_path, id_of):
    """In the memory of each rank, in parts on the ranks, and gathered on rank 0."""
    src, dst, _ = edges("int64")
    ours, file = ev.Graph.from_edges(id_of(src), id_of(dst)), tmp_path / "g.txt"
    ev.write(ours, file)
    source = ours.ids[0].item()
    alone = ev.bfs(ours, source=source)
    lengths = [max(distance + 1, 0) for distance in alone["distance"]]
    paths = [alone.path(vertex) for vertex in ours.ids]
    assert [len(path) for path in paths] == lengths
    unknown = "no such name" if ours.has_string_ids else -3
    distances = alone.to_dict()

    def search(_):
        for pg in (ev.partition(ours, "cpu:1"), ev.partition(file, "cpu:1")):
            result = ev.bfs(pg, source=source)
            found = [result.path(vertex) for vertex in ours.ids]
            ends = [(path[0], path[-1]) for path in found if path]
            assert ends == [(source, path[-1]) for path in paths if path]
            assert [len(path) for path in found] == lengths
            with pytest.raises(ev.UnknownVertexError, match=f"vertex {unknown} is not in the graph"):
                result.path(unknown)
            assert {vertex: result.value(vertex) for vertex in ours.ids.tolist()} == distances
            with pytest.raises(ev.UnknownVertexError, match=f"vertex {unknown} is not in the graph"):
                result.value(unknown)
            whole = result.gather()
            assert whole is None or [whole.path(vertex) for vertex in ours.ids] == found
        return found

    first, second = run_ranks(2, search)
    assert first == second


def test_a_vertex_of_another_block_needs_the_values_of_all_vertices():
    line = ev.Graph.from_edges([0, 1, 2], [1, 2, 3])
    of_ranks = run_ranks(2, lambda _: pickle.dumps(ev.bfs(ev.partition(line, "cpu:1"), source=0)))
    with pytest.raises(ev.ArgumentError, match=r"found those of a rank; call gather\(\)"):
        pickle.loads(of_ranks[1]).path(3)
    with pytest.raises(ev.ArgumentError, match=r"value: expected .* found those of a rank; call gather\(\)"):
        pickle.loads(of_ranks[1]).value(0)


def test_a_wide_graph_is_cut_off_between_bottom_up_steps():
    """On an R-MAT graph, the frontier is broad from the second level on."""
    g = ev.read("rmat:12")
    whole = ev.bfs(g, source=0)["distance"]
    assert whole.max() > 2
    result = ev.bfs(g, source=0, cutoff=2)
    assert (result["distance"] == np.where(whole > 2, -1, whole)).all()
    reached = result["distance"] >= 0
    assert result.edges == int(g.out_degree()[reached].sum()) // 2


def test_each_source_has_a_row():
    g = ev.Graph.from_edges(["a", "b", "c"], ["b", "c", "d"])
    result = ev.bfs(g, sources=["c", "a"], each=True, cutoff=2)
    assert result["distance"].tolist() == [[-1, -1, 0, 1], [0, 1, 2, -1]]
    assert result["parent"].tolist() == [[None, None, "c", "c"], ["a", "a", "b", None]]
    assert result.rows[1].path("c") == ["a", "b", "c"]
    table = result.to_arrow().to_pydict()
    assert table["source"] == ["c"] * 4 + ["a"] * 4
    assert table["vertex"] == ["a", "b", "c", "d"] * 2
    assert result.to_pandas().equals(result.to_arrow().to_pandas())
    begins = [one.begin for one in result.timeline.slices]  # the searches follow each other
    assert begins == sorted(begins)
    assert len(begins) == sum(len(row.timeline.slices) for row in result.rows) > 0
    ev.verify(result)


def test_rows_of_nodes_that_are_tuples_are_a_table_of_text():
    g = ev.Graph.from_networkx(nx.grid_2d_graph(2, 2))
    table = ev.bfs(g, sources=[(0, 0), (1, 1)], each=True).to_arrow()
    assert table["source"].to_pylist() == ["(0, 0)"] * 4 + ["(1, 1)"] * 4


def test_a_missing_source_is_not_guessed():
    g = ev.Graph.from_edges([4, 5], [5, 6])
    for search in (ev.bfs, ev.sssp):
        with pytest.raises(
            ev.ArgumentError, match=r"give it with source=, such as source=4, or give several"
        ):
            search(g)
    assert ev.bfs(g, source=4)["distance"].tolist() == [0, 1, 2]  # the advice


@pytest.mark.parametrize(
    ("goal", "message"),
    [
        ({"source": 4, "sources": [5]}, "found both"),
        ({"sources": []}, "at least one vertex"),
        ({"sources": 5}, "several ids, such as .* found 5; give one id with source="),
        ({"sources": "ab"}, "several ids, such as .* found 'ab'"),
        ({"sources": [4, 5], "each": True, "checkpoint": ev.Checkpoint("c")}, "a folder of its own"),
        ({"sources": [4, 9]}, "vertex 9 is not in the graph.*name another vertex with sources="),
        ({"source": 4, "target": 9}, "vertex 9 is not in the graph.*name another vertex with target="),
        ({"source": 4, "cutoff": -1}, "a distance of at least 0, found -1"),
        ({"source": 4, "cutoff": np.nan}, "a distance of at least 0, found nan"),
    ],
)
def test_a_wrong_goal_is_refused(goal, message):
    with pytest.raises((ev.ArgumentError, ev.UnknownVertexError), match=message):
        ev.bfs(ev.Graph.from_edges([4, 5], [5, 6]), **goal)


@pytest.mark.parametrize("name", ["bfs", "sssp"])
@pytest.mark.parametrize(
    ("parameters", "distance", "parent", "message"),
    [
        ({"cutoff": 1}, [0, 1, 2, -1], [0, 0, 1, -1], "vertex 2 has distance 2(.0)?, which is more than 1"),
        ({"target": 1}, [0, 1, 2, -1], [0, 0, 1, -1], "vertex 2 has distance 2(.0)?, which is more than 1"),
        ({"cutoff": 2}, [0, 1, -1, -1], [0, 0, -1, -1], "the tree contains all vertices"),
        ({"target": 3}, [0, 1, 2, -1], [0, 0, 1, -1], "the tree contains all vertices"),
    ],
)
def test_answers_that_end_elsewhere_are_wrong(name, parameters, distance, parent, message):
    line = ev.Graph.from_edges([0, 1, 2], [1, 2, 3])
    values = np.array(distance, np.int32 if name == "bfs" else float)
    values[values < 0] = -1 if name == "bfs" else np.inf
    arrays = {"distance": values, "parent": np.array(parent)}
    with pytest.raises(ev.VerificationError, match=message):
        ev.verify(ev.Claim(name, line, arrays, {"source": 0, **parameters}))


def test_a_source_that_is_no_root_is_wrong():
    line = ev.Graph.from_edges([0, 1, 2], [1, 2, 3])
    arrays = {"distance": np.array([0, 1, 2, 3]), "parent": np.array([0, 0, 1, 2])}
    with pytest.raises(ev.VerificationError, match="a source is at distance 0: vertex 2 is at 2"):
        ev.verify(ev.Claim("bfs", line, arrays, {"source": [0, 2]}))
