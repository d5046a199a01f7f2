"""Edges from tables in memory that support the Arrow stream protocol."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from evener.errors import ArgumentError, first_clause
from evener.graph.arrow import decode_column, find_edge_columns
from evener.graph.checks import type_name
from evener.graph.unread_columns import columns_of_schema, note_unread_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["edge_columns"]


def edge_columns(
    table: Any,
    source: str | None,
    target: str | None,
    weight: str | None,
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]:
    """Return the tails, heads and weights of the edges in a table.

    Parameters
    ----------
    table : pyarrow.Table, or any object with ``__arrow_c_stream__``
    source, target : str, optional
        Columns of tails and heads. The default is a pair with usual names, or the only two columns. The
        index of a pandas DataFrame is no column, unless it is named here or has a usual name.
    weight : str, optional
        Column of the weights. The default is a column with a usual name, if no column is given.
    """
    import pyarrow as pa

    given = type_name(table)
    if not isinstance(table, pa.Table):
        if not hasattr(table, "__arrow_c_stream__"):
            msg = f"table: expected a pyarrow Table or another Arrow table, found {type(table).__name__}"
            raise ArgumentError(msg + ("; call collect() first" if hasattr(table, "collect") else ""))
        try:
            table = pa.table(table)
        except (TypeError, ValueError, pa.ArrowException) as error:
            msg = (
                f"table: expected named columns of one type each, found a {type(table).__name__} without "
                f"them ({first_clause(error)}); select the columns of the edges, and convert their types"
            )
            raise ArgumentError(msg) from error
    names = table.column_names
    if len(names) < 2:
        msg = f"expected a column of tails and a column of heads, found {names or 'no columns'}"
        raise ArgumentError(msg)
    labels = _row_labels(table)
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
        read, columns = {*chosen, *labels}, columns_of_schema(table.schema)
        unread = [column for column in columns if column.name not in read]
        note_unread_columns(given, unread, weight, remedy="weight=")
    first, second = (source or chosen[0]), (target or chosen[1])
    if first == second:
        msg = f'column "{first}" cannot be both tail and head; give source= and target='
        raise ArgumentError(msg)
    return _column(table, first), _column(table, second), None if weight is None else _column(table, weight)


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
