"""Kernels of the shortest paths on their own: what they leave pending, and whose parent they forget."""

from __future__ import annotations

import numpy as np
import pytest

from evener.algorithms.sssp import kernels_cpu as sssp
from evener.algorithms.sssp import single_block_cpu as sssp_narrow
from evener.kernels.vertex import NO_VERTEX


@pytest.mark.parametrize("bounds", [[0, 64], [0, 32, 64], [0, 1, 63, 64]], ids=str)
def test_a_sweep_leaves_pending_what_it_lowered_however_rows_are_dealt_out(bounds):
    """Each of 63 vertices has one in-edge, from vertex 0, as long as its number; 64 share a word of flags."""
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


def test_a_parent_is_forgotten_when_another_way_is_shorter():
    """The edges 0 to 1 and 1 to 2, of length 1; vertex 2 had a farther parent, of a sweep before."""
    offsets, targets = np.array([0, 1, 2, 2], np.uint64), np.array([1, 2], np.uint32)
    weights = np.ones(2, np.uint32)
    distance, parent = np.array([0, 9, 9], np.uint32), np.array([NO_VERTEX, 2, 0], np.uint32)
    pending = np.array([1], np.uint64)
    waiting, edges = sssp_narrow.dijkstra(offsets, targets, weights, 3, 10, 100, distance, parent, pending)
    assert distance.tolist() == [0, 1, 2]
    assert parent.tolist() == [NO_VERTEX] * 3
    assert (waiting, edges) == (0, 2)
    assert int(pending[0]) == 0
