"""Partitions store every edge once, in one index space, for any policy, share and elements."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from functools import partial
from importlib import import_module
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evener as ev
from evener.elements import CpuElement
from evener.elements.cuda.memory import TieredArray
from evener.graph.csr import rows_at
from evener.kernels.cpu import partition as kernels
from evener.partition.build import partition as place
from evener.partition.footprint import PREFIX_EDGES, Tiers
from evener.partition.host_build import build_on_host, part_of_graph
from evener.partition.numbering import number_vertices
from evener.partition.partition import EDGES_PER_BLOCK, work_blocks
from evener.partition.policy import policy_names
from evener.system import memory
from support.fake_elements import ApartElement
from support.pair_cover import pairwise_cover
from support.reference import edges as edges_of

# `evener.partition` is the function.
HOME = import_module("evener.partition.partition")
UPLOAD = import_module("evener.partition.upload")


def edge_counts(graph):
    """Count each stored (tail, head, weight)."""
    tails, heads = edges_of(graph)
    weights = np.zeros(graph.m) if graph.weights is None else graph.weights
    return Counter(zip(tails.tolist(), heads.tolist(), weights.tolist(), strict=True))


def stored_edges(p, edges, *, reverse):
    """Count the edges of one partition as (tail, head, weight), with the graph's vertex numbers."""
    rows = np.repeat(np.arange(p.owned), np.diff(edges.offsets.astype(np.int64)))
    here, there = p.vertices[rows].tolist(), p.vertices[edges.targets].tolist()
    weights = [0.0] * edges.count if edges.weights is None else edges.weights.tolist()
    return Counter(zip(there, here, weights) if reverse else zip(here, there, weights))  # noqa: B905 - equal lengths


def check_index_space(pg):
    """Check the order: owned vertices by descending degree, then mirrors by owner and local number."""
    graph = pg.graph
    degree = graph.out_degree() + (graph.in_degree() if graph.directed else 0)
    owner_of, local_of = np.full(graph.n, -1), np.full(graph.n, -1)
    for p in pg.partitions:
        mine = p.vertices[: p.owned]
        assert (owner_of[mine] == -1).all()
        owner_of[mine], local_of[mine] = p.index, np.arange(p.owned)
        assert (np.diff(degree[mine].astype(int)) <= 0).all()
        assert (p.out_degree == graph.out_degree()[mine]).all()
    assert (owner_of >= 0).all()
    assert [pg.place_of(v) for v in range(graph.n)] == list(
        zip(owner_of.tolist(), local_of.tolist(), strict=True)
    )
    for p in pg.partitions:
        mirrors = p.vertices[p.owned :]
        assert p.mirrors == len(mirrors)
        assert (owner_of[mirrors] != p.index).all()
        order = list(zip(owner_of[mirrors].tolist(), local_of[mirrors].tolist(), strict=True))
        assert order == sorted(set(order))
        assert p.mirror_bounds[0] == p.owned
        assert np.diff(p.mirror_bounds).tolist() == [
            int((owner_of[mirrors] == q).sum()) for q in range(len(pg.partitions))
        ]
        check_rows(p, graph.out_degree())
        neighbours = {t for edges in p.directions for t in edges.targets.tolist() if t >= p.owned}
        assert neighbours == set(range(p.owned, len(p.vertices)))  # every mirror is a neighbour


def check_rows(p, degree):
    for edges in p.directions:
        assert len(edges.offsets) == p.owned + 1
        assert edges.offsets.dtype == np.uint64
        assert edges.targets.dtype == np.uint32
        assert edges.offsets[0] == 0
        assert edges.offsets[-1] == edges.count == len(edges.targets)
        assert (edges.targets < max(len(p.vertices), 1)).all()
        # Neighbours of more out-edges come first, then those of a smaller local number.
        rank = np.lexsort((np.arange(len(p.vertices)), -degree[p.vertices].astype(int))).argsort()
        for row in np.split(edges.targets.astype(int), edges.offsets[1:-1].astype(int)):
            assert (np.diff(rank[row] if p.mirrors else row) >= 0).all()
        lengths = np.diff(edges.offsets.astype(int))
        assert edges.rows == (np.flatnonzero(lengths).max() + 1 if lengths.any() else 0)
        assert edges.blocks[0] == 0
        assert edges.blocks[-1] == p.owned
        assert (np.diff(edges.blocks.astype(int)) > 0).all()


