"""Atomic writes of Arrow tables, with the format given by the suffix."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from evener.errors import ArgumentError
from evener.system.files import atomic_write

if TYPE_CHECKING:
    import os

    import pyarrow as pa

__all__ = ["SUFFIXES", "write_table"]

SUFFIXES = (".parquet", ".csv", ".tsv", ".arrow", ".feather", ".jsonl")


def write_table(table: pa.Table, path: str | os.PathLike[str]) -> None:
    """Write a table to a Parquet, CSV, TSV, Arrow or JSON-lines file, as its suffix says.

    Raises
    ------
    ArgumentError
        If the path has no suffix of `SUFFIXES`.
    FileError
        If the file cannot be written. An existing file stays unchanged.
    """
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in SUFFIXES:
        found = f"found {suffix!r}" if suffix else "found no suffix"
        raise ArgumentError(f"{target}: expected a table suffix of {', '.join(SUFFIXES)}, {found}")
    with atomic_write(target) as temporary:
        if suffix == ".parquet":
            from pyarrow import parquet

            parquet.write_table(table, temporary)
        elif suffix in (".csv", ".tsv"):
            from pyarrow import csv

            csv.write_csv(table, temporary, csv.WriteOptions(delimiter="," if suffix == ".csv" else "\t"))
        elif suffix == ".jsonl":
            with temporary.open("w", encoding="utf-8") as file:
                for batch in table.to_batches():
                    file.writelines(json.dumps(row) + "\n" for row in batch.to_pylist())
        else:
            from pyarrow import feather

            feather.write_feather(table, str(temporary))
