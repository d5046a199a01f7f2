"""Tables of results in every format, read back by pyarrow and json."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

import evener as ev
from evener.formats.table import SUFFIXES, write_table

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


def test_an_unknown_suffix_names_the_known_ones(tmp_path):
    with pytest.raises(ev.ArgumentError, match=r"\.parquet, \.csv"):
        write_table(TABLE, tmp_path / "t.xls")
    with pytest.raises(ev.ArgumentError, match="no suffix"):
        write_table(TABLE, tmp_path / "t")
