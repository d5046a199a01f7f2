"""Hand-made results: ranking, tables and text."""

from __future__ import annotations

import csv
import gc
import inspect
import pickle
import sys
import weakref
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import evener as ev
from evener.planning.prediction import Prediction
from evener.results.energy.meter import Energy
from evener.results.report.explain import comparison
from evener.results.table import read_table
from evener.spec.registry import find, names_with_kernels
from evener.spec.saved_answer import load_claim

# The columns of all algorithms.
COLUMNS = {column.name: column for name in names_with_kernels() for column in find(name).columns}


def result(values, *, name="rank", ids=None, spans=(), seconds=0.5, edges=1000, **more):
    """Return a result whose graph is a path over `ids`."""
    ids = list(range(len(values))) if ids is None else ids
    graph = ev.Graph.from_edges(ids[:-1], ids[1:], directed=True)
    arrays = {name: np.asarray(values), **{key: np.asarray(value) for key, value in more.items()}}
    return ev.Result(
        "test",
        graph,
        {key: lambda value=value: value for key, value in arrays.items()},
        columns=[COLUMNS[key] for key in arrays if key in COLUMNS],
        parameters={"source": 0},
        timeline=ev.Timeline(spans),
        seconds=seconds,
        edges=edges,
    )


SPANS = [
    ev.Span(0, "pull", "cpu:1", compute=0.3, wait=0.1, bytes_sent=2048, active=5),
    ev.Span(0, "pull", "cpu:1", compute=0.4, receive=0.2, active=5),
]


class TestMapping:
    def test_a_gathered_array_frees_its_parts(self):
        """The parts are in the memory of elements, which is scarce on GPUs."""
        graph = ev.Graph.from_edges([0, 1, 2], [1, 2, 0])
        r = ev.bfs(graph, source=0, on="cpu:1")
        values = [vars(gather) or inspect.getclosurevars(gather).nonlocals for gather in r._gather.values()]
        spreads = [one for own in values for one in own.values() if isinstance(one, ev.PartitionedArray)]
        parts = [weakref.ref(one.parts[0]) for one in spreads]
        del values, spreads
        assert len(parts) == 2
        assert all(part() is not None for part in parts)
        assert r["distance"].tolist() == [0, 1, 2]
        assert r["parent"].tolist() == [0, 0, 1]
        gc.collect()
        assert not any(part() for part in parts)
        assert r["distance"].tolist() == [0, 1, 2]
        assert sorted(r) == ["distance", "parent"]
        with pytest.raises(
            KeyError, match="expected one of the arrays 'distance', 'parent' of a result of bfs, found 'rank'"
        ):
            r["rank"]

    def test_arrays_are_gathered_once_on_demand(self):
        calls = []
        graph = ev.Graph.from_edges([0], [1])
        r = ev.Result(
            "test",
            graph,
            {
                "rank": lambda: calls.append("rank") or np.zeros(2),
                "other": lambda: pytest.fail("gathered"),
            },
            parameters={},
            timeline=ev.Timeline(),
            seconds=1,
            edges=1,
        )
        assert "other" in r
        assert list(r) == ["rank", "other"]
        assert len(r) == 2
        assert r["rank"] is r["rank"]
        assert calls == ["rank"]

    def test_the_error_for_an_unknown_name_lists_the_names(self):
        with pytest.raises(KeyError, match="'rank' of a result of test, found 'ranks'"):
            result([1.0, 2.0])["ranks"]

    def test_results_are_compared_by_identity(self):
        r = result([1.0, 2.0])
        assert r == r
        assert r != result([1.0, 2.0])
        assert len({r, r}) == 1

    def test_a_pickled_result_has_no_partitions(self):
        graph = ev.read("rmat:8")
        r = ev.bfs(graph, source=1, on="cpu:1,cpu:1")
        other = pickle.loads(pickle.dumps(r))
        assert list(other) == ["distance", "parent"]
        for name in r:
            assert (other[name] == r[name]).all()
        assert other.partitioned is None
        placement = next(line for line in r.explain().splitlines() if line.startswith("Placement: "))
        assert other.explain() == r.explain().replace(f"{placement}\n", "")
        for kept in (other.graph.offsets, other.graph.targets):
            with pytest.raises(ValueError, match="read-only"):
                kept[0] = 5
        ev.verify(other)
        assert r.partitioned is not None

    def test_libraries_of_data_frames_read_the_table_with_ids(self):
        """Polars reads a `Mapping` as columns without asking for its Arrow stream."""
        polars = pytest.importorskip("polars")
        graph = ev.Graph.from_edges(["a", "b"], ["b", "c"])
        r = ev.bfs(graph, source="a")
        ids = {"vertex": ["a", "b", "c"], "distance": [0, 1, 2], "parent": ["a", "a", "b"]}
        assert polars.DataFrame(r).to_dict(as_series=False) == ids
        assert polars.DataFrame(ev.bfs(graph, sources=["a"], each=True)).columns[:2] == ["source", "vertex"]
        assert polars.DataFrame(graph).rows() == [("a", "b"), ("b", "c")]
        with pytest.raises(ev.ArgumentError, match=r"use to_pandas\(\)"):
            pd.DataFrame(r)
        assert r.to_pandas().to_dict("list") == ids  # the advice
        assert {name: values.tolist() for name, values in r.items()} == {name: ids[name] for name in r.keys()}  # noqa: SIM118
        assert r.get("rank", 7) == 7
        assert dict(**r)["distance"] is next(iter(r.values()))

    def test_repr_names_algorithm_and_arrays(self):
        assert (
            repr(result([1.0, 2.0], parent=[0, 1])) == "<Result of test: rank, parent of 2 vertices, 0.5 s>"
        )

    def test_the_rate_is_edges_over_seconds(self):
        assert result([1.0, 2.0]).edges_per_second == 2000
        assert result([1.0, 2.0], seconds=0).edges_per_second == 0


