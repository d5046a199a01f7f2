"""CSV files: a table with a header row, or columns chosen by number, with or without a header.

Blanks around a field are no part of it, unless the field is in quotes. A field in quotes may hold line
breaks. A separator at the end of a row separates nothing. Columns that are not chosen may hold any text or
none, and a row may lack the last ones.

Ids with leading zeros are strings. With semicolons as separators, numbers may have decimal commas.

A CSV file stores edges only. To read back an undirected graph, give ``directed=False``; to keep vertices
without edges, give `n`. If only the ids are in quotes, the ids are strings: "01" and "1" differ. If the
header is in quotes as well, quoted ids are integers if all of them are plain integers.
"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from evener.errors import FormatError
from evener.graph.formats.columns import edges_from_table, tables
from evener.graph.formats.csv_layout import CsvLayout, ids_are_quoted, is_edge_list, shape_of, types_of
from evener.graph.formats.csv_records import (
    has_quotes,
    line_of_record,
    may_have_leading_zeros,
    read_columns,
    read_head,
)
from evener.graph.formats.edgelist import grammar_of
from evener.graph.formats.edgelist_heading import warn_leading_zero
from evener.graph.formats.edges import build_graph, narrow_integers
from evener.graph.formats.file import PART_BYTES, open_compressed
from evener.graph.formats.ids import refuse_names
from evener.graph.formats.number_lines import LeadingZeroError, parse
from evener.graph.formats.plain_names import read_plain_names
from evener.graph.formats.registry import Format
from evener.graph.formats.text_stream import line_of_row, open_text
from evener.system.files import atomic_write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from evener.graph.formats.file import Source
    from evener.graph.formats.read_options import ReadOptions
    from evener.graph.graph import Graph
    from evener.graph.share import EdgeIds

    # Returns the line number of a row.
    _LineOf = Callable[[int], int]

__all__ = ["FORMAT"]

# A number with commas, for the decimal point or between thousands.
_COMMA = re.compile(r"[-+]?[\d.]+(,\d+)+(\.\d*)?")
_NAMES = "to read ids as names, write column names in the first line and put the ids in quotes"
# Error of Arrow for a value.
_CONVERSION = re.compile(
    r"In CSV column #(\d+): [^']*error to (\w+): invalid (?:value '(.*)'|UTF8)", re.DOTALL
)
# Numbers with a comma or a point before the fraction.
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d*,\d+([eE][-+]?\d+)?\s*")
_DECIMAL_POINT = re.compile(r"\s*[-+]?\d*\.\d+([eE][-+]?\d+)?\s*")
# Bytes of a block for records with line breaks; longer records are read without Arrow.
_LONG_BLOCK = 1 << 24


class _WrongValueError(FormatError):
    """A value is no number."""

    value = ""


def read(source: Source, options: ReadOptions, /) -> Graph:
    """Return the graph of a CSV file."""
    path = source.path
    head = read_head(source)
    if is_edge_list(head, options):
        with open_text(source) as text, suppress(LeadingZeroError):
            text.skip_lines(head.records[0].line - 1)  # comments, empty lines
            return build_graph(parse(text, grammar_of(text, options, remedy=_NAMES)), options)
    shape = shape_of(head, options, path)
    first = shape.rows[0] if shape.rows else None
    types = types_of(shape)
    if (plain := _read_plain(source, shape, types)) is not None:
        return build_graph(plain, options)
    try:
        table, line_of = _table_without_merged_ids(source, shape, types)
    except _WrongValueError as error:
        raise FormatError(error.reason, path=path, line=error.line) from None
    # A quoted heading means that the writer may quote every field.
    quoted_heading = shape.heading and any(field.quoted for field in head.records[0].fields)
    if quoted_heading and first is not None and ids_are_quoted(shape, first.fields):
        table = _as_integers(table)
    edges = edges_from_table(table, path, line_of=line_of)
    if edges.weights is not None and edges.weights.dtype.kind in "iu":
        edges.weights = narrow_integers(edges.weights)
    return build_graph(edges, options)


def _read_plain(source: Source, shape: CsvLayout, types: list[str]) -> EdgeIds | None:
    """Return the edges of a table of two columns with names, or None if a row needs another reader."""
    separator = shape.head.delimiter.decode()
    if types != ["string", "string"] or shape.fields > 2 or shape.places != [0, 1] or separator not in ",\t":
        return None
    plain = None
    with suppress(FormatError), open_text(source) as text:  # CSV has longer lines, and line ends in fields
        text.skip_lines(shape.rows[0].line - 1)
        plain = read_plain_names(text, separator)
    return None if plain is None else plain.edges(source.path)


def _table_without_merged_ids(source: Source, shape: CsvLayout, types: list[str]) -> tuple[Any, _LineOf]:
    """Return the table as `_table_with_exact_weights`, with strings as ids if a number has a leading zero."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if types[0] == "string" or not may_have_leading_zeros(source, shape.head.delimiter):
        return _table_with_exact_weights(source, shape, types)
    table, line_of = _table_with_exact_weights(source, shape, ["string", "string", *types[2:]])
    for ids in table.columns[:2]:
        begins = ids.filter(pc.starts_with(pc.ascii_ltrim_whitespace(ids), "0"))
        if pc.any(pc.match_substring_regex(begins, r"^\s*0\d")).as_py():
            warn_leading_zero(source.path)
            return table, line_of
    try:
        for place, name in enumerate(shape.chosen[:2]):
            table = table.set_column(place, name, table.column(place).cast(types[place]))
    except pa.ArrowInvalid:  # the reader of numbers raises the error for the row
        return _table_with_exact_weights(source, shape, types)
    return table, line_of


