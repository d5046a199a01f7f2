"""CSV files: a table with a header row, or columns chosen by number, with or without a header.

Blanks around a field are no part of it, unless the field is in quotes. A field in quotes may hold line
breaks. A separator at the end of each row separates nothing. Columns that are not chosen may hold any text.

Ids with leading zeros are strings. With semicolons as separators, numbers may have decimal commas.

A CSV file stores edges only. To read back an undirected graph, give ``directed=False``; to keep vertices
without edges, give `n`. If only the ids are in quotes, the ids are strings: "01" and "1" differ. If the
header is in quotes as well, quoted ids are integers if all of them are plain integers.
"""

from __future__ import annotations

import logging
import re
from contextlib import suppress
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from evener.errors import FormatError
from evener.graph.arrow import find_edge_columns
from evener.graph.formats.columns import choose_places, edges_from_table, tables
from evener.graph.formats.csv_records import (
    Field,
    Head,
    Record,
    may_have_leading_zeros,
    read_columns,
    read_head,
)
from evener.graph.formats.edgelist import read_numbers
from evener.graph.formats.edgelist_heading import EdgeListHeading
from evener.graph.formats.edgelist_names import warn_leading_zero, warn_unread_weights
from evener.graph.formats.edges import build_graph, narrow_integers
from evener.graph.formats.file import open_compressed
from evener.graph.formats.ids import refuse_names
from evener.graph.formats.number_lines import LeadingZeroError
from evener.graph.formats.registry import Format
from evener.graph.formats.text_stream import open_text
from evener.system.files import atomic_write

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from evener.graph.formats.file import Source
    from evener.graph.formats.read_options import ReadOptions
    from evener.graph.graph import Graph

__all__ = ["FORMAT"]

_log = logging.getLogger("evener")
_INTEGER = re.compile(rb"[-+]?\d+")
# Integers as numbers with a point: pandas and NumPy write them. Without a point, "1e5" may be a name.
_NUMBER = re.compile(rb"[-+]?\d+(\.\d*([eE][-+]?\d+)?)?")
# Numbers with leading zeros, such as postal codes, are names.
_LEADING_ZERO = re.compile(rb"[-+]?0\d")
# Words for a missing value, which programs write between numbers.
_MISSING = (b"", b"na", b"n/a", b"nan", b"null", b"none", rb"\n", b"<na>")
# A number with commas, for the decimal point or between thousands.
_COMMA = re.compile(r"[-+]?[\d.]+(,\d+)+(\.\d*)?")
_NAMES = "to read ids as names, write column names in the first line and put the ids in quotes"
# Error of Arrow for a value.
_CONVERSION = re.compile(
    r"In CSV column #(\d+): [^']*error to (\w+): invalid (?:value '(.*)'|UTF8)", re.DOTALL
)
# Bytes of a block for records with line breaks; longer records are read without Arrow.
_LONG_BLOCK = 1 << 24


def read(source: Source, options: ReadOptions, /) -> Graph:
    """Return the graph of a CSV file."""
    source.check()
    path = source.path
    head = read_head(source)
    first = head.records[0]
    ends = first.fields[:2]
    bare = len(ends) == 2 and all(_is_number(end) for end in ends)
    by_position = options.columns is not None and all(isinstance(c, int) for c in options.columns)
    integers = all(map(_is_integer, ends)) and not _have_leading_zeros(head.records, (0, 1))
    if bare and integers and options.columns is None and head.delimiter in b",\t ":
        with open_text(source) as text, suppress(LeadingZeroError):
            while text.line + 1 < first.line and text.peek() is not None:  # comments and empty lines
                text.skip()
            return build_graph(read_numbers(text, options, EdgeListHeading(), remedy=_NAMES), options, path)
    texts = [_decode(field.text, path, first.line) for field in first.fields]
    heading = _has_heading(head.records, texts) if by_position else not bare
    names = texts if heading else [str(place) for place in range(len(texts))]
    rows = head.records[heading:]
    row = rows[0].fields if rows else []
    fields = len(first.fields)
    if heading and len(row) == fields + 1 and not row[-1].text:
        fields += 1  # a separator ends each row, but not the heading
    elif heading and len(row) == fields - 1 and not names[-1]:
        fields -= 1
    if bare and options.columns is None:
        weighted = fields > 2 and (options.weighted or _is_weight(first.fields[2], head.delimiter))
        if fields > 2 and first.fields[2].text and not weighted and options.weighted is None:
            warn_unread_weights(path, first.fields[2].text)
        places = [0, 1, 2] if weighted and options.weighted is not False else [0, 1]
    else:
        places = choose_places(names[:fields], options, path)
    if options.directed is None and _are_undirected(names, row):
        _log.warning(
            "%s: the edges are directed, but the column Type says Undirected; give directed=False", path
        )
    shape = _Shape(head, heading, names, fields, places)
    present = (one.fields for one in rows if not _has_missing_ids(one.fields, places))
    table, in_lines = _table_without_merged_ids(source, shape, _types_of(shape, next(present, row)))
    # A quoted heading means that the writer may quote every field.
    quoted = heading and any(field.quoted for field in first.fields) and _ids_are_quoted(shape, row)
    line = (rows[0].line if rows else 0) if in_lines else None
    edges = edges_from_table(_as_integers(table) if quoted else table, path, first_line=line)
    if edges.weights is not None and edges.weights.dtype.kind in "iu":
        edges.weights = narrow_integers(edges.weights)
    return build_graph(edges, options, path)


