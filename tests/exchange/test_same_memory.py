"""The same-memory transport between two and four CPU elements, and its choice of sparse or dense by hand."""

from __future__ import annotations

import numpy as np
import pytest

from contracts import TransportContract, packed, unpack
from evener.elements import CpuElement
from evener.engine import Engine
from evener.exchange import memory
from evener.exchange.route import Route
from evener.graph import Graph
from evener.partition import partition


class TestTwoElements(TransportContract):
    on = ("cpu:1", "cpu:1")


class TestFourElements(TransportContract):
    on = ("cpu:1",) * 4


class TestElementsOfSeveralThreads(TransportContract):
    on = ("cpu", "cpu")


@pytest.fixture
def element():
    return CpuElement("cpu:1", 1)


# 800 mirrors: 3,300 bytes dense with their flags (float32: 3,200 and 100). A sparse one costs 8 bytes, so 412
# of them are 3,296 bytes, and 413 are 3,304. With float64: 6,500 bytes dense, 12 each: 541 are 6,492.
@pytest.mark.parametrize(
    ("dtype", "flagged", "moved"),
    [
        ("float32", 0, 0),
        ("float32", 1, 8),
        ("float32", 412, 3296),
        ("float32", 413, 3300),
        ("float32", 800, 3300),
        ("float64", 541, 6492),
        ("float64", 542, 6500),
    ],
)
@pytest.mark.parametrize("verb", ["push_add", "push_min", "pull"])
def test_bytes_of_sparse_and_dense(element, dtype, flagged, moved, verb):
    begin, k = 100, 800
    route = Route.from_index(0, 1, begin, np.arange(k, dtype=np.uint32) * 2, 2 * k)
    mirrored, owned = np.ones(begin + k, dtype), np.full(2 * k, 2, dtype)
    mirror_flags, owned_flags = np.zeros(begin + k, bool), np.zeros(2 * k, bool)
    if verb == "pull":
        owned_flags[: 2 * flagged : 2] = True
        flags = packed(owned_flags), packed(mirror_flags)
        assert memory.pull(route, element, owned, mirrored, flags, as_bits=False) == moved
        assert (mirrored[begin : begin + flagged] == 2).all()
        assert (mirrored[begin + flagged :] == 1).all()
        assert unpack(flags[1], begin + k).sum() == flagged
    else:
        mirror_flags[begin : begin + flagged] = True
        mirrored[begin + flagged :] = 0 if verb == "push_add" else 9
        flags = packed(mirror_flags), packed(owned_flags)
        assert memory.push(route, element, verb.removeprefix("push_"), mirrored, owned, flags) == moved
        assert (owned[: 2 * flagged : 2] == (3 if verb == "push_add" else 1)).all()
        assert (owned[2 * flagged :] == 2).all()
        assert not flags[0].any()
        assert unpack(flags[1], 2 * k).sum() == flagged


def test_dense_and_sparse_agree_whatever_share_changed():
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
            words[:] = packed(chosen)
        engine.push(plain, "add")
        engine.push(flagged, "add", changed=changed)
        for a, b in zip(plain.parts, flagged.parts, strict=True):
            assert (a == b).all()


def test_no_route_where_nothing_crosses():
    g = Graph.from_edges([0, 1], [1, 0], n=4)
    assert partition(g, ["cpu:1", "cpu:1"], policy="high", alpha=1).routes == []
    assert partition(g, ["cpu:1"]).routes == []
