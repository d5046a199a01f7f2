"""A plan of the command line for a graph that does not fit the GPU, and the run that follows it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from evener.planning.rates import keep
from given_rates import rates

from evener import profile
from evener.elements import parse_elements
from evener.planning import place as auto

# Its 425,856 stored edges take 3.2 MiB with their weights. Beside what vertices take, a half has room.
GRAPH = "rmat:14,weights=1..255"
ROOM = "2.5MiB"
BYTES_AN_EDGE = 8  # of which 4 are its weight
# What to run with, and the passes that are predicted: iterations, or sources.
PASSES = {
    "bfs": ([], 1),
    "sssp": ([], 1),
    "wcc": ([], 1),
    "pagerank": (["--tol", "0", "--max-iter", "20"], 20),
    "betweenness": (["-k", "4"], 4),
}
# By what is best then: what an edge takes on the CPU, on the GPU, and more if it is read across the bus.
CHOICES = {
    "cpu": {"cpu": 1e-12, "gpu": 1e-9, "mapped": 4e-8},
    "cuda:0": {"cpu": 1e-6, "gpu": 1e-9, "mapped": 1e-9},
    "cpu,cuda:0": {"cpu": 4e-8, "gpu": 1e-9, "mapped": 4e-8},
}


@pytest.fixture
def keep_rates(monkeypatch, tmp_path):
    """Keeps rates as if they had been measured on this machine, with one of its GPUs."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(auto, "gpus", lambda: 1)
    threads = parse_elements("cpu,cuda:0")[0].threads
    return lambda **given: keep(replace(rates(**given), threads=threads, machine=profile.machine()))


@pytest.mark.parametrize("best", CHOICES)
@pytest.mark.parametrize("algorithm", PASSES)
def test_a_run_goes_where_its_plan_says(keep_rates, evener, algorithm, best):
    """To the elements that the rates make fastest; by what lies where then it is to take as long."""
    keep_rates(**CHOICES[best])
    options, passes = PASSES[algorithm]
    planned = json.loads(evener("plan", GRAPH, "--for", algorithm, "--gpu-memory", ROOM, "--json").out)
    assert ",".join(planned["on"]) == best
    done = evener("run", algorithm, GRAPH, "--gpu-memory", ROOM, *options, "--verify", "--json")
    assert done.status == 0, done.err  # so the answer was verified
    found = json.loads(done.out)["prediction"]
    assert [one["name"] for one in found["elements"]] == planned["on"]
    # The run's is by the partitions as they are; a plan foresees their mirrors from some vertices.
    assert found["seconds"] == pytest.approx(passes * planned["prediction"]["seconds"], rel=0.02)


def test_what_was_planned_and_what_came_are_told_together(keep_rates, evener, tmp_path):
    keep_rates(**CHOICES["cpu,cuda:0"])
    planned = evener("plan", GRAPH, "--for", "pagerank", "--gpu-memory", ROOM).out
    assert "\npagerank on cpu, cuda:0; policy " in planned
    assert "times as fast as the CPU alone and " in planned
    page = tmp_path / "run.html"
    done = evener("run", "pagerank", GRAPH, "--gpu-memory", ROOM, "--tol", "0", "--report", page)
    assert done.status == 0, done.err
    assert "\nPredicted: the run took " in done.out
    for element in ("cpu", "cuda:0"):
        assert f"\n  {element}: computing " in done.out
    assert "Predicted and achieved" in page.read_text(encoding="utf-8")


def test_a_placement_like_the_plans_holds_what_was_foreseen(keep_rates, evener):
    keep_rates(**CHOICES["cpu,cuda:0"])
    planned = json.loads(evener("plan", GRAPH, "--for", "bfs", "--gpu-memory", ROOM, "--json").out)
    place = ["--on", "cpu,cuda:0", "--policy", planned["policy"], "--alpha", planned["alpha"]]
    placed = json.loads(evener("plan", GRAPH, *place, "--gpu-memory", ROOM, "--json").out)["partitions"]
    foreseen = planned["shares"]
    assert [one["edges"] for one in placed] == pytest.approx(
        [share["part"]["edges"] for share in foreseen], rel=0.01
    )
    assert foreseen[1]["mapped"] > 0
    assert placed[1]["host_bytes"] == pytest.approx(BYTES_AN_EDGE * foreseen[1]["mapped"], rel=0.02)
