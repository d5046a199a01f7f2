"""CSV: a table with a heading of column names, or two or three bare columns of integers.

A CSV file has no place for comments, so it keeps the edges alone: give ``directed=False``, and `n` for
vertices without edges, when reading back what was written from such a graph. Ids in quotes below names
that are not are strings, whatever they look like, for strings are written so: "01" stays apart from "1".
Where names are in quotes as well, ids in quotes are integers if all of them are written as integers are.
"""

from __future__ import annotations

import csv as plain_csv
import io
import logging
import re
from typing import TYPE_CHECKING, Any

from evener.errors import FormatError
from evener.graph.formats.columns import choose, edges_of_table, tables
from evener.graph.formats.edgelist import Heading, read_numbers
from evener.graph.formats.edges import graph_of, isolated, narrowed
from evener.graph.formats.file import compressing
from evener.graph.formats.ids import refuse_names
from evener.graph.formats.registry import Format
from evener.graph.formats.text_stream import opened
from evener.system.files import replacing

if TYPE_CHECKING:
    from pathlib import Path

    from evener.graph.formats.edges import Wishes
    from evener.graph.formats.file import Source
    from evener.graph.graph import Graph

__all__ = ["FORMAT"]

_log = logging.getLogger("evener")
_INTEGER = re.compile(r"[-+]?\d+")
# As pandas writes integers in a column where one was missing.
_WHOLE = re.compile(r"[-+]?\d+(\.0*)?")


def read(source: Source, wishes: Wishes, /) -> Graph:
    """Read a CSV file."""
    source.check()
    with opened(source) as text:
        first = _decoded(text.peek(), source.path)
        delimiter = next((d for d in ",;\t|" if d in first), ",")
        names = _fields(first, delimiter, source.path, text.line + 1)
        bare = len(names) > 1 and all(_INTEGER.fullmatch(name.strip()) for name in names[:2])
        if bare and wishes.columns is None and delimiter in ",\t":
            return graph_of(read_numbers(text, wishes, Heading()), wishes, source.path)
        bare = bare or (wishes.columns is not None and all(isinstance(c, int) for c in wishes.columns))
        if bare:
            names = [f"f{i}" for i in range(len(names))]
        else:
            text.skip()
        chosen = choose(names, wishes, source.path)
        row = _decoded(text.peek(), source.path)
        sample = _fields(row, delimiter, source.path, text.line + 1)
    if len(set(names)) != len(names):
        raise FormatError("two columns have the same name", path=source.path, line=1)
    raw = _raw(row, delimiter)
    fits = len(sample) == len(raw) == len(names)
    places = [names.index(name) for name in chosen]
    values = [sample[place].strip() if fits else "0" for place in places]
    # Where names are in quotes as well, so may be everything.
    quoted = not bare and fits and all(raw[place].startswith('"') for place in places[:2])
    undecided = quoted and any(name.startswith('"') for name in _raw(first, delimiter))
    # The first row decides what ids are, so that one bad id does not turn all of them into strings.
    kind = "string"
    if not quoted and all(_WHOLE.fullmatch(value) for value in values[:2]):
        kind = "int64" if all(_INTEGER.fullmatch(value) for value in values[:2]) else "float64"
    types = [kind, kind] + (
        ["int64" if _INTEGER.fullmatch(values[2]) else "float64"] if len(values) > 2 else []
    )
    table: Any = None
    while types[2:] in (["int64"], ["uint64"]) and table is None:
        try:
            table = _table(source, names, dict(zip(chosen, types, strict=True)), delimiter, heading=not bare)
        except FormatError:  # perhaps because of a weight that is larger, or not whole
            types[2] = "uint64" if types[2] == "int64" else "float64"
    if table is None:
        table = _table(source, names, dict(zip(chosen, types, strict=True)), delimiter, heading=not bare)
    if undecided:
        table = _as_integers(table)
    edges = edges_of_table(table, source.path, first_line=1 if bare else 2)
    if types[2:] in (["int64"], ["uint64"]) and edges.weights is not None:
        edges.weights = narrowed(edges.weights)
    return graph_of(edges, wishes, source.path)


