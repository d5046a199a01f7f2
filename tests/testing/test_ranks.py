"""Errors of fake ranks."""

from __future__ import annotations

import time

import pytest

from evener.testing.ranks import RankError, run_ranks


def test_a_failed_rank_ends_the_other_ranks():
    seen = []

    def run(world):
        if world.rank == 1:
            raise ValueError("no more")
        try:
            world.barrier()
        except RankError as error:
            seen.append(str(error))
            raise

    began = time.monotonic()
    with pytest.raises(ValueError, match="no more"):
        run_ranks(3, run)
    assert time.monotonic() - began < 10
    assert seen == ["rank 1 failed: ValueError: no more"] * 2


def test_the_error_names_a_rank_that_returns_early():
    with pytest.raises(RankError, match="rank 0 called barrier, and rank 1 has returned without it"):
        run_ranks(2, lambda world: world.barrier() if world.rank == 0 else None)


def test_the_error_names_different_operations():
    def run(world):
        return world.barrier() if world.rank == 0 else world.allreduce(1, "sum")

    with pytest.raises(RankError, match=r"and other ranks called (barrier|allreduce\('sum'\))"):
        run_ranks(2, run)


def test_a_rank_waits_at_most_the_timeout():
    def run(world):
        if world.rank == 1:
            time.sleep(1)
        world.barrier()

    with pytest.raises(RankError, match=r"rank 0 waited 0\.1 s in barrier for rank 1"):
        run_ranks(2, run, timeout=0.1)
