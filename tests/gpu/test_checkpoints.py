"""Checkpoints on GPUs: a stopped run continues on the same GPU, on two GPUs, and on a CPU."""

from __future__ import annotations

import shutil
from contextlib import suppress

import numpy as np
import pytest

import evener as ev


class StopError(Exception):
    """Raised to stop a run."""


def stop(progress):
    if progress.superstep == 6:
        raise StopError


CASES = {
    "pagerank": (ev.pagerank, "rmat:12", {}),
    "bfs": (ev.bfs, "grid:100x900", {"source": 1}),
    "sssp": (ev.sssp, "grid:100x900,weights=real", {"source": 1}),
    "k_core": (ev.k_core, "grid:30x30", {"k": 3}),
    "betweenness": (ev.betweenness, "rmat:8", {"sources": list(range(1, 24))}),
    "leiden": (ev.leiden, "rmat:10", {}),
    "scc": (ev.scc, "uniform:10,edge_factor=2,directed", {}),
    "core_number": (ev.core_number, "rmat:10", {}),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("on", ["cuda:0", "cuda:0,cuda:0", "cpu:1,cuda:0"])
def test_a_run_continues(tmp_path, name, on):
    run, spec, arguments = CASES[name]
    graph = ev.read(spec)
    placed = ev.partition(graph, on, policy="random")
    expected = {column: np.array(array) for column, array in run(placed, **arguments).items()}
    with suppress(StopError):  # a run may need fewer supersteps
        run(placed, **arguments, checkpoint=ev.Checkpoint(tmp_path / "a", every="1step"), progress=stop)
    for i, other in enumerate((on, "cpu:1", "cuda:0,cuda:0")):
        folder = tmp_path / str(i)
        shutil.copytree(tmp_path / "a", folder)
        again = ev.partition(graph, other, policy="random")
        result = run(again, **arguments, checkpoint=ev.Checkpoint(folder, resume=True))
        ev.verify(result)
        for column in expected.keys() - {"parent"}:
            np.testing.assert_allclose(result[column], expected[column], rtol=1e-6)


@pytest.mark.usefixtures("two_gpus")
def test_a_group_of_gpus(tmp_path):
    """With checkpoints, a group runs level by level instead of in one launch, and one GPU continues."""
    run, spec, arguments = CASES["bfs"]
    graph = ev.read(spec)
    placed = ev.partition(graph, "cuda:0,cuda:1", policy="random")
    with pytest.raises(StopError):
        run(placed, **arguments, checkpoint=ev.Checkpoint(tmp_path / "a", every="1step"), progress=stop)
    ev.verify(run(graph, on="cuda:0", **arguments, checkpoint=ev.Checkpoint(tmp_path / "a", resume=True)))
