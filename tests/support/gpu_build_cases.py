"""Graphs, and a comparison of two placements, for tests of partitions that a GPU builds."""

from __future__ import annotations

import numpy as np

import evener as ev

WEIGHTS = ["int8", "uint16", "float32", "int64", "float64"]
POLICIES = ["random", "high", "low", "contiguous"]


def _parallel_edges(n):
    """Many parallel edges with different weights, and vertices without edges."""
    rng = np.random.default_rng(n)
    tails, heads = rng.integers(0, n, (2, 20 * n)) ** 2 // n
    return tails, 3 * heads, 4 * n


def _generated(spec):
    graph = ev.read(spec)
    tails = np.repeat(np.arange(graph.n), np.diff(graph.offsets).astype(int))
    return tails, graph.targets, graph.n


EDGES = {
    "rmat": lambda: _generated("rmat:10,directed"),
    "uniform": lambda: _generated("uniform:9,directed"),
    "grid": lambda: _generated("grid:30x20"),
    "star": lambda: (np.zeros(700, int), np.arange(1, 701), 705),
    "parallel": lambda: _parallel_edges(90),
    "one edge": lambda: ([0], [1], 2),
}


def graph_of(name, *, directed, weights=None):
    """Return a graph. The weights of parallel edges are not sorted."""
    tails, heads, n = EDGES[name]()
    if weights is None:
        return ev.Graph.from_edges(tails, heads, directed=directed, n=n)
    values = np.random.default_rng(1).integers(0, 100, len(tails)).astype(weights)
    graph = ev.Graph.from_edges(tails, heads, values, directed=directed, n=n)
    if not directed:
        return graph
    shuffled = np.random.default_rng(2).permutation(graph.weights)
    return ev.Graph(graph.offsets, graph.targets, weights=shuffled, directed=True)


def check_same(one, other):
    """Check that two placements on the same number of elements have equal arrays and numbers."""
    for name in ("numbers", "vertices", "bounds"):
        assert_same(getattr(one._numbering, name), getattr(other._numbering, name))
    for p, q, at, by in zip(one.partitions, other.partitions, one.elements, other.elements, strict=True):
        assert (p.index, p.connected) == (q.index, q.connected)
        for name in ("vertices", "out_degree"):
            assert_same(at.download(getattr(p, name)), by.download(getattr(q, name)))
        assert_same(p.mirror_bounds, q.mirror_bounds)
        assert (p.out is p.in_) == (q.out is q.in_)
        for first, second in ((p.out, q.out), (p.in_, q.in_)):
            assert (first is None) == (second is None)
            if first is not None:
                check_same_edges(first, second, at, by)
    assert len(one.routes) == len(other.routes)
    for first, second in zip(one.routes, other.routes, strict=True):
        for name in ("mirror_partition", "owner", "begin", "first"):
            assert getattr(first, name) == getattr(second, name)
        at, by = one.elements[first.owner], other.elements[second.owner]
        assert_same(at.download(first.index), by.download(second.index))


def check_same_edges(first, second, at, by):
    """Check that the edges of two partitions in one direction have equal arrays and numbers."""
    assert (first.rows, first.boundary, first.count) == (second.rows, second.boundary, second.count)
    for name in ("offsets", "targets", "weights", "blocks"):
        mine, theirs = getattr(first, name), getattr(second, name)
        assert (mine is None) == (theirs is None)
        if mine is not None:
            assert_same(*(e.download(getattr(a, "device_part", a)) for e, a in ((at, mine), (by, theirs))))


def assert_same(first, second):
    """Check that two arrays have equal types and values."""
    assert first.dtype == second.dtype
    np.testing.assert_array_equal(np.asarray(first), np.asarray(second))
