"""Traces conform to the trace event format, and have the times of the timeline."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from example_results import made, steady

import evener as ev
from evener.engine.timeline import Slice


def written(result, tmp_path):
    result.trace(tmp_path / "run.json")
    assert list(tmp_path.iterdir()) == [tmp_path / "run.json"]
    return json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))


def of_kind(content, kind):
    return [event for event in content["traceEvents"] if event["ph"] == kind]


@pytest.fixture
def run():
    placed = ev.partition(ev.read("rmat:8"), on=["cpu:1", "cpu:1"], policy="high", alpha=0.5)
    return ev.bfs(placed, source=0)


def test_events_have_the_required_fields(run, tmp_path):
    content = written(run, tmp_path)
    assert {event["ph"] for event in content["traceEvents"]} == {"X", "M"}
    for event in of_kind(content, "X"):
        assert isinstance(event["name"], str)
        assert isinstance(event["cat"], str)
        assert event["ts"] >= 0
        assert event["dur"] >= 0
        assert isinstance(event["pid"], int)
        assert isinstance(event["tid"], int)
        assert set(event["args"]) == {"superstep", "phase", "bytes", "active"}
    for event in of_kind(content, "M"):
        assert event["name"] in {"process_name", "thread_name", "thread_sort_index"}
        assert {"pid", "tid", "args"} <= set(event)
    assert content["displayTimeUnit"] in {"ms", "ns"}


def test_each_element_has_a_row(run, tmp_path):
    content = written(run, tmp_path)
    names = {
        event["tid"]: event["args"]["name"]
        for event in of_kind(content, "M")
        if event["name"] == "thread_name"
    }
    assert sorted(names.values()) == ["cpu:1#0", "cpu:1#1"]
    assert {event["tid"] for event in of_kind(content, "X")} == set(names)
    (process,) = (event for event in of_kind(content, "M") if event["name"] == "process_name")
    assert process["args"]["name"] == "evener bfs"


def test_times_equal_the_timeline(run, tmp_path):
    events = of_kind(written(run, tmp_path), "X")
    assert len(events) == len(run.timeline.slices)
    for kind in ("compute", "send", "receive"):
        seconds = sum(getattr(span, kind) for span in run.timeline)
        assert sum(one["dur"] for one in events if one["cat"] == kind) == pytest.approx(seconds * 1e6)
    rows = {}
    for one in events:
        rows.setdefault(one["tid"], []).append((one["ts"], one["ts"] + one["dur"]))
    for stretches in rows.values():
        stretches.sort()
        assert all(end <= begin + 1e-3 for (_, end), (begin, _) in pairwise(stretches))
    assert max(one["ts"] + one["dur"] for one in events) <= run.seconds * 1e6


def test_by_hand(tmp_path):
    spans = [ev.Span(3, "down", "cpu", compute=0.5, bytes_sent=64, active=9)]
    slices = [Slice(3, "down", "cpu", "compute", 0.25, 0.75)]
    content = written(made(spans=spans, slices=slices), tmp_path)
    (event,) = of_kind(content, "X")
    assert event == {
        "name": "down compute",
        "cat": "compute",
        "ph": "X",
        "ts": 250_000.0,
        "dur": 500_000.0,
        "pid": 1,
        "tid": 1,
        "args": {"superstep": 3, "phase": "down", "bytes": 64, "active": 9},
    }
    assert content["otherData"]["vertices"] == 3


def test_durations_are_not_negative(tmp_path):
    """The clocks of a GPU and the host may differ slightly."""
    slices = [Slice(0, "down", "cuda:0", "compute", 0.75, 0.5)]
    (event,) = of_kind(written(made(slices=slices), tmp_path), "X")
    assert (event["ts"], event["dur"]) == (750_000.0, 0.0)


def test_a_trace_contains_all_slices(tmp_path):
    assert len(of_kind(written(made(slices=steady(5000)), tmp_path), "X")) == 5000


def test_a_failed_trace_leaves_the_old_file(tmp_path):
    slices = [Slice(0, "down", "cpu", "compute", float("nan"), 1.0)]
    (tmp_path / "run.json").write_text("before")
    with pytest.raises(ValueError, match="JSON"):
        made(slices=slices).trace(tmp_path / "run.json")
    assert (tmp_path / "run.json").read_text() == "before"
    with pytest.raises(ev.FileError):
        made().trace(tmp_path / "absent" / "run.json")
    assert list(tmp_path.iterdir()) == [tmp_path / "run.json"]
