"""Plans on the command line for a graph that does not fit the GPU, and the runs that follow them."""

from __future__ import annotations

import json
import time

import pytest

from evener.elements import hardware, usable_cores
from evener.elements.hardware import GpuFacts, gpu_facts
from evener.planning import planner, prior
from evener.planning.observations import observations
from evener.spec import recording

# The 425,856 stored edges and their weights need 3.2 MiB. Half of them fit in addition to the vertices.
GRAPH = "rmat:14,weights=1..255"
ROOM = "2.5MiB"
BYTES_AN_EDGE = 8  # with a weight of 4 bytes
# Options of a run, and its number of passes: iterations or sources.
PASSES = {
    "bfs": ([], 1),
    "sssp": ([], 1),
    "wcc": ([], 1),
    "pagerank": (["--tol", "0", "--max-iter", "20"], 20),
    "betweenness": (["-k", "4"], 4),
}
# For each best placement: CPU seconds per edge and thread, and bytes per second of the GPU and the bus.
CHOICES = {
    "cpu": (1e-12, GpuFacts(1e6, 1e6)),
    "cuda:0": (1.0, GpuFacts(1e12, 1e11)),
    "cpu,cuda:0": (36e-6 * usable_cores(), GpuFacts(1e6, 1e6)),
}


@pytest.fixture
def make_best(monkeypatch):
    """A function that sets hardware facts for which a placement is best, without recorded runs."""
    monkeypatch.setattr(planner, "observations", lambda _: [])
    monkeypatch.setattr(planner, "gpus", lambda: 1)  # ignore further GPUs

    def choose(best):
        edge, facts = CHOICES[best]
        monkeypatch.setattr(prior, "CPU_EDGE_SECONDS", edge)
        monkeypatch.setattr(prior, "gpu_facts", lambda _: facts)

    return choose


@pytest.mark.parametrize("best", CHOICES)
@pytest.mark.parametrize("algorithm", PASSES)
def test_a_run_uses_the_placement_of_its_plan(make_best, evener, algorithm, best):
    """The prediction of the run uses its real partitions, and is close to that of the plan."""
    make_best(best)
    options, passes = PASSES[algorithm]
    planned = json.loads(evener("plan", GRAPH, "--for", algorithm, "--gpu-memory", ROOM, "--json").out)
    assert ",".join(planned["on"]) == best
    done = evener("run", algorithm, GRAPH, "--gpu-memory", ROOM, *options, "--verify", "--json")
    assert done.status == 0, done.err  # 0 if the answer is correct
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


def test_planned_shares_equal_the_partitions(make_best, evener):
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
    """Every GPU of CUDA 13 reads its memory with at least 50 GB/s, and host memory with 1 GB/s."""
    gpu_facts(0)  # starts the GPU
    hardware.gpu_facts.cache_clear()
    began = time.perf_counter()
    facts = gpu_facts(0)
    assert time.perf_counter() - began < 0.1
    assert 50e9 < facts.memory_bytes_per_second < 50e12
    assert 1e9 < facts.link_bytes_per_second < facts.memory_bytes_per_second
    assert facts != GpuFacts()


def test_plans_use_recorded_runs_on_a_gpu(evener, monkeypatch, tmp_path):
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


def test_a_profile_runs_every_algorithm(evener, monkeypatch, tmp_path):
    monkeypatch.setattr("evener.planning.observations.cache_folder", lambda: tmp_path)
    monkeypatch.setattr(recording, "MIN_SECONDS", 0.0)
    done = evener("profile", "--json")
    assert done.status == 0, done.err
    assert {run["algorithm"] for run in json.loads(done.out)["runs"]} >= set(PASSES)
    assert observations("pagerank")
