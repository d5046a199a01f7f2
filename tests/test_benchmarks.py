"""Every benchmark runs, on tiny inputs and without rivals that may not be installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

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


def test_every_question_is_tried_here():
    shared = {"floors", "gap", "harness", "machine", "plot", "rivals"}
    assert {path.stem for path in FOLDER.glob("*.py")} == set(TINY) | shared


@pytest.mark.slow
@pytest.mark.parametrize("name", TINY)
def test_a_benchmark_runs(name):
    command = [sys.executable, str(FOLDER / f"{name}.py"), "--no-record", *TINY[name]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "evener" in done.stdout or "partitions" in done.stdout