class TestTop:
    def test_largest_first_and_smaller_id_first_for_equal_values(self):
        r = result([0.1, 0.5, 0.5, 0.9, 0.5], ids=[2, 3, 5, 7, 11])
        assert r.top(3) == [(7, 0.9), (3, 0.5), (5, 0.5)]

    def test_against_a_full_sort(self):
        rng = np.random.default_rng(7)
        values = rng.integers(0, 40, 500).astype(np.float32)
        expected = sorted(enumerate(values.tolist()), key=lambda pair: (-pair[1], pair[0]))
        for k in (0, 1, 10, 499, 500, 1000):
            assert result(values).top(k) == expected[:k]

    def test_unreached_vertices_are_omitted(self):
        assert result([0, 2, -1, 1], name="distance").top(2) == [(1, 2), (3, 1)]
        assert result([0.0, np.inf, 1.5], name="distance").top(5) == [(2, 1.5), (0, 0.0)]

    def test_components_are_ranked_by_size(self):
        r = result([2, 2, 7, 7, 7], name="component", ids=[2, 3, 5, 7, 11])
        assert r.top(10) == [(7, 3), (2, 2)]

    def test_components_with_string_ids(self):
        r = result([0, 0, 2], name="component", ids=["a", "b", "c"])
        assert r.top(1) == [("a", 2)]

    def test_values_are_python_numbers(self):
        ((vertex, value),) = result(np.float32([1, 2])).top(1)
        assert type(vertex) is int
        assert type(value) is float

    def test_a_negative_count_is_rejected(self):
        with pytest.raises(ev.ArgumentError, match="found -1"):
            result([1.0, 2.0]).top(-1)


