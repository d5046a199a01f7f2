"""Statistics, counted by hand and by definition (T13 §3.4)."""

from __future__ import annotations

import numpy as np
import pytest

import evener as ev
from support.pair_cover import pairwise_cover
from support.reference import edges as edges_of


def test_by_hand():
    """A star of four leaves is on two elements; the first has the hub and leaf 1.

    The stored edges are 0-1 0-2 0-3 0-4 1-0 | 2-0 3-0 4-0. Six of eight cross: 0-2 0-3 0-4 and 2-0 3-0 4-0.
    The first element has mirrors of 2, 3 and 4. The second has a mirror of 0, which joins three messages.
    """
    g = ev.Graph.from_edges([0, 0, 0, 0], [1, 2, 3, 4], directed=False)
    pg = ev.partition(g, ["cpu:1", "cpu:1"], policy="high", alpha=0.625)
    assert [sorted(p.vertices[: p.owned].tolist()) for p in pg.partitions] == [[0, 1], [2, 3, 4]]
    statistics = pg.statistics
    first, second = statistics.partitions
    assert (first.vertices, first.mirrors, first.edges, first.boundary_edges) == (2, 3, 5, 3)
    assert (second.vertices, second.mirrors, second.edges, second.boundary_edges) == (3, 1, 3, 3)
    assert (first.edge_share, second.edge_share) == (5 / 8, 3 / 8)
    assert statistics.alpha == 5 / 8
    assert statistics.beta == 6 / 8
    assert statistics.beta_aggregated == 4 / 8
    # (largest - mean) / mean (S13): (5 - 4) / 4 edges and (3 - 2.5) / 2.5 vertices.
    assert statistics.edge_imbalance == 1 / 4
    assert statistics.vertex_imbalance == pytest.approx(1 / 5)
    assert [row.element for row in statistics.partitions] == ["cpu:1#0", "cpu:1#1"]


@pytest.mark.parametrize(
    ("directed", "directions", "policy", "elements"),
    pairwise_cover([True, False], ["both", "out", "in"], ["random", "high", "low"], [1, 2, 4]),
)
def test_by_definition(directed, directions, policy, elements):
    rng = np.random.default_rng(elements)
    g = ev.Graph.from_edges(*rng.integers(0, 150, (2, 600)), directed=directed, n=150)
    pg = ev.partition(g, ["cpu:1"] * elements, policy=policy, directions=directions)
    owner = np.array([pg.place_of(v)[0] for v in range(g.n)])
    tails, heads = edges_of(g)
    crossing = int((owner[tails] != owner[heads]).sum())
    # Each partition needs the remote ends of its crossing edges once.
    needed = set()
    if directions != "in" or not directed:
        needed |= set(zip(owner[tails].tolist(), heads.tolist(), strict=True))
    if directions != "out" and directed:
        needed |= set(zip(owner[heads].tolist(), tails.tolist(), strict=True))
    mirrors = [sum(p == q and owner[v] != p for q, v in needed) for p in range(elements)]
    copies = 2 if directed and directions == "both" else 1
    statistics = pg.statistics
    assert sum(row.edges for row in statistics.partitions) == copies * g.m
    assert sum(row.boundary_edges for row in statistics.partitions) == copies * crossing
    assert [row.mirrors for row in statistics.partitions] == mirrors
    assert statistics.beta == pytest.approx(crossing / g.m)
    assert statistics.beta_aggregated == pytest.approx(sum(mirrors) / (copies * g.m))
    assert sum(row.edge_share for row in statistics.partitions) == pytest.approx(1)
    assert statistics.alpha == statistics.partitions[0].edge_share


def test_aggregation_pays_on_a_skewed_graph():
    """T13, figure 4: aggregating the messages to each vertex leaves few messages."""
    rng = np.random.default_rng(0)
    src, dst = (rng.random((2, 100_000)) ** 4 * 4000).astype(np.int64)
    pg = ev.partition(ev.Graph.from_edges(src, dst, directed=False, n=4000), ["cpu:1"] * 2)
    assert pg.statistics.beta == pytest.approx(0.5, abs=0.1)
    assert pg.statistics.beta_aggregated < 0.05


def test_bytes_equal_the_arrays():
    g = ev.Graph.from_edges([0, 1, 2], [1, 2, 0], np.ones(3, np.float32))
    (p,) = ev.partition(g, ["cpu:1"]).partitions
    # Each direction has 4 offsets of 8 bytes, and 3 targets, 3 weights and 2 block bounds of 4 bytes.
    # The rest is 3 vertices and 3 degrees of 4 bytes, and 2 mirror bounds of 8 bytes.
    assert p.nbytes == 2 * (32 + 12 + 12 + 8) + 12 + 12 + 16
    assert ev.partition(g, ["cpu:1"]).statistics.nbytes == p.nbytes
