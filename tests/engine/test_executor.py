"""The crew: which thread makes which call, and what becomes of errors."""

from __future__ import annotations

import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from evener.elements import CpuElement
from evener.engine import executor as crew
from fake_elements import ApartElement

CPU = CpuElement("cpu:1", 1)
# What is deferred is a matter of the element; who drives it, of the crew.
GPU = ApartElement("late", memory=0, deferred=True)


@pytest.fixture
def threads(monkeypatch):
    """Three helpers, whatever the machine has."""
    with ThreadPoolExecutor(3) as pool:
        monkeypatch.setattr(crew, "_threads", lambda: pool)
        yield pool


@pytest.fixture
def drained(monkeypatch):
    """An event: the calls that have not begun are cancelled, which `call_all` does with `list(turns)`."""
    event = threading.Event()

    def drain(turns):
        left = list(turns)
        event.set()
        return left

    monkeypatch.setattr(crew, "list", drain, raising=False)
    return event


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
    assert crew.worker_count([CpuElement("cpu", threads) for threads in elements]) == helpers


@pytest.mark.parametrize(
    ("cores", "elements", "helpers"),
    [
        (4, [GPU], 0),
        (4, [GPU, GPU], 0),
        (4, [GPU, CPU], 0),
        (4, [GPU, CPU, CPU], 1),
        (4, [CPU, GPU, CPU, GPU], 1),
        (1, [CPU, GPU, CPU], 0),
        (4, [CpuElement("cpu:4", 4), GPU, CpuElement("cpu:4", 4)], 0),
    ],
)
def test_elements_that_are_only_handed_their_work_need_no_helper(monkeypatch, cores, elements, helpers):
    monkeypatch.setattr(crew, "usable_cores", lambda: cores)
    assert crew.worker_count(elements) == helpers


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("helpers", [0, 1, 3])
@pytest.mark.parametrize("count", [0, 1, 2, 50])
def test_each_call_is_made_once_and_answers_keep_their_order(count, helpers):
    made = []
    calls = [(CPU, lambda i: made.append(i) or i * i, (i,)) for i in range(count)]
    assert crew.run_all(calls, helpers) == [i * i for i in range(count)]
    assert sorted(made) == list(range(count))


def test_without_helpers_the_calling_thread_makes_all_calls_in_order():
    made = []
    crew.run_all([(CPU, lambda i: made.append((i, threading.get_ident())), (i,)) for i in range(5)], 0)
    assert made == [(i, threading.get_ident()) for i in range(5)]


@pytest.mark.usefixtures("threads")
def test_as_many_calls_at_once_as_there_are_threads():
    meeting = threading.Barrier(4)
    assert sorted(crew.run_all([(CPU, meeting.wait, (60,))] * 4, 3)) == [0, 1, 2, 3]


def test_the_caller_waits_for_no_helper_that_has_not_begun(threads):
    """All helpers are busy with something else until the calls are done."""
    released = threading.Event()
    busy = [threads.submit(released.wait, 60) for _ in range(3)]
    assert crew.run_all([(CPU, threading.get_ident, ())] * 4, 3) == [threading.get_ident()] * 4
    released.set()
    assert all(other.result() for other in busy)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("culprit", [0, 1])
def test_an_error_is_raised_when_the_calls_under_way_have_ended(drained, culprit):
    meeting, ended = threading.Barrier(2), []

    def call(i):
        meeting.wait(60)
        if i == culprit:
            raise ZeroDivisionError
        assert drained.wait(60)
        ended.append(i)

    calls = [(CPU, call, (i,)) for i in range(2)] + [(CPU, ended.append, (i,)) for i in range(2, 50)]
    with pytest.raises(ZeroDivisionError):
        crew.run_all(calls, 1)
    assert ended == [1 - culprit]
    assert crew.run_all([(CPU, divmod, (7, 2))] * 2, 1) == [(3, 1)] * 2


