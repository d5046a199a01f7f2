"""Notices about columns of a table that may be weights and are not read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from evener.errors import shorten
from evener.graph.arrow import is_usual_weight
from evener.system.log import log

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Column", "columns_of_schema", "note_unread_columns"]

# Column in which pandas stores row labels.
_INDEX = re.compile(r"__index_level_\d+__|Unnamed: \d+")
# Longest list of names, in characters.
_MAX_NAMES = 200


class Column(NamedTuple):
    """The name of a column, and whether it holds numbers."""

    name: str
    numbers: bool


def columns_of_schema(schema: Any) -> list[Column]:
    """Return the columns of an Arrow schema."""
    import pyarrow as pa

    numeric = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    return [Column(field.name, any(test(field.type) for test in numeric)) for field in schema]


def note_unread_columns(
    where: object, unread: Iterable[Column], weight: str | None, *, remedy: str, noun: str = "column"
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
    rivals = [column.name for column in named if column.numbers and is_usual_weight(column.name)]
    if weight is not None and rivals:
        msg = "%s: the %s %r has the weights, and %s is not read; to choose, give %s"
        log.warning(msg, where, noun, weight, _listed(rivals), remedy)


def _listed(names: Sequence[str]) -> str:
    return shorten(", ".join(map(repr, names)), _MAX_NAMES)
