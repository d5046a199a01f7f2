"""MapReduce: key-value jobs compared with pandas, in chunks, with files, on elements and ranks."""

from __future__ import annotations

import resource
import weakref

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import evener as ev
from evener.elements import parse_elements
from evener.programs.mapreduce import job
from evener.programs.mapreduce.records import sort_records
from evener.programs.mapreduce.worker import CpuWorker
from evener.system.cache import cache_folder
from evener.system.world import current_world
from evener.testing.ranks import run_ranks
from support.mapreduce_cases import (
    DISTINCT,
    SKEWED,
    check_combined,
    check_reduced,
    join,
    pair,
    pairs_of,
    spread,
)

SEVERAL = "cpu:1,cpu:1,cpu:1"
# Memory for less than a chunk of the graph's edges.
LITTLE = "100KB"


@pytest.fixture(scope="module")
def graph():
    return ev.read("rmat:10,edge_factor=16,seed=3")


@pytest.fixture(scope="module")
def values(graph):
    """Return values from 0 to 6, and -1 for vertices whose edges give no pair."""
    random = np.random.default_rng(4)
    return np.where(random.random(graph.n) < 0.2, -1, random.integers(0, 50, graph.n) / 8)


def errors_of_ranks(run):
    """Return the error that each of two ranks gets."""

    def caught(world):
        with pytest.raises(ev.EvenerError) as error:
            run(world)
        return type(error.value), str(error.value)

    return run_ranks(2, caught)


@pytest.mark.parametrize("more", [0, SKEWED], ids=["spread", "skewed"])
def test_jobs_equal_group_by(graph, values, more):
    """Jobs run on one and on several elements, in chunks, and with both kinds of reduction."""
    values = np.where(values < 0, values, values + more)
    groups = pairs_of(graph, values)
    for options in ({}, {"on": SEVERAL}, {"memory": LITTLE}, {"on": SEVERAL, "memory": LITTLE}):
        check_combined(ev.mapreduce(graph, pair, combine=join, values=values, **options), groups)
        check_reduced(ev.mapreduce(graph, pair, reduce=spread, values=values, **options), groups)


def test_the_records_of_a_chunk_are_freed_before_the_next(graph, monkeypatch):
    """No received or sorted record of a chunk is alive when the next chunk is mapped.

    With several elements, a thread that ends late may keep them for a moment.
    """
    received, alive = [], []
    sort, map_edges = CpuWorker.sort, CpuWorker.map

    def observed_sort(self, keys, columns):
        found = sort(self, keys, columns)
        received.extend(weakref.ref(array) for array in (keys, *columns, found.keys, found.order))
        return found

    def observed_map(self, *bounds):
        alive.extend(array for array in received if array() is not None and len(array()))
        return map_edges(self, *bounds)

    monkeypatch.setattr(CpuWorker, "sort", observed_sort)
    monkeypatch.setattr(CpuWorker, "map", observed_map)
    ev.mapreduce(graph, pair, combine=join, values=0.0, memory=LITTLE, on="cpu:1")
    assert len(received) >= 10
    assert alive == []


@pytest.mark.parametrize("reduction", [{"combine": join}, {"reduce": spread}], ids=["combine", "reduce"])
def test_sorted_runs_that_do_not_fit_are_written_to_files(graph, reduction):
    """The files are in the cache folder until the job ends."""
    values = np.full(graph.n, float(DISTINCT))
    groups = pairs_of(graph, values)
    rows = ev.mapreduce(graph, pair, values=values, memory=LITTLE, on="cpu:1,cpu:1", **reduction)
    assert rows.outcome == {"pairs": graph.m, "spilled": pytest.approx(graph.m * 24, rel=0.1)}
    (check_combined if "combine" in reduction else check_reduced)(rows, groups)
    assert list((cache_folder() / "evener").glob(".mapreduce*")) == []


def test_a_full_disk_is_an_error(graph):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 14, before[1]))
    try:
        with pytest.raises(ev.FileError, match=r"cannot write the runs of a MapReduce job .* file too large"):
            ev.mapreduce(graph, pair, combine=join, values=np.full(graph.n, float(DISTINCT)), memory=LITTLE)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list((cache_folder() / "evener").glob(".mapreduce*")) == []


