"""The executor: the threads that make the calls, errors and interrupts."""

from __future__ import annotations

import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from evener.elements import CpuElement
from evener.engine import executor
from fake_elements import ApartElement

CPU = CpuElement("cpu:1", 1)
GPU = ApartElement("late", memory=0, deferred=True)


@pytest.fixture
def threads(monkeypatch):
    """Use a pool of three worker threads on any machine."""
    with ThreadPoolExecutor(3) as pool:
        monkeypatch.setattr(executor, "_threads", lambda: pool)
        yield pool


@pytest.fixture
def drained(monkeypatch):
    """An event that is set when `run_all` cancels the remaining calls with `list(turns)`."""
    event = threading.Event()

    def drain(turns):
        left = list(turns)
        event.set()
        return left

    monkeypatch.setattr(executor, "list", drain, raising=False)
    return event


@pytest.mark.parametrize(
    ("cores", "elements", "workers"),
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
def test_concurrent_elements_are_limited_by_cores(monkeypatch, cores, elements, workers):
    monkeypatch.setattr(executor, "usable_cores", lambda: cores)
    assert executor.worker_count([CpuElement("cpu", threads) for threads in elements]) == workers


@pytest.mark.parametrize(
    ("cores", "elements", "workers"),
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
def test_deferred_elements_need_no_worker(monkeypatch, cores, elements, workers):
    monkeypatch.setattr(executor, "usable_cores", lambda: cores)
    assert executor.worker_count(elements) == workers


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("count", [0, 1, 2, 50])
def test_each_call_is_made_once_and_values_are_in_order(count, workers):
    made = []
    calls = [(CPU, lambda i: made.append(i) or i * i, (i,)) for i in range(count)]
    assert executor.run_all(calls, workers) == [i * i for i in range(count)]
    assert sorted(made) == list(range(count))


def test_without_workers_the_caller_makes_all_calls_in_order():
    made = []
    executor.run_all([(CPU, lambda i: made.append((i, threading.get_ident())), (i,)) for i in range(5)], 0)
    assert made == [(i, threading.get_ident()) for i in range(5)]


@pytest.mark.usefixtures("threads")
def test_all_threads_make_calls_at_the_same_time():
    meeting = threading.Barrier(4)
    assert sorted(executor.run_all([(CPU, meeting.wait, (60,))] * 4, 3)) == [0, 1, 2, 3]


def test_the_caller_does_not_wait_for_idle_workers(threads):
    """All workers are busy until the calls are complete."""
    released = threading.Event()
    busy = [threads.submit(released.wait, 60) for _ in range(3)]
    assert executor.run_all([(CPU, threading.get_ident, ())] * 4, 3) == [threading.get_ident()] * 4
    released.set()
    assert all(other.result() for other in busy)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("culprit", [0, 1])
def test_an_error_is_raised_after_the_calls_in_progress(drained, culprit):
    meeting, ended = threading.Barrier(2), []

    def call(i):
        meeting.wait(60)
        if i == culprit:
            raise ZeroDivisionError
        assert drained.wait(60)
        ended.append(i)

    calls = [(CPU, call, (i,)) for i in range(2)] + [(CPU, ended.append, (i,)) for i in range(2, 50)]
    with pytest.raises(ZeroDivisionError):
        executor.run_all(calls, 1)
    assert ended == [1 - culprit]
    assert executor.run_all([(CPU, divmod, (7, 2))] * 2, 1) == [(3, 1)] * 2


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("first", [0, 1])
def test_the_first_error_is_raised_with_a_note_about_the_second(drained, first):
    meeting = threading.Barrier(2)

    def call(i):
        meeting.wait(60)
        if i == first:
            raise ZeroDivisionError
        assert drained.wait(60)
        msg = "the second"
        raise ValueError(msg)

    with pytest.raises(ZeroDivisionError) as caught:
        executor.run_all([(CPU, call, (i,)) for i in range(2)], 1)
    assert caught.value.__notes__ == ["another element also failed: ValueError('the second')"]


@pytest.fixture
def interruptible():
    """Install Python's default handler of SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("threads", "interruptible")
@pytest.mark.parametrize("times", [1, 3])
def test_an_interrupt_is_raised_after_the_calls_in_progress(times):
    """One or several interrupts come while the caller waits for a worker."""
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
                time.sleep(0.1)  # until the caller waits again
                signal.pthread_kill(caller, signal.SIGINT)
                assert interrupted.acquire(timeout=60)
            ended.append(i)

    with pytest.raises(KeyboardInterrupt):
        executor.run_all([(CPU, call, (i,)) for i in range(2)], 1)
    assert len(ended) == 1
    assert executor.run_all([(CPU, divmod, (7, 2))] * 2, 1) == [(3, 1)] * 2


@pytest.mark.usefixtures("threads", "interruptible")
def test_an_interrupt_after_an_error_is_raised():
    meeting, caller = threading.Barrier(2), threading.get_ident()

    def call(_):
        meeting.wait(60)
        if threading.get_ident() == caller:
            raise ZeroDivisionError
        time.sleep(0.1)  # until the caller waits
        signal.pthread_kill(caller, signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as caught:
        executor.run_all([(CPU, call, (i,)) for i in range(2)], 1)
    assert caught.value.__notes__ == ["another element also failed: ZeroDivisionError()"]


@pytest.mark.usefixtures("threads", "interruptible")
def test_no_call_begins_after_an_interrupt(drained):
    meeting, caller, begun = threading.Barrier(2), threading.get_ident(), []

    def call(i):
        begun.append(i)
        meeting.wait(60)
        if threading.get_ident() == caller:
            signal.raise_signal(signal.SIGINT)
        assert drained.wait(60)

    with pytest.raises(KeyboardInterrupt):
        executor.run_all([(CPU, call, (i,)) for i in range(20)], 1)
    assert sorted(begun) == [0, 1]


class Refusing:
    """A pool whose second `submit` raises an error, before or after it submits the call."""

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
def test_a_failed_submit_waits_for_the_workers_in_progress(monkeypatch, threads, drained, error, before):
    begun, ended, began = [], [], threading.Semaphore(0)

    def call(i):
        begun.append(i)
        began.release()
        assert drained.wait(60)
        ended.append(i)

    refusing = Refusing(threads, error, began, before=before)
    monkeypatch.setattr(executor, "_threads", lambda: refusing)
    with pytest.raises(type(error)):
        executor.run_all([(CPU, call, (i,)) for i in range(20)], 3)
    assert sorted(ended) == sorted(begun)
    assert len(begun) == (1 if before else 2)


# ---- deferred elements -------------------------------------------------------------------------------


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("workers", [0, 1, 3])
def test_calls_of_deferred_elements_come_first(workers):
    made = []

    def call(i):
        made.append((i, threading.get_ident()))
        return i * i

    elements = [CPU, GPU, CPU, CPU, GPU, CPU, GPU, CPU]
    answers = executor.run_all([(element, call, (i,)) for i, element in enumerate(elements)], workers)
    assert answers == [i * i for i in range(8)]
    assert made[:3] == [(i, threading.get_ident()) for i in (1, 4, 6)]
    assert sorted(i for i, _ in made[3:]) == [0, 2, 3, 5, 7]


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("workers", [0, 3])
def test_the_caller_makes_all_calls_of_deferred_elements(workers):
    made = []
    calls = [(GPU, lambda i: made.append(threading.get_ident()) or -i, (i,)) for i in range(4)]
    assert executor.run_all(calls, workers) == [0, -1, -2, -3]
    assert made == [threading.get_ident()] * 4


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("workers", [0, 1])
def test_no_call_begins_after_an_error_of_a_deferred_element(workers):
    begun = []
    calls = [
        (CPU, begun.append, ("cpu",)),
        (GPU, begun.append, ("first",)),
        (GPU, divmod, (1, 0)),
        (GPU, begun.append, ("last",)),
    ]
    with pytest.raises(ZeroDivisionError):
        executor.run_all(calls, workers)
    assert begun == ["first"]
    assert executor.run_all([(CPU, divmod, (7, 2)), (GPU, divmod, (9, 4))], workers) == [(3, 1), (2, 1)]


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("workers", [0, 1])
def test_an_error_after_calls_of_deferred_elements_is_raised(workers):
    begun = []
    with pytest.raises(ZeroDivisionError):
        executor.run_all([(CPU, divmod, (1, 0)), (GPU, begun.append, ("gpu",))], workers)
    assert begun == ["gpu"]
