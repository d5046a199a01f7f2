"""Columns of Arrow tables that hold edges: their names, their values, and notices about other columns."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from evener.errors import ArgumentError, first_clause, shorten
from evener.graph.checks import type_name
from evener.system.log import log

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

__all__ = [
    "WEIGHT_NAMES",
    "ArrowColumn",
    "columns_of_schema",
    "decode_column",
    "edge_columns",
    "find_edge_columns",
    "has_gpu_columns",
    "note_unread_columns",
    "note_unread_weights",
    "plain_name",
]

# Pairs of column names for tail and head, compared without case, spaces and underscores.
_ENDS = (
    ("src", "dst"),
    ("source", "target"),
    ("source", "destination"),
    ("from", "to"),
    ("tail", "head"),
    ("u", "v"),
    ("start", "end"),
    ("srcid", "dstid"),
    ("sourceid", "targetid"),
    ("fromid", "toid"),
    ("fromnodeid", "tonodeid"),
    ("fromnode", "tonode"),
    ("startid", "endid"),
    ("node1", "node2"),
)
WEIGHT_NAMES = ("weight", "weights", "wgt", "wt", "w", "cost")
# Column in which pandas stores row labels.
_INDEX = re.compile(r"__index_level_\d+__|Unnamed: \d+")
# Longest list of names, in characters.
_MAX_NAMES = 200


def edge_columns(
    table: Any,
    source: str | None,
    target: str | None,
    weight: str | None,
) -> tuple[Any, Any, Any]:
    """Return the tails, heads and weights of the edges in a table; None without weights.

    The columns of a data frame on a GPU are returned as they are, and others as NumPy arrays.

    Parameters
    ----------
    table : pyarrow.Table, or any object with ``__arrow_c_stream__`` or with columns on a GPU
    source, target : str, optional
        Columns of tails and heads. The default is a pair with usual names, or the only two columns. The
        index of a pandas DataFrame is no column, unless it is named here or has a usual name.
    weight : str, optional
        Column of the weights. The default is a column with a usual name, if no column is given.
    """
    import pyarrow as pa

    given = type_name(table)
    if has_gpu_columns(table):
        listed = [ArrowColumn(str(name), table[name].dtype.kind in "iuf") for name in table.columns]
        chosen = _chosen(given, listed, set(), source, target, weight)
        first, second, third = (None if name is None else _gpu_column(table, name) for name in chosen)
        return first, second, third
    if not isinstance(table, pa.Table):
        table = _as_table(table)
    chosen = _chosen(given, columns_of_schema(table.schema), _row_labels(table), source, target, weight)
    first, second, third = (None if name is None else _column(table, name) for name in chosen)
    return first, second, third


def _as_table(given: Any) -> Any:
    """Return a table of another Arrow library as a pyarrow Table."""
    import pyarrow as pa

    protocols = ("__arrow_c_stream__", "__arrow_c_array__", "__arrow_c_device_array__")
    if not any(hasattr(given, protocol) for protocol in protocols):
        msg = f"table: expected a pyarrow Table or another Arrow table, found {type(given).__name__}"
        raise ArgumentError(msg + ("; call collect() first" if hasattr(given, "collect") else ""))
    try:
        table = pa.table(given)
    except (TypeError, ValueError, pa.ArrowException) as error:
        msg = (
            f"table: expected named columns of one type each, found a {type(given).__name__} without "
            f"them ({first_clause(error)}); select the columns of the edges, and convert their types"
        )
        raise ArgumentError(msg) from error
    if not all(getattr(chunk, "is_cpu", True) for column in table.columns for chunk in column.chunks):
        msg = (
            f"table: expected columns in host memory, found a {type_name(given)} with Arrow columns on a "
            "device; give arrays with __cuda_array_interface__ or __dlpack__ to from_edges"
        )
        raise ArgumentError(msg)
    return table


def _chosen(
    given: str,
    columns: Sequence[ArrowColumn],
    labels: set[str],
    source: str | None,
    target: str | None,
    weight: str | None,
) -> tuple[str, str, str | None]:
    """Return the names of the columns of tails, heads and weights in a table of type `given`."""
    names = [column.name for column in columns]
    if len(names) < 2:
        msg = f"expected a column of tails and a column of heads, found {names or 'no columns'}"
        raise ArgumentError(msg)
    plain = [name for name in names if name not in labels]
    chosen = find_edge_columns(plain) or (plain if len(plain) == 2 else find_edge_columns(names))
    if not chosen and not (source and target):
        msg = (
            f"expected columns named src and dst, source and target, or from and to; found "
            f"{', '.join(names)}; give source= and target="
        )
        raise ArgumentError(msg)
    if source is target is weight is None:
        weight = chosen[2] if len(chosen) > 2 else None
        unread = [column for column in columns if column.name not in {*chosen, *labels}]
        note_unread_columns(given, unread, weight, remedy="weight=")
    elif weight is None:
        note_unread_weights(given, names, [source or chosen[0], target or chosen[1]], remedy="weight=")
    first, second = (source or chosen[0]), (target or chosen[1])
    if first == second:
        msg = f'column "{first}" cannot be both tail and head; give source= and target='
        raise ArgumentError(msg)
    return first, second, weight


def has_gpu_columns(table: Any) -> bool:
    """Return whether an object is a data frame with a column on a GPU, such as a cuDF DataFrame."""
    names = getattr(table, "columns", None)
    if names is None or not hasattr(table, "iloc") or not len(names):
        return False
    return any(hasattr(type(table[name]), "__cuda_array_interface__") for name in names)


def _gpu_column(frame: Any, name: str) -> Any:
    if list(map(str, frame.columns)).count(name) != 1:
        msg = f'expected one column "{name}", found the columns {", ".join(map(str, frame.columns))}'
        raise ArgumentError(msg)
    return frame[name]


def _row_labels(table: Any) -> set[str]:
    """Return the columns that hold the row labels (the index) of a pandas DataFrame."""
    try:
        metadata = json.loads((table.schema.metadata or {}).get(b"pandas", b"{}"))
        return {label for label in metadata.get("index_columns", []) if isinstance(label, str)}
    except (ValueError, TypeError, AttributeError, RecursionError):
        return set()


def _column(table: Any, name: str) -> NDArray[Any]:
    import pyarrow as pa

    if table.column_names.count(name) != 1:
        msg = f'expected one column "{name}", found the columns {", ".join(table.column_names)}'
        raise ArgumentError(msg)
    column = decode_column(table.column(name))
    if column.null_count:
        row = column.is_null().index(pa.scalar(True)).as_py()  # noqa: FBT003 - the value sought
        msg = f'column "{name}" has no value in row {row}; drop the rows without values'
        raise ArgumentError(msg)
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    values: NDArray[Any] = column.to_numpy()
    return values


def find_edge_columns(names: Sequence[str]) -> list[str]:
    """Return the columns with usual names for tail, head and, if present, weight; or an empty list."""
    by_name = {plain_name(name): name for name in reversed(names)}
    pair = next(([by_name[a], by_name[b]] for a, b in _ENDS if a in by_name and b in by_name), [])
    return pair + [by_name[name] for name in WEIGHT_NAMES if pair and name in by_name][:1]


def plain_name(name: str) -> str:
    """Return the name of a column as lists of usual names have it."""
    return name.lower().replace("_", "").replace(" ", "").lstrip(":#")


def decode_column(column: Any) -> Any:
    """Return a column with dictionaries decoded and string views cast to strings."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        chunks = [_decode_chunk(chunk) for chunk in column.chunks]
        column = pa.chunked_array(chunks, None if chunks else column.type.value_type)
    return _views_as_strings(column)


