"""Bytes of a partition on a GPU, computed by hand, and the number of edges in host memory."""

from __future__ import annotations

import tracemalloc
from functools import partial
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evener as ev
from evener.elements import CpuElement, cpu
from evener.errors import DeviceOutOfMemory
from evener.partition.footprint import bytes_excluding_edges, count_host_edges, most_edges, tiers_of
from evener.spec.registry import find

HOME = import_module("evener.partition.footprint")


def element(room):
    return SimpleNamespace(name="cuda:0", room_after=lambda taken: None if room is None else room - taken)


@pytest.mark.parametrize(
    ("owned", "mirrors", "elsewhere", "edges", "directions", "expected"),
    [
        # Ids, degrees and offsets; the state of PageRank, 32 bytes per vertex.
        (640, 0, 0, 0, 1, 4 * 640 + 4 * 640 + 8 * 641 + 32 * 640),
        # Offsets twice; two numbers of 8 bytes per 512 edges.
        (640, 0, 0, 5120, 2, 4 * 640 + 4 * 640 + 2 * 8 * 641 + 32 * 640 + 160),
        # Ids of mirrors; the state of WCC, 20 bytes per mirror; 21 bytes of messages per mirror.
        (64, 1000, 0, 0, 1, 4 * 1064 + 4 * 64 + 8 * 65 + 32 * 64 + 20 * 1000 + 21 * 1000),
        # Messages and index of remote mirrors, and a bitmap with counts per 64 vertices.
        (640, 0, 50, 0, 1, 4 * 640 + 4 * 640 + 8 * 641 + 32 * 640 + (21 + 8) * 50 + 4 * 50 + 12 * 10),
    ],
)
def test_bytes_excluding_edges(owned, mirrors, elsewhere, edges, directions, expected):
    assert bytes_excluding_edges(owned, mirrors, elsewhere, edges, directions=directions) == expected


@pytest.mark.parametrize(
    ("directed", "weights", "edge_bytes"), [(False, None, 4), (True, None, 4), (True, np.float64, 12)]
)
def test_edges_without_room_stay_on_the_host(directed, weights, edge_bytes):
    """The rows are too short for prefixes, so the host share is the part without room."""
    ends = np.stack([np.arange(400), np.arange(400) * 7 + 1]) % 200
    values = None if weights is None else np.ones(400, weights)
    graph = ev.Graph.from_edges(*ends, values, directed=directed, n=200)
    own = ev.partition(graph, ["cpu:1", "cpu:1"]).partitions[0]
    directions = 1 + directed
    least = bytes_excluding_edges(own.owned, own.mirrors, 17, own.stored_edges, directions=directions)
    nbytes = own.stored_edges * edge_bytes
    for part in (0, 0.25, 1, 2):
        room = least + int(part * nbytes)
        expected = max(0, 1 - int(part * nbytes) / nbytes)
        assert tiers_of(own, 17, element(room)) == (pytest.approx(expected), 0)
        more = element(room + 1000)
        assert tiers_of(own, 17, more, taken=400, promised=600) == (pytest.approx(expected), 0)
    assert tiers_of(own, 17, element(None), taken=1000, promised=1000) == (0, 0)
    with pytest.raises(DeviceOutOfMemory, match="cuda:0 has room for ") as caught:
        tiers_of(own, 17, element(least - 1))
    assert (caught.value.needed, caught.value.available) == (least, least - 1)


def test_windows_for_other_ranks():
    """A link has two values of 8 bytes for each mirror here and there.

    Of 32 vertices, an element owns 8. The three others mirror these 8, and it mirrors 8 of each.
    """
    graph, room = ev.read("rmat:5"), 1 << 20
    shares, rooms = np.full(4, 0.25), [None, room, room, None]
    alone, of_two, of_four = (
        most_edges(graph, "both", shares, rooms, ranks) for ranks in ([0] * 4, [0, 0, 1, 1], [0, 1, 2, 3])
    )
    assert alone[0] == of_four[0] == np.inf
    assert (alone[1] - of_two[1]) * 4 == pytest.approx(16 * (2 * 8 + 2 * 8))
    assert (alone[2] - of_four[2]) * 4 == pytest.approx(16 * (3 * 8 + 3 * 8))


