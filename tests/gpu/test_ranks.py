"""Two ranks with one GPU each: every transport between them, and failures of ranks."""

from __future__ import annotations

import json
import os
import signal
import sys
import time

import pytest

from evener.elements.cuda.discovery import gpus
from evener.engine.exchange.network import VARIABLE
from mpi.launcher import evener, finish, launch, mpiexec, start, usable

pytestmark = [
    pytest.mark.skipif(gpus() < 2, reason="expected two GPUs, found fewer"),
    pytest.mark.skipif(not usable(), reason='no MPI launcher with mpi4py; pip install "evener[mpi]"'),
]

PARITY = """
import sys
from support import graphs
from evener.elements import parse_elements
from evener.engine.exchange.network import connect_ranks
from evener.system.world import current_world
from support.expected_results import truth_of

transport, *placements = sys.argv[1:]
world = current_world()
network = connect_ranks(world, parse_elements(placements[0]))
assert network.name(0, 1) == network.name(1, 0) == transport, network.name(0, 1)
for directed in (False, True):
    truth = truth_of(graphs.SMALL["rmat"](), directed=directed)
    for on in placements:
        truth.check(on=on, policy="random")
        truth.check(on=on, policy="high", alpha=0.4)
world.barrier()
if world.rank == 0:
    print("all equal")
"""


def check_parity(transport, *placements):
    done = mpiexec(2, PARITY, transport, *placements)
    assert (done.returncode, done.stdout) == (0, "all equal\n"), done.stderr
    return done


@pytest.mark.parametrize("transport", ["ipc", "nccl", "mpi"])
def test_five_algorithms(monkeypatch, transport):
    """Run on two GPUs, and on two GPUs with a CPU each, whose routes go through host memory.

    With IPC, the kernels of two GPUs run as a group, and those of two GPUs with CPUs do not.
    """
    monkeypatch.setenv(VARIABLE, transport)
    check_parity(transport, "cuda:local", "cpu:1,cuda:local")


PLACES = """
import numpy as np
import evener as ev
from evener.partition.upload import edges_on_host
from evener.system.world import SingleProcess, current_world, enter_world
from support.pair_cover import pairwise_cover

def arrays_of(pg):
    for p, element in zip(pg.partitions, pg.elements, strict=True):
        found = [p.mirror_bounds, *map(element.download, (p.vertices, p.out_degree))]
        for edges in p.directions:
            found += [element.download(edges.offsets), element.download(edges.blocks)]
            columns = [edges.targets] if edges.weights is None else [edges.targets, edges.weights]
            found += [edges_on_host(column, element) for column in columns]
        yield found

world = current_world()
rows = pairwise_cover(
    ["rmat:11", "uniform:10"],
    ["", ",weights=1..255", ",weights=real"],
    ["", ",directed"],
    ["both", "out", "in"],
    ["random", "high", "low", "contiguous", "hash", "C-PG"],
)
for model, weights, directed, directions, policy in rows:
    spec = model + weights + directed
    how = {"policy": policy, "directions": directions, "seed": 3}
    placed = ev.partition(spec, "cuda:local", **how)
    [found] = arrays_of(placed)
    every = world.allgather(found)
    enter_world(SingleProcess())
    if world.rank == 0:
        whole = ev.partition(ev.read(spec), "cuda:0,cuda:1", **how)
        for own, expected in zip(every, arrays_of(whole), strict=True):
            for one, other in zip(own, expected, strict=True):
                np.testing.assert_array_equal(one, other, err_msg=f"{spec} {how}", strict=True)
    enter_world(world)
if world.rank == 0:
    print("all equal")
"""


def test_partitions_of_ranks():
    """Ranks that generate parts have the partitions that the GPUs of one process build."""
    done = mpiexec(2, PLACES)
    assert (done.returncode, done.stdout) == (0, "all equal\n"), done.stderr


