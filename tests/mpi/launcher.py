"""Start Python code or the command line on several ranks with the MPI launcher."""

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
    """Return whether a launcher and mpi4py are installed."""
    return LAUNCHER is not None and find_spec("mpi4py") is not None


def environment():
    path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path}


def start(*words, **how):
    """Start the launcher with these arguments, and return the process."""
    return subprocess.Popen(
        [LAUNCHER, *map(str, words)],
        env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **how,
    )  # fmt: skip


def finish(process, timeout):
    """Wait for a launcher and return its completed process. Kill the launcher after `timeout` seconds."""
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        msg = f"the launcher did not end in {timeout} s; it printed:\n{out}\n{err}"
        raise AssertionError(msg) from None
    out = out.replace(
        "\x1b[0m", ""
    )  # colorama resets colours at exit if the launcher gives the rank a terminal
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def launch(*words, timeout=300):
    """Run the launcher with these arguments, and return its completed process."""
    return finish(start(*words), timeout)


def mpiexec(ranks, program, *words):
    """Run Python code on several ranks, and return the completed process of the launcher."""
    return launch("-n", ranks, sys.executable, "-c", program, *words)


def evener(*words):
    """Return the arguments that run an Evener command on one rank."""
    return [sys.executable, "-m", "evener", *map(str, words)]
