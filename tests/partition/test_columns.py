"""Column blocks contain every edge once, give the same PageRank, and are built only if they pay off.

CPU twins of the GPU kernels build and use the blocks, on CPU elements that imitate the tables of a GPU.
"""

from __future__ import annotations

import weakref
from contextlib import nullcontext
from dataclasses import replace
from importlib import import_module
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

import evener as ev
from evener.elements import CpuElement
from evener.elements.cuda.modules import ModuleCache
from evener.engine.engine import Engine
from evener.errors import DeviceOutOfMemory
from evener.kernels.cpu.column_blocks import LANES, NO_TARGET, PLACES, SLICES
from evener.partition.footprint import bytes_excluding_edges, column_block_bytes
from support import reference
from support.fake_elements import ApartElement, parse_apart
from support.kernel_inventory import find_kernels_of_gpus
from support.twins.column_blocks import high_column, low_column, pair_of

placing = import_module("evener.partition.column_blocks")
COLUMNS = 64
PLENTY = 1 << 40


def blocks_of(partition, element):
    """Return the column blocks of the in-edges of a partition on an element."""
    pg = SimpleNamespace(partitions=[partition], elements=[element], run_cache={}, mirrors_of=lambda _: 0)
    return placing.column_blocks_of(pg, 0, "in_")


class Tabled(CpuElement):
    """A CPU element with tables and enough memory."""

    table_columns = COLUMNS

    def room_after(self, taken):
        return PLENTY - taken


@pytest.fixture(autouse=True)
def twins(monkeypatch):
    """Let CPU elements run the twins of GPU-only kernels."""
    find_kernels_of_gpus(monkeypatch)


@pytest.fixture
def eager(monkeypatch):
    """Lower the thresholds, so that small graphs get blocks."""
    monkeypatch.setattr(placing, "MIN_EDGES", 1)
    monkeypatch.setattr(placing, "MIN_TILE_EDGES", 3)
    monkeypatch.setattr(placing, "MIN_BLOCK_STEPS", 1)
    monkeypatch.setattr(placing, "LANE_EDGES", (8, 8))
    monkeypatch.setattr(placing, "BAND_COLUMNS", 150)
    monkeypatch.setattr(placing, "MIN_BAND_EDGES", 20)


@pytest.fixture
def tables(monkeypatch, eager):  # noqa: ARG001 - the fixture lowers thresholds
    """Give CPU elements tables, and lower the thresholds."""
    monkeypatch.setattr(CpuElement, "table_columns", COLUMNS, raising=False)
    monkeypatch.setattr(CpuElement, "room_after", lambda *_: PLENTY)


def star(n):
    return ev.Graph.from_edges(np.zeros(n, int), np.arange(1, n + 1), directed=False)


def several(n):
    """Return a graph with many parallel edges, and with empty rows between other rows."""
    rng = np.random.default_rng(n)
    tails, heads = rng.integers(0, n, (2, 40 * n)) ** 2 // n
    return ev.Graph.from_edges(tails, 3 * heads, directed=True, n=4 * n)


GRAPHS = {
    "rmat": lambda: ev.read("rmat:10"),
    "directed": lambda: ev.read("rmat:10,directed"),
    "star": lambda: star(700),
    "several": lambda: several(90),
    "uniform": lambda: ev.read("uniform:9"),
    "one edge": lambda: ev.Graph.from_edges([0], [1], directed=False),
    "a loop": lambda: ev.Graph.from_edges([0, 0], [0, 0], directed=True, n=300),
}
every_graph = pytest.mark.parametrize("name", GRAPHS)


def built(graph):
    (partition,) = ev.partition(graph, on="cpu:1", directions="in").partitions
    edges, element = partition.in_, Tabled("tabled", 1)
    return partition, placing.build_column_blocks(partition, edges, element, COLUMNS, PLENTY)


def edges_of(made, items, tile, *, columns_of_words):
    """Return the row and the target of each edge of the items, in storage order."""
    found = []
    for i, t in enumerate(tile):
        rows = LANES // int(made.tile_width[t])
        ends = [0, *items.ends[i * SLICES : (i + 1) * SLICES].astype(int)]
        order = items.order[i * LANES : (i + 1) * LANES]
        assert sorted(order) == list(range(LANES))
        for s in range(SLICES):
            assert ends[s] <= ends[s + 1]
            for step in range(ends[s], ends[s + 1]):
                word = (int(items.starts[i]) + step) * PLACES
                for place in range(PLACES):
                    lane = int(order[place * SLICES + s])
                    row = int(made.tile_row[t]) + lane * rows // LANES
                    found += [(row, c) for c in columns_of_words(i, items.words[word + place])]
    return found


