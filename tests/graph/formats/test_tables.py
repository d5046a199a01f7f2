"""Result tables in every format, read back by PyArrow and json, and input tables."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

import evener as ev
from evener.graph.formats.table import SUFFIXES, write_table

TABLE = pa.table({"vertex": [1, 2, 3], "rank": [0.5, 0.25, 0.25]})


def _back(path):
    if path.suffix == ".parquet":
        return parquet.read_table(path)
    if path.suffix in (".csv", ".tsv"):
        return csv.read_csv(
            path, parse_options=csv.ParseOptions(delimiter="," if path.suffix == ".csv" else "\t")
        )
    if path.suffix == ".jsonl":
        return pa.Table.from_pylist([json.loads(line) for line in path.read_text().splitlines()])
    return feather.read_table(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_round_trip(suffix, tmp_path):
    path = tmp_path / f"t{suffix}"
    write_table(TABLE, path)
    assert _back(path).equals(TABLE)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_the_error_for_an_unknown_suffix_names_the_known_ones(tmp_path):
    with pytest.raises(ev.ArgumentError, match=r"\.parquet, \.csv"):
        write_table(TABLE, tmp_path / "t.xls")
    with pytest.raises(ev.ArgumentError, match="no suffix"):
        write_table(TABLE, tmp_path / "t")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_ids_that_pandas_converted_to_floats_are_read_as_integers(tmp_path, suffix):
    """pandas converts a column with a missing value, and keeps the type when the row is dropped."""
    frame = pd.DataFrame({"src": [1, None, 2], "dst": [2, 5, 3], "weight": [0.5, 1, 2]}).dropna()
    path = tmp_path / f"edges.{suffix}"
    frame.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path)
    graph = ev.read(path)
    assert (graph.ids.tolist(), graph.weights.tolist()) == ([1, 2, 3], [0.5, 2])


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_fractional_ids_are_rejected(tmp_path, suffix):
    frame = pd.DataFrame({"src": [1.0, 2.5], "dst": [2.0, 3.0]})
    path = tmp_path / f"edges.{suffix}"
    frame.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path)
    with pytest.raises(ev.FormatError, match="all integers or all strings, but 'src' holds double"):
        ev.read(path)


def test_a_pipe_is_rejected(tmp_path):
    os.mkfifo(tmp_path / "edges.txt")
    with pytest.raises(ev.FileError, match="is a pipe, which cannot be read twice; save it to a file"):
        ev.read(tmp_path / "edges.txt")


def test_a_matrix_with_fractional_column_indices_is_rejected(tmp_path):
    path = tmp_path / "m.npz"
    np.savez(
        path, format=b"csr", shape=(2, 2), data=np.ones(2), indices=np.array([0.5, 1]), indptr=np.arange(3)
    )
    with pytest.raises(ev.FormatError, match="expected integers in indices, found float64"):
        ev.read(path)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow"])
@pytest.mark.parametrize("columns", [["src", "src"], ["src", "dst", "src"]])
def test_a_repeated_column_is_rejected(tmp_path, suffix, columns):
    path = tmp_path / f"edges.{suffix}"
    ev.write(ev.Graph.from_edges([1, 2], [2, 3], [5, 6]), path)
    with pytest.raises(
        ev.ArgumentError,
        match="columns=: expected different columns for tail, head and weight, found 'src' twice",
    ):
        ev.read(path, columns=columns)


def test_a_repeated_column_number_is_rejected(tmp_path):
    (tmp_path / "g.csv").write_text("1,2\n2,3\n")
    with pytest.raises(
        ev.ArgumentError,
        match="columns=: expected different columns for tail, head and weight, found '1' twice",
    ):
        ev.read(tmp_path / "g.csv", columns=[1, 1])


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
def test_ids_in_a_dictionary(tmp_path, kind):
    """Polars writes categorical columns as dictionaries of string views."""
    names = pa.array(["b", "a", "c"], kind)
    ends = [
        pa.chunked_array([pa.DictionaryArray.from_arrays(pa.array(at, pa.uint32()), names) for at in pieces])
        for pieces in ([[0], [1]], [[1], [2]])
    ]
    feather.write_feather(
        pa.table(ends, ["src", "dst"]), str(tmp_path / "g.arrow"), compression="uncompressed"
    )
    graph = ev.read(tmp_path / "g.arrow")
    assert (graph.ids.tolist(), graph.targets.tolist()) == (["a", "b", "c"], [2, 0])


def test_a_table_or_an_address_is_no_path():
    table = pa.table({"src": [1], "dst": [2]})
    with pytest.raises(ev.ArgumentError, match=r"found pyarrow\.Table; use evener\.Graph\.from_arrow"):
        ev.read(table)
    assert ev.Graph.from_arrow(table).m == 1  # the advice
    with pytest.raises(ev.FileError, match=r"found the address https://example\.org/g\.csv; download"):
        ev.read("https://example.org/g.csv")


def test_damaged_statistics_of_a_column_do_not_end_the_process():
    """Arrow calls std::terminate if the metadata of this file's columns are looked up one by one."""
    file = Path(__file__).with_name("damaged_statistics.parquet")
    code = (
        "import evener, sys\ntry: evener.read(sys.argv[1])\nexcept evener.FormatError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code, file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "expected Parquet data, but it is damaged" in done.stdout