class _Shape(NamedTuple):
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
    def begin(self) -> int:
        """The first byte after the heading."""
        return self.head.records[0].stop if self.heading else self.head.records[0].start


def _is_integer(field: Field) -> bool:
    return not field.quoted and _INTEGER.fullmatch(field.text) is not None


def _is_number(field: Field) -> bool:
    return not field.quoted and _NUMBER.fullmatch(field.text) is not None


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


def _ids_are_quoted(shape: _Shape, row: list[Field]) -> bool:
    return len(row) == shape.fields and all(row[place].quoted for place in shape.places[:2])


def _types_of(shape: _Shape, row: list[Field]) -> list[str]:
    """Return the types of the chosen columns.

    The first row sets the id type, so one malformed id cannot turn all ids into strings. If the row has a
    wrong number of fields, the types are integers, and the reader reports the row.
    """
    values = [row[place].text for place in shape.places] if len(row) == shape.fields else [b"0"] * 3
    kind = "string"
    # Quoted ids are strings, unless the file has no heading and the caller chose no columns.
    names = (shape.heading and _ids_are_quoted(shape, row)) or _have_leading_zeros(
        shape.head.records[shape.heading :], shape.places[:2]
    )
    if not names and all(_NUMBER.fullmatch(value) for value in values[:2]):
        kind = "int64" if all(_INTEGER.fullmatch(value) for value in values[:2]) else "float64"
    weights = values[2 : len(shape.places)]
    return [kind, kind, *("int64" if _INTEGER.fullmatch(value) else "float64" for value in weights)]


def _have_leading_zeros(records: Sequence[Record], places: Sequence[int]) -> bool:
    """Return whether an id in some records is a number with a leading zero."""
    ids = (record.fields[place].text for record in records for place in places if place < len(record.fields))
    return any(map(_LEADING_ZERO.match, ids))


def _table_without_merged_ids(source: Source, shape: _Shape, types: list[str]) -> tuple[Any, bool]:
    """Return the table as `_table_with_exact_weights`, with strings as ids if a number has a leading zero."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if types[0] == "string" or not may_have_leading_zeros(source, shape.head.delimiter):
        return _table_with_exact_weights(source, shape, types)
    table, in_lines = _table_with_exact_weights(source, shape, ["string", "string", *types[2:]])
    for ids in table.columns[:2]:
        begins = ids.filter(pc.starts_with(pc.ascii_ltrim_whitespace(ids), "0"))
        if pc.any(pc.match_substring_regex(begins, r"^\s*0\d")).as_py():
            warn_leading_zero(source.path)
            return table, in_lines
    try:
        for place, name in enumerate(shape.chosen[:2]):
            table = table.set_column(place, name, table.column(place).cast(types[place]))
    except pa.ArrowInvalid:  # the reader of numbers raises the error for the row
        return _table_with_exact_weights(source, shape, types)
    return table, in_lines


def _table_with_exact_weights(source: Source, shape: _Shape, types: list[str]) -> tuple[Any, bool]:
    """Return the table, with integer weights in the first type that holds all of them.

    Also return whether each row is a line.
    """
    if types[2:] == ["int64"]:
        for dtype in ("int64", "uint64"):
            with suppress(FormatError):  # a weight may be too large or have a fraction
                return _table(source, shape, [*types[:2], dtype])
        types = [*types[:2], "float64"]
    try:
        return _table(source, shape, types)
    except FormatError:
        if types[2:] == ["float64"] and shape.head.delimiter == b";":
            with suppress(FormatError):
                return _table(source, shape._replace(decimal_point=","), types)
        raise


def _table(source: Source, shape: _Shape, types: list[str]) -> tuple[Any, bool]:
    """Return the table, and whether each row is a line.

    Arrow reads most files. It does not read blanks before a quote, and it keeps blanks around strings.
    """
    import pyarrow as pa

    table = None
    for newlines in (False, True):
        try:
            table = _read_with_arrow(source, shape, types, newlines=newlines)
            break
        except pa.ArrowInvalid as error:
            if (value := _CONVERSION.search(str(error))) is None:
                continue  # a row may hold line breaks, or be longer than a block
            if value[3] is not None and '"' in value[3]:
                break
            raise _conversion_error(source, shape, types, newlines=newlines) from error
    if table is None or _has_blanks(table):
        columns = read_columns(source, shape.head, shape.places, skip=int(shape.heading), count=shape.fields)
        casts = zip(columns, shape.places, types, strict=True)
        return pa.table([_cast(*cast, shape, source.path) for cast in casts], shape.chosen), False
    return table.select(range(len(types))).rename_columns(shape.chosen), not newlines


def _read_with_arrow(
    source: Source, shape: _Shape, types: list[str], *, newlines: bool, threads: bool = True
) -> Any:
    import pyarrow as pa
    from pyarrow import csv

    named = {str(place): pa.type_for_alias(alias) for place, alias in zip(shape.places, types, strict=True)}
    if shape.fields > len(shape.names):
        named[str(len(shape.names))] = pa.null()
    with source.open() as stream:
        stream.read(shape.begin)
        return csv.read_csv(
            stream,
            read_options=csv.ReadOptions(
                column_names=list(map(str, range(shape.fields))),
                use_threads=threads,
                block_size=_LONG_BLOCK if newlines else None,
            ),
            parse_options=csv.ParseOptions(
                delimiter=shape.head.delimiter.decode(), ignore_empty_lines=True, newlines_in_values=newlines
            ),
            convert_options=csv.ConvertOptions(
                column_types=named,
                include_columns=list(named),
                null_values=[""],
                strings_can_be_null=True,
                decimal_point=shape.decimal_point,
            ),
        )


def _has_blanks(table: Any) -> bool:
    """Return whether a string begins or ends with a blank, which quotes may enclose."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return any(
        pa.types.is_string(column.type) and not pc.all(pc.equal(pc.ascii_trim(column, " \t"), column)).as_py()
        for column in table.columns
    )


