"""Tables of results in files: Parquet, Arrow and text."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import evener
from evener.atomic import NO_UTF8, replacing
from evener.checks import is_number, is_whole
from evener.errors import ArgumentError, FileError, FormatError, first_clause
from evener.result import VERTEX_VALUED
from evener.verify import Claim

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from numpy.typing import NDArray

    from evener.graph import Graph
    from evener.result import Result

__all__ = ["SUFFIXES", "check_suffix", "load_claim", "read_table", "write_result"]

SUFFIXES = (".parquet", ".csv", ".tsv", ".arrow", ".feather")
# Those that hold a table and no more.
_TEXT = (".csv", ".tsv")
# Columns of real numbers.
_REAL = ("rank", "centrality")
# The parameters of algorithms that say how something is computed, and not of what.
_HOW = ("damping", "tol", "stop", "max_iter", "weights", "dtype", "semantics", "normalized")

# The key of the schema's metadata under which a table keeps how it was made.
_KEY = b"evener"


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
    table = result.to_arrow().replace_schema_metadata({_KEY: json.dumps(made, default=_plain).encode()})
    suffix = path.suffix.lower()
    with replacing(path) as temporary:
        if suffix == ".parquet":
            from pyarrow import parquet

            parquet.write_table(table, temporary)
        elif suffix in _TEXT:
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
        if suffix in _TEXT:
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
        msg = f"cannot read {path}: {NO_UTF8}"
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


def load_claim(path: Path, graph: Graph, *, algorithm: str, parameters: Mapping[str, Any]) -> Claim:
    """Read a saved result of `algorithm` on `graph`, to be verified.

    What the file says of its parameters counts where `parameters` is silent; of a text file, which says
    nothing, what the algorithm takes by default. Only that PageRank ran for ``max_iter`` iterations, and not
    until a tolerance was met, is not taken for granted.

    Raises
    ------
    FileError, FormatError
        If the file is not a table with one row for each vertex of the graph.
    ArgumentError
        If it says that another algorithm made it.
    """
    table = read_table(path, strings=("vertex", *VERTEX_VALUED) if graph.named_by_strings else ())
    made = _made(table, path)
    if made.get("algorithm", algorithm) != algorithm:
        msg = f"{path} holds a result of {made['algorithm']}, not of {algorithm}"
        raise ArgumentError(msg)
    names = table.column_names
    if (twice := next((name for name in names if names.count(name) > 1), None)) is not None:
        msg = f"expected one column of each name, but {names.count(twice)} are named {twice!r}; rename them"
        raise FormatError(msg, path=path)
    order = _rows_in_order(table, graph, path)
    arrays = {name: _column(table, name, graph, path)[order] for name in names if name != "vertex"}
    told = dict(made.get("parameters") or _defaults(algorithm))
    if "k" in parameters:
        told.pop("sources", None)  # they are to be drawn as is asked here
    claimed = {**told, **parameters}
    if not made and claimed.get("tol") and claimed.get("semantics") != "graphalytics":
        claimed["max_iter"] = parameters.get("max_iter")
    if path.suffix.lower() in _TEXT and {"rank", "dtype"} <= {*arrays, *claimed}:
        # The dtype that the ranks had before they were written.
        arrays["rank"] = arrays["rank"].astype(claimed["dtype"] or _rank_dtype(claimed, graph))
    return Claim(algorithm, graph, arrays, claimed, made.get("outcome") or {})


def _plain(value: Any) -> Any:
    """What JSON can hold of a parameter: what maps ids to numbers becomes pairs, as ids may be integers."""
    if isinstance(value, Mapping):
        return [[_plain(key), _plain(own)] for key, own in value.items()]
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    return value if value is None or isinstance(value, bool | int | float | str | list) else str(value)


def _are_pairs(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0 and isinstance(value[0], list)


def _are_weights(value: Any) -> bool:
    """Whether it is a number for each vertex, or pairs of an id and a number."""
    if not _are_pairs(value):
        return isinstance(value, list) and all(map(is_number, value))
    pairs = [pair for pair in value if isinstance(pair, list) and len(pair) == 2]
    sound = all(isinstance(name, int | str) and is_number(number) for name, number in pairs)
    return sound and len(pairs) == len(value)


# What a verifier reckons with.
_SOUND = {
    "damping": is_number,
    "tol": is_number,
    "stop": lambda value: value in ("l1", "networkx"),
    "max_iter": is_whole,
    "seed": is_whole,
    "weights": lambda value: isinstance(value, bool),
    "personalization": _are_weights,
}


def _made(table: pa.Table, path: Path) -> dict[str, Any]:
    """How a table says it was made, if it does.

    Raises
    ------
    FormatError
        If it says what `write_result` does not write.
    """
    try:
        made = json.loads((table.schema.metadata or {}).get(_KEY, b"{}"))
    except (ValueError, RecursionError):
        made = None
    parts = [made.get(part) or {} for part in ("parameters", "outcome")] if isinstance(made, dict) else [made]
    sound = all(isinstance(part, dict) for part in parts)
    parameters = parts[0] if sound else {}
    given = {name: value for name, value in parameters.items() if name in _SOUND and value is not None}
    odd = [name for name, value in given.items() if not _SOUND[name](value)]
    if not sound or odd:
        what = f"has {odd[0]} = {given[odd[0]]!r}" if odd else "is not how a result was made"
        msg = f'its metadata under "{_KEY.decode()}" {what}; write the table again without it'
        raise FormatError(msg, path=path)
    if _are_pairs(parameters.get("personalization")):
        parameters["personalization"] = dict(parameters["personalization"])
    return dict(made)


def _rank_dtype(parameters: Mapping[str, Any], graph: Graph) -> str:
    """Return the dtype that PageRank chooses for these parameters."""
    from evener.algorithms.pagerank import rank_dtype, tolerance_of

    rule = {name: parameters[name] for name in ("tol", "stop", "semantics")}
    return rank_dtype(tolerance_of(graph.n, **rule))


def _defaults(algorithm: str) -> dict[str, Any]:
    """What an algorithm takes where nothing is said of how it is computed."""
    function = getattr(evener, algorithm, None)
    taken = {} if function is None else inspect.signature(function).parameters
    return {name: taken[name].default for name in _HOW if name in taken}


def _rows_in_order(table: pa.Table, graph: Graph, path: Path) -> NDArray[np.intp]:
    """Return the rows of `table` in the order of the graph's ids."""
    if "vertex" not in table.column_names:
        msg = f"expected a column 'vertex', but the columns are {', '.join(table.column_names)}"
        raise FormatError(msg, path=path)
    vertices = table.column("vertex").to_numpy(zero_copy_only=False)
    if vertices.dtype.kind == "O":
        vertices = vertices.astype(str)
    order = np.argsort(vertices, kind="stable")
    if len(order) != graph.n or not np.array_equal(vertices[order], graph.ids):
        msg = f"its {len(order):,} rows are not the {graph.n:,} vertices of the graph, each once"
        raise FormatError(msg, path=path)
    return order


