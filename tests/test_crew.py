"""The crew: which thread makes which call, and what becomes of errors."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from evener.elements import CpuElement, crew

CPU = CpuElement("cpu:1", 1)


@pytest.fixture
def threads(monkeypatch):
    """Three helpers, whatever the machine has."""
    with ThreadPoolExecutor(3) as pool:
        monkeypatch.setattr(crew, "_threads", lambda: pool)
        yield pool


@pytest.mark.parametrize(
    ("cores", "elements", "helpers"),
    [
        (1, [1], 0),
        (1, [1, 1], 0),
        (2, [2], 0),
        (2, [1, 1], 1),
        (2, [2, 2], 0),
        (2, [1, 1, 1, 1], 1),
        (4, [1, 1, 1, 1], 3),
        (4, [2, 2, 2, 2], 1),
        (4, [3, 1], 1),
        (16, [1, 1], 1),
        (16, [16, 16, 16], 0),
    ],
)
def test_no_more_elements_at_once_than_there_are_cores_for(monkeypatch, cores, elements, helpers):
    monkeypatch.setattr(crew, "usable_cores", lambda: cores)
    assert crew.helpers_for([CpuElement("cpu", threads) for threads in elements]) == helpers


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("helpers", [0, 1, 3])
@pytest.mark.parametrize("count", [0, 1, 2, 50])
def test_each_call_is_made_once_and_answers_keep_their_order(count, helpers):
    made = []
    calls = [(CPU, lambda i: made.append(i) or i * i, (i,)) for i in range(count)]
    assert crew.call_all(calls, helpers) == [i * i for i in range(count)]
    assert sorted(made) == list(range(count))


def test_without_helpers_the_calling_thread_makes_all_calls_in_order():
    made = []
    crew.call_all([(CPU, lambda i: made.append((i, threading.get_ident())), (i,)) for i in range(5)], 0)
    assert made == [(i, threading.get_ident()) for i in range(5)]


@pytest.mark.usefixtures("threads")
def test_as_many_calls_at_once_as_there_are_threads():
    meeting = threading.Barrier(4)
    assert sorted(crew.call_all([(CPU, meeting.wait, (60,))] * 4, 3)) == [0, 1, 2, 3]


def test_the_caller_waits_for_no_helper_that_has_not_begun(threads):
    """All helpers are busy with something else until the calls are done."""
    released = threading.Event()
    busy = [threads.submit(released.wait, 60) for _ in range(3)]
    assert crew.call_all([(CPU, threading.get_ident, ())] * 4, 3) == [threading.get_ident()] * 4
    released.set()
    assert all(other.result() for other in busy)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("culprit", [0, 1])
def test_an_error_is_raised_when_the_calls_under_way_have_ended(culprit):
    meeting, ended = threading.Barrier(2), []

    def call(i):
        meeting.wait(60)
        if i == culprit:
            raise ZeroDivisionError
        time.sleep(0.1)
        ended.append(i)

    calls = [(CPU, call, (i,)) for i in range(2)] + [(CPU, ended.append, (i,)) for i in range(2, 50)]
    with pytest.raises(ZeroDivisionError):
        crew.call_all(calls, 1)
    assert ended == [1 - culprit]
    assert crew.call_all([(CPU, divmod, (7, 2))] * 2, 1) == [(3, 1)] * 2
