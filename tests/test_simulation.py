"""The simulation of many machines in benchmarks/, and its comparison with papers and measured runs."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import evener as ev

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
MODULES = (
    "simulation",
    "simulate",
    "gpu_simulation",
    "scaling",
    "g16_fig4",
    "g16_fig5",
    "g16_fig6",
    "g16_fig7",
)


@pytest.fixture(scope="module")
def bench():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        patch.syspath_prepend(str(BENCHMARKS / "figures"))
        yield SimpleNamespace(**{name: importlib.import_module(name) for name in MODULES})


def test_a_prediction_equals_one_computed_by_hand(bench):
    """Two machines with two elements each: computing of the slowest element, plus communication."""
    parts = bench.simulation.Parts(
        machine=np.array([0, 0, 1, 1]), kind=np.array([0, 1, 0, 1]),
        edges=np.array([10.0, 100, 20, 100]), vertices=np.array([5.0, 50, 5, 50]),
        host_edges=np.array([0.0, 40, 0, 0]), mirrors=np.array([1.0, 2, 3, 4]),
        remote_mirrors=np.array([4.0, 3, 2, 1]),
    )  # fmt: skip
    rates = [bench.simulation.Rates(2.0, 1.0), bench.simulation.Rates(0.1, 0.5, 1.0)]
    link = bench.simulation.Link(latency=0.5, bandwidth=4.0, overhead=10.0)
    found = bench.simulation.predict(parts, rates, link, supersteps=3, pushed=0, pulled=4)
    # The elements compute 25, 60 · 0.1 + 40 + 25 = 71, 45 and 35 seconds. Machine 0 sends 28 bytes to machine
    # 1 and receives 12. Communication needs 28 / 4 + 3 (10 + (1 + log2 2) 0.5) seconds.
    assert found == (71, 7 + 3 * 11)


def test_rates_are_fitted_to_runs(bench):
    """Runs with 2 seconds per edge and 3 per vertex give these rates."""
    assert bench.simulation.fit([[10, 1], [4, 4]], [23, 20]) == pytest.approx((2, 3))


@pytest.mark.parametrize("machines", [3, 32])
def test_expected_sizes_equal_counted_sizes(bench, machines):
    """Vertices and mirrors match a generated R-MAT graph; edges match the drawn edges."""
    graph = ev.read("rmat:13,edge_factor=8")
    counted = bench.simulation.counted(graph, "both", "lpt", machines, [1.0])
    classes = bench.simulation.rmat_classes(13, 8)
    assert classes.edges == pytest.approx(2 * 8 * 2**13)
    expected = bench.simulation.expected(classes, "lpt", machines, [1.0])
    assert expected.edges.sum() == pytest.approx(classes.edges, rel=0.01)
    for name in ("vertices", "mirrors", "remote_mirrors"):
        assert getattr(expected, name).sum() == pytest.approx(getattr(counted, name).sum(), rel=0.02)


def test_longest_first_gives_the_loads_of_the_paper(bench):
    """S13, figure 6, has tasks of 8, 5, 4, 3 and 1 on three processors."""
    loads = bench.simulation._longest_first(np.array([8.0, 5, 4, 3, 1]), np.full(3, 1 / 3))
    assert loads.tolist() == [8, 6, 7]
    assert bench.simulation._fill(loads, np.full(3, 1 / 3), 6.0).tolist() == pytest.approx([9, 9, 9])
    assert bench.simulation._fill(loads, np.full(3, 1 / 3), 1.0).tolist() == pytest.approx([8, 7, 7])


def test_the_machines_of_g16(bench):
    """The simulation gives the α of the paper (§IV.B and §IV.E) and two times from its text."""
    for graph, machines, share in (("G4", 1, 0.8), ("G4", 2, 0.5), ("G4", 4, 0.04), ("G5", 4, 0.85)):
        assert bench.g16_fig7.alpha(graph, machines) == pytest.approx(share, abs=0.051)
    seconds = {p: bench.g16_fig7._simulated("G4", p)["seconds"] for p in (1, 4, 8)}
    assert seconds[8] == pytest.approx(5.3, rel=0.1)
    assert seconds[1] / seconds[4] == pytest.approx(6, rel=0.1)


def test_weak_scaling_has_equal_edges_per_rank(bench):
    graphs = [bench.scaling.weak_graph(10, ranks) for ranks in (1, 2, 3, 4)]
    assert graphs[2] == "rmat:11,edge_factor=24"
    edges = [int(g.partition("factor=")[2]) << int(g[5:7]) for g in graphs]
    assert edges == [16 * ranks << 10 for ranks in (1, 2, 3, 4)]


def test_three_ranks_are_predicted_from_one_and_two(bench):
    """2 s per edge, 5 s per superstep and free communication give 12 / 3 · 2 · 1.5 + 5 · 1.5 seconds."""

    def row(ranks, edges, seconds):
        sizes = {"edges": edges / ranks, "connected": 0, "mirrors": 0, "remote_mirrors": 0}
        return {
            "kind": "strong", "task": "pagerank", "on": "cpu:1", "ranks": ranks, "graph": "rmat:4",
            "supersteps": 1, "median_seconds": seconds, "elements": [{"sizes": sizes}] * ranks,
        }  # fmt: skip

    rows = [row(1, 12, 24), row(1, 24, 48), row(2, 12, 17), row(3, 12, 20)]
    document = {"rows": rows, "cores": 2, "routes": [{"latency": 0.0, "bandwidth": 1.0}]}
    checks = list(bench.simulate.check_ranks(document))
    assert [one["predicted_seconds"] for one in checks] == pytest.approx([24, 48, 17, 8 * 1.5 + 7.5])
    assert checks[3]["error"] == pytest.approx(19.5 / 20 - 1)
    assert [one["fitted"] for one in checks] == [True, True, True, False]


def run_of(policy, task="pagerank", graph="G4", ranks=2, alpha=None, seconds=1.0):
    spent = {"compute": 2.0, "send": 0.25, "receive": 0.25}
    sizes = {"edges": 10, "vertices": 4}
    return {
        "graph": graph, "task": task, "policy": policy, "ranks": ranks, "on": "cpu:1,cpu:1", "alpha": alpha,
        "median_seconds": seconds, "seconds": [seconds], "stored_edges": 40,
        "elements": [{"kind": "cpu", "sizes": sizes}] * 4, "spent": [spent] * 4,
    }  # fmt: skip


OPTIONS = SimpleNamespace(
    on="cpu:1,cpu:1", ranks=2, most_ranks=2, alphas=[0.1, 0.5], gpu_memory=None, scale=19
)  # fmt: skip


def test_text_names_the_cost_of_a_share_that_is_not_the_best(bench):
    """BFS is fastest with α = 0.1, and half as fast with PageRank's best α of 0.5."""
    runs = [
        run_of(policy, task, ranks=1, alpha=alpha, seconds=seconds)
        for policy in ("DP-RH", "PD-HR")
        for task, alpha, seconds in (
            ("pagerank", 0.1, 9.0), ("pagerank", 0.5, 6.0), ("bfs", 0.1, 1.0), ("bfs", 0.5, 2.0),
            ("wcc", 0.1, 4.0), ("wcc", 0.5, 3.0),
        )
    ]  # fmt: skip
    said = bench.g16_fig4.here(bench.g16_fig4.rows(runs, OPTIONS))
    assert said.count("α of 0.5 takes 2.00 times as long as the best α for BFS, 1.00 times for WCC") == 2


