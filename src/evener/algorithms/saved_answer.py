"""Saved answers: a table of results read back, with the parameters of the run, so that it can be verified."""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from evener.algorithms.spec import Column, resolve
from evener.algorithms.verification import Claim
from evener.errors import ArgumentError, FormatError
from evener.graph.checks import is_integral, is_number
from evener.results.table import KEY, TEXT, read_table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from evener.algorithms.spec import AlgorithmSpec
    from evener.graph.graph import Graph

__all__ = ["load_claim"]


def load_claim(path: Path, graph: Graph, *, spec: AlgorithmSpec, parameters: Mapping[str, Any]) -> Claim:
    """Read a saved result of an algorithm on `graph`, to be verified.

    Parameters
    ----------
    path : Path
        A table that `Result.write` wrote, or another with the same columns.
    graph : Graph
    spec : AlgorithmSpec
    parameters : mapping
        Parameters of the run that the user gives. They replace those in the file. A text file records none:
        defaults of the algorithm then apply to options that do not change the answer.

    Raises
    ------
    FileError, FormatError
        If the file is not a table with one row for each vertex of the graph.
    ArgumentError
        If the file says that another algorithm made it.
    """
    columns = {column.name: column for column in spec.columns}
    vertices = [column.name for column in spec.columns if column.names_vertices]
    table = read_table(path, strings=("vertex", *vertices) if graph.has_string_ids else ())
    made = _made(table, path, spec)
    if made.get("algorithm", spec.name) != spec.name:
        msg = f"{path} holds a result of {made['algorithm']}, not of {spec.name}"
        raise ArgumentError(msg)
    names = table.column_names
    if (twice := next((name for name in names if names.count(name) > 1), None)) is not None:
        msg = f"expected one column of each name, but {names.count(twice)} are named {twice!r}; rename them"
        raise FormatError(msg, path=path)
    order = _rows_in_order(table, graph, path)
    arrays = {
        name: _array(table, columns.get(name, Column(name)), graph, path)[order]
        for name in names
        if name != "vertex"
    }
    recorded = made.get("parameters")
    claimed = {**(recorded or _defaults(spec)), **parameters}
    if spec.claimed is not None:
        claimed = resolve(spec.claimed)(claimed, given=parameters, recorded=bool(recorded))
    if path.suffix.lower() in TEXT and claimed.get("dtype"):
        for name in (column.name for column in spec.columns if column.real and column.name in arrays):
            arrays[name] = arrays[name].astype(claimed["dtype"])  # the dtype before it was written as text
    return Claim(spec.name, graph, arrays, claimed, made.get("outcome") or {})


def _are_pairs(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0 and isinstance(value[0], list)


def _are_weights(value: Any) -> bool:
    """Whether it is a number for each vertex, or pairs of an id and a number."""
    if not _are_pairs(value):
        return isinstance(value, list) and all(map(is_number, value))
    pairs = [pair for pair in value if isinstance(pair, list) and len(pair) == 2]
    sound = all(isinstance(name, int | str) and is_number(number) for name, number in pairs)
    return sound and len(pairs) == len(value)


# What the value of a recorded option has to be for a verifier to compute with it.
_SOUND: dict[str, Callable[[Any], bool]] = {"float": is_number, "int": is_integral, "weights": _are_weights}


def _made(table: pa.Table, path: Path, spec: AlgorithmSpec) -> dict[str, Any]:
    """Return what a table records of the run that made it.

    Raises
    ------
    FormatError
        If it records something that `write_result` does not write.
    """
    try:
        made = json.loads((table.schema.metadata or {}).get(KEY, b"{}"))
    except (ValueError, RecursionError):
        made = None
    parts = [made.get(part) or {} for part in ("parameters", "outcome")] if isinstance(made, dict) else [made]
    sound = all(isinstance(part, dict) for part in parts)
    parameters = parts[0] if sound else {}
    checks = {option.name: _SOUND[option.type] for option in spec.options if option.type in _SOUND}
    given = {name: value for name, value in parameters.items() if name in checks and value is not None}
    odd = [name for name, value in given.items() if not checks[name](value)]
    if not sound or odd:
        what = f"has {odd[0]} = {given[odd[0]]!r}" if odd else "is not how a result was made"
        msg = f'its metadata under "{KEY.decode()}" {what}; write the table again without it'
        raise FormatError(msg, path=path)
    for option in spec.options:
        if option.type == "weights" and _are_pairs(parameters.get(option.name)):
            parameters[option.name] = dict(parameters[option.name])
    return dict(made)


def _defaults(spec: AlgorithmSpec) -> dict[str, Any]:
    """Return the defaults of the options on which an exact answer does not depend."""
    taken = inspect.signature(spec.function()).parameters
    return {
        option.name: taken[option.name].default
        for option in spec.options
        if not option.changes_answer and option.name in taken
    }


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


def _array(table: pa.Table, kind: Column, graph: Graph, path: Path) -> NDArray[Any]:
    """Return a column as an algorithm would give it: vertices as ids or positions, -1 for none."""
    name, column = kind.name, table.column(kind.name)
    by_strings = kind.names_vertices and graph.has_string_ids
    if not kind.names_vertices and column.null_count:
        msg = f"column {name!r} has {column.null_count:,} rows without a value"
        raise FormatError(msg, path=path)
    there = column.drop_null()
    numbers = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    if len(there) and not (numbers or by_strings):
        found = f"{_no_number(there)!r} of type {column.type}"
        msg = f"expected numbers in column {name!r}, found {found}; correct it or drop the column"
        raise FormatError(msg, path=path)
    if not kind.names_vertices:
        if kind.real and not pa.types.is_floating(column.type):
            # Integers that float64 rounds are too large to be right.
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
            (repr(value) for value in column.to_pylist() if not is_integral(value)), "one of over 63 bits"
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
