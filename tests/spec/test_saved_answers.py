"""`evener verify` with tables: right rows in any order and type are accepted, and all others are refused."""

from __future__ import annotations

import networkx as nx
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

import evener as ev

WRITERS = {
    ".parquet": parquet.write_table,
    ".csv": csv.write_csv,
    ".arrow": feather.write_feather,
}
OPTIONS = {
    "bfs": ["--source", "a{0}"],
    "wcc": [],
    "pagerank": ["--dtype", "float32"],
    "k_core": ["--k", "1"],
}


@pytest.fixture(scope="module", params=["strings", "integers"])
def file(request, tmp_path_factory):
    """A graph of two components, with names or with integers as ids."""
    names = (
        ["a{0}", "b[/]", "c%s", "d e", "e\\n", "f,g"] if request.param == "strings" else [2, 5, 7, 40, 41, 99]
    )
    graph = nx.Graph()
    graph.add_nodes_from(names)
    graph.add_edges_from([(names[0], names[1]), (names[1], names[2]), (names[3], names[4])])
    path = tmp_path_factory.mktemp("graph") / "g.evg"
    ev.write(ev.Graph.from_networkx(graph), path)
    return str(path)


def words(file, name):
    first = str(ev.read(file).ids[0])
    return [first if word == "a{0}" else word for word in OPTIONS[name]]


def table_of(file, name):
    """The table of a right answer, without the record of its run, as a data frame."""
    graph, spec = ev.read(file), ev.spec.registry.find(name)
    kinds = {"--source": str, "--k": int, "--dtype": str}
    given = dict(zip(words(file, name)[::2], words(file, name)[1::2], strict=True))
    options = {key[2:].replace("-", "_"): kinds[key](value) for key, value in given.items()}
    if "source" in options:
        options["source"] = graph.ids[0]
    return (
        spec.function()(graph, on="cpu:1", **options)
        .to_pandas()
        .reset_index()[["vertex", *(column.name for column in spec.columns)]]
    )


@pytest.mark.parametrize("name", OPTIONS)
def test_tables_of_right_and_wrong_rows(file, name, tmp_path, evener):
    frame = table_of(file, name)
    values = [column for column in frame.columns if column != "vertex"]
    other_vertex = "z" if isinstance(frame["vertex"][0], str) else 1000
    shuffled = frame.sample(frac=1, random_state=3)
    # The answer, the suffixes, and the exit statuses that it may have.
    everywhere, typed = list(WRITERS), [".parquet"]
    cases = [
        ("right", frame, everywhere, {0}),
        ("other order", shuffled, everywhere, {0}),
        ("vertices as text", frame.astype({"vertex": str}), typed, {0}),
        ("missing vertex", frame[1:], typed, {2}),
        ("vertex twice", pd.concat([frame, frame[:1]]), typed, {2}),
        ("vertex instead of another", pd.concat([frame[1:], frame[1:2]]), typed, {2}),
        ("no rows", frame[:0], typed, {2}),
        ("empty vertex", frame.assign(vertex=[None, *frame["vertex"][1:]]), typed, {2}),
        ("extra vertex", pd.concat([frame, frame[:1].assign(vertex=other_vertex)]), typed, {2}),
        ("no column", frame[["vertex"]], typed, {2}),
        ("labels exchanged", frame.assign(vertex=frame["vertex"].to_numpy()[::-1]), typed, {0, 3}),
    ]
    for column in values:
        whole = frame[column].dtype.kind in "iu"
        other = frame[column].to_numpy(copy=True)
        other[1] = frame["vertex"][5] if isinstance(other[1], str) else other[1] + 1
        cases += [
            ("wrong value", frame.assign(**{column: other}), everywhere, {3}),
            ("text", frame.assign(**{column: "x{0}[/]"}), typed, {2, 3}),
            ("truth values", frame.assign(**{column: True}), typed, {2, 3}),
            ("times", frame.assign(**{column: pd.Timestamp(0)}), typed, {2, 3}),
            ("lists", frame.assign(**{column: [[1]] * len(frame)}), typed, {2, 3}),
            ("no value", frame.assign(**{column: pd.array([None] * len(frame), "Int64")}), typed, {2, 3}),
        ]
        if frame[column].dtype.kind == "f":
            cases.append(("float64", frame.astype({column: "float64"}), typed, {0}))
        elif whole:
            cases.append(
                ("int64", frame.assign(**{column: frame[column].fillna(-1).astype("int64")}), typed, {0})
            )
    for how, answer, suffixes, statuses in cases:
        for suffix in suffixes:
            path = tmp_path / f"a{suffix}"
            WRITERS[suffix](pa.Table.from_pandas(answer, preserve_index=False), str(path))
            done = evener("verify", name, file, path, *words(file, name))
            assert done.status in statuses, (how, suffix, done)
            assert "bug" not in done.err, (how, suffix, done)
            assert done.err[:-1].isprintable(), (how, suffix, done)


def test_ranks_as_float64_of_a_run_in_float32(file, tmp_path, evener):
    result = ev.pagerank(ev.read(file), dtype="float32", on="cpu:1")
    result.write(path := tmp_path / "a.parquet")
    table = parquet.read_table(path)
    place = table.column_names.index("rank")
    wide = table.set_column(place, "rank", table.column("rank").cast(pa.float64()))
    parquet.write_table(wide.replace_schema_metadata(table.schema.metadata), path)
    assert evener("verify", "pagerank", file, path).status == 0
    ranks = table.column("rank").to_numpy().copy()
    ranks[0] *= 1.001
    parquet.write_table(wide.set_column(place, "rank", pa.array(ranks)), path)
    assert evener("verify", "pagerank", file, path).status == 3


@pytest.mark.parametrize("words", [["--dtype", "float16"], ["--stop", "{a}"], ["--semantics", "%s"]])
def test_options_with_other_words(file, tmp_path, evener, words):
    ev.pagerank(ev.read(file), on="cpu:1").write(path := tmp_path / "a.csv")
    done = evener("verify", "pagerank", file, path, *words)
    assert done.status == 2
    assert words[1] in done.err


def test_messages_of_the_command_show_names_unchanged(tmp_path, evener):
    names = ['on="a"', "source=", "{0}", "tab\t", "two  blanks", "\x1b[31m"]
    graph = nx.Graph([names[:2], names[2:4], names[4:]])
    ev.write(ev.Graph.from_networkx(graph), tmp_path / "g.evg")
    for name, shown in zip(names, [*names[:3], "tab\\t", names[4], "\\x1b[31m"], strict=True):
        rows = {"vertex": names, "component": [name] * len(names)}
        parquet.write_table(pa.table(rows), tmp_path / "a.parquet")
        done = evener("verify", "wcc", tmp_path / "g.evg", tmp_path / "a.parquet")
        assert done.status == 3
        assert shown in done.err
