"""Skip the MPI tests where the launcher cannot start two processes."""

from __future__ import annotations

import pytest

from mpi.launcher import mpiexec, usable


@pytest.fixture(scope="session")
def launcher():
    if not usable():
        pytest.skip('no MPI launcher with mpi4py; pip install "evener[mpi]"')
    done = mpiexec(2, "from mpi4py import MPI; assert MPI.COMM_WORLD.size == 2")
    if done.returncode:
        pytest.skip(f"mpiexec cannot start two ranks here: {done.stderr.strip()[-200:]}")