def test_room_for_runs_on_one_partition_is_reserved_from_the_next(monkeypatch):
    """Only partitions in the same memory reserve room from each other."""
    home = import_module("evener.partition.transfer")
    asked = []
    monkeypatch.setattr(home, "run_bytes", lambda partition, _: 10 ** (1 + partition.index))
    monkeypatch.setattr(home, "tiers_of", lambda *_, promised, **__: asked.append(promised) or (0.0, 0))
    elements = [CpuElement(f"cpu:{p}", 1) for p in range(4)]
    for one, memory in zip(elements, "abaa", strict=True):
        monkeypatch.setattr(type(one), "memory", property(lambda e: e.where), raising=False)
        one.where = memory
    placement = import_module("evener.partition.placement")
    monkeypatch.setattr(placement, "parse_elements", lambda *_, **__: elements)
    monkeypatch.setattr(home, "upload_partition", lambda built, *_: built)
    monkeypatch.setattr(home, "upload_route", lambda route, _: route)
    ev.partition(ev.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0]), [""] * 4)
    assert asked == [0, 0, 10, 1010]


def test_no_host_edges_without_edges():
    (own,) = ev.partition(ev.Graph.from_edges([], [], n=3), "cpu:1").partitions
    least = bytes_excluding_edges(3, 0, 0, 0, directions=len(own.directions))
    assert tiers_of(own, 0, element(least)) == (0, 0)


