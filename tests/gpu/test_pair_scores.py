"""Scores of pairs on GPUs, and on GPUs with CPUs, equal those on a CPU."""

from __future__ import annotations

import numpy as np
import pytest

import evener as ev
from evener.primitives import neighbour_rows
from evener.testing.graphs import SHAPES, build

NAMES = ("jaccard", "overlap", "common_neighbors", "adamic_adar", "resource_allocation")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_given_pairs(monkeypatch, shape, directed, name):
    monkeypatch.setattr(neighbour_rows, "MIN_BATCH", 40)
    graph = build(SHAPES[shape](), directed=directed)
    pairs = graph.ids[np.random.default_rng(1).integers(0, graph.n, (80, 2))]
    expected = getattr(ev, name)(graph, pairs=pairs, on="cpu:1")[name]
    for on in (["cuda:0"], ["cuda:0"] * 2, ["cpu:1", "cuda:0"]):
        result = getattr(ev, name)(graph, pairs=pairs, on=on, policy="random")
        np.testing.assert_allclose(result[name], expected, rtol=1e-12)


def test_pairs_of_long_rows():
    """A block has a pair whose shorter row is long."""
    graph = ev.read("uniform:12,edge_factor=2000")
    pairs = np.random.default_rng(1).integers(0, graph.n, (100, 2))
    expected = ev.jaccard(graph, pairs=pairs, on="cpu:1")["jaccard"]
    np.testing.assert_allclose(ev.jaccard(graph, pairs=pairs, on="cuda:0")["jaccard"], expected)


def test_the_best_of_all_pairs_need_a_cpu():
    with pytest.raises(ev.ArgumentError, match=r"jaccard runs on CPUs, and the graph is on a GPU"):
        ev.jaccard(ev.partition(ev.read("grid:3x3"), "cuda:0"))
