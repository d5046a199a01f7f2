"""Random programs of verbs leave the arrays of a model, however late messages and copies are."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

import evener as ev
from evener.engine.exchange.network import VARIABLE
from evener.testing import ranks
from evener.testing.ranks import run_ranks
from support.exchange_model import Model
from support.fake_rank_gpus import FakeNccl, parse_rank_gpus

NCCL = import_module("evener.engine.exchange.transports.nccl")
# Steps of a program.
STEPS = 40


def run(on, seed, n=120):
    """Run a program on a sparse graph, or on a dense one, whose elements mirror all vertices of others."""
    ends = np.random.default_rng(n).integers(0, n, (2, n if seed % 2 else 16 * n))
    graph = ev.Graph.from_edges(*ends, n=n, directed=False)
    Model(ev.partition(graph, on, policy="random")).run(seed, STEPS)


@pytest.mark.parametrize("eager", [False, True], ids=["large", "eager"])
@pytest.mark.parametrize("late", range(3))
@pytest.mark.parametrize("on", ["cpu:1", "cpu:1,cpu:1"])
def test_ranks(on, late, eager):
    """One of two or three ranks is late at every exchange."""
    size = max(late + 1, 2)
    for seed in range(2):
        run_ranks(size, lambda _, seed=seed: run(on, seed), late=late, eager=eager, timeout=20)


@pytest.fixture
def gpus(monkeypatch):
    monkeypatch.setattr(import_module("evener.partition.placement"), "parse_elements", parse_rank_gpus)
    library = FakeNccl()
    monkeypatch.setattr(NCCL, "_library", lambda: library)
    monkeypatch.setattr(NCCL, "_address", lambda array: array)
    monkeypatch.setattr(ranks._Rank, "sends_gpu_memory", True)


@pytest.mark.usefixtures("gpus")
@pytest.mark.parametrize("on", ["gpu:0", "gpu:0,cpu:1"])
@pytest.mark.parametrize("transport", ["ipc", "nccl", "mpi-gpu", "mpi"])
def test_gpus_of_ranks(monkeypatch, transport, on):
    monkeypatch.setenv(VARIABLE, transport)
    for seed in range(2):
        for eager in (False, True):
            run_ranks(2, lambda _, seed=seed: run(on, seed), late=seed % 2, eager=eager, timeout=20)


@pytest.mark.usefixtures("apart_elements")
@pytest.mark.parametrize(
    "on",
    [
        ("cpu:1", "cpu:1"),
        ("apart:0", "apart:1"),
        ("apart:0", "late:1", "apart:0"),
        ("late:0", "apart:1"),
        ("peer:0", "peer:1", "peer:2"),
        ("reads:0", "reads:1", "reads:2"),
    ],
    ids="+".join,
)
def test_elements_of_one_process(on):
    for seed in range(4):
        run(list(on), seed)