def tiles_of(made, items):
    """Return the tile of each item, found by the position of its sums."""
    return np.searchsorted(made.tile_places, items.places, side="right") - 1


@every_graph
@pytest.mark.usefixtures("eager")
def test_every_edge_is_stored_once(name):
    partition, made = built(GRAPHS[name]())
    block = np.repeat(np.arange(len(made.block_items) - 1), np.diff(made.block_items.astype(int)))

    def near(i, word):
        places = [int(low_column(word)), int(high_column(word))]
        assert max(places) <= COLUMNS
        return [int(block[i]) * COLUMNS + place for place in places if place < COLUMNS]

    def rest(_, word):
        return [int(word)] if word != NO_TARGET else []

    found = edges_of(made, made.local, tiles_of(made, made.local), columns_of_words=near)
    found += edges_of(made, made.own_remainder, tiles_of(made, made.own_remainder), columns_of_words=rest)
    offsets = partition.in_.offsets.astype(int)
    row = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    assert sorted(found) == sorted(zip(row.tolist(), partition.in_.targets.tolist(), strict=True))


def test_items_of_bands(monkeypatch):
    """An item has whole bands, and at least 20 edges unless it ends with the last band."""
    monkeypatch.setattr(placing, "MIN_BAND_EDGES", 20)
    counts = np.array([[5, 0, 30, 2], [0, 25, 19, 1], [0, 0, 0, 0]], np.uint32)
    tile, first, end = placing._band_items(counts)
    found = list(zip(tile.tolist(), first.tolist(), end.tolist(), strict=True))
    assert found == [(1, 0, 2), (0, 0, 3), (0, 3, 4), (1, 2, 4)]


@pytest.mark.usefixtures("tables")
def test_the_first_part_of_a_remainder_needs_no_mirrors(monkeypatch):
    monkeypatch.setattr(placing, "MIN_TILE_EDGES", 100)
    own, _ = ev.partition(GRAPHS["rmat"](), on=["cpu:1"] * 2).partitions
    made = placing.build_column_blocks(own, own.in_, Tabled("tabled", 1), COLUMNS, PLENTY)
    of_own, others = (one.words[one.words != NO_TARGET] for one in (made.own_remainder, made.remainder))
    assert 0 < len(of_own) == np.count_nonzero(of_own < own.owned)
    assert np.count_nonzero(others >= own.owned) > 0


