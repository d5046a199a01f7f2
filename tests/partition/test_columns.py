"""Edges in blocks of columns: every edge in one place, the same ranks, and only where it pays.

CPU twins of the GPU's kernels build and use the blocks here, on elements that pretend to have a GPU's tables.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

import evener as ev
import reference
from evener.elements import CpuElement
from evener.elements.cuda.modules import ModuleCache
from evener.errors import DeviceOutOfMemory
from evener.kernels.cpu.column_blocks import LANES, NO_TARGET, PLACES, SLICES
from evener.partition.footprint import bytes_excluding_edges, column_block_bytes
from fake_elements import ApartElement, parse_apart
from kernel_inventory import find_kernels_of_gpus
from twins_column_blocks import high_column, low_column, pair_of

placing = import_module("evener.partition.column_blocks")
COLUMNS = 64
PLENTY = 1 << 40


class Tabled(CpuElement):
    """A CPU element with tables, and memory to spare."""

    table_columns = COLUMNS

    def room_after(self, taken):
        return PLENTY - taken


@pytest.fixture(autouse=True)
def twins(monkeypatch):
    """CPU elements run the twins of kernels that only GPUs have."""
    find_kernels_of_gpus(monkeypatch)


@pytest.fixture
def eager(monkeypatch):
    """Blocks are worth it on small graphs as well."""
    monkeypatch.setattr(placing, "MIN_EDGES", 1)
    monkeypatch.setattr(placing, "MIN_TILE_EDGES", 3)
    monkeypatch.setattr(placing, "MIN_BLOCK_STEPS", 1)
    monkeypatch.setattr(placing, "LANE_EDGES", (8, 8))


@pytest.fixture
def tables(monkeypatch, eager):  # noqa: ARG001 - for what it does
    """CPU elements have tables."""
    monkeypatch.setattr(CpuElement, "table_columns", COLUMNS, raising=False)
    monkeypatch.setattr(CpuElement, "room_after", lambda *_: PLENTY)


def star(n):
    return ev.Graph.from_edges(np.zeros(n, int), np.arange(1, n + 1), directed=False)


def several(n):
    """Many edges between the same vertices, others with none, and rows without edges between those with."""
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
# Graphs with at most two edges have no local block.
every_layout = pytest.mark.parametrize(
    "name", [name for name in GRAPHS if name not in ("one edge", "a loop")]
)


def built(graph):
    (partition,) = ev.partition(graph, on="cpu:1", directions="in").partitions
    return partition, placing.build_column_blocks(partition, Tabled("tabled", 1), COLUMNS, PLENTY)


def edges_of(made, items, tile, *, columns_of_words):
    """Row and target of each edge of some items, as they are laid out."""
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
    """The tile of each item, by where its sums go."""
    return np.searchsorted(made.tile_places, items.places, side="right") - 1


@every_layout
@pytest.mark.usefixtures("eager")
def test_every_edge_lies_in_one_place(name):
    partition, made = built(GRAPHS[name]())
    block = np.repeat(np.arange(len(made.of_owned.items) - 1), np.diff(made.of_owned.items.astype(int)))

    def near(i, word):
        places = [int(low_column(word)), int(high_column(word))]
        assert max(places) <= COLUMNS
        return [int(block[i]) * COLUMNS + place for place in places if place < COLUMNS]

    def rest(_, word):
        return [int(word)] if word != NO_TARGET else []

    found = edges_of(made, made.local, tiles_of(made, made.local), columns_of_words=near)
    found += edges_of(made, made.remainder, tiles_of(made, made.remainder), columns_of_words=rest)
    offsets = partition.in_.offsets.astype(int)
    row = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    assert sorted(found) == sorted(zip(row.tolist(), partition.in_.targets.tolist(), strict=True))


@every_layout
@pytest.mark.usefixtures("eager")
def test_sums_have_places_of_their_own(name):
    _, made = built(GRAPHS[name]())
    begin = np.concatenate([made.local.places, made.remainder.places]).astype(int)
    rows = LANES // np.concatenate([made.local.width, made.remainder.width]).astype(int)
    taken = np.concatenate([np.arange(b, b + r) for b, r in zip(begin, rows, strict=True)])
    assert len(np.unique(taken)) == len(taken)
    assert taken.max() < len(made.partial) == made.tile_places[-1]
    assert (made.tile_places % PLACES == 0).all()
    # Every row of every tile, and no row twice.
    covered = [np.arange(r, r + LANES // w) for r, w in zip(made.tile_row, made.tile_width, strict=True)]
    owned = len(made.tile_row) and int(np.concatenate(covered).max()) + 1
    assert len(np.concatenate(covered)) == owned


@pytest.mark.parametrize("on", [1, 3], ids="{} elements".format)
@every_graph
@pytest.mark.usefixtures("tables")
def test_ranks_are_those_of_the_reference(name, on):
    graph = GRAPHS[name]()
    expected = reference.pagerank(graph, iterations=12)
    for policy in ("random", "high", "low"):
        pg = ev.partition(graph, on=["cpu:1"] * on, policy=policy)
        ranks = [ev.pagerank(pg, tol=0, max_iter=12)["rank"] for _ in range(2)]
        assert ranks[0].dtype == np.float32
        np.testing.assert_allclose(ranks[0], expected, rtol=1e-6)
        assert (ranks[0] == ranks[1]).all()


@pytest.mark.usefixtures("tables")
def test_some_elements_have_tables_and_others_none(monkeypatch):
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
def test_an_element_with_memory_of_its_own(monkeypatch):
    """The host neither reads nor writes there but by copies."""
    monkeypatch.setattr(import_module("evener.partition.build"), "parse_elements", parse_apart)
    pg = ev.partition(GRAPHS["rmat"](), on=["apart:1"], directions="in")
    (partition,) = pg.partitions
    assert isinstance(pg.elements[0], ApartElement)
    assert placing.column_blocks_of(partition, pg.elements[0]) is not None


@pytest.mark.usefixtures("tables")
def test_it_is_made_once_for_a_placement(monkeypatch):
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
def test_none_for_ranks_in_float64():
    pg = ev.partition(GRAPHS["rmat"](), on="cpu:1")
    ev.pagerank(pg, dtype="float64", tol=0, max_iter=2)
    assert pg.partitions[0].in_.derived == {}


@pytest.mark.usefixtures("eager")
def test_none_on_an_element_without_tables():
    pg = ev.partition(GRAPHS["rmat"](), on="cpu:1")
    assert placing.column_blocks_of(pg.partitions[0], pg.elements[0]) is None


def test_none_of_a_small_graph():
    partition = ev.partition(GRAPHS["rmat"](), on="cpu:1").partitions[0]
    assert placing.column_blocks_of(partition, Tabled("tabled", 1)) is None
    assert partition.in_.derived == {}


@pytest.mark.usefixtures("eager")
def test_edges_enough_to_be_worth_it(monkeypatch):
    partition = ev.partition(GRAPHS["rmat"](), on="cpu:1").partitions[0]
    monkeypatch.setattr(placing, "MIN_EDGES", partition.in_.count + 1)
    assert placing.column_blocks_of(partition, Tabled("tabled", 1)) is None
    monkeypatch.setattr(placing, "MIN_EDGES", partition.in_.count)
    assert placing.column_blocks_of(partition, Tabled("tabled", 1)) is not None


@pytest.mark.usefixtures("tables")
def test_none_where_room_is_lost_while_they_are_made(monkeypatch):
    """Another process may take the memory meanwhile, and free it before the next run."""
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
def test_none_where_edges_are_the_hosts():
    partition = ev.partition(GRAPHS["rmat"](), on="cpu:1").partitions[0]

    class Mapped:
        host_part = np.zeros(32, np.uint32)

        def __len__(self):
            return partition.in_.count

    on_host = replace(partition, in_=replace(partition.in_, targets=Mapped()))
    on_host = replace(on_host, out=on_host.in_)
    assert on_host.host_edges == 32
    assert placing.column_blocks_of(on_host, Tabled("tabled", 1)) is None


@pytest.mark.usefixtures("eager")
def test_none_where_most_edges_are_far(monkeypatch):
    monkeypatch.setattr(placing, "MIN_TILE_EDGES", 1 << 20)
    assert built(GRAPHS["rmat"]())[1] is None


@pytest.mark.usefixtures("eager")
def test_at_most_half_of_the_edges_are_far(monkeypatch):
    """The more edges of a tile make a block near, the fewer are, until there are no blocks."""
    (partition,) = ev.partition(GRAPHS["rmat"](), on="cpu:1", directions="in").partitions
    rest = []
    for fewest in (3, 100, 400, 600):
        monkeypatch.setattr(placing, "MIN_TILE_EDGES", fewest)
        made = placing.build_column_blocks(partition, Tabled("tabled", 1), COLUMNS, PLENTY)
        rest.append(1 if made is None else len(made.remainder.words) / partition.in_.count)
    assert rest[0] < rest[1] < 0.4 < rest[2] < 0.5
    assert rest[3] == 1


@pytest.mark.usefixtures("eager")
def test_columns_beyond_the_blocks_that_are_looked_at_are_far(monkeypatch):
    monkeypatch.setattr(placing, "_MAX_BLOCKS", 14)
    graph = GRAPHS["rmat"]()  # of 16 blocks
    partition, made = built(graph)
    assert len(made.of_owned.items) == 14 + 1
    targets = made.remainder.words[made.remainder.words != NO_TARGET]
    assert np.count_nonzero(targets >= 14 * COLUMNS) == np.count_nonzero(
        partition.in_.targets >= 14 * COLUMNS
    )


@pytest.mark.usefixtures("eager")
def test_none_with_an_item_that_would_take_long(monkeypatch):
    assert built(GRAPHS["rmat"]())[1] is not None
    monkeypatch.setattr(placing, "_MAX_ITEM_STEPS", 3)
    assert built(GRAPHS["rmat"]())[1] is None


@pytest.mark.usefixtures("eager")
def test_none_with_more_work_than_can_be_counted(monkeypatch):
    monkeypatch.setattr(placing, "_MAX_STEPS", 1000)
    assert built(GRAPHS["rmat"]())[1] is None


@pytest.mark.usefixtures("eager")
def test_blocks_that_few_tiles_use_are_far(monkeypatch):
    _, all_near = built(GRAPHS["rmat"]())
    monkeypatch.setattr(placing, "MIN_BLOCK_STEPS", 60)
    _, some_near = built(GRAPHS["rmat"]())
    items = [np.diff(made.of_owned.items.astype(int)) for made in (all_near, some_near)]
    assert 0 < np.count_nonzero(items[1]) < np.count_nonzero(items[0])
    assert len(some_near.remainder.words) > len(all_near.remainder.words)


@pytest.mark.usefixtures("eager")
def test_it_takes_what_it_says_and_no_more_than_there_is():
    partition, made = built(GRAPHS["rmat"]())
    arrays = [made.tile_row, made.tile_width, made.tile_places, made.partial]
    for items in (made.local, made.remainder):
        arrays += [items.width, items.starts, items.ends, items.order, items.places, items.words]
    kept = sum(array.nbytes for array in arrays)
    said = column_block_bytes(
        len(made.tile_row),
        len(made.of_owned.items) - 1,
        len(made.local.width) + len(made.remainder.width),
        (len(made.local.words) + len(made.remainder.words)) // PLACES,
        len(made.partial),
    )
    assert kept <= said <= 1.25 * kept
    element = Tabled("tabled", 1)
    assert placing.build_column_blocks(partition, element, COLUMNS, said) is not None
    assert placing.build_column_blocks(partition, element, COLUMNS, said - 1) is None
    assert placing.build_column_blocks(partition, element, COLUMNS, 2 * partition.in_.count) is None


@pytest.mark.usefixtures("tables")
def test_what_runs_on_the_partition_keeps_its_room(monkeypatch):
    partition = ev.partition(GRAPHS["rmat"](), on="cpu:1").partitions[0]
    asked = []
    monkeypatch.setattr(CpuElement, "room_after", lambda _, taken: asked.append(taken) or 0)
    assert placing.column_blocks_of(partition, CpuElement("cpu:1", 1)) is None
    assert asked == [partition.nbytes]


def test_what_is_left_for_edges_a_second_time():
    """Names, degrees and offsets are in memory and are not counted twice: 16 bytes a vertex, 4 a mirror."""
    pg = ev.partition(GRAPHS["rmat"](), on=["cpu:1"] * 2, policy="high", alpha=0.3)
    own, other = pg.partitions
    elsewhere = pg.mirrors_of(0)
    assert elsewhere == other.mirrors != own.mirrors > 0
    beside = bytes_excluding_edges(own.owned, own.mirrors, elsewhere, own.stored_edges, directions=1)
    there = 16 * own.owned + 8 + 4 * own.mirrors
    assert placing.spare(own, Tabled("tabled", 1), elsewhere) == PLENTY - own.nbytes - beside + there


@pytest.mark.parametrize(
    ("low", "high"), [(0, 0), (1, 2), (65535, 0), (0, 65535), (16383, 49152), (4660, 43981)]
)
def test_two_columns_share_a_word(low, high):
    word = pair_of(low, high)
    assert (low_column(word), high_column(word)) == (low, high)


@pytest.mark.parametrize(
    ("shared", "columns"), [(232448, 49152), (166912, 32768), (101376, 16384), (1 << 30, 64512)]
)
def test_what_fits_in_a_table(shared, columns):
    """On an H200, an A100, and others; columns are numbered in 16 bits, and one number stands for none."""
    loader = ModuleCache.__new__(ModuleCache)
    loader._max_shared = shared
    assert loader.table_columns == columns


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize("policy", ["high", "low"])
def test_rows_ascend_where_there_are_tables(policy):
    """Building blocks bisects the rows, so they must be sorted. Without tables, rows begin with hubs."""
    for p in ev.partition(GRAPHS["rmat"](), on=["cpu:1"] * 3, policy=policy).partitions:
        assert p.mirrors > 0
        for row in np.split(p.in_.targets.astype(int), p.in_.offsets[1:-1].astype(int)):
            assert (np.diff(row) >= 0).all()