def _cast(column: Any, place: int, alias: str, shape: _Shape, path: Path) -> Any:
    """Return a column of strings in another type."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = pa.type_for_alias(alias)
    if alias == "float64" and shape.decimal_point == ",":
        column = pc.replace_substring(pc.replace_substring(column, ".", "no number"), ",", ".")
    try:
        return column.cast(kind)
    except pa.ArrowInvalid as error:
        for row, value in enumerate(column):
            try:
                value.cast(kind)
            except pa.ArrowInvalid:
                msg = _wrong_value(shape, place, alias, value.as_py())
                raise FormatError(f"{msg} (in row {row + 1})", path=path) from error
        raise


def _conversion_error(source: Source, shape: _Shape, types: list[str], *, newlines: bool) -> FormatError:
    """Return the error for a value of another type than its column."""
    import pyarrow as pa

    try:  # with one thread, the error names the row
        _read_with_arrow(source, shape, types, newlines=newlines, threads=False)
    except pa.ArrowInvalid as error:
        text = str(error)
    row = re.search(r"Row #(\d+)", text)
    line = None if row is None or newlines else int(row[1]) + shape.head.records[shape.heading].line - 1
    value = _CONVERSION.search(text)
    if value is None or value[3] is None:
        name = shape.names[int(value[1])] if value else shape.chosen[0]
        msg = f"expected UTF-8 text in column {name!r}; convert the file to UTF-8"
    elif (place := int(value[1])) not in shape.places:
        msg = f"expected {len(shape.names)} fields, as in the heading, found {value[3]!r} after them"
    else:
        msg = _wrong_value(shape, place, types[shape.places.index(place)], value[3])
    return FormatError(msg, path=source.path, line=line)


def _wrong_value(shape: _Shape, place: int, alias: str, value: str) -> str:
    kind = "integers" if "int" in alias else "numbers"
    remedy = "correct it, or quote string ids" if place in shape.places[:2] else "correct it"
    if _COMMA.fullmatch(value):
        remedy = "write numbers with a decimal point, or give Graph.from_pandas the table of pandas.read_csv"
    found = repr(value if len(value) <= 60 else value[:60] + "...")
    return f"expected {kind} in column {shape.names[place]!r}, as in its first row, found {found}; {remedy}"


def _as_integers(table: Any) -> Any:
    """Return the table with ids cast to integers, if the cast keeps distinct ids distinct."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for place in (0, 1):
        if not pc.all(pc.match_substring_regex(table.column(place), r"^(0|[1-9]\d{0,17})$")).as_py():
            return table
    for place, name in enumerate(table.column_names[:2]):
        table = table.set_column(place, name, table.column(place).cast(pa.int64()))
    return table


def _decode(text: bytes, path: Path, line: int) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise FormatError(f"expected UTF-8 text, found {error.reason}", path=path, line=line) from error


def write(graph: Graph, target: Path, compression: str | None, /) -> None:
    """Write a CSV file with the columns src, dst and, for weighted graphs, weight."""
    from pyarrow import csv

    why = "a CSV file, where ids must not be empty or hold line breaks; write .parquet, .arrow or .evg"
    refuse_names(graph, r"[\r\n]|^$", why)
    names = "src,dst" if graph.weights is None else "src,dst,weight"
    with atomic_write(target) as temporary, open_compressed(temporary, compression) as sink:
        sink.write(f"{names}\n".encode())
        for table in tables(graph, widen_float32=True):
            csv.write_csv(table, sink, csv.WriteOptions(include_header=False, quoting_style="needed"))


FORMAT = Format("CSV", (".csv",), read, write, stores_direction=False, stores_isolated=False)
