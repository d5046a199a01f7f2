"""Estimated shares of elements before placement, and placements suggested by errors."""

from __future__ import annotations

from functools import partial
from importlib import import_module

import numpy as np
import pytest

import evener as ev
from evener.elements.cuda import discovery
from evener.elements.cuda import element as cuda
from evener.errors import DeviceOutOfMemory
from evener.partition.estimate import GraphSizes, estimate_shares
from evener.partition.footprint import bytes_excluding_edges, tiers_of
from evener.partition.sizes import Degrees
from support.fake_gpu import FakeGpu, SizedGpu

PLACEMENT = import_module("evener.partition.transfer")


@pytest.mark.parametrize(
    ("weights", "directed", "directions", "expected"),
    [
        (None, True, "both", (2, 4, 6)),
        (None, True, "in", (1, 4, 3)),
        (None, False, "both", (1, 4, 6)),
        (np.ones(3), True, "both", (2, 12, 6)),
        (np.ones(3, np.float32), False, "in", (1, 8, 6)),
    ],
)
def test_stored_directions_bytes_and_edges_of_a_graph(weights, directed, directions, expected):
    graph = ev.Graph.from_edges([0, 1, 2], [1, 2, 0], weights, directed=directed)
    sizes = GraphSizes.of(graph, directions)
    assert (sizes.directions, sizes.edge_bytes, sizes.degrees.edges) == expected


@pytest.mark.parametrize(("directions", "prefixes"), [(1, (0, 1, 3, 3)), (2, (0, 1, 2, 2))])
def test_only_long_rows_have_prefixes(directions, prefixes):
    """Two vertices have 16 edges, one has 8, and four have 7."""
    degrees = Degrees.of(np.array([16, 16, 8, 7, 7, 7, 7], np.uint64))
    prefixes_of = GraphSizes(degrees, directions, 4).prefixes_of(degrees.count.astype(float))
    assert tuple(prefixes_of(edges) for edges in (0, 16, 40, 68)) == prefixes


@pytest.mark.parametrize(
    ("spec", "directions"),
    [("rmat:14", "both"), ("rmat:14,directed", "both"), ("rmat:14,directed", "out"), ("uniform:12", "both")],
)
@pytest.mark.parametrize("fits", [0.03, 0.125, 0.5])
def test_estimated_host_edges_equal_those_of_the_placed_graph(spec, directions, fits):
    graph = ev.read(spec)
    stored = graph.m * (1 + (graph.directed and directions == "both"))
    least = bytes_excluding_edges(graph.n, 0, 0, stored, directions=1 + (stored > graph.m))
    gpu = SizedGpu("cuda:0", least + int(fits * stored * 4))
    ((share,), _) = estimate_shares(GraphSizes.of(graph, directions), [gpu], "random", None)
    (placed,) = ev.partition(graph, "cpu:1", directions=directions).partitions
    found = tiers_of(placed, 0, gpu, prefixes=directions == "both")
    assert share.host_edges / stored == pytest.approx(found.host_share, rel=0.005)