def check_edges(pg):
    """Check that out-edges and in-edges contain every edge once with its weight."""
    expected = edge_counts(pg.graph)
    if pg.directions != "in" or not pg.graph.directed:
        assert sum((stored_edges(p, p.out, reverse=False) for p in pg.partitions), Counter()) == expected
    if pg.directions != "out" or not pg.graph.directed:
        assert sum((stored_edges(p, p.in_, reverse=True) for p in pg.partitions), Counter()) == expected
    for p in pg.partitions:
        if not pg.graph.directed:
            assert p.in_ is p.out
        else:
            assert (p.out is None) == (pg.directions == "in")
            assert (p.in_ is None) == (pg.directions == "out")


@st.composite
def graphs(draw):
    n = draw(st.one_of(st.integers(1, 40), st.sampled_from([63, 64, 65, 127, 128, 129])))
    m = draw(st.integers(0, 4 * n))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    src, dst = rng.integers(0, n, (2, m))
    if draw(st.booleans()):
        src[: m // 2] = 0  # a hub
    kind = draw(st.sampled_from([None, "float32", "float64", "int32"]))
    weights = None if kind is None else rng.integers(1, 50, m).astype(kind)
    return ev.Graph.from_edges(src, dst, weights, directed=draw(st.booleans()), n=n)


@settings(max_examples=150)
@given(
    graph=graphs(),
    elements=st.sampled_from([1, 2, 3, 4, 9]),
    policy=st.sampled_from([name for name in policy_names() if name != "metis"]),
    alpha=st.sampled_from([None, 0, 0.01, 0.3, 0.5, 0.99, 1]),
    directions=st.sampled_from(["both", "out", "in"]),
    seed=st.integers(0, 3),
)
def test_any_graph_and_any_split(graph, elements, policy, alpha, directions, seed):
    pg = place(graph, ["cpu:1"] * elements, policy=policy, alpha=alpha, directions=directions, seed=seed)
    check_index_space(pg)
    check_edges(pg)
    values = np.random.default_rng(seed).random(graph.n)
    assert (pg.gather(pg.scatter(values)) == values).all()


@pytest.mark.parametrize("directed", [True, False])
def test_long_and_short_rows_of_a_skewed_graph(directed):
    """Rows exceed the thresholds of all sorts, and parallel edges have different weights."""
    rng = np.random.default_rng(3)
    n, m = 1000, 30_000
    src, dst = (rng.random((2, m)) ** 3 * n).astype(np.int64)
    pg = place(ev.Graph.from_edges(src, dst, np.arange(m), directed=directed, n=n), ["cpu:1"] * 3)
    check_index_space(pg)
    check_edges(pg)


@pytest.mark.parametrize("leaves", [2**k for k in range(5, 13)])
def test_sorting_uses_the_highest_bit_of_vertex_numbers(leaves):
    """The last number is a power of two, which would sort first without its highest bit."""
    pg = place(ev.Graph.from_edges(np.zeros(leaves, int), np.arange(1, leaves + 1), directed=False))
    check_index_space(pg)
    check_edges(pg)


class Halved(ApartElement):
    """An element that records the number of host edges and the reserved workspace."""

    def allocate_edges(self, length, dtype, on_host):
        self.on_host.append(on_host)
        return super().allocate_edges(length, dtype, on_host)

    def prepare_workspace(self, edges):
        self.reserved = edges


def built_on_host(graph, numbering, out_degree, p=0):
    """Return a partition with pending edges."""
    degree = out_degree[numbering.vertices]
    part = part_of_graph(p, graph, "both", numbering)
    [built] = build_on_host([part], numbering, degree, directed=graph.directed)
    return built.partition


@pytest.mark.parametrize(
    ("host_share", "on_host"),
    [(0.0, 0), (0.01, 32), (0.32, 32), (0.33, 64), (0.64, 64), (0.9, 96), (0.97, 100), (1.0, 100)],
)
def test_host_edges_are_a_multiple_of_32(host_share, on_host):
    """The host share of 100 edges is rounded up to a multiple of 32."""
    ends = np.random.default_rng(1).integers(0, 30, (2, 100))
    g = ev.Graph.from_edges(*ends, np.ones(100, np.float32), n=30)
    by_degree = np.argsort(-(g.out_degree() + g.in_degree()).astype(int), kind="stable").astype(np.uint32)
    numbering = number_vertices(by_degree, np.zeros(30, np.uint8), 1)
    degree = g.out_degree().astype(np.uint32)
    element = Halved("cpu:1", 0)
    element.on_host = []
    UPLOAD.upload_partition(built_on_host(g, numbering, degree), element, Tiers(host_share))
    assert element.on_host == [on_host] * 4  # targets and weights of both directions
    assert element.reserved == 100


def test_partition_waits_for_all_copies(monkeypatch):
    """The caller may free the graph after the call."""
    done = []
    wait, upload = CpuElement.wait, CpuElement.upload
    monkeypatch.setattr(CpuElement, "wait", lambda own: done.append(("wait", own.name)) or wait(own))
    monkeypatch.setattr(
        CpuElement, "upload", lambda own, a: done.append(("upload", own.name)) or upload(own, a)
    )
    ev.partition(ev.read("rmat:6"), ["cpu:1", "cpu:1"])
    assert done[-2:] == [("wait", "cpu:1#0"), ("wait", "cpu:1#1")]
    assert ("upload", "cpu:1#1") in done


def test_too_many_out_edges_of_a_vertex(monkeypatch):
    graph = ev.Graph.from_edges([0, 1], [1, 0])
    monkeypatch.setattr(ev.Graph, "out_degree", lambda _: np.array([1, 1 << 32], np.uint64))
    with pytest.raises(
        ev.ArgumentError, match=r"expected at most 4,294,967,295 out-edges of a vertex, found 4,294,967,296"
    ):
        ev.partition(graph, "cpu:1")


def in_two_memories():
    """Return a CPU element that stores host edges and device edges separately, as a GPU does."""
    element = CpuElement("cpu:1", 1)

    def edges(length, dtype, on_host):
        return TieredArray(np.empty(on_host, dtype), np.empty(length - on_host, dtype))

    def end_write(edges, begin, values):
        here = min(max(len(edges.host_part) - begin, 0), len(values))
        edges.host_part[begin : begin + here] = values[:here]
        begin += here - len(edges.host_part)
        edges.device_part[begin : begin + len(values) - here] = values[here:]

    element.allocate_edges, element.end_write = edges, end_write
    element.begin_write = lambda edges, begin, end: np.empty(end - begin, edges.dtype)
    return element


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("host_share", [0.0, 0.5])
def test_prefixes_contain_the_hubs_of_another_element(host_share, directed):
    """Vertex 0, owned by the CPU, is a neighbour of all vertices of a ring, owned by the GPU."""
    spokes, ring = np.arange(1, 65), np.roll(np.arange(1, 65), 1)
    g = ev.Graph.from_edges(
        np.concatenate([np.zeros(64, int), spokes, ring]),
        np.concatenate([spokes, np.zeros(64, int), spokes]),
        directed=directed,
    )
    numbering = number_vertices(np.arange(65, dtype=np.uint32), (np.arange(65) > 0).astype(np.uint8), 2)
    degree = g.out_degree().astype(np.uint32)
    element = in_two_memories()
    element.table_columns = 1024
    built = built_on_host(g, numbering, degree, 1)
    placed = UPLOAD.upload_partition(built, element, Tiers(host_share, 1 << 32))
    edges = placed.in_
    begins, values = (
        edges.offsets[:-1].astype(int),
        np.concatenate([edges.targets.host_part, edges.targets.device_part]),
    )
    to_hub = values == 64  # the only mirror
    if host_share:
        assert to_hub[begins].all()
        assert (edges.targets.prefixes[:, 0] == 64).all()
    else:
        assert not to_hub[begins].any()
        assert to_hub[edges.offsets[1:].astype(int) - 1].all()


@pytest.mark.parametrize(
    ("host_share", "most", "directed", "written"),
    pairwise_cover([0.0, 0.32, 0.9, 1.0], [0, 5, 1000], [True, False], [12, 1 << 20]),
)
def test_host_rows_have_prefixes_of_their_in_edges(monkeypatch, host_share, most, directed, written):
    """Only rows that are completely on the host have prefixes, and at most `most` rows."""
    ends = np.random.default_rng(1).integers(0, 30, (2, 200))
    g = ev.Graph.from_edges(*ends, n=35, directed=directed)
    by_degree = np.argsort(-(g.out_degree() + g.in_degree()).astype(int), kind="stable").astype(np.uint32)
    numbering = number_vertices(by_degree, np.zeros(35, np.uint8), 1)
    built = built_on_host(g, numbering, g.out_degree().astype(np.uint32))
    element = in_two_memories()
    monkeypatch.setattr(UPLOAD, "_EDGES_WRITTEN", written)
    placed = UPLOAD.upload_partition(built, element, Tiers(host_share, most))
    assert placed.host_bytes == 4 * placed.host_edges
    assert (placed.host_edges > 0) == (host_share > 0)
    targets = placed.in_.targets
    values = np.concatenate([targets.host_part, targets.device_part])
    rows = [r for r, end in enumerate(placed.in_.offsets[1:].tolist(), 1) if end <= len(targets.host_part)]
    count = min(most, max(rows, default=0)) if host_share else 0
    if directed:
        assert placed.out.targets.prefixes is None
    if count == 0:
        assert targets.prefixes is None
        return
    assert targets.prefixes.shape == (count, PREFIX_EDGES)
    assert targets.nbytes == targets.host_part.nbytes + targets.device_part.nbytes + count * PREFIX_EDGES * 4
    for prefix, (begin, end) in zip(targets.prefixes, pairwise(placed.in_.offsets.tolist()), strict=False):
        own = values[begin : min(end, begin + PREFIX_EDGES)]
        assert (prefix[: len(own)] == own).all()


def test_prefixes_of_short_rows_read_nothing_after_the_last_edge():
    targets = np.arange(20, dtype=np.uint32)
    prefixes = np.full((3, PREFIX_EDGES), 99, np.uint32)
    kernels.row_prefixes(np.array([0, 5, 5, 7], np.uint64), targets[:7], prefixes)
    assert prefixes[0].tolist() == [0, 1, 2, 3]
    assert prefixes[2, :2].tolist() == [5, 6]
    assert prefixes.max() == 6


@pytest.mark.parametrize("seed", range(3))
def test_random_depends_on_the_seed(seed):
    g = ev.Graph.from_edges(*np.random.default_rng(0).integers(0, 200, (2, 900)), n=200)
    first, again, other = (
        place(g, ["cpu:1"] * 2, seed=s).owned_vertices()[0] for s in (seed, seed, seed + 1)
    )
    assert first.tolist() == again.tolist()
    assert set(first.tolist()) != set(other.tolist())


@pytest.mark.parametrize("elements", [1, 2, 5])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("n", [0, 1, 3])
def test_graphs_without_edges(n, directed, elements):
    pg = place(ev.Graph.from_edges([], [], directed=directed, n=n), ["cpu:1"] * elements)
    check_index_space(pg)
    assert sum(p.owned for p in pg.partitions) == n
    assert pg.statistics.beta == pg.statistics.beta_aggregated == 0
    assert pg.routes == []
    assert len(pg.gather([np.zeros(p.owned) for p in pg.partitions])) == n


def test_more_elements_than_vertices():
    g = ev.Graph.from_edges([0, 1, 2], [1, 2, 0], directed=False)
    pg = place(g, ["cpu:1"] * 7)
    check_index_space(pg)
    check_edges(pg)


@pytest.mark.slow
@pytest.mark.release
def test_more_elements_than_a_byte_can_number():
    g = ev.Graph.from_edges(*np.random.default_rng(0).integers(0, 600, (2, 900)), n=600)
    pg = place(g, ["cpu:1"] * 257)
    check_index_space(pg)
    check_edges(pg)


def test_gather_returns_the_ids_of_the_graph():
    g = ev.Graph.from_edges([10, 20, 30], [20, 30, 40], directed=False)
    pg = place(g, ["cpu:1"] * 2, policy="high")
    no_vertex = np.uint32(0xFFFFFFFF)
    own_numbers = [np.arange(p.owned, dtype=np.uint32) for p in pg.partitions]
    assert pg.gather_vertices(own_numbers).tolist() == [10, 20, 30, 40]
    assert pg.gather_vertices([np.full(p.owned, no_vertex) for p in pg.partitions]).tolist() == [-1] * 4
    numbers = pg.scatter(np.array([3, 2, 1, 0], np.uint32))
    assert pg.gather_numbers(numbers).tolist() == [40, 30, 20, 10]


def test_gather_returns_numbers_if_ids_are_strings():
    g = ev.Graph.from_edges(["a", "b"], ["b", "c"], directed=False)
    pg = place(g, ["cpu:1"] * 2)
    assert pg.gather_numbers(pg.scatter(np.array([2, 1, 0], np.uint32))).tolist() == [2, 1, 0]
    assert pg.gather_vertices([np.arange(p.owned, dtype=np.uint32) for p in pg.partitions]).tolist() == [
        0,
        1,
        2,
    ]


@pytest.mark.parametrize("wrong", [3, 1 << 31, (1 << 32) - 2])
@pytest.mark.parametrize("named", [False, True])
def test_gather_rejects_numbers_without_a_vertex(wrong, named):
    """The graph and its only partition have the numbers 0 to 2."""
    g = ev.Graph.from_edges([5, 9], [9, 20]) if named else ev.Graph.from_edges([0, 1], [1, 2])
    pg = place(g, "cpu:1")
    numbers = [np.array([2, wrong, wrong], np.uint32)]
    with pytest.raises(ev.ArgumentError, match=r"expected local numbers on cpu:1 below 3, .*; 2 are larger"):
        pg.gather_vertices(numbers)
    with pytest.raises(
        ev.ArgumentError, match=r"expected the graph's numbers below 3, or 4,294,967,295 for no"
    ):
        pg.gather_numbers(numbers)
    for gather in (pg.gather_vertices, pg.gather_numbers):
        with pytest.raises(ev.ArgumentError, match="expected vertex numbers of type uint32, found int64"):
            gather([np.array([0, 1, -2])])


def test_a_result_without_room_is_rejected(monkeypatch):
    pg = place(ev.read("grid:4x4"), "cpu:1")
    parts = [np.zeros(16, np.float64)]
    monkeypatch.setattr(memory, "MIN_CHECKED_BYTES", 1)
    monkeypatch.setattr(memory, "_reusable", [])  # no pages of earlier runs
    monkeypatch.setattr(memory, "available", lambda: 127)
    with pytest.raises(ev.OutOfMemoryError, match="the result for 16 vertices needs 128 bytes"):
        pg.gather(parts)
    monkeypatch.setattr(memory, "available", lambda: 128)
    assert len(pg.gather(parts)) == 16


@pytest.mark.parametrize("policy", [["high"], {"high"}, 7])
def test_a_policy_is_one_name(policy):
    g = ev.read("grid:3x3")
    for call in (ev.partition, partial(ev.bfs, source=0), partial(ev.plan, algorithm="bfs", on="cpu")):
        with pytest.raises(ev.ArgumentError, match=r"policy=: expected one of .*, found "):
            call(g, policy=policy)


def test_gather_uses_several_threads():
    g = ev.Graph.from_edges([0], [49_999], n=50_000)
    pg = place(g, ["cpu:1"] * 2)
    values = np.random.default_rng(0).random(g.n).astype(np.float32)
    assert (pg.gather(pg.scatter(values)) == values).all()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"policy": "medium"},
            "policy=: expected one of C-PG, .*high, .*random, .*or auto.*, found 'medium'",
        ),
        ({"alpha": -0.1}, "share of the edges on the CPU side from 0 to 1, found -0.1"),
        ({"alpha": 1.5}, "share of the edges on the CPU side from 0 to 1, found 1.5"),
        ({"alpha": float("nan")}, "share of the edges on the CPU side from 0 to 1, found nan"),
        ({"alpha": "half"}, "share of the edges on the CPU side from 0 to 1, found 'half'"),
        ({"alpha": True}, "share of the edges on the CPU side from 0 to 1, found True"),
        ({"directions": "up"}, "found 'up'"),
        ({"on": ["gpu:0"]}, "'gpu:0' is not an element"),
        ({"on": []}, "name of at least one element"),
    ],
)
def test_invalid_arguments(change, sentence):
    g = ev.Graph.from_edges([0], [1])
    with pytest.raises(ev.ArgumentError, match=sentence):
        place(g, **{"on": ["cpu:1", "cpu:1"], **change})


