"""The computation ratio r of G16: its fit, its file, and the share of the CPU."""

from __future__ import annotations

import json

import pytest

import evener as ev
from evener.planning import ratio
from evener.planning.ratio import RatioFit, cpu_share, fit_ratio, stored_ratio, write_ratio

# G16 §IV.B: r for up to 50, 125 and 350 million edges.
PAPER = RatioFit("GTX 480", 9.3, 0.2e-6, (50e6, 125e6), (19.5, 23.7))


def test_a_fit_finds_the_formula_of_the_paper():
    """The fit gets exact values for nine numbers of edges, three in each range of the paper."""
    edges = [10e6, 30e6, 50e6, 60e6, 100e6, 125e6, 200e6, 300e6, 350e6]
    fit = fit_ratio("GTX 480", edges, [PAPER.ratio(one) for one in edges])
    assert (fit.intercept, fit.slope) == (pytest.approx(9.3), pytest.approx(0.2e-6))
    assert (fit.breaks, fit.levels) == (PAPER.breaks, pytest.approx(PAPER.levels))


def test_few_workloads_give_a_constant():
    fit = fit_ratio("cpu", [100, 100], [2.0, 4.0])
    assert (fit.ratio(1), fit.ratio(1e9)) == (3.0, 3.0)


def test_alpha_of_the_paper():
    """G16 §IV.B: α on four machines is 0.09, 0.06, 0.04 and 0.04 for the first four graphs of table IV.

    For the fifth graph, GPU memory requires at least 0.85. The paper rounds, perhaps down.
    """
    edges = [5_018_445, 101_740_632, 687_174_631, 1_047_207_019]
    found = [cpu_share(PAPER.ratio(one / 4)) for one in edges]
    assert found == pytest.approx([0.09, 0.06, 0.04, 0.04], abs=0.006)
    assert cpu_share(PAPER.ratio(3_612_134_270 / 4), least=0.85) == 0.85
    assert cpu_share(10, gpus=2) == pytest.approx(1 / 21)


def test_a_fit_is_stored_for_one_machine_and_gpu(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert stored_ratio("GTX 480") is None
    path = write_ratio(PAPER)
    assert stored_ratio("GTX 480") == PAPER
    assert stored_ratio("another GPU") is None
    document = json.loads(path.read_text())
    for changed in (
        document | {"machine": "another"},
        document | {"version": 0},
        document | {"levels": []},
        document | {"more": 1},
        document | {"slope": float("nan")},
        document | {"slope": "1"},
        document | {"intercept": float("inf")},
        document | {"intercept": 10**400},
        document | {"intercept": -(10**9)},
        document | {"levels": [1, -1]},
        document | {"levels": [1, 10**400]},
        document | {"breaks": [2, 1]},
        document | {"breaks": [float("nan"), 1]},
        [],
    ):
        path.write_text(json.dumps(changed))
        assert stored_ratio("GTX 480") is None
    for text in ("{", "[" * 100_000, "null", ""):
        path.write_text(text)
        assert stored_ratio("GTX 480") is None


@pytest.mark.usefixtures("gpus")
@pytest.mark.parametrize("policy", ["C-PG", "DP-OH"])
def test_plans_use_the_measured_ratio(policy):
    graph = ev.read("rmat:10")
    write_ratio(RatioFit("an unknown GPU", 19.0, 0.0, (), ()))
    planned = ev.plan(graph, "pagerank", on="cpu:1,cuda:0", policy=policy)
    assert planned.alpha == pytest.approx(0.05)
    assert ev.plan(graph, "pagerank", on="cpu:1,cuda:0", policy=policy, alpha=0.3).alpha == 0.3
    (compared,) = ev.compare_policies(graph, "pagerank", on="cpu:1,cuda:0", policies=["C-PG"])
    assert compared.edges[0] == pytest.approx(0.05 * graph.m, abs=int(graph.out_degree().max()))


@pytest.mark.usefixtures("gpus")
def test_gpu_memory_sets_the_smallest_share(monkeypatch):
    """Without a limit, α is 0.05. With a limit that needs 0.35 (α_l), α is 0.35."""
    write_ratio(RatioFit("an unknown GPU", 19.0, 0.0, (), ()))
    monkeypatch.setattr(ratio, "_fits", lambda *args: args[-1] >= 0.35)
    assert ev.plan(ev.read("rmat:8"), "pagerank", on="cpu:1,cuda:0", policy="C-PG").alpha == 0.35


@pytest.mark.usefixtures("gpus")
@pytest.mark.parametrize(("on", "model"), [("cpu:1,cpu:1", "cpu"), ("cpu:1,cuda:0", "an unknown GPU")])
def test_profile_measures_the_ratio(evener, on, model):
    """Each graph has ten workloads: parts of 10% to 50% of the edges and their complements."""
    words = ("profile", "--paper", "--on", on, "--scales", "6,8", "--seeds", "2")
    found = json.loads(evener(*words, "--json").out)
    graphs = [ev.read("rmat:6"), ev.read("rmat:8")]
    assert len(found["points"]) == 20
    for scale, graph in zip((6, 8), graphs, strict=True):
        own = [one for one in found["points"] if one["scale"] == scale]
        for part, rest, wanted in zip(own[::2], own[1::2], (0.1, 0.2, 0.3, 0.4, 0.5), strict=True):
            assert part["edges"] + rest["edges"] == graph.m
            assert part["edges"] == pytest.approx(wanted * graph.m, abs=int(graph.out_degree().max()))
            assert min(part["first_seconds"], part["second_seconds"], part["ratio"]) > 0
    assert found["fit"]["model"] == model
    assert stored_ratio(model) is not None
    assert "Recorded in " in evener(*words[:-4], "--scales", "6", "--seeds", "1").out


def test_profile_rejects_other_arguments(evener):
    for wrong, message in (
        (("profile", "--scales", "6"), "expected --paper too"),
        (("profile", "--paper", "--on", "cpu:1", "--scales", "6"), "expected a CPU and another element"),
        (("profile", "--paper", "--scales", "x"), "expected scales separated by commas"),
    ):
        done = evener(*wrong)
        assert (done.status, message in done.err) == (2, True), done.err
