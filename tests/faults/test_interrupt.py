"""SIGINT, SIGTERM and SIGHUP end a command while a kernel runs, and leave no files."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import contextmanager

import pytest

from evener.cli import runs, supervisor
from evener.engine.checkpoints.folder import CheckpointFolder
from evener.engine.timeline import Progress

pytestmark = pytest.mark.slow

# A command whose reader runs an endless kernel while a temporary file is open.
STUCK = """
    import sys, time
    import numba
    import numpy as np
    from evener.system.files import atomic_write

    @numba.njit(nogil=True)
    def forever(values):
        while values[0] < 1:
            values[1] += 1
        return values[0]

    def read(name):
        with atomic_write(name + ".out"):
            print("stuck", flush=True)
            forever(np.zeros(2))

    forever(np.ones(2))
    from evener.cli import main, runs
    runs.read = read
    sys.exit(main(["info", "graph.txt"]))
"""

# A command whose supersteps never end.
ENDLESS = """
    import sys
    from evener.cli import main
    words = "run pagerank grid:300x300 --tol 0 --max-iter 1000000000 -o ranks.csv"
    sys.argv[1:] = words.split()
    sys.exit(main())
"""


# Programs with a function of the user that loops without end once it gets a 5.
LOOPING = """
    import numpy as np
    import evener as ev

    def loop(value):
        while value == 5:
            pass
        return value

    g, on = ev.read("rmat:6"), {on!r}
    print("begins", flush=True)
    {call}
"""
CALLS = {
    "gimv": "ev.gimv(g, lambda m, v: loop(v), min, min, np.arange(g.n), on=on)",
    "vertex_program": """ev.vertex_program(g, ev.VertexProgram(
        state={"x": np.arange(g.n)}, send=lambda state, weight: state.x, combine=min,
        apply=lambda state, message: ((loop(message),), 0)), until=3, on=on)""",
    "map": "ev.mapreduce(g, lambda source, target: (loop(source), 1), combine=max, on=on)",
    "reduce": "ev.mapreduce(g, lambda a, b: (a, 1), reduce=lambda key, values: loop(len(values)), on=on)",
}


# A shell starts background processes with SIGINT ignored, and child processes inherit this. These lines
# restore the handlers of a process at a terminal.
AT_A_TERMINAL = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
"""

# Seconds. A command without an answer never ends, so the limit can be long.
DEADLINE = 120


def supervisor_waits():
    """Return whether the main thread waits in `supervise`, where it answers signals."""
    frame = sys._current_frames()[threading.main_thread().ident]
    while frame is not None and frame.f_code is not threading.Event.wait.__code__:
        frame = frame.f_back
    return frame is not None and frame.f_back.f_code is supervisor.supervise.__code__


class TestInterrupt:
    @contextmanager
    def start(self, program, folder):
        process = subprocess.Popen(
            [sys.executable, "-c", AT_A_TERMINAL + textwrap.dedent(program)],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        with process:
            try:
                yield process
            finally:
                process.kill()

    @pytest.mark.parametrize(
        ("number", "status"),
        [
            (signal.SIGINT, 130),
            (signal.SIGTERM, 143),
            (signal.SIGHUP, 129),
        ],
    )
    def test_an_endless_kernel(self, tmp_path, number, status):
        with self.start(STUCK, tmp_path) as process:
            assert process.stdout.readline() == "stuck\n"
            assert any(tmp_path.iterdir())
            time.sleep(0.5)  # until the main thread waits and answers signals
            process.send_signal(number)
            _, err = process.communicate(timeout=DEADLINE)
        assert process.returncode == status
        assert err == "evener: interrupted while reading graph.txt; nothing was written\n"
        assert not any(tmp_path.iterdir())

    def test_a_command_under_nohup_ignores_sighup(self, tmp_path):
        ignoring = "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        with self.start(ignoring + textwrap.dedent(STUCK), tmp_path) as process:
            assert process.stdout.readline() == "stuck\n"
            process.send_signal(signal.SIGHUP)
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.5)

    def test_an_interrupted_run_names_its_supersteps(self, evener, monkeypatch):
        def endless(asked, *_):
            report = Progress("bfs", 3, "top-down", 1234, 2.0)
            asked.progress(report)
            until = time.monotonic() + DEADLINE
            while not supervisor_waits():
                assert time.monotonic() < until
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGINT)
            while True:
                asked.progress(report)
                time.sleep(0.01)

        monkeypatch.setattr(runs, "compute", endless)
        monkeypatch.setattr(supervisor, "_GRACE", DEADLINE)  # do not end the process earlier
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            done = evener("run", "bfs", "grid:2x2")
        finally:
            signal.signal(signal.SIGINT, before)
        assert done.status == 130
        # A line of progress precedes it if the run took five seconds.
        message = "evener: interrupted after 3 supersteps of bfs (2 s); nothing was written\n"
        assert done.err.endswith(message)

    def test_endless_supersteps(self, tmp_path):
        with self.start(ENDLESS, tmp_path) as process:
            assert "superstep" in process.stderr.readline()
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=DEADLINE)
        assert process.returncode == 130
        assert out == ""
        assert re.search(r" supersteps? of pagerank \(", err.splitlines()[-1])
        assert err.endswith("; nothing was written\n")
        assert not any(tmp_path.iterdir())

    def test_the_last_checkpoint_stays_valid(self, tmp_path):
        program = ENDLESS.replace("-o ranks.csv", "--checkpoint saved --every 1step")
        with self.start(program, tmp_path) as process:
            noted = process.stderr.readline()
            assert noted.startswith(
                "evener: to continue after a failure, run evener run pagerank grid:300x300 "
            )
            assert noted.endswith(" --checkpoint saved --every 1step --resume\n")
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=DEADLINE)
        assert process.returncode == 130
        assert err.endswith("; nothing was written; " + noted.removeprefix("evener: "))
        folder = CheckpointFolder(tmp_path / "saved")
        (shard,) = folder.read_manifest(folder.generations()[0]).shards
        folder.read(shard.state, ["<f4"], shard.owned, shard.state_checksum)

    @pytest.mark.parametrize(
        ("call", "on"),
        [
            ("gimv", ["cpu:1", "cpu:1"]),
            *((call, ["cpu:1"]) for call in [*CALLS][1:]),
        ],
    )
    def test_an_endless_function_of_the_user(self, tmp_path, call, on):
        with self.start(LOOPING.format(on=on, call=CALLS[call]), tmp_path) as process:
            assert process.stdout.readline() == "begins\n"
            time.sleep(4)  # compile, or load from the cache folder
            assert process.poll() is None, process.stderr.read()
            since = time.monotonic()
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=DEADLINE)
        assert time.monotonic() - since < 10  # 1 s, and more on a busy machine
        assert process.returncode == -signal.SIGINT
        assert err.splitlines()[-1] == "KeyboardInterrupt"