def test_repr_names_the_elements_and_the_policy():
    pg = place(ev.Graph.from_edges([0], [1], n=1200), ["cpu:1", "cpu:1"], policy="low")
    assert repr(pg) == "<PartitionedGraph: 1,200 vertices on cpu:1#0, cpu:1#1; policy low>"


def test_only_graphs_can_be_placed():
    with pytest.raises(ev.ArgumentError, match="expected a Graph, found list"):
        place([1, 2, 3])
    with pytest.raises(ev.ArgumentError, match="found a PartitionedGraph; pass it to algorithms"):
        place(place(ev.Graph.from_edges([0], [1]), "cpu:1"))


def test_a_placement_without_room_is_rejected_before_allocation(monkeypatch):
    g = ev.Graph.from_edges(*np.random.default_rng(0).integers(0, 100, (2, 1000)), n=100)
    monkeypatch.setattr(memory, "available", lambda: 4000)
    monkeypatch.setattr(np, "empty", None)
    with pytest.raises(ev.OutOfMemoryError, match="on 2 element") as refused:
        place(g, ["cpu:1"] * 2)
    assert refused.value.available == 4000
    assert refused.value.needed >= 2 * g.m * 4  # the out-edges and the in-edges, at least
    assert isinstance(refused.value, MemoryError)


