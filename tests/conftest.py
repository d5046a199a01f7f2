"""What all tests share: the command line in this process, and in one of its own under a memory limit."""

from __future__ import annotations

import gc
import os
import resource
import subprocess
import sys
from dataclasses import dataclass
from importlib import import_module

import pytest
from hypothesis import settings

from evener.algorithms import recording
from evener.cli import main
from tuning import tune

# Their assertions say what differs, as those of the tests themselves do.
pytest.register_assert_rewrite("evener.testing", "expected", "fake_elements", "one_route", "parity_cases")

# OpenMP's threads spin before they sleep, by default up to 16 ms where other programs keep the cores busy:
# a build of 1,200 edges then took 72 ms, with this 1.2 ms. Read when the library is loaded.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")

# Tests of standard error expect no line about kernels that a cache lacks.
os.environ.setdefault("EVENER_QUIET", "1")

# The first example that reaches a kernel may have to compile it.
settings.register_profile("compiling", deadline=None)
settings.load_profile("compiling")

# What a bad call may take: enough for the interpreter and its libraries, far below what a runaway would ask.
MEMORY_LIMIT = 6 << 30


@dataclass
class Outcome:
    """What a command left behind."""

    status: int
    out: str
    err: str


def pytest_collection_finish():
    """Leave all that was imported and collected out of later garbage collections, which then are quick."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def narrow_and_wide(monkeypatch):
    """Searches of small graphs widen and narrow as those of large ones do."""
    tune(monkeypatch, "bfs", narrow=16, narrow_levels=3, fused_narrow_levels=2)
    tune(monkeypatch, "sssp", narrow=5, narrow_edges=40)
    betweenness = import_module("evener.algorithms.betweenness.betweenness")
    monkeypatch.setattr(betweenness, "NARROW", 16)
    monkeypatch.setattr(betweenness, "NARROW_LEVELS", 3)


@pytest.fixture(autouse=True)
def nothing_recorded(monkeypatch):
    """Runs of tests are not recorded for later plans on this machine."""
    monkeypatch.setattr(recording, "MIN_SECONDS", float("inf"))


@pytest.fixture(autouse=True)
def no_kept_placements():
    """A test places its graphs on its own elements, real or fake."""
    import_module("evener.partition.placement_cache").forget_kept()


@pytest.fixture
def evener(capsys):
    """The command line, run in this process: ``evener("info", "rmat:4")``."""

    def call(*words: object) -> Outcome:
        capsys.readouterr()
        status = main([str(word) for word in words])
        out, err = capsys.readouterr()
        return Outcome(status, out, err)

    return call


def run_apart(*words: object, timeout: float = 120, stdin: str | None = None, **environment: str) -> Outcome:
    """Run Python in a process of its own under a memory limit: ``run_apart("-m", "evener", "devices")``."""
    done = subprocess.run(
        [sys.executable, *map(str, words)],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, **environment},
        preexec_fn=_limit_memory,
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="session")
def apart():
    """`run_apart`."""
    return run_apart


@pytest.fixture(scope="module")
def apart_elements():
    """Graphs are placed on elements "apart:0", "late:1" and so on, not on those of this machine."""
    from fake_elements import parse_apart

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(import_module("evener.partition.build"), "parse_elements", parse_apart)
        yield


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
