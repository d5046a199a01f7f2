"""Placement by plan: open choices, the cost of planning, and GPUs that cannot be used."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import weakref

import numpy as np
import pytest

import evener as ev
from evener import elements
from evener.errors import NO_USABLE_GPU, ArgumentError, DeviceError, DeviceOutOfMemory, OutOfMemoryError
from evener.kernels.cpu import jit
from evener.planning import planner as home
from evener.planning.observations import observations
from evener.spec import recording, registry
from evener.spec.registry import names_with_kernels
from support import reference
from support.fake_gpu import FakeGpu

LOST = DeviceError("cuda:0 failed while starting: unspecified launch failure")
FULL = DeviceOutOfMemory("cuda:0: allocating needs 3.0 GiB, but 2.0 MiB are free", needed=3, available=2)
FAILURES = [LOST, FULL]

pytestmark = pytest.mark.usefixtures("gpus")


@pytest.fixture(scope="module")
def graph():
    return ev.read("rmat:10")


@pytest.fixture
def slow_cpu(monkeypatch):
    """Change the hardware facts, so that a GPU is faster for any graph."""
    monkeypatch.setattr("evener.planning.prior.CPU_EDGE_SECONDS", 1.0)


@pytest.fixture
def slow_gpu(monkeypatch):
    """Change the hardware facts, so that the CPU is faster for any graph."""
    monkeypatch.setattr("evener.planning.prior.GPU_EDGE_BYTES", 1e15)


def where(result):
    return [element.name for element in result.partitioned.elements]


def check(graph, result):
    assert (result["distance"] == reference.bfs(graph, 1)[0]).all()


# ---- planned choices -----------------------------------------------------------------------------------


def test_a_small_graph_is_placed_on_the_cpu_and_a_large_one_on_the_gpu(graph):
    """By hardware facts, starting a superstep on a GPU needs more time than a thousand vertices."""
    assert where(ev.bfs(graph, source=1)) == ["cpu"]
    assert ev.plan(ev.read("rmat:17"), "pagerank", on=None).on == ("cuda:0",)


@pytest.mark.usefixtures("slow_cpu")
def test_a_run_is_compared_with_its_plan(graph):
    result = ev.pagerank(graph, tol=0, max_iter=5)
    assert where(result) == ["cuda:0"]
    once = ev.plan(graph, "pagerank").prediction
    assert result.prediction.seconds == pytest.approx(5 * once.seconds)
    assert result.prediction.speedup_over_gpu == pytest.approx(1)
    assert result.prediction.speedup_over_cpu == pytest.approx(once.speedup_over_cpu)
    # A plan for one algorithm has no prediction for another.
    assert ev.wcc(result.partitioned).prediction is None
    assert " (from hardware facts), took " in result.explain()


@pytest.mark.parametrize(
    ("asked", "planned"),
    [
        ({"on": "cpu:1,cuda:0"}, True),
        ({"on": "cpu:1,cuda:0", "alpha": 0.5}, True),
        ({"on": "cpu:1,cuda:0", "policy": "high"}, True),
        ({"on": "cpu:1,cuda:0", "policy": "high", "alpha": "auto"}, True),
        ({"on": "cpu:1,cuda:0", "policy": "high", "alpha": 0.5}, False),
        ({"on": "cpu:1,cpu:1", "policy": "high"}, False),
        ({"on": "cuda:0"}, False),
    ],
    ids=str,
)
def test_open_choices_are_planned(graph, asked, planned):
    result = ev.wcc(graph, **asked)
    pg = result.partitioned
    assert (result.prediction is not None) == planned
    assert ",".join(element.name.partition("#")[0] for element in pg.elements) == asked["on"]
    assert pg.policy == asked.get("policy", pg.policy)
    if isinstance(asked.get("alpha"), float):
        assert pg.statistics.alpha == pytest.approx(asked["alpha"], abs=0.05)


def test_a_plan_counts_edges_in_the_directions_of_the_algorithm():
    graph = ev.read("rmat:8,directed")
    for algorithm, directions in (("pagerank", 1), ("bfs", 2)):
        made = ev.plan(graph, algorithm, on="cpu")
        assert sum(share.sizes.edges for share in made.shares) == directions * graph.m


@pytest.mark.parametrize("on", ["cpu:1,cuda:0", "cuda:0,cpu:1"])
def test_elements_keep_their_order(graph, on):
    """Policy "high" gives the vertices of high degree to the first element."""
    made = ev.plan(graph, "pagerank", on=on, policy="high", alpha=0.5)
    assert ",".join(made.on) == on
    assert made.shares[0].sizes.vertices < made.shares[1].sizes.vertices / 5
    placed = ev.pagerank(graph, on=on, alpha=0.5).partitioned
    assert [element.name for element in placed.elements] == list(made.on)


@pytest.mark.usefixtures("slow_gpu")
def test_a_cpu_without_gpus_uses_all_threads(graph, gpus, monkeypatch):
    monkeypatch.setattr(elements, "usable_cores", lambda: 4)
    gpus(2)
    assert [share.threads for share in ev.plan(graph, "wcc").shares] == [4]
    assert ev.plan(graph, "wcc", on="cpu,cuda:0,cuda:1").shares[0].threads == 2


@pytest.mark.parametrize("passes", [-1, np.inf, np.nan, 1e308, 10**18 + 1, True, "3", None])
def test_invalid_passes(graph, passes):
    with pytest.raises(ArgumentError, match="passes=: expected a number from 0 to ") as caught:
        ev.plan(graph, "wcc", passes=passes)
    assert str(caught.value) == f"passes=: expected a number from 0 to 10^18, found {passes!r}"


@pytest.mark.parametrize(
    "wrong", [{"on": "cuda:x"}, {"policy": "best"}, {"alpha": 2}, {"gpu_memory": "much"}], ids=str
)
def test_invalid_arguments(graph, wrong):
    with pytest.raises(ArgumentError):
        ev.plan(graph, "bfs", **wrong)
    with pytest.raises(ArgumentError):
        ev.bfs(graph, source=0, **{"on": "cpu:1,cuda:0", **wrong})


def test_a_planned_placement_is_freed_with_its_last_reference(graph):
    gc.disable()
    try:
        seen = weakref.ref(ev.pagerank(graph, on="cpu:1,cuda:0").partitioned)
        assert seen() is None
    finally:
        gc.enable()


# ---- cost of planning ----------------------------------------------------------------------------------


def test_a_plan_runs_no_kernels_and_builds_no_partition(monkeypatch):
    graph = ev.read("rmat:14")
    monkeypatch.setattr(home, "place_graph", lambda *_, **__: pytest.fail("placed"))
    monkeypatch.setattr(FakeGpu, "kernel", lambda *_: pytest.fail("a kernel was requested"))
    monkeypatch.setattr(elements.CpuElement, "kernel", lambda *_: pytest.fail("a kernel was requested"))
    made = ev.plan(graph, "pagerank", gpu_memory="1MiB")
    assert made.prediction.origin == "from hardware facts"


def test_elements_are_resolved_once_for_a_run(graph, monkeypatch):
    started = []
    init = FakeGpu.__init__
    monkeypatch.setattr(FakeGpu, "__init__", lambda *args: started.append(args[1]) or init(*args))
    ev.wcc(graph, on="cpu:1,cuda:0")
    assert started == ["cuda:0"]


MODULES = """
import sys
from evener.cli import main
status = main(["run", "bfs", "rmat:6", *sys.argv[1:]])
planning = [name for name in sys.modules if name.startswith("evener.planning")]
assert not planning, planning
sys.exit(status)
"""


@pytest.mark.skipif(not jit.CACHE, reason="compiling all kernels is slow")
@pytest.mark.parametrize("on", [["--on", "cpu:1,cpu:1"], pytest.param([], marks=pytest.mark.slow)], ids=str)
def test_a_run_that_needs_no_plan_imports_no_planner(on, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    done = subprocess.run([sys.executable, "-c", MODULES, *on], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# ---- observed runs -------------------------------------------------------------------------------------


def test_the_next_plan_uses_the_observed_runs(graph, monkeypatch):
    monkeypatch.setattr(recording, "MIN_SECONDS", 0.0)
    monkeypatch.setattr(recording, "_MAX_COMPILING", 1.0)
    for _ in range(3):
        ev.pagerank(graph, tol=0, max_iter=2, on="cpu:1,cuda:0", policy="random", alpha=0.5)
    assert len(observations("pagerank")) == 3
    made = ev.plan(graph, "pagerank", on="cpu:1,cuda:0")
    assert made.prediction.origin == "from 3 runs on this machine"
    assert made.prediction.least_seconds < made.prediction.seconds < made.prediction.most_seconds
    assert ev.plan(graph, "wcc", on="cpu:1,cuda:0").prediction.origin == "from hardware facts"


def test_profile_runs_every_algorithm_and_records_the_runs(evener, monkeypatch):
    monkeypatch.setattr("evener.cli.profile.FEW_CORES_SCALES", (6,))
    monkeypatch.setattr("evener.cli.profile.MANY_CORES_SCALES", (6,))
    monkeypatch.setattr(recording, "_MAX_COMPILING", 1.0)
    done = evener("profile", "--on", "cuda:0", "--json")
    assert done.status == 0, done.err
    runs = json.loads(done.out)["runs"]
    assert {run["algorithm"] for run in runs} == {*registry.names_with_kernels()}
    assert {run["on"] for run in runs} == {"cpu", "cuda:0", "cpu,cuda:0"}
    for algorithm in ("bfs", "pagerank", "betweenness"):
        assert len(observations(algorithm)) == sum(run["algorithm"] == algorithm for run in runs)
        assert {one.kind for run in observations(algorithm) for one in run.elements} == {"cpu", "cuda"}


@pytest.mark.parametrize("on", ["cpu", "cpu,cuda:0", "cuda:x"])
def test_profile_needs_exactly_one_gpu(evener, on):
    done = evener("profile", "--on", on)
    assert (done.status, done.out) == (2, "")
    assert done.err.count("\n") == 1


# ---- GPUs that cannot be used --------------------------------------------------------------------------


def starting(monkeypatch, error):
    monkeypatch.setattr(FakeGpu, "broken", error)


def placing(monkeypatch, error):
    def array(*_, **__):
        raise error

    monkeypatch.setattr(FakeGpu, "allocate", array)


when = pytest.mark.parametrize("fails", [starting, placing], ids=lambda fails: fails.__name__)


@pytest.mark.usefixtures("slow_cpu")
@pytest.mark.parametrize("error", FAILURES, ids=lambda error: type(error).__name__)
@when
def test_the_cpu_replaces_a_gpu_that_was_not_named(graph, monkeypatch, fails, error):
    fails(monkeypatch, error)
    with pytest.warns(RuntimeWarning) as caught:
        result = ev.bfs(graph, source=1)
    assert where(result) == ["cpu"]
    check(graph, result)
    (one,) = caught
    assert str(one.message).startswith(f"{NO_USABLE_GPU}: {error}")
    assert "\n" not in str(one.message)
    assert one.filename == __file__


@pytest.mark.usefixtures("slow_cpu")
def test_the_cpu_does_not_replace_a_gpu_if_host_memory_is_low(graph, monkeypatch):
    """The CPU would need more host memory."""
    placing(monkeypatch, OutOfMemoryError("the partitions need more", needed=2, available=1))
    with pytest.raises(OutOfMemoryError, match="the partitions need more"):
        ev.bfs(graph, source=1)


@pytest.mark.usefixtures("slow_cpu")
@when
def test_the_command_line_notes_the_replacement(evener, monkeypatch, fails):
    fails(monkeypatch, LOST)
    done = evener("run", "bfs", "rmat:6", "--verify")
    assert done.status == 0
    assert done.err == f"evener: {NO_USABLE_GPU}: {LOST}\n"
    assert evener("bench", "bfs", "rmat:6", "--repeats", 1).status == 0


@pytest.mark.parametrize("error", FAILURES, ids=lambda error: type(error).__name__)
@when
def test_a_named_gpu_that_fails_is_an_error(graph, evener, monkeypatch, fails, error):
    fails(monkeypatch, error)
    with pytest.raises(type(error), match=f"^{error}"):
        ev.bfs(graph, source=1, on="cuda:0")
    done = evener("run", "bfs", "rmat:6", "--on", "cuda:0")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"evener: {error}")
    assert done.err.count("\n") == 1


@pytest.mark.usefixtures("slow_cpu")
def test_the_other_gpu_is_used_if_one_cannot_be_started(graph, gpus, monkeypatch):
    gpus(2)
    starting(monkeypatch, LOST)
    result = ev.bfs(graph, source=1)
    assert where(result) == ["cuda:1"]
    check(graph, result)


def test_a_plan_for_the_cpu_starts_no_gpu(graph, monkeypatch):
    starting(monkeypatch, LOST)
    assert ev.plan(graph, "bfs", on="cpu").on == ("cpu",)


@pytest.mark.usefixtures("slow_cpu")
@pytest.mark.parametrize("algorithm", names_with_kernels())
def test_a_gpu_without_room_is_named_in_a_warning_at_the_line_of_the_caller(monkeypatch, algorithm):
    monkeypatch.setattr(FakeGpu, "free", 1024)
    graph = ev.read("rmat:6")
    source = {"source": 0} if algorithm in ("bfs", "sssp") else {}
    with pytest.warns(
        RuntimeWarning, match=rf"^{NO_USABLE_GPU}: cuda:0 has room for 1\.0 KiB, but a "
    ) as caught:
        result = getattr(ev, algorithm)(graph, **source)
    assert where(result) == ["cpu"]
    assert result.prediction is not None
    assert caught[0].filename == __file__


def test_a_planned_placement_without_room_suggests_another(graph, monkeypatch):
    """Another process may allocate the free memory between planning and placement."""
    placing(monkeypatch, FULL)
    with pytest.raises(DeviceOutOfMemory, match=rf'^{FULL}; it fits with on="cpu,cuda:0", policy="'):
        ev.bfs(graph, source=1, on="cpu:1,cuda:0")
