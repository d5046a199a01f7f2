"""GIM-V with MapReduce on GPUs equals the fused engine on CPUs."""

from __future__ import annotations

import numpy as np
import pytest

import evener as ev
from evener.elements.cuda.discovery import gpus
from evener.programs import operator_sets

SPLITS = ["cuda:0,cuda:0", *(["cuda:0,cuda:1"] if gpus() > 1 else [])]


@pytest.fixture(scope="module")
def graph():
    """A weighted graph with hubs of more records than a warp combines, and vertices without edges."""
    source = ev.read("rmat:14,seed=2")
    ends = np.repeat(np.arange(source.n), np.diff(source.offsets.astype(np.int64))), source.targets
    once = ends[0] < ends[1]
    weights = ((ends[0] + ends[1]) % 5 + 1.0).astype(np.float32)
    return ev.Graph.from_edges(
        *(own[once] for own in ends), weights=weights[once], n=source.n, directed=False
    )


@pytest.mark.parametrize(
    ("case", "dtype"),
    [
        ("pagerank", np.float32),
        ("pagerank", np.float64),
        ("connected_components", np.float32),
        ("connected_components", np.int64),
        ("shortest_paths", np.float32),
        ("shortest_paths", np.float64),
    ],
)
def test_operator_sets(graph, case, dtype):
    """Only messages of 4 bytes are packed with their keys. With 8 MiB, the run uses several chunks."""
    operators = getattr(operator_sets, case)(graph, *([0] if case == "shortest_paths" else []))
    operators["v0"] = np.nan_to_num(operators["v0"], posinf=1e6).astype(dtype)
    if case == "pagerank":
        operators["until"] = 20
    expected = ev.gimv(graph, **operators, on="cpu")["value"]
    for on, memory in (("cuda:0", None), ("cuda:0", "8MiB"), *((split, None) for split in SPLITS)):
        pg = ev.partition(graph, on, gpu_memory=memory, directions="out")
        result = ev.gimv(pg, **operators, engine="mapreduce")
        np.testing.assert_allclose(result["value"], expected, rtol=1e-5)
    phases = {phase for phase, _ in result.timeline.by_phase()}
    assert phases == {"map", "sort", "reduce", "transfer", "assign"}


def test_directed_edges_and_every_parameter():
    random = np.random.default_rng(5)
    graph = ev.Graph.from_edges(
        random.integers(0, 30, 200), random.integers(0, 40, 200), weights=random.integers(-3, 9, 200), n=40
    )
    arguments = {
        "combine2": lambda m, v, degree, vertex, n: m * v + degree + vertex % n,
        "combine_all": lambda x, y: max(x, y),
        "assign": lambda old, new, degree, vertex, n, total, initial: (
            old + max(new, 0) + degree + vertex + n + int(total) + initial
        ),
        "v0": random.integers(1, 9, 40),
        "until": 2,
    }
    fused = ev.gimv(graph, **arguments, on="cpu")["value"]
    assert (ev.gimv(graph, **arguments, engine="mapreduce", on="cuda:0")["value"] == fused).all()