@pytest.fixture
def interruptible():
    """What Python does on SIGINT at a terminal."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("threads", "interruptible")
@pytest.mark.parametrize("times", [1, 3])
def test_an_interrupt_is_raised_when_the_calls_under_way_have_ended(times):
    """However often, while the caller waits for a helper."""
    meeting, caller, ended = threading.Barrier(2), threading.get_ident(), []
    interrupted = threading.Semaphore(0)

    def interrupt(*_):
        interrupted.release()
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)

    def call(i):
        meeting.wait(60)
        if threading.get_ident() != caller:
            for _ in range(times):
                time.sleep(0.1)  # the caller waits again
                signal.pthread_kill(caller, signal.SIGINT)
                assert interrupted.acquire(timeout=60)
            ended.append(i)

    with pytest.raises(KeyboardInterrupt):
        crew.run_all([(CPU, call, (i,)) for i in range(2)], 1)
    assert len(ended) == 1
    assert crew.run_all([(CPU, divmod, (7, 2))] * 2, 1) == [(3, 1)] * 2


@pytest.mark.usefixtures("threads", "interruptible")
def test_after_an_interrupt_nothing_else_begins(drained):
    meeting, caller, begun = threading.Barrier(2), threading.get_ident(), []

    def call(i):
        begun.append(i)
        meeting.wait(60)
        if threading.get_ident() == caller:
            signal.raise_signal(signal.SIGINT)
        assert drained.wait(60)

    with pytest.raises(KeyboardInterrupt):
        crew.run_all([(CPU, call, (i,)) for i in range(20)], 1)
    assert sorted(begun) == [0, 1]


class Refusing:
    """Submits to threads; the second time it fails, before or after having done so."""

    def __init__(self, threads, error, began, *, before):
        self.threads, self.error, self.began, self.before, self.asked = threads, error, began, before, 0

    def submit(self, *args):
        self.asked += 1
        if self.asked == 2 and self.before:
            raise self.error
        self.threads.submit(*args)
        assert self.began.acquire(timeout=60)
        if self.asked == 2:
            raise self.error


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("error", [RuntimeError("can't start new thread"), KeyboardInterrupt()], ids=repr)
def test_helpers_that_have_begun_are_waited_for_if_others_cannot_be_had(
    monkeypatch, threads, drained, error, before
):
    begun, ended, began = [], [], threading.Semaphore(0)

    def call(i):
        begun.append(i)
        began.release()
        assert drained.wait(60)
        ended.append(i)

    refusing = Refusing(threads, error, began, before=before)
    monkeypatch.setattr(crew, "_threads", lambda: refusing)
    with pytest.raises(type(error)):
        crew.run_all([(CPU, call, (i,)) for i in range(20)], 3)
    assert sorted(ended) == sorted(begun)
    assert len(begun) == (1 if before else 2)


# ---- elements that are only handed their work --------------------------------------------------------


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("helpers", [0, 1, 3])
def test_the_caller_hands_all_of_them_their_work_before_any_other_begins(helpers):
    made = []

    def call(i):
        made.append((i, threading.get_ident()))
        return i * i

    elements = [CPU, GPU, CPU, CPU, GPU, CPU, GPU, CPU]
    answers = crew.run_all([(element, call, (i,)) for i, element in enumerate(elements)], helpers)
    assert answers == [i * i for i in range(8)]
    assert made[:3] == [(i, threading.get_ident()) for i in (1, 4, 6)]
    assert sorted(i for i, _ in made[3:]) == [0, 2, 3, 5, 7]


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("helpers", [0, 3])
def test_the_caller_is_enough_where_all_are_handed_their_work(helpers):
    made = []
    calls = [(GPU, lambda i: made.append(threading.get_ident()) or -i, (i,)) for i in range(4)]
    assert crew.run_all(calls, helpers) == [0, -1, -2, -3]
    assert made == [threading.get_ident()] * 4


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("helpers", [0, 1])
def test_where_handing_over_fails_nothing_else_begins(helpers):
    begun = []
    calls = [
        (CPU, begun.append, ("cpu",)),
        (GPU, begun.append, ("first",)),
        (GPU, divmod, (1, 0)),
        (GPU, begun.append, ("last",)),
    ]
    with pytest.raises(ZeroDivisionError):
        crew.run_all(calls, helpers)
    assert begun == ["first"]
    assert crew.run_all([(CPU, divmod, (7, 2)), (GPU, divmod, (9, 4))], helpers) == [(3, 1), (2, 1)]


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("helpers", [0, 1])
def test_an_error_beside_what_was_handed_over_is_raised(helpers):
    begun = []
    with pytest.raises(ZeroDivisionError):
        crew.run_all([(CPU, divmod, (1, 0)), (GPU, begun.append, ("gpu",))], helpers)
    assert begun == ["gpu"]
