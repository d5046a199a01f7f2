"""Eccentricity and diameter: their contracts, bounds, and the scope of their verification."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import evener as ev
from algorithms.test_closeness import as_networkx
from evener.primitives import distance_verification
from evener.testing.algorithms import AlgorithmContract


def largest_distances(graph):
    away = nx.all_pairs_shortest_path_length(as_networkx(graph))
    return np.array([max(distances.values()) for _, distances in away])


class TestEccentricity(AlgorithmContract):
    name = "eccentricity"

    def expected(self, graph, arguments):
        return {"eccentricity": largest_distances(graph)}


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
    ("changes", "rule"),
    [
        ({"upper": 7}, "at most upper"),
        ({"diameter": 7}, "at the distance of the diameter"),
        ({"target": 8}, "at the distance of the diameter"),
        ({"diameter": 7, "upper": 7, "target": 62}, "no distance exceeds upper"),
    ],
)
def test_a_wrong_diameter_is_noticed(changes, rule):
    """The diameter of the grid is 14, from 0 to 63; from 0 to 62 it is 13, and to 7 it is 7."""
    result = ev.diameter(ev.read("grid:8x8"))
    right = {"diameter": 14, "upper": 14, "source": 0, "target": 63}
    if "upper" in changes and "target" in changes:
        changes = {**changes, "target": 7}
    arrays = {name: np.array([value]) for name, value in {**right, **changes}.items()}
    ev.verify(ev.Claim("diameter", result.graph, {name: np.array([v]) for name, v in right.items()}))
    with pytest.raises(ev.VerificationError, match=rule):
        ev.verify(ev.Claim("diameter", result.graph, arrays))


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
