"""A run resumes to the same bytes after a rank was killed, also while the rank wrote a checkpoint."""

from __future__ import annotations

import os
import shutil
import sys

import numpy as np
import pytest

from evener.testing.ranks import run_ranks
from mpi.killed_run import run
from mpi.launcher import launch

pytestmark = pytest.mark.usefixtures("launcher")


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """Return the PageRank values of an uninterrupted run on two ranks."""
    return on_ranks(2, tmp_path_factory.mktemp("whole"))


def on_ranks(size, folder):
    return run_ranks(size, lambda _: run(folder))[0]["rank"]


def start(folder, saved, *moment):
    program = [sys.executable, "-m", "mpi.killed_run", folder, saved, *moment]
    return launch("-n", 2, *program, timeout=60)


def resume(folder):
    """Return the PageRank values of two processes that resume."""
    done = start(folder, f"{folder}.npy", "-1", "never", "0")
    assert done.returncode == 0, done.stderr
    return np.load(f"{folder}.npy")


# All supersteps, and all calls of the threads that write checkpoints: 114 kills.
MOMENTS = {
    (0, "superstep"): range(2, 12), (0, "half"): range(1, 14), (0, "fsync"): range(1, 36),
    (0, "replace"): range(1, 12), (0, "unlink"): range(1, 10), (1, "superstep"): range(2, 12),
    (1, "half"): range(1, 14), (1, "fsync"): range(1, 14),
}  # fmt: skip


def chosen(counts):
    """Return the last moment but one of each kind, or all with EVENER_ALL_KILLS=1 (ten minutes)."""
    return counts if os.environ.get("EVENER_ALL_KILLS") == "1" else [counts[-2]]


# Rank 1 writes a checkpoint as rank 0 does.
MARKED = [
    pytest.param(rank, moment, marks=[pytest.mark.release] * (rank == 1 and moment != "superstep"))
    for rank, moment in MOMENTS
]


@pytest.mark.slow
@pytest.mark.parametrize(("rank", "moment"), MARKED)
def test_a_rank_killed_at_every_moment(tmp_path, expected, rank, moment):
    """Two ranks resume to the same bytes, and another number of ranks to the same answer.

    Two processes resume after a kill in a superstep. Otherwise the ranks are threads, which start faster.
    """
    for count in chosen(MOMENTS[rank, moment]):
        folder, copy = tmp_path / f"{count}", tmp_path / f"{count}-other"
        folder.mkdir()
        done = start(folder, tmp_path / "r.npy", rank, moment, count)
        assert done.returncode != 0, (count, "the rank was not killed")
        assert "signal 9" in done.stdout, (count, done.stdout, done.stderr)
        shutil.copytree(folder, copy)
        found = resume(folder) if moment == "superstep" else on_ranks(2, folder)
        assert found.tobytes() == expected.tobytes()
        assert not list(folder.glob(".*"))
        np.testing.assert_allclose(on_ranks(1 + 2 * (count % 2), copy), expected, rtol=1e-6)
