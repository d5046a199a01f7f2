"""Transports between fake GPUs of fake ranks: answers, the choice of a transport, and windows."""

from __future__ import annotations

import time
from importlib import import_module

import numpy as np
import pytest

import evener as ev
from evener.engine.engine import Engine
from evener.engine.exchange.network import HOST, VARIABLE, connect_ranks
from evener.engine.exchange.packet import Packet
from evener.engine.exchange.probe import measure_gpu_routes
from evener.engine.exchange.remote import FarEnd
from evener.errors import ArgumentError, DeviceError
from evener.testing import ranks
from evener.testing.ranks import run_ranks
from support.expected_results import Truth
from support.fake_rank_gpus import FakeNccl, RankGpu, parse_rank_gpus

NCCL = import_module("evener.engine.exchange.transports.nccl")


@pytest.fixture(autouse=True)
def fake_gpus(monkeypatch):
    monkeypatch.setattr(import_module("evener.partition.placement"), "parse_elements", parse_rank_gpus)
    library = FakeNccl()
    monkeypatch.setattr(NCCL, "_library", lambda: library)
    monkeypatch.setattr(NCCL, "_address", lambda array: array)
    monkeypatch.setattr(ranks._Rank, "sends_gpu_memory", True)


@pytest.fixture(scope="module")
def truths():
    return [Truth(ev.read(f"rmat:6,{how}weights=1..9"), 3) for how in ("", "directed,")]


@pytest.mark.parametrize("transport", ["ipc", "nccl", "mpi-gpu", "mpi"])
def test_five_algorithms(monkeypatch, truths, transport):
    monkeypatch.setenv(VARIABLE, transport)
    for truth in truths:
        run_ranks(2, lambda _, truth=truth: truth.check(on="gpu:0", policy="random"))


@pytest.mark.parametrize("transport", ["ipc", "nccl"])
def test_several_elements_of_several_ranks(monkeypatch, truths, transport):
    """Some routes connect GPUs directly; routes of CPUs go through host memory."""
    monkeypatch.setenv(VARIABLE, transport)

    def run(world):
        pg = ev.partition(truths[1].graph, "cpu:1,gpu:0" if world.rank else "gpu:0,gpu:1")
        truths[1].check_ranks(pg)
        truths[1].check_bfs(ev.bfs(pg, source=truths[1].source))

    run_ranks(3, run)


def test_a_lost_connection_of_nccl_ends_all_ranks(monkeypatch, truths):
    """All ranks wait for each other, and a thread notices the error."""
    monkeypatch.setenv(VARIABLE, "nccl")
    monkeypatch.setattr(NCCL, "_POLL_SECONDS", 0.01)

    def run(world):
        ev.bfs(ev.partition(truths[0].graph, "gpu:0"), source=truths[0].source)
        NCCL._library().lost = True
        world.wait([world.expect(1 - world.rank, 999, np.empty(8, np.uint8))])

    with pytest.raises(ranks.RankError, match=r"NCCL failed on rank [01] of 2 \(NCCL_ERROR_REMOTE_ERROR\)"):
        run_ranks(2, run)


@pytest.mark.parametrize("transport", ["ipc", "nccl"])
def test_ranks_that_only_send_or_only_receive(monkeypatch, transport):
    """No edge leads from the second partition to the first, so one rank has all mirrors."""
    monkeypatch.setenv(VARIABLE, transport)
    graph = ev.Graph.from_edges(np.repeat([0, 1], 10), np.tile(np.arange(2, 12), 2))

    def run(world):
        pg = ev.partition(graph, "gpu:0", policy="chunking", directions="out")
        engine = Engine(pg, "test")
        engine.superstep("exchange")
        array = engine.array("float32", 1.0 + world.rank)
        engine.pull(array)
        pulled = engine.download(array)[0].tolist()
        engine.push(array, "add")
        return pulled, engine.download(array)[0].tolist()

    one, other = run_ranks(2, run)
    assert one == ([1.0] * 6 + [2.0] * 6, [1.0] * 6 + [0.0] * 6)
    assert other == ([2.0] * 6, [4.0] * 6)


