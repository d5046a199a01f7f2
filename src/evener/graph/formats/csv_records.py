"""Records of CSV files: fields with blanks around them, quotes after blanks, and line breaks in quotes.

The CSV reader uses these functions for the first records of a file, and for files that Arrow does not split.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.errors import FormatError
from evener.graph.arrow import find_edge_columns
from evener.graph.formats.file import PART_BYTES, require_part
from evener.graph.formats.text_stream import refuse_binary

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from evener.graph.formats.file import Source

__all__ = ["Field", "Head", "Record", "may_have_leading_zeros", "read_columns", "read_head"]

# Records to look at before the file is read.
_RECORDS = 20
# Bytes of the first read; each further read doubles the bytes.
_HEAD_BYTES = 1 << 16
# Bytes per step of the search for leading zeros.
_STEP_BYTES = 1 << 17
# Records per piece of an Arrow column.
_PIECE = 1 << 16
_DELIMITERS = (b",", b";", b"\t", b"|", b" ")
# A comment before the first row, or Excel's line about the delimiter. An id such as "#tag" has no blank.
_COMMENT = re.compile(rb"""(?:[#%](?:[ \t#%][^\n]*)?|"?sep=([^"\w])"?\r?)\n""", re.IGNORECASE)
_QUOTED = re.compile(rb'"[^"]*"')
_SEPARATOR = re.compile("[,;\t|]")
# A number with a decimal comma, between semicolons.
_DECIMAL_COMMA = re.compile(rb"\s*[-+]?\d+,\d+\s*")


class Field(NamedTuple):
    """One field: its text without quotes, and whether it had quotes."""

    text: bytes
    quoted: bool


class Record(NamedTuple):
    """One record: its fields, its first line from 1, and its first and last byte."""

    fields: list[Field]
    line: int
    start: int
    stop: int


class Head(NamedTuple):
    """The first records of a file, and the delimiter of all records."""

    records: list[Record]
    delimiter: bytes


def read_head(source: Source) -> Head:
    """Return the first records of a CSV file.

    Raises
    ------
    FormatError
        If the file is empty, is no text, or breaks the rules of quotes.
    """
    with source.stream() as stream:
        data, more = b"", _HEAD_BYTES
        while True:
            require_part(len(data), source.path)
            piece = bytearray(more)
            count = stream.readinto(memoryview(piece))
            data += bytes(memoryview(piece)[:count])
            whole = count < more
            refuse_binary(data, source.path)
            begin, _, stated = _first_row(data)
            line = _QUOTED.sub(b"", data[begin:].lstrip(b"\r\n")).split(b"\n", 1)[0].strip()
            delimiter = stated or _delimiter_of(line)
            found = _first_records(data, delimiter, source.path, whole=whole)
            if whole or len(found) == _RECORDS:
                break
            more = len(data)
    if not found:
        raise FormatError("expected a graph, but the file is empty", path=source.path)
    return Head(found, delimiter)


def _delimiter_of(line: bytes) -> bytes:
    """Return the delimiter of a row without its quoted fields."""
    first = line.split(b";", 1)[0]
    commas_are_decimal = b"," not in first or _DECIMAL_COMMA.fullmatch(first)
    if line.count(b";") > line.count(b",") and commas_are_decimal:
        return b";"
    return next((d for d in _DELIMITERS if d in line), b",")


def read_columns(source: Source, head: Head, places: Sequence[int], *, skip: int, count: int) -> list[Any]:
    """Return columns of a CSV file as Arrow strings; an empty field is null.

    Parameters
    ----------
    source : Source
    head : Head
    places : sequence of int
        The places of the columns.
    skip : int
        Records to skip.
    count : int
        Fields of each record.

    Raises
    ------
    FormatError
        If a record has another number of fields, breaks the rules of quotes, or is not UTF-8.
    """
    import pyarrow as pa

    data = source.read_bytes()
    chunks: list[list[Any]] = [[] for _ in places]
    rows: list[list[bytes | None]] = [[] for _ in places]
    for number, record in enumerate(_records(data, head.delimiter, source.path, whole=True)):
        if number < skip:
            continue
        fields = record.fields
        if len(fields) != count:
            found = repr(data[record.start : record.stop][:60].decode("utf-8", "replace").strip())
            msg = f"expected {count} fields, as in the first row, found {len(fields)} in {found}"
            raise FormatError(msg, path=source.path, line=record.line)
        for row, place in zip(rows, places, strict=True):
            row.append(fields[place].text or None)
        if len(rows[0]) == _PIECE:
            require_part(PART_BYTES, source.path)
            for chunk, row in zip(chunks, rows, strict=True):
                chunk.append(pa.array(row, pa.binary()))
                row.clear()
    for chunk, row in zip(chunks, rows, strict=True):
        chunk.append(pa.array(row, pa.binary()))
    try:
        return [pa.chunked_array(chunk).cast(pa.string()) for chunk in chunks]
    except pa.ArrowInvalid as error:
        raise FormatError("expected UTF-8 text; convert the file to UTF-8", path=source.path) from error


def may_have_leading_zeros(source: Source, delimiter: bytes) -> bool:
    """Return false if no field of a CSV file begins with 0 and another digit: Arrow reads 0501 as 501."""
    room = np.full(_STEP_BYTES + 2, ord("\n"), np.uint8)  # the last two bytes of a step begin the next
    with source.stream() as stream:
        while count := stream.readinto(memoryview(room.data)[2:]):
            before, zero, after = room[:count], room[1 : count + 1], room[2 : count + 2]
            begins = (before < ord("-")) | (before == ord(delimiter))  # after a blank, quote, comma or plus
            if (begins & (zero == ord("0")) & (after - np.uint8(ord("0")) <= 9)).any():
                return True
            room[:2] = room[count : count + 2]
    return False


def _first_records(data: bytes, delimiter: bytes, path: Path, *, whole: bool) -> list[Record]:
    found: list[Record] = []
    for record in _records(data, delimiter, path, whole=whole):
        found.append(record)
        if len(found) == _RECORDS:
            break
    return found


def _records(data: bytes, delimiter: bytes, path: Path, *, whole: bool) -> Iterator[Record]:
    """Yield the records of a text without empty lines; `whole` is false if the file goes on."""
    separator, ends = re.escape(delimiter), re.escape(delimiter)
    margin = b""  # blanks at the begin of a line, if blanks separate fields
    if delimiter == b" ":
        separator, ends, margin = rb"[ \t]++(?=[^ \t\r\n])", rb" \t", rb"[ \t]*+"
    # Possessive repeats need linear time only.
    blanks = b"[" + b" \t".replace(delimiter, b"") + b"]*+"
    quoted_field = blanks + rb'"([^"]*+(?:""[^"]*+)*+)"' + blanks
    plain_field = blanks + rb"([^" + ends + rb"\r\n]*+)"
    follows = rb"(?:(" + separator + rb")|" + margin + rb"(?:\r?\n|\Z))"
    field = re.compile(b"(?:" + quoted_field + b"|" + plain_field + b")" + follows)
    at, line, _ = _first_row(data)
    while at < len(data):
        start, fields, more = at, [], True
        while margin and data[at : at + 1] in (b" ", b"\t"):
            at += 1
        while more:
            match = field.match(data, at)
            quoted, plain = (None, b'"') if match is None else match.group(1, 2)
            if match is None or (plain is not None and plain.startswith(b'"')):
                if whole:
                    raise FormatError(_damage(data, at), path=path, line=line)
                return
            more, at = match[3] is not None, match.end()
            if quoted is None:
                fields.append(Field(plain.rstrip(b" \t"), quoted=False))
            else:
                fields.append(Field(quoted.replace(b'""', b'"'), quoted=True))
        if not whole and not data.endswith(b"\n", start, at):
            return
        if len(fields) > 1 or fields[0].text or fields[0].quoted:
            yield Record(fields, line, start, at)
        line += data.count(b"\n", start, at)


def _first_row(data: bytes) -> tuple[int, int, bytes | None]:
    """Return where the first row begins, its line, and the delimiter if a line before it states one."""
    at, line, delimiter = len(BOM_UTF8) if data.startswith(BOM_UTF8) else 0, 1, None
    while (comment := _COMMENT.match(data, at)) and not _has_column_names(comment[0]):
        at, line, delimiter = comment.end(), line + 1, comment[1] or delimiter
    return at, line, delimiter


def _has_column_names(line: bytes) -> bool:
    """Return whether a line is a heading. Its first column may have the name "#"."""
    names = _SEPARATOR.split(line.decode("utf-8", "replace").strip())
    return bool(find_edge_columns(names))


def _damage(data: bytes, at: int) -> str:
    """Return the message for a field that breaks the rules."""
    row = data[at : data.find(b"\n", at) % (len(data) + 1)]
    if b"\r" in row and not row.lstrip(b" \t").startswith(b'"'):
        return "expected a row of fields, but it holds a carriage return; use line feeds"
    found = repr(row[:60].decode("utf-8", "replace").strip())
    return f"expected a closing quote before the next separator, found {found}; double each quote in a field"
