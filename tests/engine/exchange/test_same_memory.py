"""The same-memory transport between CPU elements, and its choice of sparse or dense encoding."""

from __future__ import annotations

import numpy as np

from contracts.transports import TransportContract
from evener.elements import CpuElement
from evener.engine.engine import Engine
from evener.graph.graph import Graph
from evener.partition.build import partition
from support.bitmaps import pack
from support.one_route import check_one_route, sparse_and_dense


class TestFourElements(TransportContract):
    """Elements of one and two threads read each other's arrays at the same time."""

    on = ("cpu:1", "cpu:2", "cpu:2", "cpu:1")


@sparse_and_dense
def test_bytes_of_sparse_and_dense(verb, dtype, flagged, moved):
    element = CpuElement("cpu:1", 1)
    check_one_route(element, element, verb, dtype, flagged, moved)


def test_dense_and_sparse_agree_for_any_share_of_changes():
    ends = np.random.default_rng(5).integers(0, 500, (2, 3000))
    pg = partition(Graph.from_edges(*ends, directed=False, n=500), ["cpu:1"] * 3)
    for share in np.linspace(0, 1, 11):
        rng = np.random.default_rng(3)
        engine = Engine(pg, "agree")
        engine.superstep("add")
        plain, flagged = engine.array("float64", 0.0), engine.array("float64", 0.0)
        changed = engine.bits()
        for p, a, b, words in zip(engine.partitions, plain.parts, flagged.parts, changed.parts, strict=True):
            chosen = rng.random(len(p.vertices)) < share
            chosen[: p.owned] = False
            a[chosen] = b[chosen] = rng.integers(1, 9, chosen.sum())
            words[:] = pack(chosen)
        engine.push(plain, "add")
        engine.push(flagged, "add", changed=changed)
        for a, b in zip(plain.parts, flagged.parts, strict=True):
            assert (a == b).all()


def test_no_route_without_edges_between_partitions():
    g = Graph.from_edges([0, 1], [1, 0], n=4)
    assert partition(g, ["cpu:1", "cpu:1"], policy="high", alpha=1).routes == []
    assert partition(g, ["cpu:1"]).routes == []
