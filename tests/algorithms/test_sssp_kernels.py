"""Kernels of shortest paths: the pending flags and parents after a sweep and after Dijkstra."""

from __future__ import annotations

import numpy as np
import pytest

from evener.algorithms.sssp import kernels_cpu as sssp
from evener.algorithms.sssp import single_block_cpu as sssp_narrow
from evener.kernels.vertex import NO_VERTEX


@pytest.mark.parametrize("bounds", [[0, 64], [0, 32, 64], [0, 1, 63, 64]], ids=str)
def test_a_sweep_flags_the_lowered_vertices_for_any_blocks(bounds):
    """Vertex v of 1 to 63 has one in-edge, from vertex 0, of weight v. All flags share one word."""
    offsets = np.array([0, *range(64)], np.uint64)
    targets, weights = np.zeros(63, np.uint32), np.arange(1, 64, dtype=np.uint32)
    distance, parent = np.full(64, NO_VERTEX, np.uint32), np.full(64, NO_VERTEX, np.uint32)
    distance[0] = 0
    pending = np.array([1], np.uint64)
    blocks = np.array(bounds, np.uint32)
    scout = sssp.sweep(offsets, targets, weights, blocks, np.uint32(0), distance, parent, pending)
    assert distance.tolist() == list(range(64))
    assert parent[1:].tolist() == [0] * 63
    assert int(pending[0]) == (1 << 64) - 2
    assert scout == 63


def test_a_shorter_path_clears_the_parent():
    """Edges 0 to 1 and 1 to 2 have weight 1. Vertex 2 starts with a farther parent from an earlier sweep."""
    offsets, targets = np.array([0, 1, 2, 2], np.uint64), np.array([1, 2], np.uint32)
    weights = np.ones(2, np.uint32)
    distance, parent = np.array([0, 9, 9], np.uint32), np.array([NO_VERTEX, 2, 0], np.uint32)
    pending = np.array([1], np.uint64)
    _, waiting, edges = sssp_narrow.dijkstra(offsets, targets, weights, 3, 10, 100, distance, parent, pending)
    assert distance.tolist() == [0, 1, 2]
    assert parent.tolist() == [NO_VERTEX] * 3
    assert (waiting, edges) == (0, 2)
    assert int(pending[0]) == 0
