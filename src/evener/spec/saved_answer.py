"""Saved answers: read a table of results and the parameters of its run, for verification."""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evener.errors import ArgumentError, FormatError
from evener.graph.arrays import string_array
from evener.graph.arrow import decode_column
from evener.graph.checks import is_integral, is_number
from evener.graph.formats.file import Source
from evener.results.report.units import counted
from evener.results.table import KEY, read_table
from evener.spec.algorithm import Column, Option, resolve
from evener.spec.answer import Claim
from evener.spec.verification import check_parameters

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from evener.graph.graph import Graph
    from evener.spec.algorithm import AlgorithmSpec

__all__ = ["load_claim"]


def load_claim(path: Path, graph: Graph, *, spec: AlgorithmSpec, parameters: Mapping[str, Any]) -> Claim:
    """Read a saved result of an algorithm on `graph` for verification.

    Parameters
    ----------
    path : Path
        A table that `Result.write` wrote, or another table with the same columns.
    graph : Graph
    spec : AlgorithmSpec
    parameters : mapping
        Parameters of the run from the user. They replace the parameters in the file. A text file records no
        parameters; options that do not change the answer then have their defaults.

    Raises
    ------
    FileError, FormatError
        If the file is not a table with one row for each vertex of the graph.
    ArgumentError
        If another algorithm wrote the file.
    """
    with Source(path).translate_errors("a table of results"):
        return _load_claim(path, graph, spec, parameters)


def _load_claim(path: Path, graph: Graph, spec: AlgorithmSpec, parameters: Mapping[str, Any]) -> Claim:
    columns = {column.name: column for column in spec.columns}
    vertices = [column.name for column in spec.columns if column.names_vertices]
    table = read_table(path, strings=("vertex", *vertices) if graph.has_string_ids else ())
    table.validate(full=True)  # Arrow checks no bounds of strings as it reads
    record = _record(table, path, spec)
    if record.get("algorithm", spec.name) != spec.name:
        msg = f"{path}: expected a result of {spec.name}, found a result of {record['algorithm']}"
        raise ArgumentError(msg)
    _check_names(table.column_names, path)
    order = _rows_in_order(table, graph, path) if spec.row == "vertex" else slice(None)
    arrays = {
        name: _array(table, columns.get(name, Column(name)), graph, path)[order]
        for name in table.column_names
        if name != "vertex"
    }
    check_parameters(spec, parameters)
    effective = _effective(parameters, record.get("parameters"), graph, spec)
    return Claim(spec.name, graph, arrays, effective, record.get("outcome") or {})


def _check_names(names: list[str], path: Path) -> None:
    """Raise FormatError if two columns have the same name, or the table has answers from several sources."""
    if (duplicate := next((name for name in names if names.count(name) > 1), None)) is not None:
        msg = (
            f"expected unique column names, found {names.count(duplicate)} columns {duplicate!r}; rename them"
        )
        raise FormatError(msg, path=path)
    if {"source", "vertex"} <= set(names):
        msg = (
            "expected the answer from one source, found the column 'source' of a run with --each; "
            "give --verify to such a run"
        )
        raise FormatError(msg, path=path)


def _effective(
    given: Mapping[str, Any], recorded: Mapping[str, Any] | None, graph: Graph, spec: AlgorithmSpec
) -> dict[str, Any]:
    """Return the parameters of the run: those of the user, of the record, and defaults."""
    parameters = {**(recorded or _defaults(spec)), **given}
    if spec.claim_parameters is not None:
        complete = resolve(spec.claim_parameters)
        parameters = complete(parameters, graph=graph, given=given, recorded=bool(recorded))
    return parameters


