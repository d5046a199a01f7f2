"""The command line on a GPU: runs of all algorithms, and a wrong call."""

from __future__ import annotations

import pytest

ALGORITHMS = ["bfs", "sssp", "wcc", "pagerank", "betweenness"]


@pytest.mark.parametrize("on", ["cuda:0", "cpu:1,cuda:0", "cuda:0,cuda:0", "cpu,cuda:0"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_runs(evener, algorithm, on):
    options = {"betweenness": ["-k", "4"], "bfs": ["--verify"]}.get(algorithm, [])
    placement = ["--on", on, "--policy", "random", "--alpha", "0.5"]
    done = evener("run", algorithm, "rmat:10", *placement, *options)
    assert done.status == 0, done.err
    assert "Graph: undirected, 1,024 vertices" in done.out
    assert f"\n{algorithm} in " in done.out
    assert ("The answer is verified." in done.out) == (algorithm == "bfs")


def test_a_missing_gpu_is_refused(evener):
    done = evener("run", "wcc", "rmat:4", "--on", "cuda:99")
    assert done.status == 2
    assert done.err.startswith('evener: element "cuda:99" does not exist')
    assert done.err.count("\n") == 1
    assert done.out == ""
