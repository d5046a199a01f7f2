"""Every benchmark runs, on tiny inputs and without rivals that may not be installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from evener.elements.gpus import missing

FOLDER = Path(__file__).parent.parent / "benchmarks"

TINY = {
    "cpu_rivals": [
        *("--scale", "8", "--sources", "4", "--rounds", "1", "--rivals", "scipy"),
        *("--graphs", "rmat"),
    ],
    "partitions": ["--scale", "8", "--sources", "2"],
    "building": ["--scale", "8", "--rounds", "1", "--rivals", "SciPy"],
    "text_input": ["--edges", "2000", "--rounds", "1"],
    "generation": ["--scale", "8", "--rounds", "1", "--rivals"],
    "startup": ["--graph", "rmat:6", "--repeats", "1"],
}
# What needs a GPU is tried where there is one.
TINY_ON_GPU = {
    "gpu_rivals": ["--scales", "8", "--sources", "4", "--rounds", "1"],
    "hybrid": [
        *("--scale", "10", "--fits", "0.5", "--step", "0.5", "--policies", "high"),
        *("--sources", "2", "--rounds", "1"),
    ],
}


def test_every_question_is_tried_here():
    shared = {"floors", "gap", "gpu_floors", "harness", "machine", "plot", "rivals"}
    assert {path.stem for path in FOLDER.glob("*.py")} == {*TINY, *TINY_ON_GPU, *shared}


def run(name, words):
    command = [sys.executable, str(FOLDER / f"{name}.py"), "--no-record", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", TINY)
def test_a_benchmark_runs(name):
    out = run(name, TINY[name])
    assert "evener" in out or "partitions" in out


@pytest.mark.slow
@pytest.mark.gpu
@pytest.mark.skipif(missing() is not None, reason=f"no GPU can be used: {missing()}")
@pytest.mark.parametrize("name", TINY_ON_GPU)
def test_a_gpu_benchmark_runs(name):
    assert "pagerank" in run(name, TINY_ON_GPU[name]).lower()
