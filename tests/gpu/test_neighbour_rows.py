"""Rows of neighbours and triangles on GPUs, and on GPUs with CPUs."""

from __future__ import annotations

from itertools import product

import pytest

import evener as ev
from contracts.neighbour_rows import (
    NeighbourRowsContract,
    check_rows,
    check_triangles,
    expected_rows,
)
from evener.partition.footprint import Tiers
from evener.primitives import neighbour_rows
from evener.testing.graphs import SHAPES, build
from support.host_tiers import keep_on_host


class TestNeighbourRows(NeighbourRowsContract):
    kind = "cuda:0"


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("host_share", [0.0, 0.4, 1.0])
def test_edges_in_host_memory_and_on_a_cpu(monkeypatch, shape, directed, host_share):
    """Rows of edges in host memory begin with hubs, so a GPU sorts them."""
    keep_on_host(monkeypatch, Tiers(host_share, 3))
    monkeypatch.setattr(neighbour_rows, "MIN_BATCH", 7)
    graph = build(SHAPES[shape](), directed=directed)
    for on, oriented in product((["cuda:0"], ["cpu:1", "cuda:0"]), (False, True)):
        pg = ev.partition(graph, on, policy="high", alpha=0.3 if len(on) > 1 else None)
        check_rows(pg, *expected_rows(graph, oriented=oriented), oriented=oriented)
        check_triangles(pg)


@pytest.mark.parametrize("directed", [False, True])
def test_rows_that_are_too_long_for_a_warp(directed):
    """A block sorts some rows, and enters others in a table in parts."""
    graph = ev.read("rmat:11,edge_factor=256" + ",directed" * directed)
    for oriented in (False, True):
        check_rows(ev.partition(graph, "cuda:0"), *expected_rows(graph, oriented=oriented), oriented=oriented)
    check_triangles(ev.partition(graph, "cuda:0"))