JOBS = """
import sys
import numpy as np
import evener as ev

graph = ev.read("rmat:12,seed=2")
sources = np.repeat(np.arange(graph.n), np.diff(graph.offsets.astype(np.int64)))
counts = np.bincount(graph.targets)
for on in sys.argv[1:]:
    for memory in (None, "500KB"):
        rows = ev.mapreduce(
            graph, lambda s, t: (t, (s, 1)), combine=lambda x, y: (x[0] + y[0], x[1] + y[1]), owner="block",
            on=on, memory=memory,
        ).gather()
        if rows is not None:
            assert (rows.keys == np.flatnonzero(counts)).all()
            assert (rows.values[0] == np.bincount(graph.targets, sources)[rows.keys]).all()
            assert (rows.values[1] == counts[rows.keys]).all()
            print("right")
    least = ev.gimv(graph, lambda m, v: v, min, min, np.arange(graph.n), engine="mapreduce", on=on)["value"]
    assert (least == ev.wcc(graph, on="cpu:1")["component"]).all()
"""


def test_jobs_of_mapreduce():
    """Records of GPUs go through host memory to other ranks, and from CPUs to GPUs, also in chunks.

    GIM-V as MapReduce finds the components, also on CPUs and GPUs together.
    """
    done = mpiexec(2, JOBS, "cuda:local", "cpu:1,cuda:local")
    assert (done.returncode, done.stdout) == (0, "right\n" * 4), done.stderr


IN_A_ROW = """
import sys
import numpy as np
import evener as ev
from evener.engine.engine import Engine

graph = ev.read("rmat:12,weights=1..255")
expected, found = ev.partition(graph, "cpu:1"), ev.partition(graph, "cuda:local")
assert (Engine(found, "test").group is not None) == (sys.argv[1] == "ipc")
reached = np.flatnonzero(graph.out_degree())
for source in graph.ids[np.random.default_rng(2).choice(reached, 100)].tolist():
    for run in (ev.bfs, ev.sssp):
        own = run(found, source=source)["distance"]
        assert (own == run(expected, source=source)["distance"]).all()
    assert (ev.wcc(found)["component"] == ev.wcc(expected)["component"]).all()
"""


@pytest.mark.parametrize("transport", ["ipc", "nccl"])
def test_many_runs_in_a_row(monkeypatch, transport):
    """Later runs use the windows, the communicators and the groups of earlier runs."""
    monkeypatch.setenv(VARIABLE, transport)
    done = mpiexec(2, IN_A_ROW, transport)
    assert done.returncode == 0, done.stderr


def test_mpi_on_gpu_memory(monkeypatch):
    """It works if the MPI library supports it; otherwise the error names the transport."""
    monkeypatch.setenv(VARIABLE, "mpi-gpu")
    query = "from evener.system.world import current_world as world; print(world().sends_gpu_memory)"
    if "True" in mpiexec(2, query).stdout:
        check_parity("mpi-gpu", "cuda:local")
    else:
        done = launch("-n", 2, *evener("run", "bfs", "rmat:8", "--on", "cuda:local"))
        assert done.returncode != 0
        assert "=mpi-gpu: the GPUs of rank 0 and rank 1 cannot exchange by this transport" in done.stderr


def test_two_ranks_share_a_gpu():
    """The ranks use IPC by default, and a warning names them."""
    done = check_parity("ipc", "cuda:0")
    assert "ranks 0 and 1 share the GPU" in done.stderr


def test_devices_measures_the_route_between_gpus():
    done = launch("-n", 2, *evener("devices", "--json"))
    assert done.returncode == 0, done.stderr
    (route,) = json.loads(done.stdout)["gpu_routes"]
    assert (route["first"], route["second"], route["transport"]) == (0, 1, "ipc")
    assert 0 < route["latency"] < 1  # seconds
    assert route["bandwidth"] > 1e9


