"""CSV files: a table with a header row, or two or three columns of integers without a header.

A CSV file stores edges only. To read back an undirected graph, give ``directed=False``; to keep vertices
without edges, give `n`. If only the ids are in quotes, the ids are strings: "01" and "1" differ. If the
header is in quotes as well, quoted ids are integers if all of them are plain integers.
"""

from __future__ import annotations

import csv as plain_csv
import io
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from evener.errors import FormatError
from evener.graph.formats.columns import choose_columns, edges_from_table, tables
from evener.graph.formats.edgelist import read_numbers
from evener.graph.formats.edgelist_heading import Heading
from evener.graph.formats.edges import build_graph, narrow_integers
from evener.graph.formats.file import open_compressed
from evener.graph.formats.ids import refuse_names
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

_INTEGER = re.compile(r"[-+]?\d+")
# Integers as pandas writes them in a column with missing values.
_WHOLE = re.compile(r"[-+]?\d+(\.0*)?")


def read(source: Source, options: ReadOptions, /) -> Graph:
    """Return the graph of a CSV file."""
    source.check()
    path = source.path
    with open_text(source) as text:
        first = _decode(text.peek(), path)
        delimiter = next((d for d in ",;\t|" if d in first), ",")
        fields = _split(first, delimiter, path, text.line + 1)
        bare = len(fields) > 1 and all(_INTEGER.fullmatch(field.strip()) for field in fields[:2])
        if bare and options.columns is None and delimiter in ",\t":
            return build_graph(read_numbers(text, options, Heading()), options, path)
        by_position = options.columns is not None and all(isinstance(c, int) for c in options.columns)
        heading = not (bare or by_position)
        names = fields if heading else [f"f{i}" for i in range(len(fields))]
        if heading:
            text.skip()
        chosen = choose_columns(names, options, path)
        row = _decode(text.peek(), path)
        sample = _split(row, delimiter, path, text.line + 1)
    if len(set(names)) != len(names):
        raise FormatError("expected distinct column names, found two that are equal", path=path, line=1)
    values, ids_in_quotes = _first_values(row, sample, delimiter, names, chosen)
    # A quoted header means that the writer may quote every field.
    quoted = heading and ids_in_quotes
    undecided = quoted and any(name.startswith('"') for name in _split_quoted(first, delimiter))
    types = dict(zip(chosen, _types_of(values, quoted=quoted), strict=True))
    table = _table_with_exact_weights(source, names, types, delimiter, heading=heading)
    edges = edges_from_table(_as_integers(table) if undecided else table, path, first_line=1 + heading)
    if edges.weights is not None and edges.weights.dtype.kind in "iu":
        edges.weights = narrow_integers(edges.weights)
    return build_graph(edges, options, path)


def _first_values(
    row: str, sample: list[str], delimiter: str, names: list[str], chosen: Sequence[str]
) -> tuple[list[str], bool]:
    """Return the chosen fields of the first row of values, and whether both ids are in quotes.

    If the row has a wrong number of fields, the fields are "0", and Arrow reports the row.
    """
    raw = _split_quoted(row, delimiter)
    if not len(sample) == len(raw) == len(names):
        return ["0"] * len(chosen), False
    places = [names.index(name) for name in chosen]
    return [sample[place].strip() for place in places], all(
        raw[place].startswith('"') for place in places[:2]
    )


def _types_of(values: list[str], *, quoted: bool) -> list[str]:
    """Return the types of the chosen columns.

    The first row sets the id type, so one malformed id cannot turn all ids into strings.
    """
    kind = "string"
    if not quoted and all(_WHOLE.fullmatch(value) for value in values[:2]):
        kind = "int64" if all(_INTEGER.fullmatch(value) for value in values[:2]) else "float64"
    return [kind, kind, *("int64" if _INTEGER.fullmatch(value) else "float64" for value in values[2:])]


def _table_with_exact_weights(
    source: Source, names: list[str], types: dict[str, str], delimiter: str, *, heading: bool
) -> Any:
    """Return the table, with integer weights in the first type that holds all of them."""
    if list(types.values())[2:] == ["int64"]:
        weight = list(types)[2]
        for dtype in ("int64", "uint64"):
            with suppress(FormatError):  # a weight may be too large or have a fraction
                return _table(source, names, {**types, weight: dtype}, delimiter, heading=heading)
        types = {**types, weight: "float64"}
    return _table(source, names, types, delimiter, heading=heading)


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


def _split(line: str, delimiter: str, path: Path, number: int) -> list[str]:
    """Return the fields of a line without quotes."""
    try:
        return next(plain_csv.reader(io.StringIO(line), delimiter=delimiter), [])
    except plain_csv.Error as error:
        cause = "it holds a carriage return; use line feeds" if "\r" in line else str(error)
        msg = f"expected a row of fields separated by {delimiter!r}, but {cause}"
        raise FormatError(msg, path=path, line=number) from error


def _split_quoted(line: str, delimiter: str) -> list[str]:
    """Return the fields of a line with quotes."""
    end = re.escape(delimiter)
    return re.findall(rf'(?:^|{end})("(?:[^"]|"")*"[^{end}]*|[^{end}]*)', line)


def _decode(line: bytes | None, path: Path) -> str:
    try:
        return (line or b"").removeprefix(b"\xef\xbb\xbf").decode()
    except UnicodeDecodeError as error:
        raise FormatError(f"expected UTF-8 text, found {error.reason}", path=path, line=1) from error


def _table(source: Source, names: list[str], types: dict[str, str], delimiter: str, *, heading: bool) -> Any:
    import pyarrow as pa
    from pyarrow import csv

    def attempt(*, threads: bool) -> Any:
        with (
            source.translate_errors(),
            pa.input_stream(str(source.path), compression=source.compression) as stream,
        ):
            return csv.read_csv(
                stream,
                read_options=csv.ReadOptions(column_names=names, skip_rows=int(heading), use_threads=threads),
                parse_options=csv.ParseOptions(delimiter=delimiter, ignore_empty_lines=True),
                convert_options=csv.ConvertOptions(
                    column_types={name: pa.type_for_alias(alias) for name, alias in types.items()},
                    include_columns=list(types),
                    null_values=[""],
                    strings_can_be_null=True,
                ),
            )

    try:
        return attempt(threads=True)
    except pa.ArrowInvalid:
        try:  # with one thread, the error names the row
            return attempt(threads=False)
        except pa.ArrowInvalid as error:
            row = re.search(r"Row #(\d+)", str(error))
            msg = _describe_error(str(error).splitlines()[0], names, types)
            raise FormatError(msg, path=source.path, line=int(row[1]) if row else None) from error


def _describe_error(error: str, names: list[str], types: dict[str, str]) -> str:
    """Return the message for an error of Arrow in a row."""
    value = re.search(r"In CSV column #(\d+): .*error to (\w+): invalid (?:value '(.*)'|UTF8)", error)
    if value is None:
        return f"expected {len(names)} fields, as in the first row; {re.sub(r' *Row #[0-9]+: *', ' ', error)}"
    name = names[int(value[1])]
    if value[3] is None:
        return f"expected UTF-8 text in column {name!r}; convert the file to UTF-8"
    kind = "integers" if "int" in types[name] else "numbers"
    remedy = "correct it, or quote string ids" if name in list(types)[:2] else "correct it"
    return f"expected {kind} in column {name!r}, as in its first row, found {value[3]!r}; {remedy}"


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