@every_graph
@pytest.mark.usefixtures("eager")
def test_sums_have_distinct_places(name):
    _, made = built(GRAPHS[name]())
    begin = np.concatenate([made.local.places, made.own_remainder.places]).astype(int)
    rows = LANES // np.concatenate([made.local.width, made.own_remainder.width]).astype(int)
    taken = np.concatenate([np.arange(b, b + r) for b, r in zip(begin, rows, strict=True)])
    assert len(np.unique(taken)) == len(taken)
    assert taken.max() < len(made.partial) == made.tile_places[-1]
    assert (made.tile_places % PLACES == 0).all()
    # The tiles cover every row once.
    covered = [np.arange(r, r + LANES // w) for r, w in zip(made.tile_row, made.tile_width, strict=True)]
    owned = len(made.tile_row) and int(np.concatenate(covered).max()) + 1
    assert len(np.concatenate(covered)) == owned


@pytest.mark.parametrize("on", [1, 3], ids="{} elements".format)
@every_graph
@pytest.mark.usefixtures("tables")
def test_ranks_equal_the_reference(name, on):
    graph = GRAPHS[name]()
    expected = reference.pagerank(graph, iterations=12)
    for policy in ("random", "high", "low"):
        pg = ev.partition(graph, on=["cpu:1"] * on, policy=policy)
        ranks = [ev.pagerank(pg, tol=0, max_iter=12)["rank"] for _ in range(2)]
        assert ranks[0].dtype == np.float32
        np.testing.assert_allclose(ranks[0], expected, rtol=1e-6)
        assert (ranks[0] == ranks[1]).all()


@pytest.mark.parametrize("on", [1, 2], ids="{} elements".format)
@pytest.mark.usefixtures("tables")
def test_sums_that_are_computed_ahead_do_not_change_the_last_iteration(on):
    """The reference stops in the first iteration with a change below the tolerance."""
    graph = GRAPHS["directed"]()
    pg = ev.partition(graph, on=["cpu:1"] * on)
    ranks = [reference.pagerank(graph, iterations=k) for k in range(30)]
    for tol in (1e-2, 1e-4, 1e-5):
        changes = [np.abs(after - before).sum() for before, after in pairwise(ranks)]
        last = 1 + next(k for k, change in enumerate(changes) if change < tol)
        found = ev.pagerank(pg, tol=tol)
        assert (found.parameters["dtype"], found.outcome["iterations"]) == ("float32", last)
        np.testing.assert_allclose(found["rank"], ranks[last], rtol=1e-6)


@pytest.mark.usefixtures("tables")
def test_only_some_elements_have_tables(monkeypatch):
    graph = GRAPHS["rmat"]()
    monkeypatch.setattr(
        CpuElement, "table_columns", property(lambda self: COLUMNS * (self.name == "cpu:2")), raising=False
    )
    pg = ev.partition(graph, on=["cpu:1", "cpu:2"])
    ranks = ev.pagerank(pg, tol=0, max_iter=12)["rank"]
    assert ["column_blocks" in p.in_.derived for p in pg.partitions] == [False, True]
    np.testing.assert_allclose(ranks, reference.pagerank(graph, iterations=12), rtol=1e-6)


@pytest.mark.usefixtures("tables")
def test_personalized_ranks():
    graph = GRAPHS["directed"]()
    jumps = np.random.default_rng(3).random(graph.n)
    options = {"personalization": jumps, "tol": 0, "max_iter": 9}
    expected = ev.pagerank(graph, dtype="float64", on="cpu:1", **options)["rank"]
    for on in (["cpu:1"], ["cpu:1"] * 2):
        r = ev.pagerank(graph, on=on, **options)
        np.testing.assert_allclose(r["rank"], expected, rtol=1e-6)
        ev.verify(r)


@pytest.mark.usefixtures("tables")
def test_an_element_with_separate_memory(monkeypatch):
    """The host accesses the memory only by copies, which `ApartElement` checks."""
    monkeypatch.setattr(import_module("evener.partition.placement"), "parse_elements", parse_apart)
    pg = ev.partition(GRAPHS["rmat"](), on=["apart:1"], directions="in")
    (partition,) = pg.partitions
    assert isinstance(pg.elements[0], ApartElement)
    assert blocks_of(partition, pg.elements[0]) is not None


@pytest.mark.usefixtures("tables")
def test_blocks_are_built_once_per_placement(monkeypatch):
    graph = GRAPHS["rmat"]()
    pg = ev.partition(graph, on="cpu:1")
    made = []
    build = placing.build_column_blocks
    monkeypatch.setattr(placing, "build_column_blocks", lambda *args: made.append(1) or build(*args))
    for _ in range(3):
        ev.pagerank(pg, tol=0, max_iter=2)
    assert len(made) == 1
    ev.pagerank(ev.partition(graph, on="cpu:1"), tol=0, max_iter=2)
    assert len(made) == 2


@pytest.mark.usefixtures("tables")
def test_no_blocks_for_float64():
    pg = ev.partition(GRAPHS["rmat"](), on="cpu:1")
    ev.pagerank(pg, dtype="float64", tol=0, max_iter=2)
    assert pg.partitions[0].in_.derived == {}


@pytest.mark.usefixtures("eager")
def test_no_blocks_on_an_element_without_tables():
    pg = ev.partition(GRAPHS["rmat"](), on="cpu:1")
    assert placing.column_blocks_of(pg, 0, "in_") is None


def test_no_blocks_for_a_small_graph():
    partition = ev.partition(GRAPHS["rmat"](), on="cpu:1").partitions[0]
    assert blocks_of(partition, Tabled("tabled", 1)) is None
    assert partition.in_.derived == {}


@pytest.mark.usefixtures("eager")
def test_blocks_need_a_minimum_of_edges(monkeypatch):
    partition = ev.partition(GRAPHS["rmat"](), on="cpu:1").partitions[0]
    monkeypatch.setattr(placing, "MIN_EDGES", partition.in_.count + 1)
    assert blocks_of(partition, Tabled("tabled", 1)) is None
    monkeypatch.setattr(placing, "MIN_EDGES", partition.in_.count)
    assert blocks_of(partition, Tabled("tabled", 1)) is not None


@pytest.mark.usefixtures("tables")
def test_no_blocks_if_an_allocation_fails(monkeypatch):
    """Another process may use the memory for a while, so the next run tries again."""
    graph = GRAPHS["rmat"]()
    pg = ev.partition(graph, on="cpu:1")
    array = CpuElement.allocate

    def lost(element, length, dtype, fill=None, **how):
        if dtype == np.uint8:  # the order of lanes
            raise DeviceOutOfMemory("cuda:0 has 1.0 KiB free", needed=2048, available=1024)
        return array(element, length, dtype, fill, **how)

    monkeypatch.setattr(CpuElement, "allocate", lost)
    for restored in (lost, array):
        monkeypatch.setattr(CpuElement, "allocate", restored)
        ranks = ev.pagerank(pg, tol=0, max_iter=12)["rank"]
        assert ("column_blocks" in pg.partitions[0].in_.derived) == (restored is array)
        np.testing.assert_allclose(ranks, reference.pagerank(graph, iterations=12), rtol=1e-6)


@pytest.mark.usefixtures("tables")
def test_no_blocks_for_edges_in_host_memory():
    partition = ev.partition(GRAPHS["rmat"](), on="cpu:1").partitions[0]

    class Mapped:
        host_part = np.zeros(32, np.uint32)

        def __len__(self):
            return partition.in_.count

    on_host = replace(partition, in_=replace(partition.in_, targets=Mapped()))
    on_host = replace(on_host, out=on_host.in_)
    assert on_host.host_edges == 32
    assert blocks_of(on_host, Tabled("tabled", 1)) is None


@pytest.mark.usefixtures("tables")
def test_all_edges_can_be_in_the_remainder(monkeypatch):
    monkeypatch.setattr(placing, "MIN_TILE_EDGES", 1 << 20)
    graph = GRAPHS["uniform"]()
    pg = ev.partition(graph, on=["cpu:1"] * 2)
    ranks = ev.pagerank(pg, tol=0, max_iter=12)["rank"]
    assert [len(p.in_.derived["column_blocks"].local.width) for p in pg.partitions] == [0, 0]
    np.testing.assert_allclose(ranks, reference.pagerank(graph, iterations=12), rtol=1e-6)


@pytest.mark.usefixtures("eager")
def test_columns_after_the_last_block_are_in_the_remainder(monkeypatch):
    monkeypatch.setattr(placing, "_MAX_BLOCKS", 14)
    graph = GRAPHS["rmat"]()  # has columns for 16 blocks
    partition, made = built(graph)
    assert len(made.block_items) == 14 + 1
    targets = made.own_remainder.words[made.own_remainder.words != NO_TARGET]
    assert np.count_nonzero(targets >= 14 * COLUMNS) == np.count_nonzero(
        partition.in_.targets >= 14 * COLUMNS
    )


@pytest.mark.usefixtures("eager")
def test_no_blocks_with_an_item_of_too_many_steps(monkeypatch):
    assert built(GRAPHS["rmat"]())[1] is not None
    monkeypatch.setattr(placing, "_MAX_ITEM_STEPS", 3)
    assert built(GRAPHS["rmat"]())[1] is None


@pytest.mark.usefixtures("eager")
def test_no_blocks_with_too_many_steps_in_total(monkeypatch):
    monkeypatch.setattr(placing, "_MAX_STEPS", 1000)
    assert built(GRAPHS["rmat"]())[1] is None


@pytest.mark.usefixtures("eager")
def test_blocks_that_few_tiles_use_are_in_the_remainder(monkeypatch):
    _, all_near = built(GRAPHS["rmat"]())
    monkeypatch.setattr(placing, "MIN_BLOCK_STEPS", 60)
    _, some_near = built(GRAPHS["rmat"]())
    items = [np.diff(made.block_items.astype(int)) for made in (all_near, some_near)]
    assert 0 < np.count_nonzero(items[1]) < np.count_nonzero(items[0])
    assert len(some_near.own_remainder.words) > len(all_near.own_remainder.words)


@pytest.mark.usefixtures("eager")
def test_blocks_need_at_most_the_estimated_bytes():
    partition, made = built(GRAPHS["rmat"]())
    estimate = column_block_bytes(
        len(made.tile_row),
        len(made.block_items) - 1,
        len(made.local.width) + len(made.own_remainder.width),
        (len(made.local.words) + len(made.own_remainder.words)) // PLACES,
        len(made.partial),
    )
    assert made.nbytes <= estimate <= 1.25 * made.nbytes
    for spare, enough in ((estimate, True), (estimate - 1, False), (2 * partition.in_.count, False)):
        element = Tabled("tabled", 1)
        with nullcontext() if enough else pytest.raises(DeviceOutOfMemory, match="tabled has too little"):
            assert placing.build_column_blocks(partition, partition.in_, element, COLUMNS, spare)


@pytest.mark.usefixtures("eager")
def test_counts_of_bands_need_room(monkeypatch):
    partition, made = built(GRAPHS["rmat"]())
    monkeypatch.setattr(placing, "BAND_COLUMNS", 1)  # 4 bytes for each tile and vertex
    bands = 4 * len(made.tile_row) * len(partition.vertices)
    with pytest.raises(DeviceOutOfMemory) as caught:
        placing.build_column_blocks(partition, partition.in_, Tabled("tabled", 1), COLUMNS, bands)
    assert caught.value.needed >= bands


@pytest.mark.usefixtures("tables")
def test_more_room_is_used_by_the_next_run(monkeypatch):
    """Arrays of an earlier run are freed before the room is known, and a full GPU is asked again."""
    pg = ev.partition(GRAPHS["rmat"](), on="cpu:1")
    engine = Engine(pg, "search")
    part, freed, room = weakref.ref(engine.work_arrays(("owned", "uint32", None))[0].parts[0]), [], [0]
    engine.finish()
    del engine
    monkeypatch.setattr(CpuElement, "room_after", lambda *_: freed.append(part() is None) or room[0])
    assert part() is not None
    ev.pagerank(pg, tol=0, max_iter=2)
    assert freed == [True]
    assert "column_blocks" not in pg.partitions[0].in_.derived
    room[0] = PLENTY
    ev.pagerank(pg, tol=0, max_iter=2)
    assert pg.partitions[0].in_.derived["column_blocks"] is not None


@pytest.mark.usefixtures("tables")
def test_blocks_leave_room_for_runs(monkeypatch):
    partition = ev.partition(GRAPHS["rmat"](), on="cpu:1").partitions[0]
    asked = []
    monkeypatch.setattr(CpuElement, "room_after", lambda _, taken: asked.append(taken) or 0)
    assert blocks_of(partition, CpuElement("cpu:1", 1)) is None
    assert asked == [partition.nbytes]


def test_room_for_blocks():
    """Ids, degrees and offsets are already allocated: 16 bytes per vertex and 4 per mirror."""
    pg = ev.partition(GRAPHS["rmat"](), on=["cpu:1"] * 2, policy="high", alpha=0.3)
    own, other = pg.partitions
    remote_mirrors = pg.mirrors_of(0)
    assert remote_mirrors == other.mirrors != own.mirrors > 0
    fixed = bytes_excluding_edges(own.owned, own.mirrors, remote_mirrors, own.stored_edges, directions=1)
    allocated = 16 * own.owned + 8 + 4 * own.mirrors
    assert placing.spare(own, Tabled("tabled", 1), remote_mirrors) == PLENTY - own.nbytes - fixed + allocated


@pytest.mark.parametrize(
    ("low", "high"), [(0, 0), (1, 2), (65535, 0), (0, 65535), (16383, 49152), (4660, 43981)]
)
def test_two_columns_share_a_word(low, high):
    word = pair_of(low, high)
    assert (low_column(word), high_column(word)) == (low, high)


@pytest.mark.parametrize(
    ("shared", "columns"), [(232448, 49152), (166912, 32768), (101376, 16384), (1 << 30, 64512)]
)
def test_columns_that_fit_in_a_table(shared, columns):
    """The cases are an H200, an A100 and others. Columns have 16-bit numbers, and one number means none."""
    loader = ModuleCache.__new__(ModuleCache)
    loader._max_shared = shared
    assert loader.table_columns == columns


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize("policy", ["high", "low"])
def test_rows_are_sorted_on_elements_with_tables(policy):
    """Building blocks bisects the rows, so rows must be sorted. Without tables, rows begin with hubs."""
    for p in ev.partition(GRAPHS["rmat"](), on=["cpu:1"] * 3, policy=policy).partitions:
        assert p.mirrors > 0
        for row in np.split(p.in_.targets.astype(int), p.in_.offsets[1:-1].astype(int)):
            assert (np.diff(row) >= 0).all()
