"""Edges in the named columns of an Arrow table, and graph properties in its metadata."""

from __future__ import annotations

import contextlib
import json
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError, FormatError, first_clause
from evener.graph.arrays import first_nan
from evener.graph.arrow import (
    ArrowColumn,
    columns_of_schema,
    decode_column,
    find_edge_columns,
    note_unread_columns,
    note_unread_weights,
)
from evener.graph.formats.edges import isolated_vertices, pieces
from evener.graph.formats.ids import ids_of_names, number_strings, parse_isolated_ids
from evener.graph.names import NameTable
from evener.graph.share import EdgeIds
from evener.system import memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from evener.graph.formats.read_options import ReadOptions
    from evener.graph.graph import Graph

    # Returns the error for a row of a table, given its message, the row, and perhaps a remedy.
    _ErrorAt = Callable[..., FormatError]

__all__ = [
    "choose_columns",
    "choose_places",
    "edges_from_batches",
    "edges_from_table",
    "read_metadata",
    "schema_of",
    "tables",
    "width_of",
]


_KEY = b"evener"
# Bits of the integers that a float type holds exactly; of larger integers, several become one float.
_EXACT_BITS = {"halffloat": 11, "float": 24, "double": 53}


def choose_columns(schema: Any, options: ReadOptions, path: Path) -> list[str]:
    """Return the names of the chosen columns of an Arrow schema, as `choose_places`, each used once."""
    chosen = [schema.names[place] for place in choose_places(columns_of_schema(schema), options, path)]
    for name in chosen:
        _check_unique(name, schema.names, path)
    return chosen


def choose_places(columns: list[ArrowColumn], options: ReadOptions, path: Path) -> list[int]:
    """Return the places of the columns for tail, head and, if present and wanted, weight.

    Columns that are not chosen may have equal names or none. `FormatError` says that columns are missing, and
    `ArgumentError` that the option `columns` is wrong.
    """
    names = [column.name for column in columns]
    found = ", ".join(repr(name) for name in names) or "none"
    if options.columns is not None:
        chosen = _given_places(options.columns, names, path, found)
        if len(chosen) == 2 and options.weighted is None:
            note_unread_weights(path, names, [names[place] for place in chosen], remedy="columns=")
    else:
        chosen = _usual_places(names, path, found)
        if options.weighted is not False:
            unread = [column for place, column in enumerate(columns) if place not in chosen]
            weight = names[chosen[2]] if len(chosen) > 2 else None
            if weight is not None or options.weighted is None:
                note_unread_columns(path, unread, weight, remedy="columns=")
    if options.weighted and len(chosen) < 3:
        msg = f"expected a column named weight, found {found}; give columns="
        raise FormatError(msg, path=path)
    return chosen[:2] if options.weighted is False else chosen


def _given_places(columns: Sequence[str | int], names: list[str], path: Path, found: str) -> list[int]:
    """Return the places of the columns that the caller chose."""
    if len(columns) not in (2, 3):
        msg = f"columns=: expected two columns, or three with the weight, found {len(columns)}"
        raise ArgumentError(msg)
    places = [_place_of(column, names, path, found) for column in columns]
    if (repeated := next((place for place in places if places.count(place) > 1), None)) is not None:
        name = names[repeated]
        msg = f"columns=: expected different columns for tail, head and weight, found {name!r} twice"
        raise ArgumentError(msg)
    return places


def _usual_places(names: list[str], path: Path, found: str) -> list[int]:
    """Return the places of the columns with usual names."""
    usual = find_edge_columns(names)
    if not usual:
        msg = (
            f"expected columns named src and dst, source and target, or from and to; found {found}; "
            f"give columns= with names, or with numbers from 0"
        )
        raise FormatError(msg, path=path)
    return [_place_of(name, names, path, found) for name in usual]


def _place_of(column: str | int, names: list[str], path: Path, found: str) -> int:
    if isinstance(column, int) and 0 <= column < len(names):
        return column
    if column not in names:
        raise FormatError(f"expected a column {column!r}, found {found}", path=path)
    _check_unique(str(column), names, path)
    return names.index(str(column))


def _check_unique(name: str, names: list[str], path: Path) -> None:
    if (count := names.count(name)) > 1:
        msg = f"expected one column named {name!r}, found {count}; rename the others"
        raise FormatError(msg, path=path)