@pytest.mark.parametrize("owner", ["hash", "block"])
def test_ranks(graph, values, owner, tmp_path):
    """Each rank has the rows of its keys, rank 0 gathers all rows, and a folder has a file per rank."""

    def count(world):
        rows = ev.mapreduce(graph, pair, combine=join, values=values, owner=owner, on="cpu:1,cpu:1")
        rows.write(f"{tmp_path}/rows/")
        rows.write(tmp_path / "rows.csv")
        return rows, rows.gather(), world.rank

    values = np.where(values < 0, values, values + SKEWED)
    groups = pairs_of(graph, values)
    found = run_ranks(3, count)
    bounds = [graph.n * rank // 3 for rank in range(4)]
    for rows, whole, rank in found:
        if rank == 0:
            check_combined(whole, groups)
        else:
            assert whole is None
        if owner == "block":
            assert ((rows.keys >= bounds[rank]) & (rows.keys < bounds[rank + 1])).all()
    assert sum(len(rows) for rows, _, _ in found) == len(groups)
    table = pq.read_table(tmp_path / "rows").to_pandas().sort_values("key")
    assert (table.key == sorted(groups.groups)).all()
    assert (table.value_1 == groups.b.max().to_numpy()).all()
    assert (pd.read_csv(tmp_path / "rows.csv").value_0 == groups.a.sum().to_numpy()).all()
    phases = {phase for phase, _ in found[0][0].timeline.by_phase()}
    assert phases == {"map", "hash", "communication", "transfer", "sort", "reduce"}


def test_blocks_of_ranks_with_different_numbers_of_elements(graph, values):
    """Each rank gets the keys of its block of vertices, as in a `Result`."""
    values = np.where(values < 0, values, values + SKEWED)
    groups = pairs_of(graph, values)

    def count(world):
        on = SEVERAL if world.rank else "cpu:1"
        rows = ev.mapreduce(graph, pair, combine=join, values=values, owner="block", on=on)
        first, end = (graph.n * rank // 2 for rank in (world.rank, world.rank + 1))
        assert ((rows.keys >= first) & (rows.keys < end)).all()
        return rows.gather()

    check_combined(run_ranks(2, count)[0], groups)


def test_ranks_may_read_their_own_parts(graph, values):
    groups = pairs_of(graph, values)

    def check(_):
        rows = ev.mapreduce("rmat:10,edge_factor=16,seed=3", pair, combine=join, values=values).gather()
        if rows is not None:
            check_combined(rows, groups)

    run_ranks(2, check)


def test_all_ranks_get_the_error_of_one(graph, values, monkeypatch):
    """A function divides by zero for an edge of rank 1, and then rank 1 has no memory for records."""
    cut = ev.Graph.from_edges([0, 1], [1, 0], n=2)

    def divide(_):
        ev.mapreduce(cut, lambda s, t: (6 // t, 1), combine=max, on="cpu:1")

    one, other = errors_of_ranks(divide)
    assert one == other
    assert one[0] is ev.ArgumentError
    assert one[1].startswith("map: a function raises an exception")

    def refuse(nbytes, what):
        if current_world().rank == 1:
            raise ev.OutOfMemoryError(f"{what} needs more", needed=nbytes, available=0)

    monkeypatch.setattr(job, "require_for_run", refuse)
    one, other = errors_of_ranks(lambda _: ev.mapreduce(graph, pair, combine=join, values=values, on="cpu:1"))
    assert one == other == (ev.OutOfMemoryError, "receiving the records of a MapReduce job needs more")


@pytest.mark.parametrize("more", [{}, {"on": SEVERAL}, {"owner": "block"}], ids=["one", "three", "block"])
def test_no_pairs(graph, more):
    for empty in (graph, ev.Graph.from_edges([], [], n=3), ev.Graph.from_edges([], [], n=0)):
        rows = ev.mapreduce(empty, pair, combine=join, values=-1.0, **more)
        assert (len(rows), len(rows.values[0]), rows.outcome["pairs"]) == (0, 0, 0)
        assert len(ev.mapreduce(empty, pair, reduce=spread, values=-1.0, **more)) == 0


def test_tables(graph, values):
    rows = ev.mapreduce(graph, pair, combine=join, values=values)
    assert rows.to_pandas().columns.tolist() == ["key", "value_0", "value_1"]
    assert (rows.to_arrow()["value_1"].to_numpy() == rows.values[1]).all()
    assert repr(rows).startswith(f"<Rows of mapreduce: {len(rows)} keys, ")
    assert "sort" in rows.explain()


@pytest.mark.parametrize(
    "keys",
    [
        np.array([2**63 - 1, -(2**63), 0, -1, 1, -(2**63)]),
        np.array([7, 7, 7]),
        np.array([], np.int64),
        np.random.default_rng(1).integers(0, 1 << 20, 5000).astype(np.uint32),
    ],
    ids=["whole range", "equal", "none", "uint32"],
)
def test_the_sort_is_stable(keys):
    """The sort equals NumPy's stable sort."""
    (element,) = parse_elements("cpu")
    order = np.argsort(keys, kind="stable")
    for dtype in (np.float64, np.float32):  # with keys of 4 bytes, float32 is packed
        found = element.run(sort_records, element, keys.copy(), [np.arange(len(keys), dtype=dtype)])
        assert (found.keys == keys[order]).all()
        assert (found.columns[0] == order).all()


def _returns_list(source, target):
    return [source, target]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"combine": None}, "mapreduce: expected combine= or reduce=, found neither"),
        ({"reduce": spread}, "mapreduce: expected combine= or reduce=, found both"),
        ({"owner": "rank"}, 'owner=: expected "hash" or "block", found \'rank\''),
        ({"memory": "much"}, "memory=: expected bytes, or a size with a unit"),
        ({"values": [1.0]}, r"values=: expected a number, or an array of shape \(2,\), found shape \(1,\)"),
        (
            {"values": np.array([2**63, 0], np.uint64)},
            r"values=: expected integers below 2\^63, found 9223372036854775808",
        ),
        ({"values": "a"}, "values=: expected integers or floating-point numbers, found <U1 in str"),
        ({"values": [[1], [1, 2]]}, "values=: expected a number or an array of numbers: setting an array"),
        (
            {"map": lambda source, target, source_value: (target, source_value)},
            "map: expected values= for the parameter source_value, found none",
        ),
        ({"map": lambda s, t, w: (t, w)}, "map: expected two parameters, then any of weight, .* found"),
        (
            {"map": lambda source, target: target},
            r"map: expected a function that returns a pair \(key, payload\) or None, found int at .*, line",
        ),
        ({"map": lambda source, target: (target / 2, 1)}, r"found \(float, int\) at .*the key is an integer"),
        ({"map": lambda source, target: None}, "found None at"),
        ({"map": _returns_list}, "found list.int64.* at .*def _returns_list"),
        ({"map": lambda source, target: (SEEN, 1)}, "map: uses 'SEEN' .list. at"),
        ({"combine": lambda x, y: x - y}, r"combine is not commutative: combine\([-0-9]+, [-0-9]+\) is"),
        ({"combine": lambda x, y: (x + y) // 2}, "combine is not associative on"),
        (
            {"map": lambda source, target: (source, (1, 0.5)), "combine": lambda x, y: x[0] + y[0]},
            r"combine: expected a function that returns \(int, float\) as map does, found int at",
        ),
        ({"combine": lambda x, y: x * 1.0 + y}, "combine: returns a floating-point number for an integer"),
        (
            {"combine": None, "reduce": lambda key, values: values},
            "reduce: expected a function that returns a number or a tuple of numbers, found array",
        ),
        (
            {"map": pair, "combine": join, "values": 0.0, "owner": "block"},
            'map: expected vertex numbers from 0 to 1 as keys of owner="block", found -40; use owner="hash"',
        ),
    ],
)
def test_wrong_arguments(arguments, message):
    graph = ev.Graph.from_edges([0], [1])
    given = {"map": lambda source, target: (target, 1), "combine": max} | arguments
    with pytest.raises(ev.ArgumentError, match=message):
        ev.mapreduce(graph, given.pop("map"), **given)


SEEN = []


def test_wrong_keys_of_blocks_with_an_element_without_edges():
    graph = ev.Graph.from_edges([0], [1])
    with pytest.raises(ev.ArgumentError, match=r"expected vertex numbers from 0 to 1 .* found -40; use"):
        ev.mapreduce(graph, pair, combine=join, values=0.0, owner="block", on="cpu:1,cpu:1")
