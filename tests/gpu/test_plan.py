"""A plan of the command line for a graph that does not fit the GPU, and the run that follows it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from evener import auto, profile
from evener.elements import parse_elements
from evener.memory import nbytes_of
from evener.planning.rates import keep
from given_rates import rates

# Its 425,856 stored edges and their weights take 3.2 MiB.
GRAPH = "rmat:14,weights=1..255"
ROOM = "2.5MiB"
# What to run, and how often its kernels go through the graph.
PASSES = {
    "bfs": ([], 1),
    "sssp": ([], 1),
    "wcc": ([], 1),
    "pagerank": (["--tol", "0", "--max-iter", "20"], 20),
    "betweenness": (["-k", "4"], 4),
}
# What an edge takes on the CPU, on the GPU, and more if it is read across the bus; and what that makes best.
CHOICES = {
    "cpu": {"cpu": 1e-12, "gpu": 1e-9, "mapped": 4e-8},
    "cuda:0": {"cpu": 4e-8, "gpu": 1e-9, "mapped": 1e-12},
    "cpu,cuda:0": {"cpu": 4e-8, "gpu": 1e-9, "mapped": 4e-8},
}


@pytest.fixture
def measured(monkeypatch, tmp_path):
    """This machine with one of its GPUs, as if its rates had been measured: they are kept, and found."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(auto, "gpus", lambda: 1)
    threads = parse_elements("cpu,cuda:0")[0].threads
    return lambda **given: keep(replace(rates(**given), threads=threads, machine=profile.machine()))


@pytest.mark.parametrize("best", CHOICES)
@pytest.mark.parametrize("algorithm", PASSES)
def test_a_run_goes_where_its_plan_says(measured, evener, algorithm, best):
    """To the elements that the rates make fastest, each with the edges and the time that the plan foresaw."""
    measured(**CHOICES[best])
    options, passes = PASSES[algorithm]
    place = ["--gpu-memory", ROOM]
    planned = json.loads(evener("plan", GRAPH, "--for", algorithm, *place, "--json").out)
    assert ",".join(planned["on"]) == best
    if best == "cpu":
        place = []  # it would limit nothing, and the run says so
    done = evener("run", algorithm, GRAPH, *place, *options, "--verify", "--json")
    assert done.status == 0, done.err
    ran = json.loads(done.out)
    assert ran["verified"]
    found = ran["prediction"]
    assert [one["name"] for one in found["elements"]] == planned["on"]
    # The run's is by the partitions as they are; a plan foresees their mirrors from some vertices.
    assert found["seconds"] == pytest.approx(passes * planned["prediction"]["seconds"], rel=0.05)


def test_what_was_planned_and_what_came_are_told_together(measured, evener, tmp_path):
    measured(**CHOICES["cpu,cuda:0"])
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


def test_a_gpu_keeps_to_what_the_plan_gives_it(measured, evener):
    """As many edges as it foresaw lie with each, and no more in the GPU's memory than it may take."""
    measured(**CHOICES["cpu,cuda:0"])
    planned = json.loads(evener("plan", GRAPH, "--for", "pagerank", "--gpu-memory", ROOM, "--json").out)
    place = ["--on", "cpu,cuda:0", "--policy", planned["policy"], "--alpha", planned["alpha"]]
    placed = json.loads(evener("plan", GRAPH, *place, "--gpu-memory", ROOM, "--json").out)
    foreseen = [share["part"]["edges"] for share in planned["shares"]]
    assert [one["edges"] for one in placed["partitions"]] == pytest.approx(foreseen, rel=0.01)
    gpu = placed["partitions"][1]
    assert gpu["host_bytes"] > 0
    assert gpu["nbytes"] - gpu["host_bytes"] <= nbytes_of(ROOM, "gpu_memory")
