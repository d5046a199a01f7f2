"""The warning about GPUs that several ranks share, and the choice of a GPU for each rank."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import pytest

from evener import elements
from evener.elements.cuda import discovery
from evener.partition.processors import note_shared_gpus
from evener.testing.ranks import run_ranks


def test_rank_0_names_the_ranks_that_share_a_gpu(caplog):
    caplog.set_level(logging.WARNING, "evener")

    def note(world):
        gpu = SimpleNamespace(kind="cuda", name="cuda:0", bus_id="0000:3b:00.0" if world.rank < 3 else "b")
        note_shared_gpus([SimpleNamespace(kind="cpu", name="cpu"), gpu], world)

    run_ranks(4, note)
    sentence = "ranks 0, 1 and 2 share the GPU 0000:3b:00.0 of this machine; their kernels run in turn"
    assert [record.getMessage() for record in caplog.records] == [sentence]


@pytest.mark.parametrize(("count", "expected"), [(0, [0, 0, 0]), (2, [0, 1, 0]), (4, [0, 1, 2])])
def test_ranks_divide_the_gpus_of_a_machine(monkeypatch, count, expected):
    monkeypatch.setattr(discovery, "gpus", lambda: count)
    names = run_ranks(3, lambda _: elements._numbered("cuda:local"))
    assert names == [f"cuda:{index}" for index in expected]