def edges_from_table(
    table: Any, path: Path, *, line_of: Callable[[int], int] | None = None, first_row: int = 0
) -> EdgeIds:
    """Return the edges of a table with the columns of tails, heads and perhaps weights.

    `line_of` returns the line number of a row of a text. Without it, messages count rows, and `first_row`
    rows of the file precede the table.

    Raises
    ------
    FormatError
        If a value is missing or has the wrong type, or an id is negative.
    """
    import pyarrow as pa

    error = partial(_error_at, path, line_of, first_row)
    ends, weights = _checked_columns(table, path, error)
    metadata = read_metadata(table.schema)
    if not pa.types.is_integer(ends[0].type):
        extra = pa.chunked_array([_isolated_names(metadata.get("isolated", []), path)], pa.string())
        (src, dst, _), ids = number_strings([*ends, extra], path, line_of)
        return EdgeIds(src, dst, weights, path, metadata.get("directed"), names=ids)
    memory.require(sum(end.nbytes for end in ends if end.num_chunks > 1), f"the edges of {path}")
    remedy = "; make all ids strings" + (", in quotes" if line_of else "")
    src, dst = (_integer_ids(*end, error, remedy) for end in zip(ends, table.column_names, strict=False))
    vertices = parse_isolated_ids(metadata.get("isolated", []), path)
    n = None if len(vertices) else metadata.get("n")
    directed = metadata.get("directed")
    return EdgeIds(src, dst, weights, path, directed, n=n, vertices=vertices, line_of=line_of)


def edges_from_batches(
    batches: Iterator[Any], chosen: list[str], schema: Any, rows: int, path: Path
) -> EdgeIds:
    """Return the edges between names in record batches; the columns are as for `edges_from_table`."""
    import pyarrow as pa

    names, metadata, done = NameTable(path), read_metadata(schema), 0
    memory.require(8 * rows, f"the edges of {path}")
    ends, weights = [np.empty(rows, np.uint32) for _ in range(2)], None
    tables = chain([schema.empty_table()], (pa.Table.from_batches([batch]) for batch in batches))
    for whole in tables:  # the first one has no rows, only types
        table = whole.select(chosen)
        table.validate(full=True)  # checks that strings are UTF-8
        columns, own = _checked_columns(table, path, partial(_error_at, path, None, done))
        piece = slice(done, done + len(table))
        for end, column in zip(ends, columns, strict=True):
            names.add_column(column, end[piece])
        if own is not None:
            weights = np.empty(rows, own.dtype) if weights is None else weights
            weights[piece] = own
        done = piece.stop
    extra = pa.chunked_array([_isolated_names(metadata.get("isolated", []), path)], pa.string())
    names.add_column(extra, np.empty(len(extra), np.uint32))
    ids = ids_of_names(names, ends, path)
    return EdgeIds(ends[0], ends[1], weights, path, metadata.get("directed"), names=ids)


def _checked_columns(table: Any, path: Path, error: _ErrorAt) -> tuple[list[Any], NDArray[Any] | None]:
    """Return the columns of tails and heads, all strings or all integers, and the weights."""
    import pyarrow as pa

    names = table.column_names
    columns = [_decode(*column, error) for column in zip(table.columns, names, strict=True)]
    ends = [_integers_if_whole(column) for column in columns[:2]]
    strings = [_is_string_dictionary(end) or _is_string(end.type) for end in ends]
    integers = [pa.types.is_integer(end.type) for end in ends]
    if not (all(strings) or all(integers)):
        types = " and ".join(f"{names[i]!r} holds {ends[i].type}" for i in (0, 1))
        msg = f"expected vertex ids that are all integers or all strings, but {types}"
        if any(pa.types.is_floating(end.type) for end in ends):
            msg += ", with fractions or too large numbers; write integers without a point, or strings"
        raise FormatError(msg, path=path)
    return ends, _weights(columns[2], names[2], path, error) if len(columns) > 2 else None


def _error_at(
    path: Path, line_of: Callable[[int], int] | None, first_row: int, msg: str, row: int, remedy: str = ""
) -> FormatError:
    """Return the error for a row of a table."""
    if line_of is None:
        return FormatError(f"{msg} in row {first_row + row + 1}{remedy}", path=path)
    return FormatError(msg + remedy, path=path, line=line_of(row))


def _decode(column: Any, name: str, error: _ErrorAt) -> Any:
    """Return a column without missing values, decoded unless it is a dictionary of strings."""
    decoded = column if _is_string_dictionary(column) else decode_column(column)
    if decoded.null_count:
        row = next(i for i, missing in enumerate(decoded.is_null()) if missing.as_py())
        raise error(f"expected a value in column {name!r}, but it is missing", row)
    return decoded


