"""Scores of pairs equal NetworkX's for any split and any ranks, given pairs or the best of all pairs."""

from __future__ import annotations

from itertools import product

import networkx as nx
import numpy as np
import pytest

import evener as ev
from evener.primitives import neighbour_rows
from evener.testing.algorithms import AlgorithmContract
from evener.testing.graphs import SHAPES, build
from evener.testing.ranks import run_ranks
from evener.testing.splits import placements
from support.reference import edges


def ratio(common, total):
    return common / total if total else 0.0


def inverse(values):
    return sum(1 / value for value in values if value)


# The score of two sets of neighbours, given the degrees of vertices.
SCORES = {
    "jaccard": lambda a, b, _: ratio(len(a & b), len(a | b)),
    "overlap": lambda a, b, _: ratio(len(a & b), min(len(a), len(b))),
    "common_neighbors": lambda a, b, _: len(a & b),
    "adamic_adar": lambda a, b, degree: inverse(np.log(degree[w]) for w in a & b),
    "resource_allocation": lambda a, b, degree: inverse(degree[w] for w in a & b),
}
OF_NETWORKX = {
    "jaccard": nx.jaccard_coefficient,
    "adamic_adar": nx.adamic_adar_index,
    "resource_allocation": nx.resource_allocation_index,
}
each = pytest.mark.parametrize("name", SCORES)


@pytest.fixture(autouse=True)
def several_batches(monkeypatch):
    monkeypatch.setattr(neighbour_rows, "MIN_BATCH", 40)


def simple(graph):
    made = nx.Graph()
    made.add_nodes_from(range(graph.n))
    made.add_edges_from(zip(*(one.tolist() for one in edges(graph)), strict=True))
    made.remove_edges_from(list(nx.selfloop_edges(made)))
    return made


def drawn(graph, count=80):
    return np.random.default_rng(graph.m).integers(0, graph.n, (count, 2))


def scored(name, graph, pairs):
    made = simple(graph)
    near, degree = {v: set(made[v]) for v in made}, dict(made.degree)
    return [SCORES[name](near[u], near[v], degree) for u, v in pairs.tolist()]


def best(name, graph, k):
    """Return the best pairs of numbers with their scores, highest first, then smaller numbers."""
    pairs = [(min(pair), max(pair)) for pair in nx.non_edges(simple(graph))]
    scores = scored(name, graph, np.array(pairs, np.int64).reshape(-1, 2))
    found = sorted((-score, pair) for score, pair in zip(scores, pairs, strict=True) if score > 0)
    return [(*pair, -score) for score, pair in found[:k]]


class _PairContract(AlgorithmContract):
    """Scores of given pairs."""

    tolerance = 1e-12

    def arguments(self, graph):
        return {"pairs": graph.ids[drawn(graph)]}

    def expected(self, graph, arguments):
        pairs = drawn(graph)
        first, second = graph.ids[pairs].T
        return {"first": first, "second": second, self.name: np.array(scored(self.name, graph, pairs))}


class TestJaccard(_PairContract):
    name = "jaccard"


class TestOverlap(_PairContract):
    name = "overlap"


class TestCommonNeighbors(_PairContract):
    name = "common_neighbors"


class TestAdamicAdar(_PairContract):
    name = "adamic_adar"


class TestResourceAllocation(_PairContract):
    name = "resource_allocation"


def rows(name, result):
    number = {vertex: i for i, vertex in enumerate(result.graph.ids.tolist())}
    ends = [[number[vertex] for vertex in result[end].tolist()] for end in ("first", "second")]
    return list(zip(*ends, result[name].tolist(), strict=True))


# The best pairs are found in the same way for each score: one meets all graphs, the others half of them.
BEST = [
    (name, shape)
    for i, name in enumerate(SCORES)
    for j, shape in enumerate(SHAPES)
    if name == "jaccard" or (i + j) % 2 == 0
]


@pytest.mark.parametrize(("name", "shape"), BEST)
def test_the_best_of_all_pairs(name, shape):
    graph = build(SHAPES[shape](), directed=False)
    expected = best(name, graph, 30)
    for pg in placements(graph, "cpu:1", list(SHAPES).index(shape) + list(SCORES).index(name)):
        result = getattr(ev, name)(pg, k=30)
        np.testing.assert_allclose(result[name], [score for *_, score in expected], rtol=1e-12)
        if name not in ("adamic_adar", "resource_allocation"):  # sums in another order decide ties
            assert [pair[:2] for pair in rows(name, result)] == [pair[:2] for pair in expected]
        ev.verify(result)


@pytest.mark.parametrize("name", OF_NETWORKX)
def test_networkx_has_the_same_scores(name):
    graph = build(SHAPES["rmat"](), directed=False)
    pairs = drawn(graph)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    expected = [score for *_, score in OF_NETWORKX[name](simple(graph), pairs.tolist())]
    np.testing.assert_allclose(getattr(ev, name)(graph, pairs=pairs)[name], expected)


@each
@pytest.mark.parametrize("eager", [False, True])
def test_ranks_find_the_best_of_all_pairs(name, eager):
    """Each rank, which is late in turn, has a part of the rows."""
    graph = build(SHAPES["rmat"](), directed=False)
    expected = [score for *_, score in best(name, graph, 20)]

    def run(world):
        placed = ev.partition(graph, ["cpu:1"] * (1 + world.rank % 2), policy="random")
        return getattr(ev, name)(placed, k=20)[name]

    for size, late in [(2, 0), (3, 1), (3, 2)]:
        np.testing.assert_allclose(np.concatenate(run_ranks(size, run, eager=eager, late=late)), expected)


def test_names_of_any_type():
    named = ev.Graph.from_networkx(nx.relabel_nodes(nx.path_graph(4), dict(enumerate("abcd"))))
    result = ev.jaccard(named, pairs=[("a", "c"), ("a", "d")])
    assert result.to_arrow().to_pylist() == [
        {"first": "a", "second": "c", "jaccard": 0.5},
        {"first": "a", "second": "d", "jaccard": 0.0},
    ]
    tuples = ev.Graph.from_networkx(nx.relabel_nodes(nx.path_graph(4), {v: (v, v) for v in range(4)}))
    assert ev.overlap(tuples, pairs=[((0, 0), (2, 2))])["overlap"].tolist() == [1.0]


@pytest.mark.parametrize("pairs", [[1, 2, 3], [(1, 2, 3)], [(1, 2), (1,)], np.zeros((2, 2, 2), int)])
def test_other_shapes_are_refused(pairs):
    with pytest.raises(ev.ArgumentError, match=r"expected two vertices for each pair"):
        ev.jaccard(ev.read("grid:3x3"), pairs=pairs)


@pytest.mark.parametrize("k", [0, -1, 1.5, "3"])
def test_a_wrong_number_of_pairs_is_refused(k):
    with pytest.raises(ev.ArgumentError, match=r"k=: expected an integer of at least 1, found"):
        ev.jaccard(ev.read("grid:3x3"), k=k)


def test_no_pairs():
    assert len(ev.jaccard(ev.read("grid:3x3"), pairs=[])["jaccard"]) == 0
    for n, elements in product((0, 3), (1, 2)):
        for pairs in (None, []):
            result = ev.jaccard(ev.Graph.from_edges([], [], n=n), pairs=pairs, on=["cpu:1"] * elements)
            assert len(result["jaccard"]) == 0
            ev.verify(result)