@pytest.mark.parametrize("directions", ["both", "out", "in"])
@pytest.mark.parametrize("directed", [True, False])
def test_bytes_needed_cover_the_partitions(directions, directed):
    """A single partition, which has no mirrors, needs at most the estimated bytes."""
    ends = np.random.default_rng(0).integers(0, 20_000, (2, 200_000))
    g = ev.Graph.from_edges(*ends, np.ones(200_000), directed=directed, n=20_000)
    from evener.partition.footprint import bytes_needed

    pg = place(g, ["cpu:1"], directions=directions)
    assert pg.statistics.nbytes <= bytes_needed(g, directions)


@pytest.mark.parametrize(
    ("written", "directed", "dtype"),
    pairwise_cover([1, 1000, 40_000], [True, False], [None, "float32", "float64", "uint8"]),
)
def test_edges_written_in_pieces(monkeypatch, written, directed, dtype):
    """Rows are shorter and longer than a piece and than the thresholds of sorting, with parallel edges."""
    monkeypatch.setattr(UPLOAD, "_EDGES_WRITTEN", written)
    monkeypatch.setattr(HOME, "EDGES_PER_BLOCK", 300)
    rng = np.random.default_rng(6)
    src = np.repeat([0, 1, 2, 3, *range(4, 300)], [9000, 4100, 300, 33, *([20] * 296)])
    dst = rng.integers(0, 3000, len(src))
    weights = None if dtype is None else rng.integers(0, 200, len(src)).astype(dtype)
    g = ev.Graph.from_edges(src, dst, weights, directed=directed, n=3000)
    for elements in (1, 3):
        pg = place(g, ["cpu:1"] * elements, seed=written)
        check_index_space(pg)
        check_edges(pg)
        for p in pg.partitions:
            assert sum(int((e.targets >= p.owned).sum()) for e in p.directions) == sum(
                e.boundary for e in p.directions
            )