def _table_with_exact_weights(source: Source, shape: CsvLayout, types: list[str]) -> tuple[Any, _LineOf]:
    """Return the table as `_table`, with integer weights in the first type that holds all of them."""
    if types[2:] == ["int64"]:
        for dtype in ("int64", "uint64"):
            with suppress(FormatError):  # a weight may be too large or have a fraction
                return _table(source, shape, [*types[:2], dtype])
        types = [*types[:2], "float64"]
    try:
        return _table(source, shape, types)
    except _WrongValueError as error:
        if (
            types[2:] != ["float64"]
            or shape.head.delimiter != b";"
            or not _DECIMAL_COMMA.fullmatch(error.value)
        ):
            raise
        try:
            return _table(source, shape._replace(decimal_point=","), types)
        except _WrongValueError as other:
            # If the file has decimal commas and decimal points, one of both is wrong.
            raise error if _DECIMAL_POINT.fullmatch(other.value) else other from None


def _table(source: Source, shape: CsvLayout, types: list[str]) -> tuple[Any, _LineOf]:
    """Return the table, and a function that returns the line number of a row.

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
            raise _conversion_error(source, shape, types, newlines=newlines) from None
    if table is None or _has_blanks(table):
        columns, lines = read_columns(
            source, shape.head, shape.places, skip=int(shape.heading), count=shape.fields
        )
        casts = zip(columns, shape.places, types, strict=True)
        own = [_cast(*cast, shape, lines, source.path) for cast in casts]
        return pa.table(own, shape.chosen), lambda row: int(lines[row])
    return table.select(range(len(types))).rename_columns(shape.chosen), partial(_line_of, source, shape)


def _line_of(source: Source, shape: CsvLayout, row: int) -> int:
    """Return the line number of a row of Arrow."""
    if has_quotes(source):  # they may enclose line breaks
        return line_of_record(source, shape.head, row + shape.heading)
    return line_of_row(source, row, after=shape.rows[0].line - 1)


def _read_with_arrow(
    source: Source, shape: CsvLayout, types: list[str], *, newlines: bool, threads: bool = True
) -> Any:
    import pyarrow as pa
    from pyarrow import csv

    named = {str(place): pa.type_for_alias(alias) for place, alias in zip(shape.places, types, strict=True)}
    if shape.fields > len(shape.names):
        named[str(len(shape.names))] = pa.null()
    with source.open() as stream:
        for at in range(0, shape.begin, PART_BYTES):
            stream.read(min(PART_BYTES, shape.begin - at))
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


def _cast(column: Any, place: int, alias: str, shape: CsvLayout, lines: NDArray[Any], path: Path) -> Any:
    """Return a column of strings in another type."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = pa.type_for_alias(alias)
    if alias == "float64" and shape.decimal_point == ",":
        column = pc.replace_substring(pc.replace_substring(column, ".", "no number"), ",", ".")
    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        for row, value in enumerate(column):
            try:
                value.cast(kind)
            except pa.ArrowInvalid:
                raise _wrong_value(shape, place, alias, value.as_py(), path, int(lines[row])) from None
        raise


def _conversion_error(source: Source, shape: CsvLayout, types: list[str], *, newlines: bool) -> FormatError:
    """Return the error for a value of another type than its column."""
    import pyarrow as pa

    try:  # with one thread, the error names the row
        _read_with_arrow(source, shape, types, newlines=newlines, threads=False)
    except pa.ArrowInvalid as error:
        text = str(error)
    row = re.search(r"Row #(\d+)", text)
    line = None if row is None else _line_of(source, shape, int(row[1]) - 1)
    value = _CONVERSION.search(text)
    if value is None or value[3] is None:
        name = shape.names[int(value[1])] if value else shape.chosen[0]
        msg = f"expected UTF-8 text in column {name!r}; convert the file to UTF-8"
    elif (place := int(value[1])) not in shape.places:
        msg = f"expected {len(shape.names)} fields, as in the heading, found {value[3]!r} after them"
    else:
        alias = types[shape.places.index(place)]
        return _wrong_value(shape, place, alias, value[3], source.path, line)
    return FormatError(msg, path=source.path, line=line)


def _wrong_value(
    shape: CsvLayout, place: int, alias: str, value: str, path: Path, line: int | None
) -> _WrongValueError:
    """Return the error for a value that is no number."""
    kind = "integers" if "int" in alias else "numbers"
    remedy = "correct it, or quote string ids" if place in shape.places[:2] else "correct it"
    if _COMMA.fullmatch(value):
        remedy = "write numbers with a decimal point, or give Graph.from_pandas the table of pandas.read_csv"
    found = repr(value if len(value) <= 60 else value[:60] + "...")
    msg = f"expected {kind} in column {shape.names[place]!r}, as in its first row, found {found}; {remedy}"
    error = _WrongValueError(msg, path=path, line=line)
    error.value = value
    return error


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


FORMAT = Format(
    "CSV", (".csv",), read, write, stores_direction=False, stores_isolated=False, has_columns=True
)
