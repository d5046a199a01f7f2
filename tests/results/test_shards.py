"""Results on several ranks: each rank has a block of values, and all ranks write one table."""

from __future__ import annotations

import stat
import threading

import numpy as np
import pyarrow.dataset
import pytest

import evener as ev
from evener.errors import FileError, VerificationError
from evener.testing.ranks import run_ranks

RANKS = 3


@pytest.fixture(scope="module")
def graph():
    rng = np.random.default_rng(5)
    names = np.array([f"v{i:03}" for i in range(50)])
    src, dst = rng.integers(0, 50, (2, 60))
    return ev.Graph.from_edges(names[src], names[dst], directed=False)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def on_ranks(graph, function, run=ev.wcc, **arguments):
    """Run an algorithm on ranks, and return the value of `function` for each rank's result."""
    return run_ranks(RANKS, lambda world: function(run(ev.partition(graph, "cpu:1"), **arguments), world))


def test_shards_together_equal_the_whole_result(graph):
    whole = ev.bfs(graph, source="v001")
    shards = on_ranks(
        graph, lambda r, _: (r.ids, r["distance"], r["parent"], r.to_arrow()), ev.bfs, source="v001"
    )
    ids, distance, parent, tables = zip(*shards, strict=True)
    assert np.concatenate(ids).tolist() == whole.ids.tolist() == graph.ids.tolist()
    assert np.concatenate(distance).tolist() == whole["distance"].tolist()
    assert [len(own) for own in parent] == [len(own) for own in ids]
    assert pyarrow.concat_tables(tables)["distance"].to_pylist() == whole["distance"].tolist()
    assert {table.schema.field("parent").type for table in tables} == {pyarrow.string()}


@pytest.mark.parametrize(
    ("run", "arguments"),
    [
        (ev.wcc, {}),
        (ev.bfs, {"source": "v001"}),
        (ev.pagerank, {"tol": 0, "max_iter": 5, "dtype": "float64"}),
    ],
)
@pytest.mark.parametrize("k", [0, 4, 100])
def test_top_is_equal_on_all_ranks(graph, run, arguments, k):
    expected = run(graph, **arguments).top(k)
    for found in on_ranks(graph, lambda r, _: r.top(k), run, **arguments):
        assert [one for one, _ in found] == [one for one, _ in expected]
        np.testing.assert_allclose([value for _, value in found], [value for _, value in expected], 1e-12)


def test_rank_0_gathers(graph):
    whole, *others = on_ranks(graph, lambda r, _: r.gather())
    assert others == [None] * (RANKS - 1)
    assert whole["component"].tolist() == ev.wcc(graph)["component"].tolist()
    assert whole.ids.tolist() == graph.ids.tolist()
    ev.verify(whole)


@pytest.mark.parametrize("ids", ["numbers", "integers", "strings"])
def test_a_graph_that_no_rank_has_completely(tmp_path, graph, ids):
    """Blocks, top vertices, tables and the gathered result have the right ids."""
    path = tmp_path / "graph.evg"
    if ids == "integers":
        graph = ev.Graph.from_edges([5, 9, 9, 40], [9, 40, 41, 77], directed=False)
    if ids == "numbers":
        graph = ev.read("grid:4x5")
    ev.write(graph, path)

    def run(_):
        result = ev.wcc(str(path), on="cpu:1")
        whole, top = result.gather(), result.top(3)
        result.report(tmp_path / "run.html")
        tables = result.to_arrow(), None if whole is None else whole.to_arrow()
        return result.ids.tolist(), top, *tables

    expected = ev.wcc(graph)
    own, tops, tables, wholes = zip(*run_ranks(RANKS, run), strict=True)
    assert [one for part in own for one in part] == graph.ids.tolist()
    assert set(map(tuple, tops)) == {tuple(expected.top(3))}
    assert pyarrow.concat_tables(tables) == expected.to_arrow() == wholes[0]


def test_a_wrong_value_on_one_rank_is_an_error_on_all(graph):
    def spoil(result, world):
        component = result.gathered("component")
        if world.rank == 2:
            component[0] = 3
        with pytest.raises(VerificationError) as error:
            ev.verify(result)
        return str(error.value)

    first, *others = on_ranks(graph, spoil)
    assert others == [first] * (RANKS - 1)


def test_a_data_set_has_a_file_for_each_rank(graph, tmp_path):
    folder = tmp_path / "components"
    for _ in range(2):  # the second data set replaces the first
        on_ranks(graph, lambda r, _: r.write(f"{folder}/"))
    assert names(tmp_path) == ["components"]
    assert names(folder) == [f"part-0000{rank}.parquet" for rank in range(RANKS)]
    table = pyarrow.dataset.dataset(folder).to_table()
    assert table["vertex"].to_pylist() == graph.ids.tolist()
    expected = ev.wcc(graph).to_arrow()
    assert table["component"].to_pylist() == expected["component"].to_pylist()
    ev.wcc(graph).write(folder)  # one process
    assert names(folder) == ["part-00000.parquet"]


def test_more_ranks_than_vertices(tmp_path):
    graph = ev.Graph.from_edges([0], [1])
    on_ranks(graph, lambda r, _: r.write(tmp_path / "ranks.csv"), ev.pagerank)
    on_ranks(graph, lambda r, _: r.write(f"{tmp_path}/ranks/"), ev.pagerank)
    assert pyarrow.dataset.dataset(tmp_path / "ranks").to_table()["vertex"].to_pylist() == [0, 1]
    assert (tmp_path / "ranks.csv").read_text().splitlines()[0] == '"vertex","rank"'
    assert len((tmp_path / "ranks.csv").read_text().splitlines()) == 3


def test_a_failed_rank_leaves_the_old_data_set(graph, tmp_path, monkeypatch):
    folder = tmp_path / "components"
    folder.mkdir()
    (folder / "part-00000.parquet").write_text("old")

    def write(result, _):
        with pytest.raises(FileError) as error:
            result.write(folder)
        return str(error.value)

    def full(_):
        if threading.current_thread().name == "rank 1":
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("evener.results.dataset.os.fsync", full)
    sentence = f"cannot write {folder} on rank 1: no space left on device; nothing was left behind"
    assert on_ranks(graph, write) == [sentence] * RANKS
    assert names(tmp_path) == ["components"]
    assert (folder / "part-00000.parquet").read_text() == "old"


def test_a_folder_with_other_files_is_not_replaced(graph, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(FileError, match="the folder holds other files; give a new name"):
        on_ranks(graph, lambda r, _: r.write(f"{tmp_path}/"))
    assert stat.S_ISREG((tmp_path / "notes.txt").stat().st_mode)


def test_rank_0_reports_all_elements(graph, tmp_path):
    def report(result, _):
        result.report(tmp_path / "run.html")
        return result.timeline.elements, result.explain(), result.seconds

    found = on_ranks(graph, report)
    elements = tuple(f"rank {rank} cpu:1" for rank in range(RANKS))
    assert [own for own, _, _ in found] == [elements, elements[1:2], elements[2:]]
    assert all(name in found[0][1] for name in elements)
    assert len({seconds for _, _, seconds in found}) == 1
    page = (tmp_path / "run.html").read_text()
    assert all(page.count(name) > 2 for name in elements)
