"""The file of observed runs: kept runs, skipped lines, and failures to write."""

from __future__ import annotations

import json
import logging
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, replace
from multiprocessing import get_context

import pytest

import evener as ev
from evener.planning import observations as home
from evener.planning.observations import (
    Observation,
    ObservedElement,
    file_of_observations,
    observations,
    record,
)
from evener.spec import recording

ELEMENT = ObservedElement("cpu", "cpu", 2, 100, 0, 10, 5, 40, 0.5, 0.25)
RUN = Observation("pagerank", 8.0, 9, 1.0, (ELEMENT,))


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_observations_of_an_algorithm_start_with_the_oldest():
    assert observations("pagerank") == []
    for run in (RUN, replace(RUN, algorithm="bfs"), replace(RUN, seconds=2.0)):
        record(run)
    assert observations("pagerank") == [RUN, replace(RUN, seconds=2.0)]
    assert observations("wcc") == []


def test_only_the_newest_256_runs_are_kept():
    for number in range(1, 2 * home.KEPT + 100):
        record(replace(RUN, supersteps=number))
    found = [run.supersteps for run in observations("pagerank")]
    assert found == list(range(home.KEPT + 100, 2 * home.KEPT + 100))
    assert len(file_of_observations().read_text().splitlines()) < 2 * home.KEPT


def line(**changed):
    record(RUN)
    document = json.loads(file_of_observations().read_text().splitlines()[-1])
    file_of_observations().unlink()
    return json.dumps({**document, **changed})


@pytest.mark.parametrize(
    "garbage",
    [
        lambda: "",
        lambda: "{",
        lambda: "[]",
        lambda: "null",
        lambda: "[" * 100_000,
        lambda: line(version=0),
        lambda: line(machine="another"),
        lambda: line(elements=[]),
        lambda: line(elements=[{"model": "cpu"}]),
        lambda: line(seconds=-1.0),
        lambda: line(seconds=float("nan")),
        lambda: line(passes=0),
        lambda: line(supersteps="9"),
        lambda: line(more=1),
        lambda: line(passes=10**400),
        lambda: line(seconds=1e300),
        lambda: line(elements=[asdict(RUN.elements[0]) | {"kind": "tpu"}]),
        lambda: line(elements=[asdict(RUN.elements[0]) | {"edges": 10**400}]),
        lambda: line(elements="ab"),
        lambda: line()[:-20],
    ],
)
def test_invalid_lines_are_skipped(garbage):
    text = garbage()
    record(RUN)
    with file_of_observations().open("a") as file:
        file.write(f"{text}\n\xff\n")
    record(replace(RUN, seconds=2.0))
    assert observations("pagerank") == [RUN, replace(RUN, seconds=2.0)]


def test_a_binary_file_has_no_observations():
    file_of_observations().parent.mkdir(parents=True)
    file_of_observations().write_bytes(bytes(range(256)) * 10)
    assert observations("pagerank") == []


def _record(number):
    record(replace(RUN, supersteps=number))


def test_processes_record_without_losing_a_run():
    with ProcessPoolExecutor(2, mp_context=get_context("fork")) as pool:
        list(pool.map(_record, range(1, 101)))
    assert sorted(run.supersteps for run in observations("pagerank")) == list(range(1, 101))


@pytest.mark.parametrize("broken", ["a file in its place", "no home", "a folder in its place"])
def test_a_run_continues_if_it_cannot_be_recorded(monkeypatch, cache, caplog, broken):
    if broken == "a file in its place":
        (cache / "evener").write_text("")
    elif broken == "no home":
        monkeypatch.setattr(home, "cache_folder", lambda: None)
    else:
        file_of_observations().mkdir(parents=True)
    with caplog.at_level(logging.DEBUG, "evener"):
        record(RUN)
        assert observations("pagerank") == []
    assert {record.levelname for record in caplog.records} <= {"DEBUG"}
    assert len(caplog.records) <= 2


@pytest.mark.usefixtures("gpus")
def test_a_run_of_a_placed_graph_is_recorded_with_its_sizes(monkeypatch):
    monkeypatch.setattr(recording, "MIN_SECONDS", 0.0)
    monkeypatch.setattr(recording, "_MAX_COMPILING", 1.0)
    pg = ev.partition(ev.read("rmat:10"), "cpu:1,cuda:0", alpha=0.25, gpu_memory="1GiB")
    result = ev.pagerank(pg, tol=0, max_iter=3)
    (run,) = observations("pagerank")
    assert (run.passes, run.seconds, run.supersteps) == (3.0, result.seconds, result.timeline.supersteps)
    assert [one.kind for one in run.elements] == ["cpu", "cuda"]
    for one, own in zip(run.elements, pg.partitions, strict=True):
        assert (one.edges, one.vertices, one.mirrors) == (own.stored_edges, own.connected, own.mirrors)
    spans = list(result.timeline)
    assert sum(one.compute for one in run.elements) == pytest.approx(sum(span.compute for span in spans))
    assert sum(one.bytes_sent for one in run.elements) == sum(span.bytes_sent for span in spans)


@pytest.mark.usefixtures("gpus")
def test_short_runs_and_runs_that_compile_are_not_recorded(monkeypatch):
    pg = ev.partition(ev.read("rmat:8"), "cuda:0")
    monkeypatch.setattr(recording, "_MAX_COMPILING", 1.0)
    monkeypatch.setattr(recording, "MIN_SECONDS", 100.0)
    ev.wcc(pg)
    monkeypatch.setattr(recording, "MIN_SECONDS", 0.0)
    monkeypatch.setattr(recording, "_MAX_COMPILING", -1.0)
    ev.wcc(pg)
    assert observations("wcc") == []


def test_a_machine_without_a_gpu_records_nothing(monkeypatch):
    monkeypatch.setattr(recording, "MIN_SECONDS", 0.0)
    monkeypatch.setattr(recording, "driver_present", lambda: False)
    ev.wcc(ev.read("rmat:8"), on="cpu:1")
    assert not file_of_observations().exists()
