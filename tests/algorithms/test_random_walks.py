"""Random walks: distributions against exact probabilities, equal walks for any split, and the verifier."""

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy.stats import chisquare

import evener as ev
from evener.cli import main
from evener.spec.answer import Claim
from evener.spec.verify import verify
from evener.testing.algorithms import AlgorithmContract
from evener.testing.graphs import SHAPES, build

WEIGHTS = np.array([1.0, 2.0, 4.0, 0.5, 0.0, 3.0])
# An edge from 0 to 1, from 1 to 0, 2, 3, 3, 4, and from 0 to 2; vertices 2 to 4 are dead ends.
GRAPH = ev.Graph.from_edges([0, 1, 1, 1, 1, 0], [1, 0, 2, 3, 4, 2], WEIGHTS, n=5)
RULES = [{}, {"weights": False}, {"p": 0.25, "q": 4.0}, {"p": 8.0, "q": 0.5, "weights": False}]


def probabilities(*, weights=True, p=1.0, q=1.0):
    """Return the probability of each vertex after the steps from 0 and then to 1."""
    dense = np.zeros((5, 5))
    dense[[0, 1, 1, 1, 1, 0], [1, 0, 2, 3, 4, 2]] = WEIGHTS if weights else 1.0
    bias = np.where(dense[0] > 0, 1.0, 1 / q)
    bias[0] = 1 / p
    chance = dense[1] * bias
    return chance / chance.sum()


@pytest.mark.parametrize("rules", RULES)
def test_steps_have_the_right_probabilities(rules):
    walks = ev.random_walks(GRAPH, [0], length=2, walks_per_vertex=60_000, seed=5, **rules)["walk"]
    third = walks[walks[:, 1] == 1][:, 2]
    expected = probabilities(**rules) * len(third)
    counts = np.bincount(third, minlength=5)
    assert (counts[expected == 0] == 0).all()
    assert chisquare(counts[expected > 0], expected[expected > 0]).pvalue > 1e-4


def test_restarts_have_the_given_probability():
    cycle = ev.Graph.from_edges(np.arange(100), (np.arange(100) + 1) % 100)
    walks = ev.random_walks(cycle, length=200, restart=0.25, seed=2)["walk"]
    restarts = int((walks[:, 1:] == walks[:, :1]).sum())
    steps = walks[:, 1:].size
    assert chisquare([restarts, steps - restarts], [steps / 4, steps * 3 / 4]).pvalue > 1e-4


class TestRandomWalks(AlgorithmContract):
    """Walks of the simple rule on any elements and ranks equal those on one thread."""

    name = "random_walks"

    def arguments(self, graph):
        return {"length": 9}

    def expected(self, graph, arguments):
        return {"walk": ev.random_walks(graph, **arguments, on="cpu:1")["walk"]}


class TestBiasedWalks(TestRandomWalks):
    """Walks with restarts that depend on two vertices."""

    def arguments(self, graph):
        return {"length": 9, "p": 0.5, "q": 2.0, "restart": 0.1}


@pytest.mark.parametrize(("row", "column", "value"), [(0, 0, 5), (0, 1, 0), (0, 1, -1), (0, 2, 77)])
def test_the_verifier_rejects_a_changed_walk(row, column, value):
    graph = build(SHAPES["grid"](), directed=True)
    result = ev.random_walks(graph, length=4)
    walks = result["walk"].copy()
    walks[row, column] = value
    with pytest.raises(ev.VerificationError):
        verify(Claim("random_walks", graph, {"walk": walks}, result.parameters, result.outcome))


@pytest.mark.parametrize(
    "wrong",
    [{"length": 0}, {"walks_per_vertex": 1.5}, {"p": 0}, {"q": 1e6}, {"restart": 1.1}, {"seed": -1}],
)
def test_wrong_arguments_are_named(wrong):
    with pytest.raises(ev.ArgumentError, match=f"{next(iter(wrong))}=: expected"):
        ev.random_walks(GRAPH, **wrong)


def test_the_command_line_writes_lists(tmp_path):
    ev.write(GRAPH, tmp_path / "g.evg")
    table = tmp_path / "walks.parquet"
    words = ["run", "random_walks", str(tmp_path / "g.evg"), "--on", "cpu:1", "-o", str(table)]
    assert main([*words, "--length", "2", "--sources", "0", "--sources", "2"]) == 0
    rows = pq.read_table(table)["walk"].to_pylist()
    assert rows[1] == [2]
    assert rows[0][0] == 0