def _integer_ids(column: Any, name: str, error: _ErrorAt, remedy: str) -> NDArray[Any]:
    """Return the ids of a column of integers as an array; `remedy` ends the error for a negative id."""
    ids: NDArray[Any] = column.to_numpy()
    if ids.dtype.kind == "i" and len(ids) and ids.min() < 0:
        row = int((ids < 0).argmax())
        msg = f"expected vertex ids from 0 up, but column {name!r} has {ids[row]}"
        raise error(msg, row, remedy)
    return ids


def _is_string(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_string_dictionary(column: Any) -> bool:
    """Return whether a column holds codes and dictionaries of strings, without nulls in a dictionary."""
    import pyarrow as pa

    if not (pa.types.is_dictionary(column.type) and _is_string(column.type.value_type)):
        return False
    return not any(chunk.dictionary.null_count for chunk in column.chunks)


def width_of(kind: Any) -> int:
    """Return the bytes of a value of an Arrow type; 4 for a string, which is a code of a dictionary."""
    try:
        return int(kind.bit_width) // 8
    except ValueError:
        return 4


def _isolated_names(given: list[Any], path: Path) -> Any:
    """Return the string ids of vertices without edges as an Arrow array."""
    import pyarrow as pa

    try:
        return pa.array(given, pa.string())
    except (pa.ArrowException, UnicodeEncodeError) as error:
        msg = f"expected string ids of vertices without edges in the metadata: {first_clause(error)}"
        raise FormatError(msg, path=path) from error


def _integers_if_whole(column: Any) -> Any:
    """Return a float column of exact integers as int64, and any other column unchanged."""
    import pyarrow as pa
    import pyarrow.compute as pc

    bits = _EXACT_BITS.get(str(column.type))
    if bits is not None and (pc.max(column).as_py() or 0) < 2.0**bits:
        with contextlib.suppress(pa.ArrowInvalid):  # a value is not an integer
            return column.cast(pa.int64())
    return column


def _weights(column: Any, name: str, path: Path, error: _ErrorAt) -> NDArray[Any]:
    import pyarrow as pa

    kind = column.type
    if pa.types.is_decimal(kind) or pa.types.is_float16(kind):
        column = column.cast(pa.float64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise FormatError(f"expected numbers as weights, but column {name!r} holds {kind}", path=path)
    weights: NDArray[Any] = column.to_numpy()
    if (row := first_nan(weights)) is not None:
        raise error(f"expected a number as weight, but column {name!r} has NaN", row)
    return weights


def read_metadata(schema: Any) -> dict[str, Any]:
    """Return the graph properties of `schema_of`; an empty dict if another tool wrote the table."""
    try:
        metadata = json.loads((schema.metadata or {}).get(_KEY, b"{}"))
    except (ValueError, RecursionError):
        return {}
    if not isinstance(metadata, dict):
        return {}
    directed, n, isolated_ids = (metadata.get(key) for key in ("directed", "n", "isolated"))
    valid: dict[str, Any] = {"directed": directed} if isinstance(directed, bool) else {}
    if type(n) is int and n >= 0:
        valid["n"] = n
    if isinstance(isolated_ids, list) and {type(i) for i in isolated_ids} in ({int}, {str}):
        valid["isolated"] = isolated_ids
    return valid


def schema_of(graph: Graph) -> Any:
    """Return the schema with columns src, dst and weight, and graph properties as metadata."""
    import pyarrow as pa

    metadata: dict[str, Any] = {"directed": graph.directed}
    kind = pa.uint32()
    if graph.has_custom_ids:
        kind = pa.large_string() if graph.has_string_ids else pa.int64()
        if len(untouched := isolated_vertices(graph)):
            metadata["isolated"] = graph.ids[untouched].tolist()
    else:
        metadata["n"] = graph.n
    fields = [("src", kind), ("dst", kind)]
    if graph.weights is not None:
        fields.append(("weight", pa.from_numpy_dtype(graph.weights.dtype)))
    return pa.schema(fields, metadata={_KEY: json.dumps(metadata).encode()})


def tables(graph: Graph, *, widen_float32: bool = False) -> Iterator[Any]:
    """Yield the edges of a graph as tables of `schema_of`; `widen_float32` is as for `pieces`."""
    import pyarrow as pa

    schema = schema_of(graph)
    for piece in pieces(graph, widen_float32=widen_float32):
        if piece.weights is not None:
            schema = schema.set(2, pa.field("weight", pa.from_numpy_dtype(piece.weights.dtype)))
        ends = [graph.ids[end] if graph.has_custom_ids else end for end in (piece.src, piece.dst)]
        columns = ends if piece.weights is None else [*ends, piece.weights]
        arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
        yield pa.table(arrays, schema=schema)
