"""Start Python code, or the command line, on several ranks by the launcher of MPI."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

LAUNCHER = shutil.which(
    "mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
)
TESTS = Path(__file__).parent.parent


def usable():
    """Whether ranks can be started at all."""
    return LAUNCHER is not None and find_spec("mpi4py") is not None


def environment():
    path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path}


def start(*words, **how):
    """Start the launcher with these words, and return the process."""
    return subprocess.Popen(
        [LAUNCHER, *map(str, words)],
        env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **how,
    )  # fmt: skip


def finish(process, timeout):
    """Wait for a launcher, and return what happened. Kill a launcher that does not end in time."""
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        msg = f"the launcher did not end in {timeout} s; it printed:\n{out}\n{err}"
        raise AssertionError(msg) from None
    out = out.replace(
        "\x1b[0m", ""
    )  # colorama writes it at the end of a rank whose launcher gives it a terminal
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def launch(*words, timeout=300):
    """Run the launcher with these words, and return what happened."""
    return finish(start(*words), timeout)


def mpiexec(ranks, program, *words):
    """Run Python code on several ranks, and return what happened."""
    return launch("-n", ranks, sys.executable, "-c", program, *words)


def evener(*words):
    """The words that run a command on one rank."""
    return [sys.executable, "-m", "evener", *map(str, words)]
