"""Progress bars in a notebook; a stand-in for IPython records the outputs of the cell."""

from __future__ import annotations

import contextlib
import sys
import threading
from time import monotonic, sleep
from types import ModuleType, SimpleNamespace

import pytest

import evener as ev
from evener.engine.recorder import Recorder
from evener.system import notebook


class Events:
    """The events of IPython's shell."""

    def __init__(self):
        self.callbacks = []

    def register(self, event, callback):
        assert event == "post_run_cell"
        self.callbacks.append(callback)

    def unregister(self, event, callback):
        assert event == "post_run_cell"
        self.callbacks.remove(callback)


@pytest.fixture
def outputs(monkeypatch):
    """The contents of each output of the cell, in order."""
    monkeypatch.delenv("EVENER_QUIET", raising=False)
    shown = []

    def display(content, *, raw, display_id):
        assert raw
        assert display_id
        shown.append([content])
        return SimpleNamespace(update=lambda content, **_: shown[-1].append(content))

    shell = SimpleNamespace(kernel=object(), events=Events())
    ipython, module = ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython = lambda: shell
    module.display = display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    return shown


@pytest.fixture
def eager(monkeypatch):
    """Bars appear at once."""
    monkeypatch.setattr(notebook, "_DELAY", 0.0)
    monkeypatch.setattr(notebook, "_EVERY", 0.001)


@pytest.mark.usefixtures("eager")
def test_a_run_shows_its_supersteps(outputs):
    graph = ev.partition(ev.read("rmat:8"), on="cpu:1")
    outputs.clear()
    recorder = Recorder("pagerank", ["cpu"], None, 1)
    for step in range(3):
        recorder.begin("pull", [40], 9, step / 4)
        await_text(outputs, f"pagerank: superstep {step}, 40 vertices active, 0 s")
    recorder.finish()
    (bar,) = outputs
    assert bar[-2]["text/html"].startswith('<progress value="0.500"></progress> pagerank: superstep 2, ')
    assert bar[-1]["text/plain"] == "pagerank: 3 supersteps, 0 s"
    outputs.clear()
    ev.bfs(graph, source=0, progress=lambda _: None)
    assert outputs == []


@pytest.mark.usefixtures("eager")
def test_the_bar_of_a_failed_run_ends_with_its_cell(outputs):
    bar = notebook.new_bar("wcc")
    await_text(outputs, "wcc, 0 s")
    (end_of_cell,) = sys.modules["IPython"].get_ipython().events.callbacks
    end_of_cell("result")
    seen = len(outputs[0])
    bar.close("wcc")
    assert len(outputs[0]) == seen
    assert sys.modules["IPython"].get_ipython().events.callbacks == []


@pytest.mark.usefixtures("eager")
def test_the_bar_of_a_failed_run_ends_before_a_next_run(outputs):
    """A cell may catch the error of a run, and go on."""
    recorder = Recorder("wcc", ["cpu"], None, 1)
    await_text(outputs, "wcc, 0 s")
    del recorder
    assert sys.modules["IPython"].get_ipython().events.callbacks == []
    assert not any(thread.name == "evener-notebook" for thread in threading.enumerate())


def await_text(outputs, text):
    """Wait until the newest output shows a text."""
    until = monotonic() + 30
    while not (outputs and outputs[-1][-1]["text/plain"] == text):
        assert monotonic() < until
        sleep(0.001)


@pytest.mark.usefixtures("eager")
def test_a_stage_moves_until_it_ends(outputs):
    with notebook.stage("reading <b>.txt"):
        await_text(outputs, "reading <b>.txt, 0 s")
    (bar,) = outputs
    assert bar[0]["text/html"] == "<progress></progress> reading &lt;b&gt;.txt, 0 s"
    assert bar[-1]["text/html"] == '<progress value="1.000"></progress> reading &lt;b&gt;.txt, 0 s'


@pytest.mark.usefixtures("eager")
def test_a_failed_stage_keeps_its_bar_unfinished(outputs):
    with contextlib.suppress(ValueError), notebook.stage("reading"):
        await_text(outputs, "reading, 0 s")
        raise ValueError
    assert all("value" not in content["text/html"] for content in outputs[0])


def test_reads_and_placements_are_stages(monkeypatch, tmp_path):
    (tmp_path / "g.txt").write_text("0 1\n")
    stages = []
    for module in ("evener.graph.formats", "evener.partition.build"):
        monkeypatch.setattr(
            sys.modules[module], "stage", lambda text: stages.append(text) or contextlib.nullcontext()
        )
    ev.partition(ev.read(tmp_path / "g.txt"))
    ev.read("grid:2x2")
    assert stages == [f"reading {tmp_path}/g.txt", "placing the graph", "generating grid:2x2"]


def test_short_work_shows_nothing(outputs, monkeypatch):
    monkeypatch.setattr(notebook, "_DELAY", 600.0)  # a first run may compile kernels for seconds
    ev.pagerank(ev.read("rmat:8"), on="cpu:1")
    assert outputs == []


@pytest.mark.usefixtures("outputs")
@pytest.mark.parametrize("place", ["no IPython", "IPython on a terminal", "quiet"])
def test_other_places_have_no_bars(monkeypatch, place):
    if place == "no IPython":
        monkeypatch.delitem(sys.modules, "IPython")
    elif place == "quiet":
        monkeypatch.setenv("EVENER_QUIET", "1")
    else:
        monkeypatch.setattr(sys.modules["IPython"], "get_ipython", SimpleNamespace)
    assert notebook.new_bar("wcc") is None
