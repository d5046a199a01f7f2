"""Triangles, clustering and transitivity: their contracts, published counts, and LDBC's reference answers."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import evener as ev
from evener.testing.algorithms import AlgorithmContract
from support.reference import edges

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
# Triangles that SNAP publishes for its graphs.
PUBLISHED = {"soc-Epinions1": 1_624_481, "web-NotreDame": 8_910_005}


def simple(graph):
    """Return the graph in NetworkX without self-loops and repeated edges."""
    made = nx.DiGraph() if graph.directed else nx.Graph()
    made.add_nodes_from(range(graph.n))
    made.add_edges_from(zip(*(one.tolist() for one in edges(graph)), strict=True))
    made.remove_edges_from(list(nx.selfloop_edges(made)))
    return made


def by_number(values, graph):
    return np.array([values[v] for v in range(graph.n)])


class TestTriangles(AlgorithmContract):
    name = "triangles"

    def expected(self, graph, arguments):
        return {"triangles": by_number(nx.triangles(nx.Graph(simple(graph))), graph)}


class TestClustering(AlgorithmContract):
    name = "clustering"

    def expected(self, graph, arguments):
        return {"clustering": by_number(nx.clustering(simple(graph)), graph)}


@pytest.mark.slow  # one option differs from the contract above
class TestClusteringOfGraphalytics(AlgorithmContract):
    name = "clustering"

    def arguments(self, graph):
        return {"semantics": "graphalytics"}

    def expected(self, graph, arguments):
        made = simple(graph)
        near = (
            {v: set(made.successors(v)) | set(made.predecessors(v)) for v in made}
            if made.is_directed()
            else {v: set(made[v]) for v in made}
        )
        count = {v: sum(len(near[v] & set(made[u])) for u in near[v]) for v in made}
        pairs = {v: len(near[v]) * (len(near[v]) - 1) for v in made}
        return {"clustering": by_number({v: count[v] / pairs[v] if pairs[v] else 0.0 for v in made}, graph)}


class TestTransitivity(AlgorithmContract):
    name = "transitivity"

    def expected(self, graph, arguments):
        made = nx.Graph(simple(graph))
        facts = {
            "transitivity": nx.transitivity(made),
            "triangles": sum(nx.triangles(made).values()) // 3,
            "paths": sum(degree * (degree - 1) // 2 for _, degree in made.degree),
        }
        return {name: np.array([value]) for name, value in facts.items()}


def test_outcomes_are_those_of_the_graph():
    graph = ev.read("rmat:7")
    undirected = nx.Graph(simple(graph))
    assert ev.triangles(graph).outcome == {"triangles": sum(nx.triangles(undirected).values()) // 3}
    average = ev.clustering(graph).outcome["average"]
    assert average == pytest.approx(nx.average_clustering(undirected))


def test_a_wrong_transitivity_is_noticed():
    result = ev.transitivity(ev.read("rmat:7"))
    for name in result:
        arrays = {**{one: result[one] for one in result}, name: result[name] + 1}
        claim = ev.spec.verify.Claim("transitivity", result.graph, arrays, {}, {})
        with pytest.raises(ev.VerificationError, match=f"{name} is that of the graph"):
            ev.verify(claim)


@pytest.mark.parametrize("elements", [1, 2])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("name", ["triangles", "clustering", "transitivity"])
def test_the_empty_graph(name, directed, elements):
    empty = ev.Graph.from_edges([], [], n=0, directed=directed)
    result = getattr(ev, name)(empty, on=["cpu:1"] * elements)
    assert [len(result[one]) for one in result] == ([1, 1, 1] if name == "transitivity" else [0])
    ev.verify(result)


def test_another_semantics_is_refused():
    with pytest.raises(ev.ArgumentError, match='semantics=: expected "networkx" or "graphalytics", found'):
        ev.clustering(ev.read("grid:2x2"), semantics="ldbc")


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_triangles(name):
    path = DATA / f"{name}.txt.gz"
    if not path.exists():
        pytest.skip(f"expected the file {path.name} in ../shared/data, found none")
    result = ev.triangles(ev.read(path))
    assert result.outcome["triangles"] == PUBLISHED[name]
    ev.verify(result)


@pytest.mark.parametrize("on", [1, 2, 4])
@pytest.mark.parametrize("name", ["example-directed", "example-undirected"])
def test_reference_answers_of_graphalytics(name, on):
    folder = DATA / "graphalytics-example"
    if not folder.exists():
        pytest.skip("expected the folder graphalytics-example in ../shared/data, found none")
    graph = ev.read(folder / f"{name}.properties")
    found = ev.clustering(graph, semantics="graphalytics", on=["cpu:1"] * on)["clustering"]
    wanted = {int(v): float(value) for v, value in np.loadtxt(folder / f"{name}-LCC", dtype=str)}
    assert dict(zip(graph.ids.tolist(), found.tolist(), strict=True)) == pytest.approx(wanted)