def _as_integers(table: Any) -> Any:
    """The same table with integers for ids, if no two that differ would be one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for place in (0, 1):
        if not pc.all(pc.match_substring_regex(table.column(place), r"^(0|[1-9]\d{0,17})$")).as_py():
            return table
    for place, name in enumerate(table.column_names[:2]):
        table = table.set_column(place, name, table.column(place).cast(pa.int64()))
    return table


def _fields(line: str, delimiter: str, path: Path, number: int) -> list[str]:
    """Split a line into its fields, without the quotes around them."""
    try:
        return next(plain_csv.reader(io.StringIO(line), delimiter=delimiter), [])
    except plain_csv.Error as error:
        what = "a carriage return is within it: end lines by line feeds" if "\r" in line else str(error)
        msg = f"expected a row of fields parted by {delimiter!r}, but {what}"
        raise FormatError(msg, path=path, line=number) from error


def _raw(line: str, delimiter: str) -> list[str]:
    """Split a line into its fields, with the quotes around them."""
    end = re.escape(delimiter)
    return re.findall(rf'(?:^|{end})("(?:[^"]|"")*"[^{end}]*|[^{end}]*)', line)


def _decoded(line: bytes | None, path: Path) -> str:
    try:
        return (line or b"").removeprefix(b"\xef\xbb\xbf").decode()
    except UnicodeDecodeError as error:
        raise FormatError(f"expected UTF-8 text, but {error.reason} came", path=path, line=1) from error


def _table(source: Source, names: list[str], types: dict[str, str], delimiter: str, *, heading: bool) -> Any:
    import pyarrow as pa
    from pyarrow import csv

    def attempt(*, threads: bool) -> Any:
        with source.reading(), pa.input_stream(str(source.path), compression=source.compression) as stream:
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
        try:  # on one thread Arrow knows the row
            return attempt(threads=False)
        except pa.ArrowInvalid as error:
            row = re.search(r"Row #(\d+)", str(error))
            msg = _said(str(error).splitlines()[0], names, types)
            raise FormatError(msg, path=source.path, line=int(row[1]) if row else None) from error


def _said(error: str, names: list[str], types: dict[str, str]) -> str:
    """What Arrow says of a row, in our words."""
    value = re.search(r"In CSV column #(\d+): .*error to (\w+): invalid (?:value '(.*)'|UTF8)", error)
    if value is None:
        return f"expected {len(names)} fields, as in the first row; {re.sub(r' *Row #[0-9]+: *', ' ', error)}"
    name = names[int(value[1])]
    if value[3] is None:
        return f"expected UTF-8 text in column {name!r}: convert the file to UTF-8"
    kind = "integers" if "int" in types[name] else "numbers"
    ids = "; put ids in quotes where they are names" if name in list(types)[:2] else ""
    return f"column {name!r} holds {kind} by its first row, but {value[3]!r} came: mend it{ids}"


def write(graph: Graph, target: Path, compression: str | None, /) -> None:
    """Write a CSV file with the columns src, dst and, if there are weights, weight."""
    from pyarrow import csv

    why = "a CSV file: a line break ends a row, and nothing is no name; write .parquet, .arrow or .evg"
    refuse_names(graph, r"[\r\n]|^$", why)
    names = "src,dst" if graph.weights is None else "src,dst,weight"
    with replacing(target) as temporary, compressing(temporary, compression) as sink:
        sink.write(f"{names}\n".encode())
        for table in tables(graph, untyped=True):
            csv.write_csv(table, sink, csv.WriteOptions(include_header=False, quoting_style="needed"))
    if alone := len(isolated(graph)):
        what = "1 vertex without edges is" if alone == 1 else f"{alone:,} vertices without edges are"
        _log.warning("%s: %s not in it; write .parquet, .arrow or .evg to keep them all", target, what)


FORMAT = Format("CSV", (".csv",), read, write, tells_direction=False)
