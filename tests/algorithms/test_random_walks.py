"""Random walks: distributions against exact probabilities, equal walks for any split, and the verifier."""

from importlib import import_module

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather
from scipy.stats import chisquare

import evener as ev
from evener.cli import main
from evener.spec.answer import Claim
from evener.spec.verify import verify
from evener.testing.algorithms import AlgorithmContract
from evener.testing.graphs import SHAPES, build
from evener.testing.ranks import run_ranks
from support.fake_elements import parse_apart
from support.fake_gpu import FakeGpu

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


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize(("p", "q", "shared"), [(1000.0, 500.0, 0), (500.0, 1000.0, 0), (0.002, 1000.0, 1)])
def test_steps_that_are_nearly_always_rejected(p, q, shared, weights):
    """From 0, a walk steps to 1, which has edges to 0 and to 103 others. 0 has edges to `shared` of them."""
    size = [5.0, 1.0, 3.0, 0.0, *np.arange(1, 101)]
    src = [0, *[1] * len(size), *[0] * shared]
    dst = [1, 0, *range(2, len(size) + 1), *range(2, 2 + shared)]
    # The walk begins with the heavy edge to 1.
    graph = ev.Graph.from_edges(src, dst, np.array([1e6, *size, *[1.0] * shared]), n=len(size) + 1)
    options = {"p": p, "q": q, "weights": weights, "length": 2, "walks_per_vertex": 40_000, "seed": 3}
    walks = ev.random_walks(graph, [0], **options)["walk"]
    third = walks[walks[:, 1] == 1][:, 2]
    chance = np.array(size) if weights else np.ones(len(size))
    chance *= [1 / p, *[1.0] * shared, *[1 / q] * (len(size) - 1 - shared)]
    expected = np.zeros(graph.n)
    expected[[0, *range(2, len(size) + 1)]] = chance / chance.sum() * len(third)
    counts = np.bincount(third, minlength=graph.n)
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


def place_apart(graph, on):
    """Place a graph on elements with memories of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(import_module("evener.partition.placement"), "parse_elements", parse_apart)
        return ev.partition(graph, on)


@pytest.mark.parametrize("on", [["late:0"], ["apart:0", "peer:1"], ["cpu:1", "peer:1", "peer:1"]])
@pytest.mark.parametrize("rules", [{}, *RULES[1:3], {"p": 0.5, "restart": 0.3}])
def test_elements_with_their_own_memory_divide_the_walks(on, rules):
    graph = build(SHAPES["rmat"](), directed=True)
    expected = ev.random_walks(graph, length=9, walks_per_vertex=2, seed=3, **rules, on=["cpu:1"])
    placed = place_apart(graph, on)
    for _ in range(2):  # the second run uses the rows and sums of the first
        result = ev.random_walks(placed, length=9, walks_per_vertex=2, seed=3, **rules)
        np.testing.assert_array_equal(result["walk"], expected["walk"])
        assert result.edges == expected.edges == (expected["walk"][:, 1:] >= 0).sum()


def test_sums_of_weights_are_kept_with_the_placed_graph():
    placed = ev.partition(GRAPH, on="cpu:1")
    runs = [ev.random_walks(placed, seed=seed).timeline for seed in range(2)]
    assert [[span.phase for span in run.spans] for run in runs] == [["sum weights", "walk"], ["walk"]]
    assert all(span.compute > 0 for run in runs for span in run.spans)
    assert runs[1].spans[0].active == GRAPH.n


def test_a_gpu_without_memory_for_a_copy_of_the_edges(monkeypatch):
    expected = ev.random_walks(GRAPH, on="cpu:1")["walk"]
    module = import_module("evener.partition.placement")
    monkeypatch.setattr(module, "parse_elements", lambda *_, **__: [FakeGpu("cuda:0", 0)])
    placed = ev.partition(GRAPH, on="cuda:0")
    np.testing.assert_array_equal(ev.random_walks(placed)["walk"], expected)
    placed = ev.partition(GRAPH, on="cuda:0")
    monkeypatch.setattr(FakeGpu, "room_after", lambda *_: 100)
    message = r"needs \d+ bytes on cuda:0 for a copy of all edges, and 100 bytes are free; place .*cpu"
    with pytest.raises(ev.DeviceOutOfMemory, match=message):
        ev.random_walks(placed)


def test_ranks_with_parts_of_a_graph_are_refused():
    def run(_):
        with pytest.raises(ev.ArgumentError, match="needs the whole graph on each rank; read it with"):
            ev.random_walks("rmat:5", on="cpu:1")

    run_ranks(2, run)


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


FORMATS = {
    ".parquet": (pq.read_table, pq.write_table),
    ".arrow": (feather.read_table, feather.write_feather),
}


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("names", [False, True])
def test_saved_walks_are_verified(tmp_path, suffix, names, evener):
    ends = [np.array(list("abcde"))[column] if names else column for column in ([0, 1, 1, 1], [1, 0, 2, 3])]
    ev.write(ev.Graph.from_edges(*ends), tmp_path / "g.evg")
    path = tmp_path / f"walks{suffix}"
    result = ev.random_walks(ev.read(tmp_path / "g.evg"), length=4, on="cpu:1")
    result.write(path)
    words = ["verify", "random_walks", str(tmp_path / "g.evg"), str(path)]
    assert evener(*words).status == 0
    read, write = FORMATS[suffix]
    table = read(path)
    lists = table["walk"].to_pylist()
    wrong = [[*lists[0][:-1], *lists[0][:1]], [*lists[0], lists[0][0]], [], None, [None, *lists[0]]]
    for other in wrong:
        column = pa.array([other, *lists[1:]], table["walk"].type)
        write(pa.table({"walk": column}).replace_schema_metadata(table.schema.metadata), str(path))
        assert evener(*words).status == 3, other


def test_text_files_hold_no_lists(tmp_path):
    with pytest.raises(ev.ArgumentError, match=r"format with lists .* 'walk'; write .parquet or .arrow"):
        ev.random_walks(GRAPH, length=2).write(tmp_path / "walks.csv")
