"""Interruptible calls of many threads, and of a forked child."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

from evener.system import interruption
from evener.system.interruption import interruptible

CALLS = 8


@interruptible
def doubled(value):
    return 2 * value


def test_calls_of_several_threads_run_at_the_same_time():
    """No call waits for the thread of another call, also when all threads are idle after earlier calls."""
    meeting = threading.Barrier(CALLS)
    meet = interruptible(lambda: meeting.wait(60))
    with ThreadPoolExecutor(CALLS) as callers:
        for _ in range(3):
            places = [callers.submit(meet) for _ in range(CALLS)]
            assert sorted(place.result() for place in places) == list(range(CALLS))


class JustEmptied(list):
    """An empty list that had an item when it was last looked at."""

    def __bool__(self):
        return True


def test_another_call_may_take_the_last_idle_thread(monkeypatch):
    monkeypatch.setattr(interruption, "_idle", JustEmptied())
    assert doubled(3) == 6


FORKING = """
import os
import signal
from evener.system.interruption import interruptible

doubled = interruptible(lambda value: 2 * value)
assert doubled(3) == 6
child = os.fork()
if child == 0:
    signal.alarm(8)  # ends a child that waits for a thread of its parent
    os._exit(doubled(4))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_forked_child_calls_after_its_parent():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKING],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == "8\n"
