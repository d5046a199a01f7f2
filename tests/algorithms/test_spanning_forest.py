"""The minimum spanning forest, compared with NetworkX."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import evener as ev
from evener.errors import ArgumentError, VerificationError
from evener.spec.answer import Claim
from evener.testing.algorithms import AlgorithmContract


def kruskal(graph, weights=None):
    """Return the rows of the forest: NetworkX's Kruskal, with edges sorted by weight, then by their ends."""
    tails = np.repeat(np.arange(graph.n), np.diff(graph.offsets).astype(np.int64))
    heads = graph.targets.astype(np.int64)
    own = np.ones(len(heads)) if weights is False or graph.weights is None else graph.weights.astype(float)
    u, v = np.minimum(tails, heads), np.maximum(tails, heads)
    tree = nx.utils.UnionFind(range(graph.n))
    rows = []
    for i in np.lexsort((v, u, own)).tolist():
        if tree[int(u[i])] != tree[int(v[i])]:
            tree.union(int(u[i]), int(v[i]))
            rows.append((int(u[i]), int(v[i]), float(own[i])))
    rows.sort()
    return rows


def columns(graph, rows):
    u, v, weight = (
        (np.array(values) for values in zip(*rows, strict=True)) if rows else [np.zeros(0, np.int64)] * 3
    )
    return {"u": graph.ids[u], "v": graph.ids[v], "weight": weight}


class TestSpanningForest(AlgorithmContract):
    name = "spanning_forest"

    def expected(self, graph, arguments):
        return columns(graph, kruskal(graph))


def weighted(seed=0, n=200, m=900, directed=False):
    rng = np.random.default_rng(seed)
    return ev.Graph.from_edges(
        *rng.integers(0, n, (2, m)), rng.integers(0, 6, m).astype(np.int32), directed=directed, n=n
    )


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("elements", [1, 3])
def test_ties_are_broken_by_the_ends(directed, elements):
    graph = weighted(directed=directed)
    result = ev.spanning_forest(graph, on=["cpu:1"] * elements)
    expected = kruskal(graph)
    assert list(zip(*(result[name].tolist() for name in result), strict=True)) == expected
    assert result.outcome["weight"] == sum(row[2] for row in expected)
    assert result.outcome["trees"] == graph.n - len(expected)


def test_the_weight_is_that_of_networkx():
    graph = weighted(3)
    forest = nx.minimum_spanning_edges(graph.to_networkx())
    assert ev.spanning_forest(graph).outcome["weight"] == sum(edge[-1]["weight"] for edge in forest)


def test_without_weights_each_edge_weighs_1():
    graph = weighted(4)
    result = ev.spanning_forest(graph, weights=False)
    assert set(result["weight"].tolist()) == {1.0}
    ev.verify(result)


def test_ids_of_the_graph_are_in_the_rows():
    graph = ev.Graph.from_edges(["b", "b", "a"], ["c", "a", "c"], [1.0, 2.0, 3.0], directed=False)
    result = ev.spanning_forest(graph)
    assert result.to_pandas().to_numpy().tolist() == [["a", "b", 2.0], ["b", "c", 1.0]]


def test_a_negative_weight_is_refused():
    with pytest.raises(ArgumentError, match="weights of 0 or more"):
        ev.spanning_forest(ev.Graph.from_edges([0], [1], [-1.0]))


@pytest.mark.parametrize(
    ("row", "change", "rule"),
    [
        (0, {"weight": 7.0}, "rows are edges of the graph with their weights"),
        (0, {"u": 3, "v": 1}, "u comes before v"),
        (0, {"u": 0, "v": 3}, "rows are edges of the graph"),
        (1, {"u": 0, "v": 1, "weight": 1.0}, "rows close no cycle"),
        (1, {"u": 0, "v": 2, "weight": 3.0}, "without heavier rows"),
        (None, {}, "in one tree"),
    ],
)
def test_the_verifier_finds_wrong_rows(row, change, rule):
    graph = ev.Graph.from_edges([0, 1, 0, 2], [1, 2, 2, 3], [1.0, 2.0, 3.0, 1.0], directed=False)
    result = ev.spanning_forest(graph)
    arrays = {name: result[name].copy() for name in result}
    for name, value in change.items():
        arrays[name][row] = value
    if row is None:
        arrays = {name: values[:-1] for name, values in arrays.items()}
    with pytest.raises(VerificationError, match=rule):
        ev.verify(Claim("spanning_forest", graph, arrays, result.parameters, result.outcome))
