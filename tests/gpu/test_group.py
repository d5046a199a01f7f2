"""Groups of GPUs: kernels that wait for each other, many runs in a row, and failures."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

import evener as ev
from evener.elements.cuda import group
from evener.elements.cuda.discovery import gpus
from evener.elements.cuda.launch import Launcher
from evener.engine.engine import Engine
from support import graphs
from support.sanitizer_sizes import sized

pytestmark = pytest.mark.skipif(gpus() < 2, reason="expected two GPUs, found fewer")

driver = import_module("evener.algorithms.bfs.bfs")
betweenness = import_module("evener.algorithms.betweenness.betweenness")
betweenness_group = import_module("evener.algorithms.betweenness.group")

ON = [f"cuda:{index}" for index in range(gpus())]


@pytest.fixture(scope="module")
def graph():
    return ev.read("rmat:12,weights=1..255")


@pytest.fixture(scope="module")
def placed(graph):
    pg = ev.partition(graph, ON)
    if Engine(pg, "test").group is None:
        pytest.skip("expected GPUs that access each other's memory, found none")
    return pg


def sources_of(graph, count):
    reached = np.flatnonzero(graph.out_degree())
    return graph.ids[np.random.default_rng(2).choice(reached, count)].tolist()


def test_a_thousand_searches_in_a_row(graph, placed):
    one = ev.partition(graph, "cuda:0")
    for source in sources_of(graph, sized(1000, 5)):
        expected = ev.bfs(one, source=source)["distance"]
        assert (ev.bfs(placed, source=source)["distance"] == expected).all()


def test_shortest_paths_in_a_row(graph, placed):
    one = ev.partition(graph, "cuda:0")
    for source in sources_of(graph, sized(100, 2)):
        expected = ev.sssp(one, source=source)["distance"]
        assert (ev.sssp(placed, source=source)["distance"] == expected).all()


@pytest.mark.usefixtures("placed")
@pytest.mark.parametrize(
    "spec", ["rmat:14,directed", "rmat:14,edge_factor=1", "grid:200x300", "uniform:12,edge_factor=1"]
)
def test_components_in_a_row(spec):
    """Components of graphs with a giant tree on each GPU, and with many small trees."""
    graph = ev.read(spec)
    expected = ev.wcc(graph, on="cpu:1")["component"]
    for policy in ("random", "high", "low"):
        pg = ev.partition(graph, ON, policy=policy)
        for _ in range(sized(10, 1)):
            assert (ev.wcc(pg)["component"] == expected).all()


@pytest.mark.usefixtures("placed")
def test_runs_of_several_algorithms_in_turn(graph):
    """Work arrays are kept for one algorithm, and addresses change while results are alive."""
    one, two = ev.partition(graph, "cuda:0"), ev.partition(graph, ON)
    alive = []
    for source in sources_of(graph, sized(20, 3)):
        for run, name in ((ev.bfs, "distance"), (ev.sssp, "distance"), (ev.bfs, "distance")):
            alive.append(run(two, source=source))
            assert (alive[-1][name] == run(one, source=source)[name]).all()
        alive.append(ev.wcc(two))
        assert (alive[-1]["component"] == ev.wcc(one)["component"]).all()


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_a_search_in_several_launches(monkeypatch, graph, placed, levels):
    tuning = {kind: replace(one, fused_levels=levels, beta=18) for kind, one in driver.TUNING.items()}
    source = sources_of(graph, 1)[0]
    expected = ev.bfs(placed, source=source)
    monkeypatch.setattr(driver, "TUNING", tuning)
    found = ev.bfs(placed, source=source)
    assert (found["distance"] == expected["distance"]).all()
    assert len(found.timeline) > len(expected.timeline)
    ev.verify(found)


SEARCHED = {
    "rmat": lambda: graphs.rmat(sized(12, 9)),
    "grid": lambda: graphs.grid(*sized((48, 48), (8, 8))),
    "star": lambda: graphs.star(4096),
    "path": lambda: graphs.chain(sized(3000, 40)),
}


def check_betweenness(graph, count=4):
    """Check that a group gives the centralities of one GPU."""
    sources = sources_of(graph, count)
    expected = ev.betweenness(ev.partition(graph, "cuda:0"), sources=sources)
    found = ev.betweenness(ev.partition(graph, ON), sources=sources)
    np.testing.assert_allclose(found["centrality"], expected["centrality"], rtol=1e-9, atol=1e-15)
    assert found.edges == expected.edges
    return found


# The push cost selects the cheaper step, only pushes, or only pulls.
@pytest.mark.usefixtures("placed")
@pytest.mark.parametrize("push_cost", [betweenness.PUSH_COST, 0, 1e9])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("name", SEARCHED)
def test_betweenness_of_a_group(monkeypatch, name, directed, push_cost):
    monkeypatch.setattr(betweenness, "PUSH_COST", push_cost)
    check_betweenness(graphs.build(SEARCHED[name](), directed=directed))


@pytest.mark.usefixtures("placed")
@pytest.mark.parametrize("push_cost", [betweenness.PUSH_COST, 0, 1e9])
@pytest.mark.parametrize("levels", [1, 2, 3])
def test_betweenness_in_several_launches(monkeypatch, levels, push_cost):
    monkeypatch.setattr(betweenness, "PUSH_COST", push_cost)
    monkeypatch.setattr(betweenness_group, "LEVELS", levels)
    found = check_betweenness(graphs.build(graphs.grid(12, 5), directed=False), count=2)
    phases = [span.phase for span in found.timeline]
    assert min(phases.count("paths"), phases.count("dependencies")) > 2 * len(ON)


def test_betweenness_in_a_row(graph, placed):
    """All sources use the same arrays."""
    sources = sources_of(graph, sized(200, 20))
    expected = ev.betweenness(ev.partition(graph, "cuda:0"), sources=sources)["centrality"]
    found = ev.betweenness(placed, sources=sources)["centrality"]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-15)


@pytest.mark.usefixtures("placed")
@pytest.mark.parametrize("push_cost", [0, 1e9])
def test_a_group_counts_more_paths_than_float64_can(monkeypatch, push_cost):
    """Each joint has 4 times as many paths as the previous one, and the last over 2^1024."""
    monkeypatch.setattr(betweenness, "PUSH_COST", push_cost)
    src, dst, joints, _ = graphs.diamonds(700, 4)
    graph = ev.Graph.from_edges(src, dst)
    found = ev.betweenness(ev.partition(graph, ON), sources=[0], normalized=False)["centrality"] / graph.n
    np.testing.assert_allclose(found[joints[1:]], 5.0 * (700 - joints[1:]), rtol=1e-12)


@pytest.mark.usefixtures("placed")
def test_a_group_refuses_path_counts_too_far_apart():
    src, dst, _, middles = graphs.diamonds(950, 4)
    path = 1 + middles.max() + np.arange(2 * 950)
    graph = ev.Graph.from_edges(np.concatenate([src, [0], path[:-1]]), np.concatenate([dst, path]))
    with pytest.raises(ev.ArgumentError, match=r"from source 0 differ by a factor of over 2\^1700"):
        ev.betweenness(ev.partition(graph, ON), sources=[0])


RUNS = {
    "bfs": lambda pg: ev.bfs(pg, source=1)["distance"],
    "sssp": lambda pg: ev.sssp(pg, source=1)["distance"],
    "betweenness": lambda pg: ev.betweenness(pg, sources=[1])["centrality"],
    "wcc": lambda pg: ev.wcc(pg)["component"],
}


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_a_silent_gpu(monkeypatch, placed, run):
    """The waiting GPUs stop with an error, and later runs work."""
    expected = run(placed)
    launch = Launcher._launch

    def only_on_the_first(self, ready):
        if not self.grouped or self._element.index == 0:
            launch(self, ready)

    with monkeypatch.context() as patched:
        patched.setattr(group.GpuGroup, "patience", 0.3)
        patched.setattr(Launcher, "_launch", only_on_the_first)
        with pytest.raises(ev.DeviceError, match="got no answer from another GPU"):
            run(placed)
    np.testing.assert_allclose(run(placed), expected, rtol=1e-9)


BUSY = """
import cupy
with cupy.cuda.Device(1):
    values = cupy.ones(1 << 26)
    print("busy", flush=True)
    while True:
        for _ in range(200):
            values *= 1.0000001
        cupy.cuda.get_current_stream().synchronize()
"""


def test_a_gpu_that_another_process_uses(graph, placed):
    source = sources_of(graph, 1)[0]
    expected = ev.bfs(placed, source=source)["distance"]
    with subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE, text=True) as other:
        try:
            assert other.stdout.readline() == "busy\n"
            for _ in range(sized(20, 1)):
                assert (ev.bfs(placed, source=source)["distance"] == expected).all()
        finally:
            other.kill()