def test_a_gpu_that_one_rank_lacks():
    words, began = ("run", "bfs", "rmat:5", "--on"), time.monotonic()
    done = launch("-n", 1, *evener(*words, "cuda:0"), ":", "-n", 1, *evener(*words, "cuda:99"))
    assert done.returncode != 0
    assert 'rank 1 of 2 failed: element "cuda:99" does not exist' in done.stderr
    assert time.monotonic() - began < 60


STEADY = """
import os, sys
import evener as ev
from evener.system.world import current_world

def report(progress):
    if progress.superstep == 50 and current_world().rank == 1:
        print(os.getpid(), flush=True)

result = ev.pagerank(ev.read("rmat:14"), on="cuda:local", tol=0, max_iter=int(sys.argv[1]), progress=report)
if current_world().rank == 0:
    print(result.outcome["iterations"])
"""


def started(iterations):
    """Start a run, and return it with the process id of rank 1 after 50 iterations."""
    job = start("-n", 2, sys.executable, "-c", STEADY, iterations)
    return job, int(job.stdout.readline())


@pytest.mark.parametrize("transport", ["ipc", "nccl"])
def test_a_killed_rank_ends_the_job(monkeypatch, transport):
    monkeypatch.setenv(VARIABLE, transport)
    job, pid = started(10**7)
    os.kill(pid, signal.SIGKILL)
    assert finish(job, timeout=30).returncode != 0


LOST_CONNECTION = """
import contextlib, os, socket
from pathlib import Path
import evener as ev
from evener.system.world import current_world

def sockets():
    files = Path("/proc/self/fd").iterdir()
    return {int(file.name) for file in files if "/socket:" in os.path.realpath(file)}

def report(progress):
    if progress.superstep == 50 and current_world().rank == 1:
        for number in sockets() - others:
            connection = socket.socket(fileno=number)
            with contextlib.suppress(OSError):  # a socket that listens
                connection.shutdown(socket.SHUT_RDWR)
            connection.detach()

pg = ev.partition(ev.read("rmat:14"), "cuda:local")
os.environ["EVENER_RANK_TRANSPORT"] = "mpi"
ev.pagerank(pg, tol=0, max_iter=3)
others = sockets()
os.environ["EVENER_RANK_TRANSPORT"] = "nccl"
ev.pagerank(pg, tol=0, max_iter=10**7, progress=report)
"""


def test_a_lost_connection_of_nccl_ends_the_job(monkeypatch):
    """Rank 1 shuts its connections down; both processes live, and their GPUs wait for each other."""
    monkeypatch.setenv("NCCL_P2P_DISABLE", "1")
    monkeypatch.setenv("NCCL_SHM_DISABLE", "1")
    job = start("-n", 2, sys.executable, "-c", LOST_CONNECTION)
    done = finish(job, timeout=60)
    assert done.returncode != 0
    assert "NCCL failed" in done.stderr


SEARCHES = """
import os
import evener as ev
from evener.system.world import current_world

pg = ev.partition(ev.read("rmat:18"), "cuda:local")
for k in range(10**7):
    ev.bfs(pg, source=1)
    if k == 20 and current_world().rank == 1:
        print(os.getpid(), flush=True)
"""


def test_a_rank_is_killed_while_a_kernel_waits_for_its_gpu():
    job = start("-n", 2, sys.executable, "-c", SEARCHES)
    os.kill(int(job.stdout.readline()), signal.SIGKILL)
    assert finish(job, timeout=30).returncode != 0


@pytest.mark.parametrize("transport", ["ipc", "nccl"])
def test_a_stopped_rank_continues(monkeypatch, transport):
    monkeypatch.setenv(VARIABLE, transport)
    job, pid = started(20_000)
    os.kill(pid, signal.SIGSTOP)
    time.sleep(3)
    assert job.poll() is None
    os.kill(pid, signal.SIGCONT)
    done = finish(job, timeout=120)
    assert (done.returncode, done.stdout) == (0, "20000\n"), done.stderr
