"""Random walks on GPUs, and on GPUs with CPUs, equal those on a CPU."""

from __future__ import annotations

import numpy as np
import pytest

import evener as ev
from evener.testing.graphs import SHAPES, build

RULES = [
    {},
    {"weights": False},
    {"restart": 0.2},
    {"p": 0.25, "q": 4.0},
    {"p": 8.0, "q": 0.5, "restart": 0.1, "weights": False},
    {"p": 1000.0, "q": 0.001},
]


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_equal_walks(shape, directed, rules):
    graph = build(SHAPES[shape](), directed=directed)
    expected = ev.random_walks(graph, length=9, walks_per_vertex=2, seed=7, **rules, on="cpu:1")
    for on in (["cuda:0"], ["cuda:0"] * 2, ["cpu:1", "cuda:0"]):
        result = ev.random_walks(graph, length=9, walks_per_vertex=2, seed=7, **rules, on=on)
        np.testing.assert_array_equal(result["walk"], expected["walk"])
        assert result.edges == expected.edges


def test_rows_of_many_edges():
    """A warp sums the weights of rows that are longer than the warp, of types other than float64."""
    for weights in ("1..255", "real"):
        graph = ev.read(f"rmat:10,weights={weights}")
        placed = ev.partition(graph, "cuda:0")
        for seed in range(2):  # the second run uses the sums of the first
            expected = ev.random_walks(graph, seed=seed, on="cpu:1")["walk"]
            np.testing.assert_array_equal(ev.random_walks(placed, seed=seed)["walk"], expected)


def test_more_walks_than_threads():
    graph = ev.read("grid:700x700")
    expected = ev.random_walks(graph, length=3, on="cpu:1")["walk"]
    np.testing.assert_array_equal(ev.random_walks(graph, length=3, on="cuda:0")["walk"], expected)