class TestTables:
    def test_a_missing_parent_is_null(self):
        table = result([0, 1, -1], name="distance", parent=[3, 3, -1], ids=[3, 5, 9]).to_arrow()
        assert table.to_pydict() == {"vertex": [3, 5, 9], "distance": [0, 1, -1], "parent": [3, 3, None]}
        assert str(table.schema.field("parent").type) == "int64"

    def test_string_ids(self):
        table = result([0, 1, -1], name="distance", parent=[0, 0, -1], ids=["ann", "bob", "eve"]).to_arrow()
        assert table.column("vertex").to_pylist() == ["ann", "bob", "eve"]
        assert table.column("parent").to_pylist() == ["ann", "ann", None]

    def test_pandas(self):
        frame = result([0.25, 0.75]).to_pandas()
        assert frame["rank"].tolist() == [0.25, 0.75]
        assert list(frame.columns) == ["vertex", "rank"]

    def test_large_ids_in_a_column_with_nulls_are_exact_in_pandas(self):
        ids = [1, 9007199254740993]  # 2^53 + 1 is not a float64
        r = result([0, 1, -1], name="distance", parent=[*ids, -1], ids=[*ids, 1 << 60])
        frame = r.to_pandas()
        assert frame["parent"].tolist()[:2] == ids
        assert frame["parent"].isna().tolist() == [False, False, True]

    def test_an_empty_graph(self):
        graph = ev.Graph(np.zeros(1, np.uint64), np.zeros(0, np.uint32), directed=True)
        arrays = {"distance": lambda: np.zeros(0, np.int32), "parent": lambda: np.zeros(0, np.int64)}
        r = ev.Result("test", graph, arrays, parameters={}, timeline=ev.Timeline(), seconds=0, edges=0)
        assert r.top(3) == []
        assert r.to_arrow().num_rows == 0

    @pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".feather", ".csv", ".tsv"])
    @pytest.mark.parametrize("ids", [[3, 5, 9], ["ann", "bob", "eve"], ["05", "7", ""]])
    def test_a_saved_table_is_read_back_as_the_same_claim(self, tmp_path, suffix, ids):
        r = result([0, 1, -1], name="distance", parent=[3, 3, -1] if ids[0] == 3 else [0, 0, -1], ids=ids)
        path = tmp_path / f"table{suffix}"
        r.write(path)
        claim = load_claim(path, r.graph, spec=replace(find("bfs"), name="test"), parameters={"cutoff": 2})
        assert claim["distance"].tolist() == r["distance"].tolist()
        assert claim["parent"].tolist() == r["parent"].tolist()
        kept = {} if suffix in {".csv", ".tsv"} else {"source": 0}
        assert claim.parameters == {**kept, "cutoff": 2}
        assert list(tmp_path.iterdir()) == [path]

    def test_other_readers_give_the_same_values(self, tmp_path):
        r = result([0.5, 0.25], ids=[4, 8])
        r.write(tmp_path / "t.parquet")
        r.write(tmp_path / "t.csv")
        r.write(tmp_path / "t.feather")
        assert parquet.read_table(tmp_path / "t.parquet").column("rank").to_pylist() == [0.5, 0.25]
        assert feather.read_table(tmp_path / "t.feather").column("vertex").to_pylist() == [4, 8]
        with (tmp_path / "t.csv").open() as file:
            assert list(csv.reader(file)) == [["vertex", "rank"], ["4", "0.5"], ["8", "0.25"]]

    def test_rows_may_have_any_order(self, tmp_path):
        r = result([0.0, 0.0, 0.0], ids=[3, 5, 9])
        parquet.write_table(pa.table({"vertex": [9, 3, 5], "rank": [0.9, 0.3, 0.5]}), tmp_path / "t.parquet")
        claim = load_claim(tmp_path / "t.parquet", r.graph, spec=find("pagerank"), parameters={})
        assert claim["rank"].tolist() == [0.3, 0.5, 0.9]

    @pytest.mark.parametrize(
        ("columns", "message"),
        [
            ({"node": [3, 5, 9], "rank": [1, 2, 3]}, "expected a column 'vertex'"),
            ({"vertex": [3, 5], "rank": [1, 2]}, "each of the 3 vertices of the graph, found 2 rows"),
            ({"vertex": [3, 5, 5], "rank": [1, 2, 3]}, "each of the 3 vertices of the graph, found 3 rows"),
            ({"vertex": [3, 5, 9], "rank": [1, None, 3]}, "found 1 empty row"),
        ],
    )
    def test_a_table_of_another_graph_is_rejected(self, tmp_path, columns, message):
        r = result([0.0, 0.0, 0.0], ids=[3, 5, 9])
        parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
        with pytest.raises(ev.FormatError, match=message):
            load_claim(tmp_path / "t.parquet", r.graph, spec=find("pagerank"), parameters={})

    @pytest.mark.parametrize("suffix", [".parquet", ".csv"])
    @pytest.mark.parametrize(
        ("column", "values", "found"),
        [
            ("parent", ["3", "x", "3"], "'x'"),
            ("component", ["3", "3", "z"], "'z'"),
            ("rank", ["a", "0.5", "0.5"], "'a'"),
            ("distance", ["0", "abc", "1"], "'abc'"),
        ],
    )
    def test_text_in_a_column_of_numbers_is_rejected(self, tmp_path, suffix, column, values, found):
        path, table = tmp_path / f"t{suffix}", pa.table({"vertex": [3, 5, 9], column: values})
        parquet.write_table(table, path) if suffix == ".parquet" else table.to_pandas().to_csv(
            path, index=False
        )
        # A column of a text file is text if one of its values is text, with or without quotes.
        spec = next(find(name) for name in names_with_kernels() if COLUMNS[column] in find(name).columns)
        message = f"in column '{column}', found {found}"
        graph = result([0.0] * 3, ids=[3, 5, 9]).graph
        with pytest.raises(ev.FormatError, match=message):
            load_claim(path, graph, spec=spec, parameters={})

    @pytest.mark.parametrize(
        ("name", "content", "message"),
        [
            ("t.csv", b"vertex,dist\xd6nce\n3,0\n", "expected a table of results.*utf-8"),
            ("t.tsv", b"vertex\tdistance\n\xd1\t0\n", "found type binary"),
            ("t.arrow", b"ARROW1\0\0" + b"\xff" * 64 + b"ARROW1", "expected a table of results"),
            ("t.parquet", b"PAR1" + b"\xff" * 64 + b"PAR1", "expected a table of results"),
        ],
        ids=["csv", "tsv", "arrow", "parquet"],
    )
    def test_a_damaged_table_is_rejected(self, tmp_path, name, content, message):
        (tmp_path / name).write_bytes(content)
        graph = result([0.0] * 3, ids=[3, 5, 9]).graph
        with pytest.raises(ev.EvenerError, match=message):
            load_claim(tmp_path / name, graph, spec=find("bfs"), parameters={})

    def test_dates_are_rejected_as_numbers(self, tmp_path):
        """The dates are later than Python's last date."""
        dates = pa.array([2**62] * 3).cast(pa.timestamp("us"))
        parquet.write_table(pa.table({"vertex": [3, 5, 9], "distance": dates}), tmp_path / "t.parquet")
        graph = result([0.0] * 3, ids=[3, 5, 9]).graph
        with pytest.raises(ev.FormatError, match=r"numbers in column 'distance', .* timestamp\[us\]"):
            load_claim(tmp_path / "t.parquet", graph, spec=find("bfs"), parameters={})

    @pytest.mark.parametrize(
        ("values", "found"),
        [
            ([3.0, 1.5, 3.0], "1.5"),
            ([3.0, float("nan"), 3.0], "nan"),
            ([3.0, 1e30, 3.0], "a value of over 63 bits"),
        ],
    )
    def test_vertices_are_not_rounded(self, tmp_path, values, found):
        graph = result([0.0] * 3, ids=[3, 5, 9]).graph
        table = pa.table({"vertex": [3, 5, 9], "component": pa.array(values, from_pandas=False)})
        parquet.write_table(table, tmp_path / "t.parquet")
        with pytest.raises(ev.FormatError, match=f"which are integers, in column 'component', found {found}"):
            load_claim(tmp_path / "t.parquet", graph, spec=find("wcc"), parameters={})

    def test_vertices_may_be_floats_and_large(self, tmp_path):
        """pandas converts integers with missing values to floats. Arrow keeps integers."""
        large = 2**53 + 1
        graph = result([0.0] * 3, ids=[3, 5, large]).graph
        for values, expected in (([3.0, None, 5.0], [3, -1, 5]), ([3, None, large], [3, -1, large])):
            table = pa.table({"vertex": [3, 5, large], "parent": values})
            parquet.write_table(table, tmp_path / "t.parquet")
            claim = load_claim(tmp_path / "t.parquet", graph, spec=find("bfs"), parameters={})
            assert claim["parent"].tolist() == expected

    @pytest.mark.parametrize("name", ["vertex", "component"])
    def test_a_repeated_column_name_is_rejected(self, tmp_path, name):
        ids = [3, 5, 9]
        (tmp_path / "t.csv").write_text(f"vertex,component,{name}\n" + "".join(f"{i},3,3\n" for i in ids))
        with pytest.raises(ev.FormatError, match=f"unique column names, found 2 columns '{name}'"):
            load_claim(tmp_path / "t.csv", result([0.0] * 3, ids=ids).graph, spec=find("wcc"), parameters={})

    def test_a_table_of_another_algorithm_is_rejected(self, tmp_path):
        r = result([0.0, 0.0])
        r.write(tmp_path / "t.parquet")
        with pytest.raises(ev.ArgumentError, match="expected a result of bfs, found a result of test"):
            load_claim(tmp_path / "t.parquet", r.graph, spec=find("bfs"), parameters={})

    def test_files_that_are_not_tables(self, tmp_path):
        (tmp_path / "t.parquet").write_bytes(b"PAR1 no")
        (tmp_path / "t.arrow").write_bytes(b"")
        for name in ("t.parquet", "t.arrow"):
            with pytest.raises(ev.FormatError, match="expected a table of results"):
                read_table(tmp_path / name)
        with pytest.raises(ev.FileError, match=r"absent\.parquet: no such file"):
            read_table(tmp_path / "absent.parquet")
        (tmp_path / "folder.csv").mkdir()
        with pytest.raises(ev.FileError, match="cannot read"):
            read_table(tmp_path / "folder.csv")
        with pytest.raises(ev.ArgumentError, match=r"found suffix '\.xlsx'"):
            read_table(tmp_path / "t.xlsx")

    @pytest.mark.parametrize(
        ("metadata", "sentence"),
        [
            ("x", "is not a record of a run"),
            ("[]", "is not a record of a run"),
            ('{"parameters": 3}', "is not a record of a run"),
            ('{"parameters": {"tol": "x"}}', "has tol = 'x'"),
            ('{"parameters": {"max_iter": 1.5}}', "has max_iter = 1.5"),
            ('{"parameters": {"personalization": 5}}', "has personalization = 5"),
            ('{"parameters": {"personalization": [[1]]}}', r"has personalization = \[\[1\]\]"),
            ('{"parameters": {"personalization": [[[1], 2]]}}', "has personalization = "),
            ("[" * 100_000, "is not a record of a run"),
            ('{"outcome": [1]}', "is not a record of a run"),
        ],
    )
    def test_invalid_metadata(self, tmp_path, metadata, sentence):
        r = result([0.5, 0.5])
        table = r.to_arrow().replace_schema_metadata({"evener": metadata})
        parquet.write_table(table, tmp_path / "t.parquet")
        with pytest.raises(ev.FormatError, match=sentence):
            load_claim(tmp_path / "t.parquet", r.graph, spec=find("pagerank"), parameters={})

    def test_parameters_are_read_back(self, tmp_path):
        g = ev.Graph.from_edges([10, 20], [20, 30])
        found = ev.bfs(g, source=g.ids[1])  # a NumPy integer
        found.write(tmp_path / "t.parquet")
        claim = load_claim(tmp_path / "t.parquet", g, spec=find("bfs"), parameters={})
        assert claim.parameters["source"] == 20
        for given in ({10: 1, np.int64(30): 2.5}, np.array([1.0, 0.0, 2.5])):
            ranked = ev.pagerank(g, personalization=given)
            ranked.write(tmp_path / "t.parquet")
            claim = load_claim(tmp_path / "t.parquet", g, spec=find("pagerank"), parameters={})
            ev.verify(claim)
            kept = claim.parameters["personalization"]
            assert kept == ({10: 1, 30: 2.5} if isinstance(given, dict) else [1.0, 0.0, 2.5])

    def test_the_error_without_pandas(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "pandas", None)
        with pytest.raises(ev.ArgumentError, match="pip install pandas"):
            result([0.0, 0.0]).to_pandas()

    def test_a_failed_write_leaves_no_file(self, tmp_path):
        with pytest.raises(ev.FileError):
            result([0.5, 0.5]).write(tmp_path / "absent" / "t.parquet")
        with pytest.raises(ev.ArgumentError, match="no suffix"):
            result([0.5, 0.5]).write(tmp_path / "table")
        assert list(tmp_path.iterdir()) == []