@pytest.mark.parametrize(
    ("room", "on_host", "prefixes"),
    [
        (8000, 0, 0),
        (7996, 1, 0),  # a row that is only partly on the host has no prefix
        (4004, 999, 0),
        (4000, 1004, 1),  # the prefix uses 16 bytes of room
        (2000, 1504, 1),
        (32, 1996, 1),
        (31, 1993, 0),  # a prefix would use more than half of the room
        (0, 2000, 0),
    ],
)
def test_a_row_on_the_host_has_its_prefix_on_the_gpu(room, on_host, prefixes):
    """In a star with 1000 leaves, the row of the hub comes first, and the other rows are too short."""
    graph = ev.Graph.from_edges(np.zeros(1000, int), np.arange(1, 1001), directed=False)
    (own,) = ev.partition(graph, "cpu:1").partitions
    least = bytes_excluding_edges(1001, 0, 0, 2000, directions=1)
    assert tiers_of(own, 0, element(least + room)) == (on_host / 2000, prefixes)
    assert tiers_of(own, 0, element(least + room), prefixes=False) == (max(0, 2000 - room // 4) / 2000, 0)


def test_only_in_edges_have_prefixes():
    """One vertex has 1000 in-edges, another 500. The host share is the same in both directions."""
    graph = ev.Graph.from_edges(np.arange(2, 1502), [0] * 1000 + [1] * 500, directed=True)
    (own,) = ev.partition(graph, "cpu:1").partitions
    least = bytes_excluding_edges(1502, 0, 0, 3000, directions=2)
    assert tiers_of(own, 0, element(least + 4 * 1000)) == (2004 / 3000, 1)
    least = bytes_excluding_edges(1502, 0, 0, 1500, directions=1)
    for one in ("out", "in"):  # bottom-up searches need both directions
        (own,) = ev.partition(graph, "cpu:1", directions=one).partitions
        assert tiers_of(own, 0, element(least + 4 * 100), prefixes=False) == (1400 / 1500, 0)


@pytest.mark.parametrize(
    ("directed", "on_host", "prefixes"),
    [
        (False, 6000, 500),  # 16,000 bytes: half for prefixes, the rest for 2,000 edges
        (True, 10664, 666),  # 32,000 bytes: a prefix for every 16 host edges, as out-edges have none
    ],
)
def test_prefixes_of_equal_rows_use_at_most_half_of_the_room(directed, on_host, prefixes):
    """In a ring of 1000 vertices, each has edges to the next four, so eight edges; half of them fit."""
    ends = np.repeat(np.arange(1000), 4), (np.arange(1000)[:, None] + np.arange(1, 5)).ravel() % 1000
    both = (np.append(*ends), np.append(*ends[::-1])) if directed else ends
    graph = ev.Graph.from_edges(*both, directed=directed)
    (own,) = ev.partition(graph, "cpu:1").partitions
    directions = 1 + directed
    least = bytes_excluding_edges(1000, 0, 0, 8000 * directions, directions=directions)
    room = 16000 * directions
    assert tiers_of(own, 0, element(least + room)) == (on_host / (8000 * directions), prefixes)


def test_short_rows_before_a_long_row_have_no_prefixes():
    """999 vertices have six out-edges and about six in-edges. The last vertex has eight in-edges."""
    src, dst = np.repeat(np.arange(1, 1000), 6), np.zeros(5994, int)
    dst[8:] = 1 + np.arange(5986) % 999
    (own,) = ev.partition(ev.Graph.from_edges(src, dst, directed=True, n=1000), "cpu:1").partitions
    least = bytes_excluding_edges(1000, 0, 0, 2 * 5994, directions=2)
    for on_host in (1, 5994, 2 * 5994):
        assert tiers_of(own, 0, element(least + 4 * (2 * 5994 - on_host))) == (on_host / (2 * 5994), 0)


@pytest.mark.parametrize(("edges", "rows"), [(0, 0), (2, 2), (3, 3), (4, 3), (5, 5), (9, 5)])
def test_rows_of_the_first_edges(edges, rows):
    """The first two rows and the last row are empty."""
    assert HOME.whole_rows(np.array([0, 0, 0, 3, 5, 5], np.uint64), edges) == rows


def test_count_host_edges_needs_few_steps():
    """Each prefix uses half of the room that its row frees, which is the maximum."""
    asked = []

    def rows_of(on_host):
        asked.append(on_host)
        return on_host // 8

    # 2^36 edges do not fit, and the prefixes displace as many again.
    assert count_host_edges(1 << 40, 4, (1 << 42) - (1 << 38), rows_of) == ((1 << 37) - 4, (1 << 34) - 1)
    assert len(asked) < 60


def test_count_host_edges_ends_if_prefixes_use_all_freed_room():
    asked = []

    def rows_of(on_host):
        asked.append(on_host)
        return on_host // 4

    edges, room = 1 << 30, (1 << 32) - 400
    on_host, prefixes = count_host_edges(edges, 4, room, rows_of)
    assert prefixes == room // 2 // 16
    assert on_host == edges - (room - 16 * prefixes) // 4
    assert len(asked) < 70


@given(st.lists(st.integers(0, 20), max_size=30), st.sampled_from([4, 8, 12]), st.integers(0, 3000))
def test_the_number_of_host_edges_is_minimal(lengths, edge_bytes, room):
    """Trying each number finds the smallest one that leaves room for the other edges and the prefixes."""
    edges, ends = sum(lengths), np.cumsum(lengths)

    def rows_of(on_host):
        return int(np.searchsorted(ends, on_host, side="right")) if on_host else 0

    def prefixes(on_host):
        return min(rows_of(on_host), room // 2 // 16)

    fitting = (
        on_host
        for on_host in range(edges + 1)
        if (edges - on_host) * edge_bytes + prefixes(on_host) * 16 <= room
    )
    on_host = next(fitting)
    assert count_host_edges(edges, edge_bytes, room, rows_of) == (on_host, prefixes(on_host))


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=12), st.booleans())
def test_rows_that_are_long_enough_for_a_prefix(lengths, both):
    """Rows in descending order are long with eight or more edges per direction."""
    lengths.sort(key=sum if both else lambda pair: pair[0], reverse=True)
    ends = np.cumsum(np.array([(0, 0), *lengths], np.uint64), axis=0)
    stored = [SimpleNamespace(offsets=ends[:, way]) for way in range(1 + both)]
    found = HOME.long_rows(SimpleNamespace(directions=stored, owned=len(lengths)))
    of_all = [sum(pair[: 1 + both]) for pair in lengths]
    assert found == sum(one >= 8 * (1 + both) for one in of_all)


SOURCE = {"bfs": {"source": 0}, "sssp": {"source": 0}}


@pytest.mark.parametrize("algorithm", ["bfs", "pagerank", "wcc", "sssp", "betweenness"])
def test_a_run_needs_at_least_the_declared_host_state(algorithm):
    """The graph has few edges, so a run allocates almost only its state."""
    graph = ev.Graph.from_edges([0, 1], [1, 2], [1.0, 1.0], directed=False, n=1 << 18)
    placed = ev.partition(graph, "cpu:1")
    more = {"betweenness": {"k": 1}, "pagerank": {"weights": False}, **SOURCE}.get(algorithm, {})
    run = partial(getattr(ev, algorithm), placed, **more)
    run()  # compiles
    cpu._pool.clear()
    declared = find(algorithm).host_state.vertex * graph.n
    tracemalloc.start()
    result = run()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert result.graph is graph
    assert declared <= most
    assert most <= 1.5 * declared


@pytest.mark.parametrize("algorithm", ["bfs", "pagerank", "wcc", "sssp", "betweenness"])
def test_a_run_without_room_is_rejected_before_it_begins(monkeypatch, algorithm):
    placed = ev.partition(ev.read("grid:8x8"), "cpu:1")
    for name, value in (("MIN_CHECKED_BYTES", 1), ("available", lambda: 511), ("_reusable", [])):
        monkeypatch.setattr(f"evener.system.memory.{name}", value)
    begun = []
    with pytest.raises(ev.OutOfMemoryError, match=f"^{algorithm} on a graph of 64 vertices needs") as caught:
        getattr(ev, algorithm)(placed, progress=begun.append, **SOURCE.get(algorithm, {}))
    assert (begun, caught.value.available) == ([], 511)
    assert caught.value.needed >= 8 * 64