def test_policies_are_ranked_by_time(bench):
    policies = bench.g16_fig5.cases(OPTIONS)
    runs = [run_of(one.policy, seconds=1 + i) for i, one in enumerate(policies) if one.graph == "G4"]
    rows = bench.g16_fig5.rows(runs, OPTIONS)
    assert [row["place"] for row in rows] == list(range(1, 11))
    assert "C-PG is among the first three in 1 of 1 cases" in bench.g16_fig5.here(rows)
    assert bench.g16_fig5.panels(rows)[1].series["C-R"] == (["G4"], [pytest.approx(12 / 11)])


def test_breakdown_of_time_by_machine_and_element(bench):
    rows = bench.g16_fig6.rows([run_of("C-PG"), run_of("DP-OH")], OPTIONS)
    assert [(row["machine"], row["element"]) for row in rows[:4]] == [(1, 1), (1, 2), (2, 1), (2, 2)]
    said = bench.g16_fig6.here(rows)
    assert "C-PG: the slowest element computes 0% longer than the mean; " in said
    assert "C-PG: communicating is 25% of computing; " in said


def test_several_gpus_are_predicted_from_one(bench):
    """The rate of one GPU with as many vertices and mirrors, and bytes over the bandwidth, by hand."""
    model = bench.gpu_simulation
    whole = bench.simulation.expected(bench.simulation.rmat_classes(13), "random", 2, [1.0])
    values, mirrors = float((whole.vertices + whole.mirrors).max()), float(whole.mirrors.max())
    curve = [(values / 4, 1e-9), (values * 4, 3e-9)]
    counts = model.Counts(supersteps=1, mirror_bytes=8.0, mirror_values=2.0)
    links = {"copied bytes a second": 2.0, "random reads of the own memory a second": 4.0}
    computing, exchanging = 500 * 2e-9, mirrors * 8 / 2 + mirrors * 2 * 2 / 4
    small = {"median_seconds": 0.5, "kernels": 0.125, "exchange": 0.25}
    found = model.predict(13, 2, 1000, curve, small, links, counts, queued=False)
    assert found == pytest.approx((0.5, computing, exchanging))
    found = model.predict(13, 2, 1000, curve, small, links, counts, queued=True)
    assert found == pytest.approx((0.375, computing, exchanging - computing / 2))