class TestNames:
    @pytest.mark.parametrize(
        ("what", "name"), [("report", "x.csv"), ("trace", "x.html"), ("trace", "x.json.gz")]
    )
    def test_files_with_other_suffixes_are_not_overwritten(self, tmp_path, what, name):
        (tmp_path / name).write_text("mine")
        with pytest.raises(ev.ArgumentError, match="expected a name with the suffix"):
            getattr(result([0.0]), what)(tmp_path / name)
        assert (tmp_path / name).read_text() == "mine"


class TestText:
    def test_explain_gives_the_breakdown_of_time(self):
        text = result([1.0, 2.0], spans=SPANS).explain()
        assert text.startswith("test in 500 ms: 1 superstep, 1,000 traversed edges, 2 k traversed edges/s.")
        assert "cpu:1#2" in text
        assert "2.0 KiB" in text
        assert "Time: 70% computing, 0% sending, 20% receiving, 10% waiting, 0% overhead." in text
        assert text.endswith("Bottleneck: computing phase 'pull' on cpu:1#2, 40% of all time.")

    def test_waiting_names_the_slow_element(self):
        spans = [ev.Span(0, "pull", "cpu:1", compute=0.1, wait=0.9), ev.Span(0, "pull", "cpu:2", compute=0.6)]
        assert "waiting for cpu:2, 56% of all time" in result([1.0], spans=spans).explain()

    def test_the_slow_element_is_the_one_that_computes_longest(self):
        """Fewer edges would not help an element that exchanges for the longest time."""
        spans = [
            ev.Span(0, "pull", "cpu:1", compute=0.5, wait=0.4),
            ev.Span(0, "pull", "cpu:2", compute=0.1, send=0.45, wait=0.6),
        ]
        assert "waiting for cpu:1, " in result([1.0], spans=spans).explain()

    def test_no_element_is_named_if_elements_wait_for_each_other(self):
        spans = [ev.Span(0, "pull", "cpu:1", compute=0.1, wait=0.9), ev.Span(0, "pull", "cpu:2", wait=1.0)]
        text = result([1.0], spans=spans).explain()
        assert "waiting, 95% of all time: the elements wait for each other in turn" in text

    def test_overhead_between_kernels_can_be_the_bottleneck(self):
        spans = [ev.Span(step, "pull", f"cpu:{p}", compute=0.1, wait=0.1) for step in (0, 1) for p in (1, 2)]
        r = result([1.0], spans=spans)
        assert "Bottleneck: computing phase 'pull' on cpu:1, 25% of all time." in r.explain()
        r.timeline.seconds = 2.0
        assert "10% computing, 0% sending, 0% receiving, 10% waiting, 80% overhead." in r.explain()
        assert "Bottleneck: overhead between kernels, 80% of all time" in r.explain()

    def test_compile_time_replaces_exchange_as_the_bottleneck(self):
        spans = [ev.Span(0, "push", f"cpu:{p}", compute=0.1, receive=0.9) for p in (1, 2)]
        r = result([1.0], spans=spans)
        assert "exchange, 90% of all time, most in phase 'push'" in r.explain()
        r.timeline.compile_seconds = 0.6
        assert r.explain().endswith("Measure the next run of this process.")

    def test_exchanging_names_the_phase(self):
        spans = [ev.Span(0, "push", "cpu:1", compute=0.1, send=0.6, bytes_sent=1 << 20)]
        assert (
            "exchange, 86% of all time, most in phase 'push' on cpu:1 (1.0 MiB sent)"
            in result([1.0], spans=spans).explain()
        )

    def test_exchange_is_the_bottleneck_if_it_is_longer_than_waiting(self):
        spans = [ev.Span(0, "push", "cpu:1", compute=0.2, send=0.3, receive=0.2, wait=0.3)]
        assert "most in phase 'push' on cpu:1" in result([1.0], spans=spans).explain()

    def test_the_longest_phase_is_first(self):
        spans = [
            ev.Span(k, phase, "cpu", compute=s)
            for k, (phase, s) in enumerate(zip("abc", [2, 3, 1], strict=True))
        ]
        lines = result([1.0], spans=spans).explain().splitlines()
        assert [line[0] for line in lines if line.startswith(("a ", "b ", "c "))] == ["b", "a", "c"]

    @pytest.mark.parametrize(
        ("achieved", "predicted", "words"),
        [
            (1.0, 1.0, "Predicted 1 s (from hardware facts), took 1 s."),
            (1.04, 1.0, "Predicted 1 s (from hardware facts), took 1.04 s."),
            (2.0, 1.0, "Predicted 1 s (from hardware facts), took 2 s (2×)."),
            (1.0, 2.0, "Predicted 2 s (from hardware facts), took 1 s (0.5×)."),
            (0.5, 0.0, "Predicted 0 µs (from hardware facts), took 500 ms."),
        ],
    )
    def test_predicted_and_achieved_time(self, achieved, predicted, words):
        assert comparison(Prediction((), predicted), achieved) == words

    def test_a_prediction_is_compared_with_the_time_without_compiling(self):
        words = "Predicted 1 s (from hardware facts), took 2 s without loading or compiling kernels (2×)."
        assert comparison(Prediction((), 1.0), 5.0, 3.0) == words
        assert "took 5 s (5×)." in comparison(Prediction((), 1.0), 5.0, 0.1)

    def test_explain_gives_measured_energy(self):
        r = result([1.0, 2.0], spans=SPANS, edges=5000)
        assert "Energy" not in r.explain()
        r.energy = Energy({"host": 2.5}, seconds=0.5)
        assert "Energy: 2.5 J, 2 k edges/s per watt." in r.explain().splitlines()

    def test_energy_of_several_runs_gives_the_rate_of_one_run(self):
        r = result([1.0, 2.0], spans=SPANS, edges=5000)  # the run needs half a second
        assert r.edges_per_joule is None
        r.energy = Energy({"host": 250.0}, seconds=50.0)  # 100 runs at 5 watts
        assert r.edges_per_joule == 2000
        assert "Energy: 250 J, 2 k edges/s per watt." in r.explain().splitlines()
        r.energy = Energy({"host": None}, {"host": "it has no counter"}, seconds=50.0)
        assert r.edges_per_joule is None

    def test_explain_without_times(self):
        assert result([1.0]).explain().endswith("No time was recorded.")


@pytest.mark.parametrize("wrap", [lambda rows: rows, lambda rows: pickle.loads(pickle.dumps(rows))])
def test_notebooks_show_the_top_as_a_table(wrap):
    star = ev.Graph.from_edges(["hub", "hub"], ["<a>", "b"], directed=False)
    rows = wrap(ev.katz(star, attenuation=0.5).top(2))
    assert rows == [("hub", rows[0][1]), ("<a>", rows[1][1])]
    # The values are 4 and 3, divided by the root of 34.
    assert rows._repr_html_() == (
        "<table><thead><tr><th>vertex</th><th>centrality</th></tr></thead><tbody>"
        "<tr><td>hub</td><td>0.685994</td></tr><tr><td>&lt;a&gt;</td><td>0.514496</td></tr></tbody></table>"
    )
    assert "<th>component</th><th>vertices</th>" in ev.wcc(star).top()._repr_html_()
