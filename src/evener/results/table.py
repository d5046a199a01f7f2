"""Tables of results in files: Parquet, Arrow and text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from evener.errors import ArgumentError, FileError, FormatError, first_clause
from evener.system.files import NOT_UTF8, atomic_write

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from evener.results.result import Result

__all__ = ["KEY", "SUFFIXES", "TEXT", "check_suffix", "read_table", "write_result"]

SUFFIXES = (".parquet", ".csv", ".tsv", ".arrow", ".feather")
# Those that hold a table and no more.
TEXT = (".csv", ".tsv")
# The key of the schema's metadata under which a table keeps how it was made.
KEY = b"evener"


def check_suffix(path: Path) -> None:
    """Refuse a file name whose suffix names no table format."""
    if path.suffix.lower() not in SUFFIXES:
        came = f"suffix {path.suffix!r}" if path.suffix else "no suffix"
        msg = f"{path}: a table of results is written as {', '.join(SUFFIXES)}, and this name has {came}"
        raise ArgumentError(msg)


def write_result(result: Result, path: Path) -> None:
    """Write a result's table, whole or not at all, with how it was made where the format can hold it."""
    check_suffix(path)
    parameters = {name: _plain(value) for name, value in result.parameters.items()}
    made = {"algorithm": result.algorithm, "parameters": parameters, "outcome": result.outcome}
    table = result.to_arrow().replace_schema_metadata({KEY: json.dumps(made, default=_plain).encode()})
    suffix = path.suffix.lower()
    with atomic_write(path) as temporary:
        if suffix == ".parquet":
            from pyarrow import parquet

            parquet.write_table(table, temporary)
        elif suffix in TEXT:
            from pyarrow import csv

            delimiter = "," if suffix == ".csv" else "\t"
            csv.write_csv(table, temporary, csv.WriteOptions(delimiter=delimiter))
        else:
            from pyarrow import feather

            feather.write_feather(table, str(temporary))


def read_table(path: Path, *, strings: Iterable[str] = ()) -> pa.Table:
    """Read a table of results by its suffix; in a text file, the columns named in `strings` are strings.

    Raises
    ------
    FileError, FormatError
        If there is no such file, or it is not what its suffix says.
    """
    check_suffix(path)
    suffix = path.suffix.lower()
    try:
        if suffix == ".parquet":
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
    except UnicodeEncodeError as error:
        msg = f"cannot read {path}: {NOT_UTF8}"
        raise FileError(msg) from error
    except pa.ArrowInvalid as error:
        msg = f"expected a table of results, but {first_clause(error)}"
        raise FormatError(msg, path=path) from error
    except FileNotFoundError as error:
        msg = f"{path}: there is no such file"
        raise FileError(msg) from error
    except OSError as error:
        msg = f"{path}: cannot be read: {first_clause(error)}"
        raise FileError(msg) from error


def _plain(value: Any) -> Any:
    """What JSON can hold of a parameter: what maps ids to numbers becomes pairs, as ids may be integers."""
    if isinstance(value, Mapping):
        return [[_plain(key), _plain(own)] for key, own in value.items()]
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    return value if value is None or isinstance(value, bool | int | float | str | list) else str(value)
