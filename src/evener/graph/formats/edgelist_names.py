"""Edges of an edge list with string ids, or with integer ids that have a point."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evener.errors import FormatError, first_clause
from evener.graph.formats.edgelist_heading import NAMES, WEIGHT, cast_weights, warn_unread_weights
from evener.graph.formats.ids import number_strings, parse_isolated_ids
from evener.graph.formats.name_lines import NUMBER, is_header_row
from evener.graph.share import EdgeIds
from evener.system.log import log

if TYPE_CHECKING:
    from pathlib import Path

    from evener.graph.formats.edgelist_heading import EdgeListHeading
    from evener.graph.formats.name_lines import TextFields
    from evener.graph.formats.read_options import ReadOptions

__all__ = ["edges_of_names", "has_column_names", "warn_words_as_column_names"]

# An exponent needs a point, because "1e5" may be a name.
_DECIMAL = re.compile(rb"[-+]?(?:0|[1-9]\d*)(\.\d*([eE][-+]?\d+)?)?")
# Column names that may be vertices as well.
_WORDS = (["u", "v"], ["from", "to"], ["start", "end"], ["tail", "head"])
# A bracket without its partner in the field, as in the tail of "(0, 1)".
_BRACKET = re.compile(r"\([^)]*|\[[^]]*|\{[^}]*")
# Arrows between two ids.
_ARROW = re.compile(r"<?[-=]+>|<[-=]+|--+|→")
_MAX_EXACT = 2.0**53


def warn_words_as_column_names(path: Path, fields: TextFields) -> None:
    """Warn that the first line of a list of names is a heading, if it may be an edge as well."""
    head, below = fields.first, [column[1].as_py() for column in fields.columns]
    if [word.lower() for word in head] in _WORDS and not all(map(NUMBER.fullmatch, below)):
        msg = "%s: the first line, %r, is read as column names; to read it as an edge, begin the file with %r"
        log.warning(msg, path, " ".join(head), "# Ids: strings")


def has_column_names(fields: TextFields, heading: EdgeListHeading) -> bool:
    """Return whether the first line has column names."""
    return len(fields.line) > 1 and not heading.strings and is_header_row(fields.columns)


def _check_first_line(fields: TextFields, path: Path, heading: EdgeListHeading) -> None:
    """Raise `FormatError` if the first line of a list of names is no edge."""
    head, msg = fields.first, ""
    if has_column_names(fields, heading):
        if any(map(NUMBER.fullmatch, head[:2])):
            found = " ".join(head[:2])
            msg = f"expected two integer vertex ids, as in the next line, found {found!r}; {NAMES}"
        else:
            msg = "expected an edge, found column names; begin the line with #, or give columns="
    elif len(head) > 2 and _ARROW.fullmatch(head[1]):
        msg = f"expected tail and head in the first two fields, found {head[1]!r} as head; remove it"
    elif not heading.strings and head[0][-1] in ";|":
        msg = f"expected a tab, space or comma between tail and head, found {head[0]!r}; give format='csv'"
    elif not heading.strings and _BRACKET.fullmatch(head[0]):
        msg = f"expected tail and head without brackets around them, found {head[0]!r}; remove them; {NAMES}"
    if msg:
        raise FormatError(msg, path=path, line=int(fields.line[0]))


def edges_of_names(
    fields: TextFields,
    path: Path,
    options: ReadOptions,
    heading: EdgeListHeading,
    isolated: list[str],
    *,
    begins: bool,
) -> EdgeIds:
    """Return the edges of a list with string ids, or with integer ids that have a point.

    `isolated` has the ids of vertices without edges. The first line of the file is in `fields` if `begins`.
    """
    columns, line = fields.columns, fields.line

    def line_of(row: int) -> int:
        return int(line[row])

    ends, count = columns[:2], len(columns)
    if begins:
        _check_first_line(fields, path, heading)
    weights = None
    head, third = fields.first, fields.third.encode()
    several = any(head[2:])
    if begins and several and options.weighted is None and not WEIGHT.match(third):
        warn_unread_weights(path, third)
    if options.weighted or (options.weighted is None and WEIGHT.match(third)):
        if count < 3:
            raise FormatError("expected weights, but the lines have two fields", path=path)
        weights = _parse_weights(columns[2], line, path, heading)
    if not heading.strings and head and all(_DECIMAL.fullmatch(end.encode()) for end in head[:2]):
        src, dst = (_parse_decimal_ids(end, line, path) for end in ends)
        edges = EdgeIds(src, dst, weights, path, heading.directed, n=heading.n, line_of=line_of)
        edges.vertices = parse_isolated_ids(isolated, path)
        return edges
    extra = pa.chunked_array([isolated], pa.string())
    (src, dst, _), ids = number_strings([*ends, extra], path, line_of)
    return EdgeIds(src, dst, weights, path, heading.directed, names=ids)


def _parse_decimal_ids(column: Any, line: Any, path: Path) -> Any:
    """Return ids with a point, as `numpy.savetxt` writes them, as integers."""
    wrong = _first_mismatch(column, rf"^(?:{_DECIMAL.pattern.decode()})$")
    if wrong < 0:
        ids = pc.utf8_ltrim(column, "+").cast("float64").to_numpy()
        whole = (ids >= 0) & (ids < _MAX_EXACT) & (ids == np.floor(ids))
        if whole.all():
            return ids.astype(np.int64)
        wrong = int((~whole).argmax())
    msg = f"expected two integer vertex ids from 0 to 2^53, found {column[wrong].as_py()!r}"
    raise FormatError(f"{msg}; {NAMES}", path=path, line=int(line[wrong]))


def _first_mismatch(column: Any, pattern: str) -> int:
    """Return the row of the first string that does not match a pattern, or -1."""
    return int(pc.index(pc.match_substring_regex(column, pattern), pa.scalar(False)).as_py())  # noqa: FBT003 - the value sought


def _parse_weights(column: Any, line: Any, path: Path, heading: EdgeListHeading) -> Any:
    try:
        weights = column.cast(pa.float64()).to_numpy()
    except pa.ArrowInvalid as error:
        wrong = _first_mismatch(column, f"^(?i:{NUMBER.pattern})$")
        found = f"found {column[wrong].as_py()!r}" if wrong >= 0 else first_clause(error)
        msg = f"expected a weight as third field, {found}; correct it, or read with weighted=False"
        raise FormatError(msg, path=path, line=int(line[wrong]) if wrong >= 0 else None) from None
    if len(infinite := np.flatnonzero(~np.isfinite(weights))):
        msg = f"expected a weight, a finite number, as third field, found {weights[infinite[0]]}"
        raise FormatError(msg, path=path, line=int(line[infinite[0]]))
    if heading.weights is not None and "int" in heading.weights and (np.abs(weights) >= 2**53).any():
        with contextlib.suppress(pa.ArrowInvalid):  # parse again without rounding to floats
            weights = column.cast(heading.weights).to_numpy()
    return cast_weights(weights, heading, path, lambda row: int(line[row]))
