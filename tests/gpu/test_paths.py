"""Searches on GPUs from several sources, to a target and up to a cutoff, against the same on the CPU."""

from __future__ import annotations

import numpy as np
import pytest

import evener as ev
from evener.elements.cuda.discovery import gpus

SOURCES, TARGET = [3, 7, 900], 50
# Several levels in one kernel, several elements with mirrors, and a group of GPUs if there is one.
PLACES = [
    "cuda:0",
    "cpu:1,cuda:0",
    pytest.param("cuda:0,cuda:1", marks=pytest.mark.skipif(gpus() < 2, reason="one GPU")),
]
GOALS = [
    {"sources": SOURCES},
    {"sources": SOURCES, "cutoff": 0},
    {"sources": SOURCES, "cutoff": 2.5},
    {"source": 3, "cutoff": 2},
    {"source": 3, "target": TARGET},
    {"sources": SOURCES, "target": TARGET, "cutoff": 300},
]


@pytest.mark.parametrize("on", PLACES)
@pytest.mark.parametrize("search", [ev.bfs, ev.sssp])
@pytest.mark.parametrize("spec", ["rmat:12,weights=0..255", "rmat:11,directed,weights=real", "grid:60x40"])
def test_searches_end_where_those_of_the_cpu_end(spec, search, on):
    """Broad and narrow frontiers, weights of 0, and bottom-up steps that pass a cutoff."""
    graph = ev.read(spec)
    placed = ev.partition(graph, on)
    for goal in GOALS:
        expected = search(graph, on="cpu:1", **goal)
        result = search(placed, **goal)
        assert (result["distance"] == expected["distance"]).all(), goal
        assert ((result["parent"] < 0) == (expected["parent"] < 0)).all(), goal
        assert result.edges == expected.edges, goal
        ev.verify(result)
    rows = search(placed, sources=SOURCES, each=True)
    assert (rows["distance"] == np.stack([search(graph, source=s)["distance"] for s in SOURCES])).all()