@pytest.mark.parametrize(("needed", "all_of_them"), [(89, False), (90, True), (100, True)])
def test_a_long_run_with_few_gaps_is_mirrored_completely(monkeypatch, needed, all_of_them):
    """A run of 100 vertices is mirrored completely if 90 or more of the vertices are needed."""
    monkeypatch.setattr(HOME, "LONG_RUN", 50)
    # Vertex 0 is the hub, alone on its element. Vertices 1 to 120 have equal degrees, and keep their order.
    wanted = np.unique(np.append(np.linspace(10, 109, 100)[: needed - 1], 109)).astype(int)
    others = np.setdiff1d(np.arange(1, 121), wanted)
    to_hub, among = wanted, np.resize(others, len(others) // 2 * 2).reshape(2, -1)
    g = ev.Graph.from_edges(
        np.append(np.zeros(len(to_hub), int), among[0]), np.append(to_hub, among[1]), directed=False, n=121
    )
    hub, rest = place(g, ["cpu:1"] * 2, policy="high", alpha=len(to_hub) / g.m).partitions
    assert hub.vertices[: hub.owned].tolist() == [0]
    mirrored = np.sort(hub.vertices[hub.owned :])
    run = rest.vertices[: rest.owned]
    places = np.flatnonzero(np.isin(run, wanted))
    assert len(wanted) == needed
    expected = run[places[0] : places[-1] + 1] if all_of_them else wanted
    assert mirrored.tolist() == np.sort(expected).tolist()


@pytest.mark.parametrize("directions", ["out", "in"])
def test_placing_needs_little_memory_in_addition_to_the_partition(monkeypatch, directions):
    """Placing needs 28 bytes per vertex and room to sort a piece of the edges, but no copy of all edges."""
    monkeypatch.setattr(UPLOAD, "_EDGES_WRITTEN", 1 << 16)
    g = ev.read(f"rmat:16,directed,stored={directions}")
    place(g, directions=directions)  # compiles
    tracemalloc.start()
    pg = place(g, directions=directions)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    extra = most - pg.statistics.nbytes
    assert extra < 28 * g.n + 8 * (1 << 16) + (1 << 20)
    assert g.m * 4 > 32 * g.n + (1 << 20)  # a copy of the edges would exceed the bound
    assert g.stored_directions == (directions,)


def test_blocks_have_about_equal_work():
    lengths = np.random.default_rng(1).integers(0, 200, 20_000)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint64)
    work = np.diff((offsets + np.arange(20_001, dtype=np.uint64))[work_blocks(offsets)].astype(int))
    assert work.sum() == lengths.sum() + 20_000
    assert (work <= EDGES_PER_BLOCK + 201).all()
    assert (work[:-1] >= EDGES_PER_BLOCK - 201).all()


def test_rows_at_equals_searchsorted():
    lengths = np.random.default_rng(2).integers(0, 5, 1000)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint64)
    before = offsets + np.arange(1001, dtype=np.uint64)
    work = np.arange(int(before[-1]) + 1, dtype=np.uint64)
    assert (rows_at(offsets, work) == np.searchsorted(before, work)).all()
    assert rows_at(np.zeros(1, np.uint64), np.zeros(1, np.uint64)).tolist() == [0]


def test_one_row_longer_than_a_block_is_a_block():
    offsets = np.array([0, 10 * EDGES_PER_BLOCK, 10 * EDGES_PER_BLOCK + 1], np.uint64)
    assert work_blocks(offsets).tolist() == [0, 1, 2]
    assert work_blocks(np.zeros(1, np.uint64)).tolist() == [0]


def test_an_unknown_argument_is_named():
    with pytest.raises(TypeError, match="argument 'polcy'; for a path it also takes format, "):
        ev.partition(ev.read("rmat:4"), "cpu:1", polcy="high")
