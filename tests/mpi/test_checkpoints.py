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


def check_continues(folder, expected, *, other):
    """Two ranks resume to the same bytes, and another number of ranks to the same answer."""
    shutil.copytree(folder, f"{folder}-other")
    done = start(folder, f"{folder}.npy", "-1", "never", "0")
    assert done.returncode == 0, done.stderr
    assert not list(folder.glob(".*"))
    assert np.load(f"{folder}.npy").tobytes() == expected.tobytes()
    np.testing.assert_allclose(on_ranks(other, f"{folder}-other"), expected, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.release
def test_a_rank_killed_while_it_writes_a_shard(tmp_path, expected):
    folder = tmp_path / "c"
    folder.mkdir()
    done = start(folder, tmp_path / "r.npy", "1", "half", "7")
    assert "signal 9" in done.stdout
    check_continues(folder, expected, other=3)


# All supersteps, and all calls of the threads that write checkpoints: 114 kills.
MOMENTS = {
    (0, "superstep"): range(2, 12), (0, "half"): range(1, 14), (0, "fsync"): range(1, 36),
    (0, "replace"): range(1, 12), (0, "unlink"): range(1, 10), (1, "superstep"): range(2, 12),
    (1, "half"): range(1, 14), (1, "fsync"): range(1, 14),
}  # fmt: skip


def chosen():
    """Return all moments with EVENER_ALL_KILLS=1 (ten minutes), or the last but one of some kinds.

    Rank 0 writes the manifest, so only rank 0 replaces and unlinks files. Another test kills rank 1 while it
    writes its shard.
    """
    if os.environ.get("EVENER_ALL_KILLS") == "1":
        return MOMENTS
    some = [(0, "fsync"), (0, "replace"), (0, "unlink"), (1, "superstep")]
    return {(rank, moment): [MOMENTS[rank, moment][-2]] for rank, moment in some}


@pytest.mark.slow
@pytest.mark.parametrize(("rank", "moment"), chosen())
def test_a_rank_killed_at_every_moment(tmp_path, expected, rank, moment):
    for count in chosen()[rank, moment]:
        folder = tmp_path / f"{count}"
        folder.mkdir()
        done = start(folder, tmp_path / "r.npy", rank, moment, count)
        assert done.returncode != 0, (count, "the rank was not killed")
        assert "signal 9" in done.stdout, (count, done.stdout, done.stderr)
        check_continues(folder, expected, other=1 + 2 * (count % 2))
