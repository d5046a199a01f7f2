"""Leiden: connected communities, of a modularity as high as that of Louvain in NetworkX."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import evener as ev
from evener.errors import ArgumentError, VerificationError
from evener.spec.answer import Claim
from evener.testing.algorithms import AlgorithmContract
from evener.testing.ranks import run_ranks
from evener.testing.splits import placements


class TestLeiden(AlgorithmContract):
    name = "leiden"
    any_right = ("community",)

    def expected(self, graph, arguments):
        return {}

    def test_answers_do_not_depend_on_the_split(self):
        """Communities are correct on one element, and equal on others."""
        for number, graph in enumerate(self.graphs()):
            placed, *others = placements(graph, self.kind, number)
            expected = ev.leiden(placed)
            self.check(expected, {})
            for pg in others:
                assert np.array_equal(ev.leiden(pg)["community"], expected["community"])


def rings(count=6, size=5):
    """Return a ring of cliques."""
    edges = nx.ring_of_cliques(count, size).edges
    return ev.Graph.from_edges(*np.array(edges).T, directed=False)


def random_graph(n=300, m=900, *, directed=False, weighted=False):
    rng = np.random.default_rng([n, m, directed])
    weights = rng.integers(1, 6, m).astype(np.int32) if weighted else None
    return ev.Graph.from_edges(*rng.integers(0, n, (2, m)), weights, directed=directed, n=n)


def groups(community):
    return [set(np.flatnonzero(community == one).tolist()) for one in np.unique(community)]


def test_cliques_are_communities():
    result = ev.leiden(rings())
    assert result["community"].tolist() == [v // 5 * 5 for v in range(30)]
    assert result.outcome["communities"] == 6


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_modularity_is_that_of_networkx_and_near_louvain(directed, weighted):
    graph = random_graph(directed=directed, weighted=weighted)
    result = ev.leiden(graph)
    theirs = graph.to_networkx()
    found = nx.community.modularity(theirs, groups(result["community"]))
    assert result.outcome["modularity"] == pytest.approx(found, abs=1e-12)
    louvain = nx.community.louvain_communities(theirs, seed=1)
    assert found > nx.community.modularity(theirs, louvain) - 0.02


def test_ranks_find_the_same_communities():
    graph = random_graph(weighted=True)
    expected = ev.leiden(graph, on="cpu:1")["community"]

    def run(world):
        result = ev.leiden(ev.partition(graph, ["cpu:1"] * (1 + world.rank)))
        ev.verify(result)
        return result["community"]

    assert np.array_equal(np.concatenate(run_ranks(2, run, late=1)), expected)


def test_a_higher_resolution_gives_more_communities():
    graph = random_graph()
    counts = [ev.leiden(graph, resolution=r).outcome["communities"] for r in (0.2, 1.0, 5.0)]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]


@pytest.mark.parametrize("run", [ev.leiden, ev.louvain])
def test_without_a_penalty_components_are_communities(run):
    graph = ev.read("uniform:8,edge_factor=1")
    result = run(graph, resolution=0, on=["cpu:1"] * 2)
    assert np.array_equal(result["community"], ev.wcc(graph)["component"])
    ev.verify(result)


def test_seeds_give_the_same_answer_again():
    graph = random_graph()
    one, other = (ev.leiden(graph, seed=3)["community"] for _ in range(2))
    assert np.array_equal(one, other)


@pytest.mark.parametrize(
    "arguments", [{"resolution": -1}, {"resolution": "x"}, {"seed": -1}, {"weights": 1.5}]
)
def test_bad_arguments_are_refused(arguments):
    with pytest.raises(ArgumentError, match=f"{next(iter(arguments))}=?:"):
        ev.leiden(rings(), **arguments)


@pytest.mark.parametrize(
    ("community", "rule"),
    [([0, 0, 2, 0], "reaches the first vertex"), ([0, 2, 2, 2], "named by its smallest vertex")],
)
def test_the_verifier_finds_wrong_communities(community, rule):
    graph = ev.Graph.from_edges([0, 1, 2], [1, 2, 3], directed=False)
    claim = Claim("leiden", graph, {"community": np.array(community)}, {}, {})
    with pytest.raises(VerificationError, match=rule):
        ev.verify(claim)
