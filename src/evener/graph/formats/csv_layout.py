"""The layout of a CSV file: its heading, its fields, the chosen columns, and their types."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from evener.errors import FormatError
from evener.graph.arrow import ArrowColumn, find_edge_columns
from evener.graph.formats.columns import choose_places
from evener.graph.formats.csv_records import Field, Head, Record
from evener.graph.formats.edgelist_heading import warn_unread_weights
from evener.system.log import log

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from evener.graph.formats.read_options import ReadOptions

__all__ = [
    "CsvLayout",
    "ids_are_quoted",
    "is_edge_list",
    "shape_of",
    "types_of",
]

_INTEGER = re.compile(rb"[-+]?\d+")
# Integers as numbers with a point: pandas and NumPy write them. Without a point, "1e5" may be a name.
_NUMBER = re.compile(rb"[-+]?\d+(\.\d*([eE][-+]?\d+)?)?")
# Numbers with leading zeros, such as postal codes, are names.
_LEADING_ZERO = re.compile(rb"[-+]?0\d")
# Words for a missing value, which programs write between numbers.
_MISSING = (b"", b"na", b"n/a", b"nan", b"null", b"none", rb"\n", b"<na>")


class CsvLayout(NamedTuple):
    """The layout of a CSV file, and the places of the chosen columns."""

    head: Head
    heading: bool
    names: list[str]
    fields: int
    places: list[int]
    decimal_point: str = "."

    @property
    def chosen(self) -> list[str]:
        """The names of the chosen columns."""
        return [self.names[place] for place in self.places]

    @property
    def rows(self) -> list[Record]:
        """The first records after the heading."""
        return self.head.records[self.heading :]

    @property
    def begin(self) -> int:
        """The first byte after the heading."""
        return self.head.records[0].stop if self.heading else self.head.records[0].start


def is_edge_list(head: Head, options: ReadOptions) -> bool:
    """Return whether the reader of edge lists can read a file: integer ids, without a heading."""
    if options.columns is not None or head.delimiter not in b",\t ":
        return False
    ends = head.records[0].fields[:2]
    return len(ends) == 2 and all(map(_is_integer, ends)) and not _have_leading_zeros(head.records, (0, 1))


def shape_of(head: Head, options: ReadOptions, path: Path) -> CsvLayout:
    """Return the layout of a file, and the places of the chosen columns."""
    first = head.records[0]
    bare = len(first.fields) >= 2 and all(map(_is_number, first.fields[:2]))
    by_position = options.columns is not None and all(isinstance(c, int) for c in options.columns)
    texts = [_decode(field.text, path, first.line) for field in first.fields]
    heading = _has_heading(head.records, texts) if by_position else not bare
    names = texts if heading else [str(place) for place in range(len(texts))]
    row = head.records[1].fields if heading and len(head.records) > 1 else []
    fields = len(names)
    if len(row) == fields + 1 and not row[-1].text:
        fields += 1  # a separator ends each row, but not the heading
    elif len(row) == fields - 1 and not names[-1]:
        fields -= 1
    if bare and options.columns is None:
        places = _places_without_names(head, options, path)
    else:
        columns = [
            ArrowColumn(name, _holds_numbers(head, place)) for place, name in enumerate(names[:fields])
        ]
        places = choose_places(columns, options, path)
    if options.directed is None and _are_undirected(names, row):
        log.warning(
            "%s: the edges are directed, but the column Type says Undirected; give directed=False", path
        )
    return CsvLayout(head, heading, names, fields, places)


def _places_without_names(head: Head, options: ReadOptions, path: Path) -> list[int]:
    """Return the places of tail, head and, if present and wanted, weight in a file without a heading."""
    rows = [record.fields for record in head.records]
    thirds = [field for row in rows for field in row[2:3]] if len(rows[0]) > 2 else []
    third = next((field for field in thirds if field.text), None)
    several = any(field.text for field in rows[0][2:])
    weighted = bool(thirds and options.weighted) or (third is not None and _is_weight(third, head.delimiter))
    if several and not weighted and options.weighted is None:
        warn_unread_weights(path, b"" if third is None else third.text)
    return [0, 1, 2] if weighted and options.weighted is not False else [0, 1]


def _is_integer(field: Field) -> bool:
    return not field.quoted and _INTEGER.fullmatch(field.text) is not None


def _is_number(field: Field) -> bool:
    return not field.quoted and _NUMBER.fullmatch(field.text) is not None


def _holds_numbers(head: Head, place: int) -> bool:
    """Return whether one of the first records has a number in a column."""
    rows = (record.fields for record in head.records[1:])
    return any(_NUMBER.fullmatch(row[place].text.replace(b",", b".")) for row in rows if place < len(row))


def _is_weight(field: Field, delimiter: bytes) -> bool:
    text = field.text.replace(b",", b".") if delimiter == b";" else field.text
    return not field.quoted and _NUMBER.fullmatch(text) is not None


def _are_undirected(names: list[str], row: list[Field]) -> bool:
    """Return whether a row of Gephi's column Type says that an edge is undirected."""
    kinds = (field.text.lower() for name, field in zip(names, row, strict=False) if name.lower() == "type")
    return b"undirected" in kinds


