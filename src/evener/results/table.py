"""Tables of results in files: Parquet, Arrow and text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import numpy as np
import pyarrow as pa

from evener.errors import ArgumentError, FileError
from evener.graph.formats.file import Source
from evener.system.files import NOT_UTF8, atomic_write, has_utf8_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from evener.system.world import World

__all__ = [
    "KEY",
    "SUFFIXES",
    "Tabular",
    "check_suffix",
    "read_table",
    "table_with_record",
    "write_result",
]

SUFFIXES = (".parquet", ".csv", ".tsv", ".arrow", ".feather")
# Formats without metadata.
TEXT = (".csv", ".tsv")
# The key of the schema metadata that records the run.
KEY = b"evener"


class Tabular(Protocol):
    """The outcome of a run that has a table, such as a `Result`."""

    @property
    def algorithm(self) -> str:
        """The name of the algorithm."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The arguments of the run."""

    @property
    def outcome(self) -> Mapping[str, Any]:
        """Facts about the run."""

    @property
    def world(self) -> World:
        """The ranks that share the rows."""

    def to_arrow(self) -> pa.Table:
        """Return the rows of this rank."""

    def gather(self) -> Tabular | None:
        """Return the rows of all ranks on rank 0, and None on other ranks."""


def check_suffix(path: Path) -> None:
    """Raise ArgumentError if the suffix of a file name is not a table format."""
    if path.suffix.lower() not in SUFFIXES:
        found = f"suffix {path.suffix!r}" if path.suffix else "no suffix"
        msg = (
            f"{path}: expected a table of results with suffix {', '.join(SUFFIXES)}, or a folder whose name "
            f"ends in /; found {found}"
        )
        raise ArgumentError(msg)


def table_with_record(result: Tabular) -> pa.Table:
    """Return the table of `Result.to_arrow` with metadata that record the run."""
    parameters = {name: _plain(value) for name, value in result.parameters.items()}
    record = {"algorithm": result.algorithm, "parameters": parameters, "outcome": result.outcome}
    return result.to_arrow().replace_schema_metadata({KEY: json.dumps(record, default=_plain).encode()})


def write_result(result: Tabular, path: Path) -> None:
    """Write a result's table atomically. Formats with metadata also record the run."""
    check_suffix(path)
    table = table_with_record(result)
    suffix = path.suffix.lower()
    lists = [field.name for field in table.schema if pa.types.is_large_list(field.type)]
    if lists and suffix in TEXT:
        msg = f"{path}: expected a format with lists for the column {lists[0]!r}; write .parquet or .arrow"
        raise ArgumentError(msg)
    # Arrow removes a path, but not a stream, if an error occurs, and the path may be a device or pipe.
    with atomic_write(path) as temporary, temporary.open("wb") as file, _seekable(file) as sink:
        if suffix == ".parquet":
            from pyarrow import parquet

            parquet.write_table(table, sink)
        elif suffix in TEXT:
            from pyarrow import csv

            delimiter = "," if suffix == ".csv" else "\t"
            csv.write_csv(table, sink, csv.WriteOptions(delimiter=delimiter))
        else:
            from pyarrow import feather

            feather.write_feather(table, sink)


@contextmanager
def _seekable(file: BinaryIO) -> Iterator[BinaryIO | BytesIO]:
    """Yield the file, or for a device or pipe a buffer that is written to it at the end."""
    if file.seekable():
        yield file
        return
    buffer = BytesIO()
    yield buffer
    file.write(buffer.getbuffer())


def read_table(path: Path, *, strings: Iterable[str] = ()) -> pa.Table:
    """Read a table of results in the format of its suffix, or the Parquet files of a folder.

    In a text file, the columns in `strings` are strings.

    Raises
    ------
    FileError
        If the file cannot be read.
    FormatError
        If the file does not have the format of its suffix.
    """
    if folder := path.is_dir():
        if not any(path.glob("*.parquet")):
            msg = f"cannot read {path}: it is a folder without Parquet files"
            raise FileError(msg)
    else:
        check_suffix(path)
    if not path.exists():
        msg = f"cannot read {path}: {'no such file' if has_utf8_path(path) else NOT_UTF8}"
        raise FileError(msg)
    suffix = path.suffix.lower()
    with Source(path).translate_errors("a table of results"):
        if folder or suffix == ".parquet":
            from pyarrow import parquet

            return parquet.read_table(path)
        if suffix in TEXT:
            from pyarrow import csv

            delimiter = "," if suffix == ".csv" else "\t"
            return csv.read_csv(
                path,
                parse_options=csv.ParseOptions(delimiter=delimiter),
                convert_options=csv.ConvertOptions(
                    column_types=dict.fromkeys(strings, pa.string()),
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
        from pyarrow import feather

        return feather.read_table(path)


def _plain(value: Any) -> Any:
    """Return a value that JSON can represent. A mapping becomes pairs, because its keys may be integers."""
    if isinstance(value, Mapping):
        return [[_plain(key), _plain(own)] for key, own in value.items()]
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    return value if value is None or isinstance(value, bool | int | float | str | list) else str(value)