@pytest.mark.parametrize(
    ("spec", "directions", "edge_bytes"),
    [("rmat:10", 1, 4), ("rmat:10,weights=1..255", 1, 8), ("rmat:10,directed,weights=1..255", 2, 8)],
)
def test_the_gpu_holds_as_many_edges_as_fit(spec, directions, edge_bytes):
    """The room is first for everything except edges. Then prefixes get at most half, and edges the rest."""
    graph = ev.read(spec)
    stored = directions * graph.m
    least = bytes_excluding_edges(graph.n, 0, 0, stored, directions=directions)
    whole = least + stored * edge_bytes

    def placed(room, followed="both"):
        sizes = GraphSizes.of(graph, followed)
        ((share,), (nbytes,)) = estimate_shares(sizes, [SizedGpu("cuda:0", room)], "random", None)
        return share.host_edges, nbytes

    assert placed(least) == (stored, least)
    assert placed(least + 3 * edge_bytes) == (stored - 3, least + 3 * edge_bytes)
    assert placed(least + 32) == (stored - 16 // edge_bytes, least + 32)
    assert placed(least + 1600) == (stored - 800 // edge_bytes, least + 1600)
    if not graph.directed:  # without searches there are no prefixes
        assert placed(least + 1600, "in") == (stored - 1600 // edge_bytes, least + 1600)
    assert placed(whole) == (0, whole)
    with pytest.raises(DeviceOutOfMemory, match="cuda:0 has room for"):
        placed(least - 1)


def test_a_gpu_named_twice_has_its_room_once():
    graph = ev.read("rmat:14")
    sizes = GraphSizes.of(graph)

    def estimate(room):
        twice = [SizedGpu("cuda:0#0", room), SizedGpu("cuda:0#1", room)]
        return estimate_shares(sizes, twice, "random", None)

    _, whole = estimate(1 << 30)
    shares, nbytes = estimate(sum(whole))
    assert [share.host_edges for share in shares] == [0, 0]
    shares, nbytes = estimate(sum(whole) - 1)
    assert sum(nbytes) <= sum(whole) - 1
    assert [share.host_edges > 0 for share in shares] == [False, True]
    with pytest.raises(DeviceOutOfMemory, match="cuda:0#1 has room for "):
        estimate(max(whole))


# ---- suggestions ---------------------------------------------------------------------------------------


@pytest.fixture
def gpu(monkeypatch):
    """Give the machine one fake GPU."""
    monkeypatch.setattr(cuda, "CudaElement", FakeGpu)
    monkeypatch.setattr(cuda, "gpus", lambda: 1)
    monkeypatch.setattr(discovery, "missing", lambda: None)


def suggestion(error):
    """Return the elements, policy and alpha that an error suggests."""
    on, policy, alpha = str(error.value).rpartition("; it fits with ")[2].split(", ")
    return on.split('"')[1], policy.split('"')[1], float(alpha.removeprefix("alpha="))


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("directions", ["in", "both"])
def test_the_suggested_placement_fits(directions):
    graph = ev.read("rmat:14,directed")
    asked = {
        "gpu_memory": bytes_excluding_edges(graph.n, 0, 0, graph.m, directions=1) // 2,
        "directions": directions,
    }
    with pytest.raises(DeviceOutOfMemory) as caught:
        ev.partition(graph, on="cuda:0", **asked)
    assert caught.value.available == asked["gpu_memory"] < caught.value.needed
    assert str(caught.value).count("it fits with") == 1
    on, policy, alpha = suggestion(caught)
    assert on == "cpu,cuda:0"
    ev.partition(graph, on, policy=policy, alpha=alpha, **asked)


@pytest.mark.usefixtures("gpu")
def test_the_suggestion_depends_on_the_directions_of_the_algorithm():
    """PageRank stores one direction, so the GPU has room for more edges."""
    graph = ev.read("rmat:14,directed")
    given = bytes_excluding_edges(graph.n, 0, 0, graph.m, directions=1) // 2
    alphas = []
    for algorithm in (ev.pagerank, partial(ev.bfs, source=0)):
        with pytest.raises(DeviceOutOfMemory) as caught:
            algorithm(graph, on="cuda:0", gpu_memory=given)
        alphas.append(suggestion(caught)[2])
    assert alphas[0] < alphas[1]


@pytest.mark.usefixtures("gpu")
def test_the_command_line_suggests_its_own_options(evener):
    graph = ev.read("rmat:14")
    given = bytes_excluding_edges(graph.n, 0, 0, graph.m, directions=1) // 2
    done = evener("plan", "rmat:14", "--for", "pagerank", "--on", "cuda:0", "--gpu-memory", given)
    assert done.status == 2
    assert '; it fits with --on "cpu,cuda:0", --policy "' in done.err


@pytest.mark.usefixtures("gpu")
def test_a_gpu_named_twice_is_suggested_by_its_name(monkeypatch):
    graph = ev.read("rmat:10")
    monkeypatch.setattr(FakeGpu, "free", bytes_excluding_edges(graph.n, 0, 0, graph.m, directions=1) // 3)
    with pytest.raises(DeviceOutOfMemory) as caught:
        ev.wcc(graph, on="cuda:0,cuda:0")
    assert suggestion(caught)[0] == "cpu,cuda:0,cuda:0"


@pytest.mark.usefixtures("gpu")
def test_the_cpu_is_suggested_if_nothing_fits_on_the_gpu(monkeypatch):
    monkeypatch.setattr(FakeGpu, "free", 1024)
    with pytest.raises(DeviceOutOfMemory, match=r'; it fits with on="cpu"$'):
        ev.wcc(ev.read("rmat:10"), on="cuda:0")


# ---- limits of a GPU -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("part", [0.9, 0.75])
def test_partitions_of_one_gpu_share_its_memory(monkeypatch, part):
    graph, asked = ev.read("rmat:12"), []

    def needed(pg):
        return sum(
            bytes_excluding_edges(p.owned, p.mirrors, pg.mirrors_of(k), p.stored_edges, directions=1)
            for k, p in enumerate(pg.partitions)
        )

    def tiers(*args, **more):
        asked.append(tiers_of(*args, **more).host_share)
        return tiers_of(*args, **more)

    on = ["cuda:0", "cuda:0"]
    given = int(needed(ev.partition(graph, on)) + part * 4 * graph.m)
    monkeypatch.setattr(PLACEMENT, "tiers_of", tiers)
    pg = ev.partition(graph, on, gpu_memory=given)
    host = sum(share * p.stored_edges for share, p in zip(asked, pg.partitions, strict=True))
    assert 0 < host < graph.m
    assert needed(pg) + 4 * (graph.m - host) <= given


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("directed", [True, False])
def test_too_many_in_edges_of_a_vertex_for_a_gpu(monkeypatch, directed):
    star = ev.Graph.from_edges(np.arange(1, 40), np.zeros(39, int), directed=directed)
    monkeypatch.setattr(PLACEMENT, "MAX_GPU_IN_DEGREE", 39)
    ev.partition(star, "cuda:0")
    monkeypatch.setattr(PLACEMENT, "MAX_GPU_IN_DEGREE", 38)
    message = r"expected at most 38 in-edges of a vertex on cuda:0, found 39; "
    with pytest.raises(ev.ArgumentError, match=message):
        ev.partition(star, "cuda:0")
    ev.partition(star, "cpu:1")
    mixed = ev.partition(star, ["cpu:1", "cuda:0"], policy="high", alpha=0.5)
    assert mixed.place_of(0)[0] == 0
    if directed:  # no edge leads out of the center
        ev.partition(star, "cuda:0", directions="out")
