"""The reference implementations agree with NetworkX."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from evener.graph.graph import Graph
from support import reference
from support.reference import as_networkx, random_graph

SOURCE = 3


@pytest.fixture(params=[True, False], ids=["directed", "undirected"])
def graph(request):
    return random_graph(directed=request.param)


def test_bfs_equals_networkx(graph):
    distance, parent = reference.bfs(graph, SOURCE)
    lengths = nx.single_source_shortest_path_length(as_networkx(graph), SOURCE)
    assert {v: d for v, d in enumerate(distance.tolist()) if d >= 0} == lengths
    assert parent[SOURCE] == SOURCE
    assert ((parent == -1) == (distance == -1)).all()


def test_pagerank_equals_networkx(graph):
    for weights in (True, False):
        weight = "weight" if weights else None
        wanted = nx.pagerank(as_networkx(graph), tol=1e-14, max_iter=1000, weight=weight)
        found = reference.pagerank(graph, tol=1e-14, weights=weights)
        np.testing.assert_allclose(found, list(wanted.values()), rtol=1e-9)


def test_personalized_pagerank_equals_networkx(graph):
    weights = {v: v % 3 for v in range(graph.n)}
    wanted = nx.pagerank(as_networkx(graph), tol=1e-14, max_iter=1000, personalization=weights)
    found = reference.pagerank(graph, tol=1e-14, personalization=list(weights.values()))
    np.testing.assert_allclose(found, list(wanted.values()), rtol=1e-9)


def test_wcc_equals_networkx(graph):
    component = reference.wcc(graph)
    for members in nx.weakly_connected_components(as_networkx(graph)):
        assert {component[v] for v in members} == {min(members)}


def test_sssp_equals_networkx(graph):
    distance, parent = reference.sssp(graph, SOURCE)
    lengths = nx.single_source_dijkstra_path_length(as_networkx(graph), SOURCE)
    assert {v: d for v, d in enumerate(distance.tolist()) if d < np.inf} == pytest.approx(lengths)
    assert ((parent == -1) == np.isinf(distance)).all()


def test_betweenness_equals_networkx(graph):
    # A simple graph, because repeated edges would add paths in the reference.
    simple = nx.DiGraph(as_networkx(graph))
    tails, heads = np.array(simple.edges()).T
    ours = Graph.from_edges(tails, heads, directed=True, n=graph.n)
    wanted = nx.betweenness_centrality(simple, normalized=False)
    np.testing.assert_allclose(reference.betweenness(ours), list(wanted.values()), rtol=1e-9, atol=1e-9)
