"""Fixtures for all tests: the command line in this process, and in a subprocess with a memory limit."""

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

from evener.cli import main
from evener.spec import recording

# pytest also explains failed assertions in these modules.
pytest.register_assert_rewrite("contracts", "evener.testing", "support")
from support.tuning import tune  # noqa: E402

# OpenMP's threads spin for up to 16 ms before they sleep, which is slow on busy cores. Read at load time.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")

# Tests of standard error expect no line about kernels that a cache lacks.
os.environ.setdefault("EVENER_QUIET", "1")

# The first example that reaches a kernel may have to compile it.
settings.register_profile("compiling", deadline=None)
settings.load_profile("compiling")

# Bytes: enough for the interpreter and its libraries, and far less than a runaway allocation.
MEMORY_LIMIT = 6 << 30


@dataclass
class Outcome:
    """The exit status and the output of a command."""

    status: int
    out: str
    err: str


def pytest_collection_finish():
    """Exclude imported and collected objects from later garbage collections, to make these fast."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def lower_search_thresholds(monkeypatch):
    """Lower the thresholds, so that searches of small graphs have narrow and wide levels."""
    tune(monkeypatch, "bfs", narrow=16, narrow_levels=3, fused_narrow_levels=2)
    tune(monkeypatch, "sssp", narrow=5, narrow_edges=40)
    betweenness = import_module("evener.algorithms.betweenness.betweenness")
    monkeypatch.setattr(betweenness, "NARROW", 16)
    monkeypatch.setattr(betweenness, "NARROW_LEVELS", 3)


@pytest.fixture(autouse=True)
def record_no_runs(monkeypatch):
    """Do not record the runs of tests for later plans on this machine."""
    monkeypatch.setattr(recording, "MIN_SECONDS", float("inf"))


@pytest.fixture(autouse=True)
def no_kept_placements():
    """Forget kept placements, so that each test places its graphs on its own elements."""
    import_module("evener.partition.placement_cache").forget_kept()


@pytest.fixture
def evener(capsys):
    """Run the command line in this process: ``evener("info", "rmat:4")``."""

    def call(*words: object) -> Outcome:
        capsys.readouterr()
        status = main([str(word) for word in words])
        out, err = capsys.readouterr()
        return Outcome(status, out, err)

    return call


def run_apart(*words: object, timeout: float = 120, stdin: str | None = None, **environment: str) -> Outcome:
    """Run Python in a subprocess with a memory limit: ``run_apart("-m", "evener", "devices")``."""
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
    """Return `run_apart`."""
    return run_apart


@pytest.fixture(scope="module")
def apart_elements():
    """Parse element names such as "apart:0" and "late:1" instead of this machine's elements."""
    from support.fake_elements import parse_apart

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(import_module("evener.partition.placement"), "parse_elements", parse_apart)
        yield


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