def _are_pairs(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0 and isinstance(value[0], list)


def _are_weights(value: Any) -> bool:
    """Return true for a list of numbers or a list of pairs of an id and a number."""
    if not _are_pairs(value):
        return isinstance(value, list) and all(map(is_number, value))
    pairs = [pair for pair in value if isinstance(pair, list) and len(pair) == 2]
    valid = all(isinstance(name, int | str) and is_number(number) for name, number in pairs)
    return valid and len(pairs) == len(value)


def _is_valid(option: Option, value: Any) -> bool:
    """Return true if a verifier can compute with a recorded value."""
    return _are_weights(value) if option.type == "vertex_values" else option.accepts(value)


def _record(table: pa.Table, path: Path, spec: AlgorithmSpec) -> dict[str, Any]:
    """Return the record of the run in a table's metadata.

    Raises
    ------
    FormatError
        If `write_result` cannot have written the record.
    """
    try:
        record = json.loads((table.schema.metadata or {}).get(KEY, b"{}"))
    except (ValueError, RecursionError):
        record = None
    parts = (
        [record.get(part) or {} for part in ("parameters", "outcome")]
        if isinstance(record, dict)
        else [record]
    )
    valid = all(isinstance(part, dict) for part in parts)
    parameters = parts[0] if valid else {}
    options = {option.name: option for option in spec.options}
    given = {name: value for name, value in parameters.items() if name in options and value is not None}
    wrong = [name for name, value in given.items() if not _is_valid(options[name], value)]
    if not valid or wrong:
        what = f"has {wrong[0]} = {given[wrong[0]]!r}" if wrong else "is not a record of a run"
        msg = f'the table\'s metadata "{KEY.decode()}" {what}; write the table again without this metadata'
        raise FormatError(msg, path=path)
    for option in spec.options:
        if option.type == "vertex_values" and _are_pairs(parameters.get(option.name)):
            parameters[option.name] = dict(parameters[option.name])
    return dict(record)


def _defaults(spec: AlgorithmSpec) -> dict[str, Any]:
    """Return the defaults of the options that do not change an exact answer."""
    taken = inspect.signature(spec.function()).parameters
    return {
        option.name: taken[option.name].default
        for option in spec.options
        if not option.changes_answer and option.name in taken
    }


def _rows_in_order(table: pa.Table, graph: Graph, path: Path) -> NDArray[np.intp]:
    """Return the order that sorts the rows of `table` by the graph's ids."""
    if "vertex" not in table.column_names:
        msg = f"expected a column 'vertex', found the columns {', '.join(table.column_names)}"
        raise FormatError(msg, path=path)
    column = decode_column(table.column("vertex"))
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_string, pa.types.is_large_string)
    if len(column) and not any(is_kind(column.type) for is_kind in kinds):
        msg = f"expected integers or strings in column 'vertex', found type {column.type}"
        raise FormatError(msg, path=path)
    if column.null_count:
        empty = counted(column.null_count, "empty row")
        msg = f"expected a vertex in every row of column 'vertex', found {empty}"
        raise FormatError(msg, path=path)
    vertices: NDArray[Any]
    if graph.has_string_ids:
        vertices = string_array([str(vertex) for vertex in column.to_pylist()])
    else:
        vertices = _as_ids(column, "vertex", path)
    order = np.argsort(vertices, kind="stable")
    if len(order) != graph.n or not np.array_equal(vertices[order], graph.ids):
        msg = (
            f"expected one row for each of the {graph.n:,} vertices of the graph, "
            f"found {counted(len(order), 'row')} with missing, repeated or other vertices"
        )
        raise FormatError(msg, path=path)
    return order


def _array(table: pa.Table, kind: Column, graph: Graph, path: Path) -> NDArray[Any]:
    """Return a column in the form of a result: vertices as ids, -1 or None for no vertex.

    Lists become the rows of an array of two dimensions, with "no vertex" after shorter lists.
    """
    name, column = kind.name, table.column(kind.name)
    if not kind.names_vertices and column.null_count:
        empty = counted(column.null_count, "empty row")
        msg = f"expected a value in every row of column {name!r}, found {empty}"
        raise FormatError(msg, path=path)
    present = column.drop_null()
    numbers = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    if len(present) and not (numbers or kind.names_vertices):
        found = f"{_first_not_number(present)}type {column.type}"
        msg = f"expected numbers in column {name!r}, found {found}; correct it or drop the column"
        raise FormatError(msg, path=path)
    if not kind.names_vertices:
        if kind.real and not pa.types.is_floating(column.type):
            # An integer that float64 rounds is too large to be a correct value.
            column = column.cast(pa.float64(), safe=False)
        values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
        return values
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        return _lists(column, name, graph, path)
    return _vertices(column, name, graph, path)


def _lists(column: pa.ChunkedArray, name: str, graph: Graph, path: Path) -> NDArray[Any]:
    """Return lists of vertices as rows, with "no vertex" after the end of shorter lists."""
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
    flat = _vertices(pc.list_flatten(column), name, graph, path)
    rows = np.full((len(column), lengths.max(initial=0)), None if flat.dtype == object else -1, flat.dtype)
    rows[np.arange(rows.shape[1]) < lengths[:, None]] = flat
    return rows


def _vertices(column: pa.ChunkedArray, name: str, graph: Graph, path: Path) -> NDArray[Any]:
    if graph.has_string_ids:
        names = [None if vertex is None else str(vertex) for vertex in column.to_pylist()]
        return np.array(names, dtype=object)
    vertices = np.full(len(column), -1, dtype=np.int64)
    present = column.is_valid().to_numpy(zero_copy_only=False)
    vertices[present] = _as_ids(column.drop_null(), name, path)
    return vertices


def _as_ids(column: pa.ChunkedArray, name: str, path: Path) -> NDArray[np.int64]:
    """Return a column of integers, integral floats, or integers as text, as integers. No value is rounded."""
    try:
        ids: NDArray[np.int64] = column.cast(pa.int64()).to_numpy()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        wrong = next(
            (repr(value) for value in column.to_pylist() if not _is_id(value)), "a value of over 63 bits"
        )
        msg = f"expected vertices, which are integers, in column {name!r}, found {wrong}"
        raise FormatError(msg, path=path) from error
    return ids


def _is_id(value: Any) -> bool:
    return is_integral(value) or (isinstance(value, str) and value.isascii() and value.isdigit())


def _first_not_number(column: pa.ChunkedArray) -> str:
    """Return the first string that is not a number, as the begin of a message; empty for other types."""
    if not pa.types.is_string(column.type):
        return ""
    values = column.to_pylist()
    for value in values:
        try:
            float(value)
        except ValueError:
            return f"{value!r} of "
    return f"{values[0]!r} of "
