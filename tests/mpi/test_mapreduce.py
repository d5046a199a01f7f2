"""MapReduce on MPI ranks: processes exchange records in chunks, and rows equal NumPy's."""

from __future__ import annotations

import pytest

from mpi.launcher import mpiexec

JOBS = """
import numpy as np
import evener as ev
from evener.programs import operator_sets

g = ev.read("rmat:9,edge_factor=8,seed=2")
rows = ev.mapreduce(
    g, lambda s, t: (t % 7 - 2, (s, 1)), combine=lambda x, y: (x[0] + y[0], x[1] + y[1]), on="cpu:1,cpu:1",
    memory="50KB",
).gather()
stages = ev.gimv(g, **operator_sets.pagerank(g), engine="mapreduce").gather()
fused = ev.gimv(g, **operator_sets.pagerank(g)).gather()
if rows is not None:
    sources = np.repeat(np.arange(g.n), np.diff(g.offsets.astype(np.int64)))
    assert rows.keys.tolist() == list(range(-2, 5))
    assert (rows.values[0] == np.bincount(g.targets % 7, weights=sources)).all()
    assert (rows.values[1] == np.bincount(g.targets % 7)).all()
    np.testing.assert_allclose(stages["value"], fused["value"], rtol=1e-6)
    print("right")
"""


@pytest.mark.slow
@pytest.mark.usefixtures("launcher")
def test_jobs_on_ranks():
    done = mpiexec(2, JOBS)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["right"]
