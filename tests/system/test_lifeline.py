"""Lifelines between ranks report a rank that ends without a goodbye."""

from __future__ import annotations

import time

import pytest

from evener.system import lifeline
from evener.system.lifeline import Lifeline
from evener.testing.ranks import run_ranks


@pytest.mark.parametrize("goodbye", [True, False])
def test_rank_0_notices_that_a_rank_has_ended(monkeypatch, goodbye):
    monkeypatch.setattr(lifeline, "_GRACE", 0.0)
    lost = []

    def run(world):
        line = Lifeline(world.rank, world.host, world.allgather, lost.append)
        until = time.monotonic() + 10
        while len(line._lines) < (world.size - 1 if world.rank == 0 else 1) and time.monotonic() < until:
            time.sleep(0.01)
        world.barrier()
        if world.rank == 2:
            if goodbye:
                line.leave()
            line._lines[0].shutdown(2)
        while world.rank == 0 and not goodbye and not lost and time.monotonic() < until:
            time.sleep(0.01)
        world.barrier()
        line.leave()

    run_ranks(3, run)
    host = "this machine"
    expected = f"rank 2 of 3 on {host} has ended without an error message; this ends the job"
    # Rank 2 also notices the end of its own connection.
    assert [sentence for sentence in lost if "rank 2" in sentence] == ([] if goodbye else [expected])
