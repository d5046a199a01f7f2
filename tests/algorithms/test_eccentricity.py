"""Eccentricity and diameter: their contracts, bounds, and the scope of their verification."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import evener as ev
from algorithms.test_closeness import as_networkx
from evener.primitives import distance_bounds, distance_verification
from evener.testing.algorithms import AlgorithmContract


def largest_distances(graph):
    away = nx.all_pairs_shortest_path_length(as_networkx(graph))
    return np.array([max(distances.values()) for _, distances in away])


class TestEccentricity(AlgorithmContract):
    name = "eccentricity"

    def expected(self, graph, arguments):
        return {"eccentricity": largest_distances(graph)}


@pytest.mark.slow  # it ends the searches of eccentricities earlier
class TestDiameter(AlgorithmContract):
    name = "diameter"
    any_right = ("source", "target")

    def expected(self, graph, arguments):
        largest = largest_distances(graph).max()
        return {"diameter": np.array([largest]), "upper": np.array([largest])}


@pytest.mark.parametrize("directed", [False, True])
def test_some_searches_give_bounds_and_a_pair(directed):
    graph = ev.read("rmat:9" + ",directed" * directed)
    largest = largest_distances(graph).max()
    for most in (1, 2, 5, 500):
        result = ev.diameter(graph, max_searches=most)
        found, upper, source, target = (int(result[name][0]) for name in result)
        assert found <= largest <= upper
        assert nx.shortest_path_length(as_networkx(graph), source, target) == found == float(result)
        assert result.outcome["searches"] <= most
        ev.verify(result)
    assert found == upper


def test_a_vertex_outside_a_component_has_the_bound_of_its_neighbours():
    """A directed path into a cycle: 0 to 1 to 2, and 2 to 3 to 4 to 2."""
    graph = ev.Graph.from_edges([0, 1, 2, 3, 4], [1, 2, 3, 4, 2], directed=True)
    assert ev.eccentricity(graph)["eccentricity"].tolist() == [4, 3, 2, 2, 2]
    assert [int(ev.diameter(graph)[name][0]) for name in ("diameter", "source", "target")] == [4, 0, 4]


def test_a_graph_with_central_vertices_needs_few_searches():
    assert ev.diameter(ev.read("grid:100x100")).outcome["searches"] < 100


@pytest.mark.parametrize("level", [0, 80_000])
@pytest.mark.parametrize("spec", ["grid:70x3", "rmat:8", "rmat:8,directed"])
def test_searches_do_not_depend_on_the_split(spec, level, monkeypatch):
    """Searches that one CPU runs one by one find the same bounds as searches of several elements at once."""
    monkeypatch.setattr(distance_bounds, "_LEVEL", level)
    graph = ev.read(spec)
    results = [ev.diameter(graph, on=["cpu:1"] * elements) for elements in (1, 2)]
    rows = [[int(result[name][0]) for name in result] for result in results]
    assert rows[0] == rows[1]
    assert rows[0][0] == largest_distances(graph).max()
    assert results[0].outcome == results[1].outcome


@pytest.mark.parametrize("elements", [1, 2])
def test_the_empty_graph(elements):
    empty = ev.Graph.from_edges([], [], n=0, directed=True)
    result = ev.diameter(empty, on=["cpu:1"] * elements)
    assert [result[name].tolist() for name in result] == [[0], [0], [-1], [-1]]
    ev.verify(result)
    assert len(ev.eccentricity(empty, on=["cpu:1"] * elements)["eccentricity"]) == 0


@pytest.mark.parametrize("most", [0, 2.5])
def test_a_wrong_number_of_searches(most):
    with pytest.raises(ev.ArgumentError, match="max_searches=: expected an integer of at least 1"):
        ev.diameter(ev.read("grid:3x3"), max_searches=most)


@pytest.mark.parametrize(
    ("row", "rule"),
    [
        ((14, 13, 0, 63), "at most upper"),
        ((14, 15, 0, 63), "equal without max_searches"),
        ((13, 13, 0, 63), "at the distance of the diameter"),
        ((14, 14, 0, 62), "at the distance of the diameter"),
        ((7, 7, 0, 7), "no distance exceeds upper"),
        ((14, 14, 0, -1), "target is a vertex"),
    ],
)
def test_a_wrong_diameter_is_noticed(row, rule):
    """The diameter of the grid is 14, from 0 to 63. From 0 to 62 it is 13, and to 7 it is 7."""
    graph, columns = ev.read("grid:8x8"), ("diameter", "upper", "source", "target")
    right, wrong = (dict(zip(columns, np.array([one]).T, strict=True)) for one in ((14, 14, 0, 63), row))
    ev.verify(ev.Claim("diameter", graph, right))
    with pytest.raises(ev.VerificationError, match=rule):
        ev.verify(ev.Claim("diameter", graph, wrong))


def test_some_vertices_of_a_large_graph_are_verified(monkeypatch):
    graph = ev.read("rmat:9")
    monkeypatch.setattr(distance_verification, "_MOST_EDGES", 20 * (graph.n + graph.m))
    result = ev.eccentricity(graph)
    assert distance_verification.verified_scope(result) == " for 20 of 512 vertices"
    with pytest.raises(ev.VerificationError, match="recomputed"):
        ev.verify(ev.Claim("eccentricity", graph, {"eccentricity": result["eccentricity"] + 1}))


@pytest.mark.parametrize("name", ["diameter", "eccentricity"])
def test_continues_from_a_checkpoint(tmp_path, name):
    graph = ev.read("rmat:9,directed")
    whole = getattr(ev, name)(graph)
    getattr(ev, name)(graph, checkpoint=ev.Checkpoint(tmp_path / "run", every="2steps"))
    again = getattr(ev, name)(graph, on="cpu:1", checkpoint=ev.Checkpoint(tmp_path / "run", resume=True))
    np.testing.assert_array_equal(again[name], whole[name])
    assert again.outcome == whole.outcome
