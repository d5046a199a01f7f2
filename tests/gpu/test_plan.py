"""A plan of the command line for a graph that does not fit the GPU, and the run that follows it."""

from __future__ import annotations

import json
import time

import pytest

from evener.algorithms import recording
from evener.elements import hardware, usable_cores
from evener.elements.hardware import GpuFacts, gpu_facts
from evener.planning import planner, prior
from evener.planning.observations import observations

# Its 425,856 stored edges take 3.2 MiB with their weights. Besides the vertices a half of them has room.
GRAPH = "rmat:14,weights=1..255"
ROOM = "2.5MiB"
BYTES_AN_EDGE = 8  # of which 4 are its weight
# Options of a run, and its passes: iterations, or sources.
PASSES = {
    "bfs": ([], 1),
    "sssp": ([], 1),
    "wcc": ([], 1),
    "pagerank": (["--tol", "0", "--max-iter", "20"], 20),
    "betweenness": (["-k", "4"], 4),
}
# By the best placement: thread-seconds of an edge on the CPU, and bytes a second of the GPU and of the bus.
CHOICES = {
    "cpu": (1e-12, GpuFacts(1e6, 1e6)),
    "cuda:0": (1.0, GpuFacts(1e12, 1e11)),
    "cpu,cuda:0": (36e-6 * usable_cores(), GpuFacts(1e6, 1e6)),
}


@pytest.fixture
def make_best(monkeypatch):
    """Return a function that makes a placement the best by hardware facts; no run is recorded."""
    monkeypatch.setattr(planner, "observations", lambda _: [])
    monkeypatch.setattr(planner, "gpus", lambda: 1)  # on a machine with several GPUs as well

    def choose(best):
        edge, facts = CHOICES[best]
        monkeypatch.setattr(prior, "CPU_EDGE_SECONDS", edge)
        monkeypatch.setattr(prior, "gpu_facts", lambda _: facts)

    return choose


@pytest.mark.parametrize("best", CHOICES)
@pytest.mark.parametrize("algorithm", PASSES)
def test_a_run_goes_where_its_plan_says(make_best, evener, algorithm, best):
    """The prediction of the run follows from its real partitions, and is close to that of the plan."""
    make_best(best)
    options, passes = PASSES[algorithm]
    planned = json.loads(evener("plan", GRAPH, "--for", algorithm, "--gpu-memory", ROOM, "--json").out)
    assert ",".join(planned["on"]) == best
    done = evener("run", algorithm, GRAPH, "--gpu-memory", ROOM, *options, "--verify", "--json")
    assert done.status == 0, done.err  # so the answer was verified
    found = json.loads(done.out)["prediction"]
    assert [one["name"] for one in found["elements"]] == planned["on"]
    assert found["seconds"] == pytest.approx(passes * planned["prediction"]["seconds"], rel=0.02)


def test_a_run_is_compared_with_its_plan(make_best, evener, tmp_path):
    make_best("cpu,cuda:0")
    planned = evener("plan", GRAPH, "--for", "pagerank", "--gpu-memory", ROOM).out
    assert "\npagerank on cpu, cuda:0; policy " in planned
    assert "\nSpeed-up: " in planned
    page = tmp_path / "run.html"
    done = evener("run", "pagerank", GRAPH, "--gpu-memory", ROOM, "--tol", "0", "--report", page)
    assert done.status == 0, done.err
    assert "\nPredicted " in done.out
    for element in ("cpu", "cuda:0"):
        assert f"\n  {element}: computing " in done.out
    assert "Predicted and measured" in page.read_text(encoding="utf-8")


def test_the_planned_shares_are_those_of_the_placed_graph(make_best, evener):
    make_best("cpu,cuda:0")
    planned = json.loads(evener("plan", GRAPH, "--for", "bfs", "--gpu-memory", ROOM, "--json").out)
    where = ["--on", "cpu,cuda:0", "--policy", planned["policy"], "--alpha", planned["alpha"]]
    placed = json.loads(evener("plan", GRAPH, *where, "--gpu-memory", ROOM, "--json").out)["partitions"]
    shares = planned["shares"]
    assert [one["edges"] for one in placed] == pytest.approx(
        [share["sizes"]["edges"] for share in shares], rel=0.01
    )
    if shares[1]["host_edges"]:
        assert placed[1]["host_bytes"] == pytest.approx(BYTES_AN_EDGE * shares[1]["host_edges"], rel=0.02)


def test_facts_of_a_gpu_are_read_in_milliseconds():
    """Every GPU that CUDA 13 supports reads its memory with 50 GB/s or more, and the host's with 1 GB/s."""
    gpu_facts(0)  # starts the GPU
    hardware.gpu_facts.cache_clear()
    began = time.perf_counter()
    facts = gpu_facts(0)
    assert time.perf_counter() - began < 0.1
    assert 50e9 < facts.memory_bytes_per_second < 50e12
    assert 1e9 < facts.link_bytes_per_second < facts.memory_bytes_per_second
    assert facts != GpuFacts()


def test_runs_on_a_gpu_teach_plans(evener, monkeypatch, tmp_path):
    monkeypatch.setattr("evener.planning.observations.cache_folder", lambda: tmp_path)
    monkeypatch.setattr(recording, "MIN_SECONDS", 0.0)
    for _ in range(2):  # the first may compile kernels
        assert evener("run", "pagerank", GRAPH, "--on", "cpu,cuda:0", "--alpha", "0.5").status == 0
    runs = observations("pagerank")
    assert runs
    assert [one.kind for one in runs[-1].elements] == ["cpu", "cuda"]
    assert runs[-1].elements[1].model != "an unknown GPU"
    planned = evener("plan", GRAPH, "--for", "pagerank", "--on", "cpu,cuda:0").out
    assert f"from {len(runs)} run" in planned


def test_a_profile_takes_less_than_half_a_minute(evener, monkeypatch, tmp_path):
    """Compiling kernels is not counted, so a first profile may take longer."""
    monkeypatch.setattr("evener.planning.observations.cache_folder", lambda: tmp_path)
    monkeypatch.setattr(recording, "MIN_SECONDS", 0.010)
    evener("profile")
    began = time.perf_counter()
    done = evener("profile", "--json")
    assert time.perf_counter() - began < 30
    assert done.status == 0, done.err
    assert {run["algorithm"] for run in json.loads(done.out)["runs"]} >= set(PASSES)
    assert observations("pagerank")
