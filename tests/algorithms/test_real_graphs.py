"""All algorithms on two SNAP graphs, compared with igraph, on one and two elements."""

from __future__ import annotations

from pathlib import Path

import igraph
import numpy as np
import pytest

import evener as ev
from support.reference import edges

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "data"
SOURCES = 4


class IgraphTwin:
    """The same graph in igraph, with vertices by number."""

    def __init__(self, graph):
        tails, heads = edges(graph)
        self.graph = igraph.Graph(n=graph.n, edges=np.column_stack([tails, heads]), directed=True)

    def distance(self, source):
        return np.array(self.graph.distances(source, mode="out")[0])

    def rank(self):
        return np.array(self.graph.pagerank(damping=0.85))

    def component(self):
        membership = np.array(self.graph.connected_components(mode="weak").membership)
        _, smallest = np.unique(membership, return_index=True)
        return smallest[membership]

    def centrality(self, sources):
        return np.array(self.graph.betweenness(sources=sources))


LARGER = pytest.param("web-NotreDame", marks=pytest.mark.slow)


@pytest.fixture(scope="module", params=["soc-Epinions1", LARGER])
def graph(request):
    path = FOLDER / f"{request.param}.txt.gz"
    if not path.exists():
        pytest.skip(f"expected the file {path.name} in ../shared/data, found none")
    return ev.read(path)


@pytest.fixture(scope="module")
def rival(graph):
    return IgraphTwin(graph)


@pytest.fixture(scope="module", params=[["cpu"], ["cpu:1", "cpu:1"]], ids=len)
def placed(request, graph):
    return ev.partition(graph, request.param)


@pytest.fixture(scope="module")
def sources(graph):
    """Numbers of vertices with out-edges: the one of the highest degree, and random ones."""
    degree = graph.out_degree()
    some = np.random.default_rng(0).choice(np.flatnonzero(degree), SOURCES - 1, replace=False)
    return [int(degree.argmax()), *some.tolist()]


def test_counts_match_the_headings_of_the_files(graph):
    """The headings of the files give these counts."""
    assert (graph.n, graph.m) in {(75_879, 508_837), (325_729, 1_497_134)}


def test_bfs(graph, rival, placed, sources):
    for source in sources:
        r = ev.bfs(placed, source=graph.ids[source])
        expected = rival.distance(source)
        assert (r["distance"] == np.where(np.isinf(expected), -1, expected)).all()
        ev.verify(r)


def test_sssp_without_weights(graph, rival, placed, sources):
    r = ev.sssp(placed, source=graph.ids[sources[0]])
    assert (r["distance"] == rival.distance(sources[0])).all()
    ev.verify(r)


def test_pagerank(rival, placed):
    expected = rival.rank()
    exact = ev.pagerank(placed, tol=0, max_iter=150, dtype="float64")["rank"]
    np.testing.assert_allclose(exact, expected, rtol=1e-6)
    short = ev.pagerank(placed, tol=0, max_iter=150)["rank"]
    np.testing.assert_allclose(short, expected, rtol=2e-6)


def test_wcc(graph, rival, placed):
    r = ev.wcc(placed)
    expected = rival.component()
    assert (r["component"] == graph.ids[expected]).all()
    assert r.outcome["components"] == len(np.unique(expected))


def test_betweenness_from_a_few_sources(graph, rival, placed, sources):
    r = ev.betweenness(placed, sources=graph.ids[sources], normalized=False)
    expected = rival.centrality(sources) * graph.n / len(sources)  # the estimate scales by n / sources
    np.testing.assert_allclose(r["centrality"], expected, rtol=1e-6, atol=1e-6)