def _column(table: pa.Table, name: str, graph: Graph, path: Path) -> NDArray[Any]:
    """Return a column as an algorithm would give it: vertices as ids or positions, -1 for none."""
    column = table.column(name)
    by_strings = name in VERTEX_VALUED and graph.named_by_strings
    if name not in VERTEX_VALUED and column.null_count:
        msg = f"column {name!r} has {column.null_count:,} rows without a value"
        raise FormatError(msg, path=path)
    there = column.drop_null()
    numbers = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    if len(there) and not (numbers or by_strings):
        came = f"{_no_number(there)!r} came, of type {column.type}"
        msg = f"expected numbers in column {name!r}, but {came}; mend it, or drop a column that is no result"
        raise FormatError(msg, path=path)
    if name not in VERTEX_VALUED:
        if name in _REAL and not pa.types.is_floating(column.type):
            # Text says no more of a number than its digits; one that is rounded here is wrong anyhow.
            column = column.cast(pa.float64(), safe=False)
        values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
        return values
    vertices = np.full(len(column), -1, dtype=np.int64)
    vertices[column.is_valid().to_numpy(zero_copy_only=False)] = (
        graph.numbers_of(there.to_numpy(zero_copy_only=False).astype(str))
        if by_strings
        else _as_ids(there, name, path)
    )
    return vertices


def _as_ids(column: pa.ChunkedArray, name: str, path: Path) -> NDArray[np.int64]:
    """Return integers, which may have come as floats; none is rounded."""
    try:
        ids: NDArray[np.int64] = column.cast(pa.int64()).to_numpy()
    except pa.ArrowInvalid as error:
        odd = next(
            (repr(value) for value in column.to_pylist() if not is_whole(value)), "one of over 63 bits"
        )
        msg = f"expected vertices in column {name!r}, which are whole numbers, but {odd} came"
        raise FormatError(msg, path=path) from error
    return ids


def _no_number(column: pa.ChunkedArray) -> Any:
    """Find the first value that does not read as a number, or the first of all if each does."""
    values = column.to_pylist()
    for value in values:
        try:
            float(value)
        except (TypeError, ValueError):
            return value
    return values[0]
