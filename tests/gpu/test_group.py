"""Groups of GPUs: kernels that wait for each other, many times in a row, and next to trouble."""

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
from sanitizer_sizes import sized

pytestmark = pytest.mark.skipif(gpus() < 2, reason="there is one GPU, and a group has several")

driver = import_module("evener.algorithms.bfs.bfs")

ON = [f"cuda:{index}" for index in range(gpus())]


@pytest.fixture(scope="module")
def graph():
    return ev.read("rmat:12,weights=1..255")


@pytest.fixture(scope="module")
def placed(graph):
    pg = ev.partition(graph, ON)
    if Engine(pg, "test").group is None:
        pytest.skip("these GPUs do not access each other's memory")
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


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_a_search_in_several_launches(monkeypatch, graph, placed, levels):
    tuning = {kind: replace(one, fused_levels=levels) for kind, one in driver.TUNING.items()}
    source = sources_of(graph, 1)[0]
    expected = ev.bfs(placed, source=source)
    monkeypatch.setattr(driver, "TUNING", tuning)
    found = ev.bfs(placed, source=source)
    assert (found["distance"] == expected["distance"]).all()
    assert len(found.timeline) > len(expected.timeline)
    ev.verify(found)


@pytest.mark.parametrize("run", [ev.bfs, ev.sssp])
def test_a_silent_gpu(monkeypatch, placed, run):
    """The GPUs that wait give up, and later runs work."""
    expected = run(placed, source=1)["distance"]
    launch = Launcher._launch

    def only_on_the_first(self, ready):
        if not self.grouped or self._element.index == 0:
            launch(self, ready)

    with monkeypatch.context() as patched:
        patched.setattr(group, "PATIENCE", 0.3)
        patched.setattr(Launcher, "_launch", only_on_the_first)
        with pytest.raises(ev.DeviceError, match="got no answer from another GPU"):
            run(placed, source=1)
    assert (run(placed, source=1)["distance"] == expected).all()


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
