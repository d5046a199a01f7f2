"""The command line on ranks of an MPI launcher: output, files and exit status."""

from __future__ import annotations

import json
import os
import signal
import sys
import time

import numpy as np
import pyarrow.dataset
import pytest

import evener as ev
from mpi.launcher import evener, finish, launch, start

pytestmark = [pytest.mark.usefixtures("launcher"), pytest.mark.slow]


def test_run_with_different_elements_on_each_rank(tmp_path):
    """All ranks give one result and one report; each rank writes its part of the table."""
    words = ["run", "pagerank", "rmat:8", "--verify", "--json", "-o", f"{tmp_path}/ranks/"]
    words += ["--report", tmp_path / "run.html"]
    done = launch(
        "-n", 1, *evener(*words, "--on", "cpu:1"), ":", "-n", 1, *evener(*words, "--on", "cpu:1,cpu:1")
    )
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    assert {span["element"] for span in content["timeline"]} == {
        "rank 0 cpu:1", "rank 1 cpu:1#0", "rank 1 cpu:1#1"
    }  # fmt: skip
    assert content["verified"] is True
    expected = ev.pagerank(ev.read("rmat:8"), on="cpu:1")
    table = pyarrow.dataset.dataset(tmp_path / "ranks").to_table()
    np.testing.assert_allclose(table["rank"], expected["rank"], rtol=1e-6)
    assert [one["vertex"] for one in content["top"]] == [vertex for vertex, _ in expected.top()]
    assert "rank 1 cpu:1#1" in (tmp_path / "run.html").read_text()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["run", "bfs", "rmat:5", "--sorce", 1], "evener: No such option: --sorce"),
        (["run", "wcc", "absent.txt"], "evener: there is no file absent.txt; check"),
        (["run", "wcc", "rmat:5", "-o", "absent/r.csv"], "evener: cannot write absent/r.csv: there is no "),
        (["info", "rmat:5"], "evener: evener info works on one process, found 2 ranks; run it without"),
    ],
)
def test_an_error_of_all_ranks_is_printed_once(words, sentence):
    done = launch("-n", 2, *evener(*words))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(sentence)
    assert len(done.stderr.splitlines()) == 1


def test_ranks_with_different_arguments_or_files(tmp_path):
    done = launch("-n", 1, *evener("run", "bfs", "rmat:5"), ":", "-n", 1, *evener("run", "bfs", "rmat:6"))
    assert done.returncode == 2
    assert done.stderr.startswith(
        "evener: command line: expected the same arguments on all ranks, found evener run bfs rmat:5 on rank "
        "0 and evener run bfs rmat:6 on rank 1;"
    )
    for name, text in (("a", "0 1\n"), ("b", "0 1\n1 2\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "graph.txt").write_text(text)
    words = evener("run", "bfs", "graph.txt")
    done = launch("-wdir", tmp_path / "a", "-n", 2, *words, ":", "-wdir", tmp_path / "b", "-n", 1, *words)
    assert done.returncode == 2
    assert "expected the same graph.txt on all ranks, found 4 bytes with checksum" in done.stderr
    assert "8 bytes" in done.stderr
    assert "on rank 2; give all machines the same file" in done.stderr


def test_an_element_that_one_rank_lacks():
    words = ("run", "bfs", "rmat:5", "--on")
    began = time.monotonic()
    done = launch("-n", 1, *evener(*words, "cpu:1"), ":", "-n", 1, *evener(*words, "cuda:9"))
    assert done.returncode == 2
    assert done.stderr.startswith('evener: rank 1 of 2 failed: element "cuda:9"')
    assert time.monotonic() - began < 30


def test_devices_of_all_ranks():
    done = launch("-n", 3, *evener("devices", "--json"))
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    assert [one["rank"] for one in content["elements"] if one["name"] == "cpu"] == [0, 1, 2]
    routes = content["routes"]
    assert [(one["first"], one["second"]) for one in routes] == [(0, 1), (0, 2), (1, 2)]
    assert {one["transport"] for one in routes} == {"shared memory"}
    assert all(0 < one["latency"] < 1 and one["bandwidth"] > 1e6 for one in routes)


STEADY = """
import os, sys
import evener as ev
from evener.system.world import current_world

def report(progress):
    if progress.superstep == 200 and current_world().rank == 1:
        print(os.getpid(), flush=True)

result = ev.pagerank(ev.read("rmat:8"), tol=0, max_iter=int(sys.argv[1]), progress=report)
if current_world().rank == 0:
    print(result.outcome["iterations"])
"""


def started(iterations):
    """Start a run, and return it and the process id of rank 1 after 200 iterations."""
    job = start("-n", 2, sys.executable, "-c", STEADY, iterations)
    return job, int(job.stdout.readline())


def test_a_killed_rank_ends_the_job():
    job, pid = started(10**7)
    os.kill(pid, signal.SIGKILL)
    done = finish(job, timeout=30)
    assert done.returncode != 0
    assert "BAD TERMINATION" in done.stdout or "rank 1 of 2 on" in done.stderr


def test_a_stopped_rank_continues():
    job, pid = started(1000)
    os.kill(pid, signal.SIGSTOP)
    time.sleep(1)
    assert job.poll() is None
    os.kill(pid, signal.SIGCONT)
    done = finish(job, timeout=120)
    assert (done.returncode, done.stdout) == (0, "1000\n"), done.stderr


def test_an_interrupt_of_the_launcher():
    job = start("-n", 2, *evener("run", "pagerank", "rmat:8", "--tol", 0, "--max-iter", 10**8))
    assert "superstep" in job.stderr.readline()
    job.send_signal(signal.SIGINT)
    done = finish(job, timeout=30)
    assert done.returncode != 0
    assert done.stderr.count("evener: interrupted") == 1