def _has_missing_ids(row: list[Field], places: list[int]) -> bool:
    """Return whether a row has a word for a missing value as an id."""
    ends = [row[place] for place in places[:2] if place < len(row)]
    return any(not end.quoted and end.text.lower() in _MISSING for end in ends)


def _has_heading(records: list[Record], names: list[str]) -> bool:
    """Return whether the first record holds column names, for columns chosen by number.

    A heading holds no numbers. It has usual names, or a column below it has numbers only.
    """
    if any(_NUMBER.fullmatch(field.text) for field in records[0].fields):
        return False
    columns = zip_longest(*(record.fields for record in records[1:]), fillvalue=Field(b"", quoted=False))
    below = [[_NUMBER.fullmatch(field.text) for field in column if field.text] for column in columns]
    return bool(find_edge_columns(names)) or any(column and all(column) for column in below)


def ids_are_quoted(shape: CsvLayout, row: list[Field]) -> bool:
    """Return whether the ids of a row are in quotes."""
    return max(shape.places[:2]) < len(row) and all(row[place].quoted for place in shape.places[:2])


def types_of(shape: CsvLayout) -> list[str]:
    """Return the types of the chosen columns.

    The first row with ids sets their type, so one malformed id cannot turn all ids into strings. If the row
    lacks an id or has too many fields, the types are integers, and the reader reports the row.
    """
    rows = [row.fields for row in shape.rows]
    first = rows[0] if rows else []
    row = next((row for row in rows if not _has_missing_ids(row, shape.places)), first)
    whole = max(shape.places[:2]) < len(row) <= shape.fields
    texts = [field.text for field in row] + [b""] * (shape.fields - len(row))
    values = [texts[place] for place in shape.places] if whole else [b"0"] * 3
    kind = "string"
    # Quoted ids are strings, unless the file has no heading and the caller chose no columns.
    quoted = shape.heading and ids_are_quoted(shape, row)
    names = quoted or _have_leading_zeros(shape.rows, shape.places[:2])
    if not names and all(_NUMBER.fullmatch(value) for value in values[:2]):
        kind = "int64" if all(_INTEGER.fullmatch(value) for value in values[:2]) else "float64"
    weights = values[2 : len(shape.places)]
    return [kind, kind, *("int64" if _INTEGER.fullmatch(value) else "float64" for value in weights)]


def _have_leading_zeros(records: Sequence[Record], places: Sequence[int]) -> bool:
    """Return whether an id in some records is a number with a leading zero."""
    ids = (record.fields[place].text for record in records for place in places if place < len(record.fields))
    return any(map(_LEADING_ZERO.match, ids))


def _decode(text: bytes, path: Path, line: int) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise FormatError(f"expected UTF-8 text, found {error.reason}", path=path, line=line) from error
