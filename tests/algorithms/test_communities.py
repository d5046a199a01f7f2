"""Louvain, label propagation and modularity, compared with twins in plain Python and with NetworkX."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import evener as ev
from evener.errors import ArgumentError, VerificationError
from evener.spec.answer import Claim
from evener.testing.algorithms import AlgorithmContract
from support import communities as twins


def by_networkx(graph):
    """Return the graph in NetworkX with positions as nodes."""
    found = (nx.MultiDiGraph if graph.directed else nx.MultiGraph)()
    tails = np.repeat(np.arange(graph.n), np.diff(graph.offsets).astype(np.int64))
    weights = np.ones(graph.m) if graph.weights is None else graph.weights
    kept = slice(None) if graph.directed else tails <= graph.targets
    found.add_nodes_from(range(graph.n))
    found.add_weighted_edges_from(
        zip(*(one[kept].tolist() for one in (tails, graph.targets, weights)), strict=True)
    )
    return found


def sets_of(community):
    return [set(np.flatnonzero(community == one).tolist()) for one in np.unique(community)]


def random_graph(seed, *, n=60, m=150, directed=False, weights="float64"):
    rng = np.random.default_rng(seed)
    own = None if weights is None else (8 * rng.random(m)).astype(weights)
    return ev.Graph.from_edges(*rng.integers(0, n, (2, m)), own, directed=directed, n=n)


class TestLouvain(AlgorithmContract):
    name = "louvain"

    def expected(self, graph, arguments):
        return {"community": graph.ids[twins.louvain(graph)[0]]}


class TestLabelPropagation(AlgorithmContract):
    name = "label_propagation"

    def expected(self, graph, arguments):
        return {"community": graph.ids[twins.label_propagation(graph)[0]]}


class TestModularity(AlgorithmContract):
    name = "modularity"

    def arguments(self, graph):
        return {"communities": np.arange(graph.n) % 5}

    def expected(self, graph, arguments):
        found = 0.0
        if graph.m:
            found = nx.community.modularity(by_networkx(graph), sets_of(arguments["communities"]))
        return {"modularity": np.array([found])}

    def test_the_command_line_runs_and_verifies_it(self, tmp_path, capsys):
        graph, table = str(tmp_path / "g.evg"), str(tmp_path / "communities.parquet")
        ev.write(random_graph(1), graph)
        assert ev.cli.main(["run", "louvain", graph, "--on", "cpu:1", "-o", table]) == 0
        capsys.readouterr()
        assert ev.cli.main(["run", "modularity", graph, "--on", "cpu:1", "--communities", table]) == 0
        expected = ev.louvain(ev.read(graph), on="cpu:1").outcome["modularity"]
        assert f"modularity {expected:.6f}" in capsys.readouterr().out


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weights", [None, "int32", "float32", "float64"])
def test_modularity_is_that_of_networkx(directed, weights):
    for seed in range(4):
        graph, resolution = random_graph(seed, directed=directed, weights=weights), 0.5 + seed / 2
        given = by_networkx(graph)
        result = ev.louvain(graph, resolution=resolution, on="cpu:1")
        ev.verify(result)
        positions = np.searchsorted(graph.ids, result["community"])
        expected = nx.community.modularity(given, sets_of(positions), resolution=resolution)
        assert result.outcome["modularity"] == pytest.approx(expected, abs=1e-9)
        assert result.outcome["communities"] == len(np.unique(positions))
        rival = nx.community.louvain_communities(given, resolution=resolution, seed=seed)
        assert expected > nx.community.modularity(given, rival, resolution=resolution) - 0.05


@pytest.mark.parametrize("run", [ev.louvain, ev.label_propagation])
@pytest.mark.parametrize("weights", [None, "float32"])
def test_communities_do_not_depend_on_the_split(run, weights):
    graph = random_graph(5, n=700, m=1000, weights=weights)
    expected = run(graph, on="cpu:1")
    for on in ("cpu:2", ["cpu:1"] * 3):
        result = run(graph, on=on, policy="random")
        assert np.array_equal(result["community"], expected["community"])
        assert result.outcome == expected.outcome
    assert not np.array_equal(run(graph, seed=2, on="cpu:1")["community"], expected["community"])


def test_weights_are_used_unless_the_caller_says_otherwise():
    heavy = ev.Graph.from_edges([0, 1, 2], [1, 2, 3], [1.0, 9.0, 1.0], directed=False)
    plain = ev.Graph.from_edges([0, 1, 2], [1, 2, 3], directed=False)
    for run in (ev.louvain, ev.label_propagation):
        unweighted = run(heavy, weights=False, on="cpu:1")
        ev.verify(unweighted)
        assert unweighted["community"].tolist() == run(plain, on="cpu:1")["community"].tolist()
    assert float(ev.modularity(heavy, [0, 0, 1, 1], weights=False)) == pytest.approx(
        float(ev.modularity(plain, [0, 0, 1, 1]))
    )


def test_levels_and_resolution_limit_a_run():
    graph = random_graph(2, n=500, m=1500, weights=None)
    first = ev.louvain(graph, max_levels=1, on="cpu:1")
    assert first.outcome["levels"] == 1
    assert first.outcome["modularity"] < ev.louvain(graph, on="cpu:1").outcome["modularity"]
    small, large = (ev.louvain(graph, resolution=one, on="cpu:1") for one in (3.0, 0.3))
    assert small.outcome["communities"] > large.outcome["communities"]


def test_label_propagation_stops_at_the_limit():
    graph = random_graph(2, n=500, m=1500, weights=None)
    result = ev.label_propagation(graph, max_iter=1, on="cpu:1")
    ev.verify(result)
    assert (result.outcome["iterations"], result.outcome["converged"]) == (1, False)
    whole = ev.label_propagation(graph, on="cpu:1")
    assert whole.outcome["converged"]
    assert whole.outcome["iterations"] == twins.label_propagation(graph)[1]


@pytest.mark.parametrize("run", [ev.louvain, ev.label_propagation])
def test_a_run_continues_from_a_checkpoint(run, tmp_path):
    graph = random_graph(2, n=900, m=2500, weights=None)
    expected = run(graph, on="cpu:1")
    folder = tmp_path / "c"
    limit = {"max_levels": 1} if run is ev.louvain else {"max_iter": 2}
    run(graph, **limit, on="cpu:1", checkpoint=ev.Checkpoint(folder, every="1step"))
    result = run(graph, on=["cpu:1"] * 2, checkpoint=ev.Checkpoint(folder, every="1step", resume=True))
    assert np.array_equal(result["community"], expected["community"])
    assert result.outcome == expected.outcome


@pytest.mark.parametrize(
    ("run", "arguments", "message"),
    [
        (ev.louvain, {"resolution": -1}, "resolution=: expected a finite number of at least 0"),
        (ev.louvain, {"max_levels": 0}, "max_levels=: expected an integer of at least 1 or None"),
        (ev.louvain, {"tol": -1}, "tol=: expected a number of at least 0"),
        (ev.louvain, {"seed": -1}, "seed=: expected an integer of at least 0"),
        (ev.label_propagation, {"max_iter": -1}, "max_iter=: expected an integer of at least 0"),
        (ev.modularity, {"communities": [1]}, "communities=: expected one per vertex"),
        (ev.modularity, {"communities": {0: 1}}, "communities=: expected each of 4 vertices"),
    ],
)
def test_bad_arguments_get_one_sentence(run, arguments, message):
    graph = ev.Graph.from_edges([0, 1, 2], [1, 2, 3], directed=False)
    with pytest.raises(ArgumentError, match=message):
        run(graph, **arguments, on="cpu:1")


def test_the_verifier_finds_each_kind_of_wrong_answer():
    graph = ev.Graph.from_edges([0, 0, 1, 2, 3, 3, 4], [1, 2, 2, 3, 4, 5, 5], directed=False, n=7)
    right = np.array([0, 0, 0, 3, 3, 3, 6])

    def claim(community, **outcome):
        return Claim("louvain", graph, {"community": np.array(community)}, outcome=outcome)

    ev.verify(claim(right, modularity=5 / 14, communities=3))
    for wrong, rule in (
        (claim([0, 0, 0, 4, 4, 4, 6]), "named by its smallest vertex"),
        (claim([0, 0, 0, 3, 3, 3, 3]), "without neighbours is alone"),
        (claim([0, 0, 0, 3, 3, -1, 6]), "each vertex has a community"),
        (claim(right, modularity=0.4), "the modularity of the communities"),
        (claim(right, communities=4), "the number of communities"),
    ):
        with pytest.raises(VerificationError, match=rule):
            ev.verify(wrong)
    unsettled = {"community": np.array([0, 0, 2, 3, 3, 3, 6])}
    settled = Claim("label_propagation", graph, unsettled, outcome={"converged": True})
    with pytest.raises(VerificationError, match="no community has more of the weight"):
        ev.verify(settled)
