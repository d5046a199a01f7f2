"""Interruptible calls of many threads, and of a forked child."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from evener.system import interruption
from evener.system.interruption import interruptible

THREADS = 8


@interruptible
def doubled(value):
    return 2 * value


@pytest.fixture
def eager_switches():
    """Let Python switch between threads far more often than it does by default."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def double_many(thread):
    return [doubled(value) for value in range(1000 * thread, 1000 * thread + 200)]


@pytest.mark.usefixtures("eager_switches")
def test_each_of_many_calls_returns_its_own_result():
    with ThreadPoolExecutor(THREADS) as threads:
        found = list(threads.map(double_many, range(THREADS)))
    for thread, values in enumerate(found):
        assert values == list(range(2000 * thread, 2000 * thread + 400, 2))


class JustEmptied(list):
    """An empty list that had an item when it was last looked at."""

    def __bool__(self):
        return True


def test_another_call_may_take_the_last_idle_thread(monkeypatch):
    monkeypatch.setattr(interruption, "_idle", JustEmptied())
    assert doubled(3) == 6


FORKING = """
import os
from evener.system.interruption import interruptible

doubled = interruptible(lambda value: 2 * value)
assert doubled(3) == 6
child = os.fork()
if child == 0:
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
