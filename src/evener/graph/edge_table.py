"""Edges in the columns of a table in memory: whatever speaks Arrow's stream protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evener.errors import ArgumentError
from evener.graph.formats.columns import decoded, known_by_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["edge_columns"]


def edge_columns(
    table: Any,
    source: str | None,
    target: str | None,
    weight: str | None,
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]:
    """Take the ends of edges, and their weights, from a table.

    Parameters
    ----------
    table : pyarrow.Table, or any object with ``__arrow_c_stream__``
    source, target : str, optional
        Columns of the ends; by default those that are known by name, or the only two.
    weight : str, optional
        Column of the weights; by default the one that is known by name, if the ends are.

    Raises
    ------
    ArgumentError
        For an object that is no table, a column that is not there, or one with nulls.
    """
    import pyarrow as pa

    if not isinstance(table, pa.Table):
        if not hasattr(table, "__arrow_c_stream__"):
            msg = f"expected a pyarrow Table or another Arrow table, not {type(table).__name__}"
            raise ArgumentError(msg)
        try:
            table = pa.table(table)
        except (TypeError, ValueError) as error:
            msg = f"expected a table with named columns, but this {type(table).__name__} is not one: {error}"
            raise ArgumentError(msg) from error
    names = table.column_names
    if len(names) < 2:
        msg = f"a table of edges has a column for each end, but this one has {names or 'no columns'}"
        raise ArgumentError(msg)
    chosen = known_by_name(names) or (names if len(names) == 2 else [])
    if not chosen and not (source and target):
        msg = (
            f"no columns for the ends of an edge (src and dst, source and target, from and to) among "
            f"{', '.join(names)}; name them with source= and target="
        )
        raise ArgumentError(msg)
    if len(chosen) > 2 and source is target is weight is None:
        weight = chosen[2]
    first, second = (source or chosen[0]), (target or chosen[1])
    if first == second:
        msg = f'column "{first}" cannot be both ends of an edge; name both with source= and target='
        raise ArgumentError(msg)
    return _column(table, first), _column(table, second), None if weight is None else _column(table, weight)


def _column(table: Any, name: str) -> NDArray[Any]:
    import pyarrow as pa

    if table.column_names.count(name) != 1:
        msg = f'the table must have one column "{name}", but its columns are {", ".join(table.column_names)}'
        raise ArgumentError(msg)
    column = decoded(table.column(name))
    if column.null_count:
        row = column.is_null().index(pa.scalar(True)).as_py()  # noqa: FBT003 - the value sought
        msg = f'column "{name}" has no value in row {row}'
        raise ArgumentError(msg)
    values: NDArray[Any] = column.to_numpy()
    return values
