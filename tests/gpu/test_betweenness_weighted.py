"""Betweenness with weights on a GPU, and on a GPU with a CPU."""

from __future__ import annotations

import numpy as np
import pytest

import evener as ev
from algorithms.test_betweenness_weighted import TestSplits as _OnCpus
from algorithms.test_betweenness_weighted import check_both
from evener.elements.cuda.discovery import gpus
from support.weighted_paths import centralities, weighted_graphs

PLACES = [
    "cpu:1,cuda:0",
    pytest.param("cuda:0,cuda:1", marks=pytest.mark.skipif(gpus() < 2, reason="one GPU")),
]


class TestSplits(_OnCpus):
    kind = "cuda:0"


@pytest.mark.parametrize("on", PLACES)
def test_elements_of_several_kinds(on):
    for graph in weighted_graphs()[:4]:
        sources = [0, 7, 20]
        check_both(ev.partition(graph, on), sources, centralities(graph, sources))


@pytest.mark.parametrize(
    "spec", ["rmat:13,weights=1..255", "rmat:12,directed,weights=1..9", "grid:90x70,weights=1..9"]
)
def test_hubs_and_many_levels(spec):
    """Long rows in pieces, and more levels than one launch has."""
    graph = ev.read(spec)
    for search in (ev.betweenness, ev.edge_betweenness):
        expected, found = (search(graph, k=3, weights=True, on=on) for on in ("cpu:1", "cuda:0"))
        np.testing.assert_allclose(found["centrality"], expected["centrality"], rtol=1e-9, atol=1e-15)
        assert found.edges == expected.edges