def _decode_chunk(chunk: Any) -> Any:
    import pyarrow as pa

    strings = _views_as_strings(chunk.dictionary)
    return pa.DictionaryArray.from_arrays(chunk.indices, strings).dictionary_decode()


def _views_as_strings(column: Any) -> Any:
    """Return string views as strings, because few Arrow functions accept views."""
    import pyarrow as pa

    return column.cast(pa.large_string()) if str(column.type) == "string_view" else column


class ArrowColumn(NamedTuple):
    """The name of a column, and whether it holds numbers."""

    name: str
    numbers: bool


def columns_of_schema(schema: Any) -> list[ArrowColumn]:
    """Return the columns of an Arrow schema."""
    import pyarrow as pa

    numeric = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    return [ArrowColumn(field.name, any(test(field.type) for test in numeric)) for field in schema]


def note_unread_columns(
    where: object, unread: Iterable[ArrowColumn], weight: str | None, *, remedy: str, noun: str = "column"
) -> None:
    """Log the columns that may be weights and are not read, for columns that the caller did not name.

    `where` is the file or the function that reads the table, and `weight` the column of the weights. `remedy`
    is the argument that names columns, and `noun` the word for a column.
    """
    named = [column for column in unread if column.name and not _INDEX.fullmatch(column.name)]
    if weight is None and any(column.numbers for column in named):
        names = _listed([column.name for column in named])
        msg = "%s: the graph has no weights: no %s is named weight, only %s; give %s"
        log.warning(msg, where, noun, names, remedy)
    rivals = [column.name for column in named if column.numbers and plain_name(column.name) in WEIGHT_NAMES]
    if weight is not None and rivals:
        msg = "%s: the %s %r has the weights, and %s is not read; to choose, give %s"
        log.warning(msg, where, noun, weight, _listed(rivals), remedy)


def note_unread_weights(where: object, names: Sequence[str], chosen: Sequence[str], *, remedy: str) -> None:
    """Log a column with the name of a weight that is not among the columns that the caller named."""
    left = [name for name in names if name not in chosen and plain_name(name) in WEIGHT_NAMES]
    if left:
        msg = "%s: the graph has no weights: the column %s is not read; to read it, give %s"
        log.warning(msg, where, _listed(left), remedy)


def _listed(names: Sequence[str]) -> str:
    return shorten(", ".join(map(repr, names)), _MAX_NAMES)
