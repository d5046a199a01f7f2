"""The variables of MPI launchers, a launcher without mpi4py, and the loss of a rank."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from evener.cli import main
from evener.system import mpi

VARIABLES = ("PMI_SIZE", "PMI_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMIX_RANK")


@pytest.fixture
def launched(monkeypatch):
    """Return a function that sets only the given variables of a launcher."""

    def launch(**variables):
        for name in (*VARIABLES, "SLURM_STEP_NUM_TASKS"):
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, str(value))

    mpi.mpi_world.cache_clear()
    yield launch
    mpi.mpi_world.cache_clear()


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, (1, 0)),
        ({"PMI_SIZE": 4, "PMI_RANK": 3}, (4, 3)),
        ({"OMPI_COMM_WORLD_SIZE": 3, "OMPI_COMM_WORLD_RANK": 1}, (3, 1)),
        ({"PMIX_RANK": 2, "SLURM_STEP_NUM_TASKS": 8}, (8, 2)),
        ({"SLURM_STEP_NUM_TASKS": 8}, (1, 0)),  # tasks without MPI
    ],
    ids=str,
)
def test_the_number_of_ranks_and_the_rank_of_this_process(launched, variables, expected):
    launched(**variables)
    assert (mpi.launched_ranks(), mpi.launched_rank()) == expected


@pytest.mark.parametrize("rank", [0, 1])
def test_rank_0_reports_missing_mpi4py(launched, monkeypatch, capsys, rank):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    launched(PMI_SIZE=2, PMI_RANK=rank)
    assert main(["devices"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    if rank:
        assert err == ""
    else:
        assert err.startswith("evener: an MPI launcher started 2 ranks, but mpi4py cannot be used (")
        assert err.rstrip().endswith('pip install "evener[mpi]"')


@pytest.mark.parametrize("recovery", ["", "evener run wcc g.evg --checkpoint c --resume"])
def test_the_error_for_a_lost_rank_names_the_command_to_continue(monkeypatch, capsys, recovery):
    aborted = []
    world = mpi.MpiWorld.__new__(mpi.MpiWorld)
    world.recovery, world._mpi = recovery, SimpleNamespace(COMM_WORLD=SimpleNamespace(Abort=aborted.append))
    monkeypatch.setattr(mpi.threading, "Timer", lambda *_: SimpleNamespace(start=lambda: None))
    world.end("rank 1 of 2 on node2 has ended; this ends the job")
    more = f"; to continue, run {recovery}" if recovery else ""
    assert capsys.readouterr().err == f"evener: rank 1 of 2 on node2 has ended; this ends the job{more}\n"
    assert aborted == [1]