def names_between(on, *, hosts=("a", "a")):
    """Return the transports from rank 0 to rank 1 and back; both ranks must agree."""

    def connect(world):
        world.host = hosts[world.rank]
        network = connect_ranks(world, parse_rank_gpus(on))
        return network.name(0, 1), network.name(1, 0)

    one, other = run_ranks(2, connect)
    assert one == other
    return one


def test_the_first_transport_that_works_is_used(monkeypatch):
    monkeypatch.setattr(ranks._Rank, "sends_gpu_memory", False)
    assert names_between("gpu:0") == ("ipc", "ipc")
    assert names_between("gpu:shared") == ("ipc", "ipc")
    assert names_between("gpu:0", hosts=("a", "b")) == ("nccl", "nccl")
    assert names_between("cpu:1") == (HOST, HOST)
    monkeypatch.setattr(RankGpu, "shares_nothing", True)
    assert names_between("gpu:0") == ("nccl", "nccl")
    monkeypatch.setattr(RankGpu, "shares_nothing", False)
    monkeypatch.setattr(RankGpu, "opens_nothing", True)
    assert names_between("gpu:0") == ("nccl", "nccl")
    assert names_between("gpu:shared") == (HOST, HOST)  # NCCL refuses two ranks on one GPU
    monkeypatch.setattr(NCCL, "_library", lambda: None)
    assert names_between("gpu:0") == (HOST, HOST)


def test_a_transport_that_does_not_work_or_does_not_exist(monkeypatch):
    monkeypatch.setenv(VARIABLE, "ipc")
    with pytest.raises(DeviceError, match="=ipc: the GPUs of rank 0 and rank 1 cannot exchange by this"):
        names_between("gpu:0", hosts=("a", "b"))
    monkeypatch.setenv(VARIABLE, "smoke")
    with pytest.raises(ArgumentError, match="expected ipc, nccl, mpi-gpu or mpi, found 'smoke'"):
        names_between("gpu:0")


def test_a_sender_waits_for_a_window_that_is_not_released(monkeypatch):
    """Packets of a sender that is ahead arrive unchanged, and later runs use the same windows."""
    monkeypatch.setenv(VARIABLE, "ipc")

    def run(world):
        (element,) = parse_rank_gpus("gpu:0")
        element.begin_round()
        network = connect_ranks(world, [element])
        end = FarEnd(world, 1 - world.rank, 0, world.rank, 1 - world.rank)
        before = element.sharing.allocated
        if world.rank == 0:
            sender = network.sender(end, element, {})
            for k in range(9):
                values = element.upload(np.full(100, k, np.float32))
                sender.send(Packet({"values": values}, 400))
            world.wait(sender.take_posted())
            return element.sharing.allocated - before
        receiver = network.receiver(end, element, {})
        target = element.allocate(100, np.float32)
        found = []
        for _ in range(9):
            receiver.expect({"values": target})
            time.sleep(0.01)
            found.append(set(element.download(receiver.receive().arrays["values"]).tolist()))
        return found

    windows, found = run_ranks(2, run)
    assert found == [{k} for k in range(9)]
    assert windows == 2


@pytest.mark.parametrize("transport", ["ipc", "nccl", "mpi"])
def test_routes_are_measured(monkeypatch, transport):
    """Ranks 0 and 2 have a GPU; rank 1 has none."""
    monkeypatch.setenv(VARIABLE, transport)

    def measure(world):
        return measure_gpu_routes(world, None if world.rank == 1 else parse_rank_gpus("gpu:0")[0])

    first, *others = run_ranks(3, measure)
    assert others == [first, first]
    ((one, other, name, latency, bandwidth),) = first
    assert (one, other, name) == (0, 2, transport)
    assert latency > 0
    assert bandwidth > 0
