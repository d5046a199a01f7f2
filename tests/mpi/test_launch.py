"""`evener.launch` starts ranks from a notebook or a script."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import evener as ev
from evener.system.world import current_world

pytestmark = [pytest.mark.usefixtures("launcher"), pytest.mark.slow]


def test_a_nested_function_runs_on_all_ranks(capfd):
    """Ranks cannot import a nested function, so it is sent by value with its variables and modules."""
    scale = np.array([10.0])

    def scaled_sum(more):
        world = current_world()
        sys.stdout.write(f"rank {world.rank}\n")
        return ev.__name__, scale * world.allreduce(world.rank + 1, "sum") + more, world.rank

    values = ev.launch(scaled_sum, ranks=2, args=[5])
    assert values == [("evener", 35, 0), ("evener", 35, 1)]
    assert sorted(capfd.readouterr().out.splitlines()) == ["rank 0", "rank 1"]


def test_the_error_of_a_rank_is_raised_by_the_caller():
    def fail():
        if current_world().rank == 1:
            raise ev.ArgumentError("no such thing")
        current_world().barrier()

    with pytest.raises(ev.MpiError, match=r"rank 1 of 2 failed:\n(?s:.*)no such thing"):
        ev.launch(fail, ranks=2)


def test_a_rank_that_ends_before_the_others(capfd):
    """The other ranks get an error for each call, and so does the caller."""

    def leave():
        placed = ev.partition("grid:2x3", on="cpu:1")
        if current_world().rank == 1:
            sys.exit(0)
        for call in (ev.wcc, ev.bfs):
            with pytest.raises(ev.MpiError) as caught:
                call(placed)
            sys.stdout.write(f"{caught.value}\n")

    with pytest.raises(ev.MpiError, match="launch: rank 1 ended before the function returned a value"):
        ev.launch(leave, ranks=2)
    said = "expected the same call on all ranks, found {} on rank 0 and the end of the program on rank 1; "
    lines = capfd.readouterr().out.splitlines()
    assert all(line.startswith(said.format(name)) for line, name in zip(lines, ["wcc", "bfs"], strict=True))


def test_an_error_of_one_rank_in_a_call():
    """The other rank cannot go on, so the job ends even if the program catches the error."""

    def stop(_):
        raise RuntimeError("stopped by progress")

    def run():
        with contextlib.suppress(RuntimeError):
            ev.bfs("grid:2x3", source=0, on="cpu:1", progress=stop if current_world().rank else None)

    with pytest.raises(ev.MpiError, match=r"rank 1 of 2 failed:\n(?s:.*)stopped by progress"):
        ev.launch(run, ranks=2)


def test_an_interrupt_ends_the_ranks():
    def wait():
        time.sleep(120)

    begin = time.monotonic()
    # A background process of a shell ignores SIGINT by default.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Timer(2, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            ev.launch(wait, ranks=2)
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - begin < 60


# Ranks that neither return nor react to SIGTERM: a compiled kernel runs without end.
STUCK = """
import os, signal
import numba
import numpy as np
import evener as ev

def stuck():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    open(f"{os.getpid()}.rank", "w").close()
    forever(np.zeros(2))

@numba.njit(nogil=True)
def forever(values):
    while values[0] < 1:
        values[1] += 1

if __name__ == "__main__":
    ev.launch(stuck, ranks=2)
"""


def is_alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_ranks_and_their_folder_end_with_the_caller(tmp_path, number):
    (tmp_path / "program.py").write_text(STUCK)
    (tmp_path / "temporary").mkdir()
    with subprocess.Popen(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path / "temporary")},
    ) as caller:
        until = time.monotonic() + 120
        while len(ranks := [int(file.stem) for file in tmp_path.glob("*.rank")]) < 2:
            if time.monotonic() > until:
                caller.kill()
                pytest.fail("the ranks have not started")
            time.sleep(0.05)
        assert any((tmp_path / "temporary").glob("evener-launch-*"))
        caller.send_signal(number)
        until = time.monotonic() + 10
        while any(map(is_alive, ranks)) or any((tmp_path / "temporary").glob("evener-launch-*")):
            assert time.monotonic() < until
            time.sleep(0.05)


@pytest.mark.parametrize("ranks", [0, 2.0, True, "2"])
def test_invalid_numbers_of_ranks(ranks):
    with pytest.raises(ev.ArgumentError, match="ranks=: expected a number of ranks of at least 1"):
        ev.launch(print, ranks=ranks)


def test_invalid_functions_and_arguments():
    with pytest.raises(ev.ArgumentError, match="expected a function as the first argument, found str"):
        ev.launch("print", ranks=2)
    with pytest.raises(ev.ArgumentError, match=r"expected a list of .* a string; write args=\['grid:2x2'\]"):
        ev.launch(print, ranks=2, args="grid:2x2")


def test_a_rank_cannot_start_ranks(monkeypatch):
    monkeypatch.setenv("PMI_SIZE", "2")
    with pytest.raises(ev.MpiError, match="this process is a rank of an MPI job already"):
        ev.launch(print, ranks=2)


def test_a_machine_without_a_launcher(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)
    with pytest.raises(ev.MpiError, match=r'mpiexec was not found.*pip install "evener\[mpi\]"'):
        ev.launch(print, ranks=2)


def test_the_module_can_be_pickled():
    """Dask sends functions that use the module to its workers."""
    assert pickle.loads(pickle.dumps(ev)) is ev
