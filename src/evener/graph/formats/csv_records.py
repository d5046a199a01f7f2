"""Records of CSV files: fields with blanks around them, quotes after blanks, and line breaks in quotes.

The CSV reader uses these functions for the first records of a file, and for files that Arrow does not split.
"""

from __future__ import annotations

import re
from array import array
from codecs import BOM_UTF8
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.errors import FormatError
from evener.graph.arrow import find_edge_columns
from evener.graph.formats.file import PART_BYTES, require_part
from evener.graph.formats.text_stream import FIRST_LINES, is_utf8, refuse_binary

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from evener.graph.formats.file import Source

__all__ = [
    "Field",
    "Head",
    "Record",
    "has_quotes",
    "line_of_record",
    "may_have_leading_zeros",
    "read_columns",
    "read_head",
]

# Records to look at before the file is read; fewer if they have many fields.
_RECORDS, _FIELDS = 20, 100_000
# Bytes of the first read; each further read doubles the bytes.
_HEAD_BYTES = 1 << 16
# Largest bytes of the first record, and of a read of empty lines.
_MAX_RECORD_BYTES, _MAX_STEP_BYTES = 1 << 26, 1 << 24
# Bytes per step of the search for leading zeros.
_STEP_BYTES = 1 << 17
# Records per piece of an Arrow column.
_PIECE = 1 << 16
_DELIMITERS = (b",", b";", b"\t", b"|", b" ")
# A comment before the first row, or Excel's line about the delimiter. An id such as "#tag" has no blank.
_COMMENT = re.compile(rb"""(?:[#%](?:[ \t#%][^\n]*)?\r?|"?sep=([^"\w])"?\r?)\n""", re.IGNORECASE)
# Many of them, and empty lines.
_COMMENTS = re.compile(rb"(?:\n++|[ \t\r]++\n|[#%](?:[ \t#%\r][^\n]*+)?\n)*+")
_EMPTY_LINES = re.compile(rb"(?:\n++|[ \t\r]++\n)*+")
_QUOTED = re.compile(rb'"[^"]*"')
_SEPARATOR = re.compile("[,;\t|]")
# A number with a decimal comma, between semicolons.
_DECIMAL_COMMA = re.compile(rb"\s*[-+]?\d+,\d+\s*")


class Field(NamedTuple):
    """One field: its text without quotes, and whether it had quotes."""

    text: bytes
    quoted: bool


class Record(NamedTuple):
    """One record: its fields, its first line from 1, its bytes, and whether the text ends within it."""

    fields: list[Field]
    line: int
    start: int
    stop: int
    cut: bool


class Head(NamedTuple):
    """The first records of a file, and the delimiter of all records."""

    records: list[Record]
    delimiter: bytes


def read_head(source: Source) -> Head:
    """Return the first records of a CSV file."""
    path = source.path
    with source.stream() as stream:
        # The text from byte `begin` on, which `above` lines precede.
        data, begin, above, stated = b"", 0, 0, None
        more, total = _HEAD_BYTES, 0
        while True:
            require_part(len(data), path)
            piece = bytearray(more)
            count = stream.readinto(memoryview(piece))
            whole = count < more
            data += bytes(memoryview(piece)[:count])
            if not total:
                refuse_binary(data, path)
                begin = len(BOM_UTF8) if data.startswith(BOM_UTF8) else 0
                data = data[begin:]
            total += count
            at, lines, delimiter = _first_row(data)
            data, begin, above, stated = data[at:], begin + at, above + lines, delimiter or stated
            line = _QUOTED.sub(b"", data).split(b"\n", 1)[0].rstrip(b"\r")
            delimiter = stated or _delimiter_of(line)
            found = _first(_records(data, delimiter, path, whole=whole, line=above + 1))
            if whole or _suffice(found):
                break
            if not found and len(data) > _MAX_RECORD_BYTES:
                msg = f"expected rows of at most {_MAX_RECORD_BYTES >> 20} MiB, found a longer row"
                raise FormatError(f"{msg}; look for a quote that is not closed", path=path, line=above + 1)
            more = max(total, _HEAD_BYTES) if data else _MAX_STEP_BYTES
    if not found:
        raise FormatError("expected a graph, but the file is empty", path=path)
    moved = [one._replace(start=one.start + begin, stop=one.stop + begin) for one in found]
    return Head(moved, delimiter)


def _first(records: Iterator[Record]) -> list[Record]:
    found: list[Record] = []
    for record in records:
        found.append(record)
        if _suffice(found):
            break
    return found


def _suffice(found: list[Record]) -> bool:
    """Return whether the first records show the layout of a file."""
    return len(found) == _RECORDS or (len(found) > 2 and len(found) * len(found[-1].fields) > _FIELDS)


def _delimiter_of(line: bytes) -> bytes:
    """Return the delimiter of a row without its quoted fields."""
    first = line.split(b";", 1)[0]
    commas_are_decimal = b"," not in first or _DECIMAL_COMMA.fullmatch(first)
    if line.count(b";") > line.count(b",") and commas_are_decimal:
        return b";"
    return next((d for d in _DELIMITERS if d in line), b",")


def has_quotes(source: Source) -> bool:
    """Return whether a CSV file has a quote."""
    piece = bytearray(PART_BYTES)
    with source.stream() as stream:
        while count := stream.readinto(memoryview(piece)):
            if piece.find(b'"', 0, count) >= 0:
                return True
    return False


def line_of_record(source: Source, head: Head, number: int) -> int:
    """Return the line number of a record of a CSV file, from its number."""
    records = _all_records(source, head)
    return next(islice(records, number, None)).line


def read_columns(
    source: Source, head: Head, places: Sequence[int], *, skip: int, count: int
) -> tuple[list[Any], NDArray[np.int64]]:
    """Return the columns at some places as Arrow strings, and the line number of each row.

    An empty field is null. A row may have empty fields after the others, or lack the last ones. `skip`
    records precede the first row, and the first record has `count` fields.

    Raises
    ------
    FormatError
        If a record has more fields, lacks a tail or head, breaks the rules of quotes, or is not UTF-8.
    """
    import pyarrow as pa

    chunks: list[list[Any]] = [[] for _ in places]
    rows: list[list[bytes | None]] = [[] for _ in places]
    lines = array("q")
    for record in islice(_all_records(source, head), skip, None):
        fields = record.fields
        short = len(fields) <= max(places[:2]) or (len(fields) < count and record.cut)
        if short or any(field.text for field in fields[count:]):
            found = repr(head.delimiter.join(field.text for field in fields)[:60].decode("utf-8", "replace"))
            msg = f"expected {count} fields, as in the first row, found {len(fields)} in {found}"
            msg += "; the file ends within this row, so download it again" if record.cut else ""
            raise FormatError(msg, path=source.path, line=record.line)
        lines.append(record.line)
        for row, place in zip(rows, places, strict=True):
            row.append((fields[place].text or None) if place < len(fields) else None)
        if len(rows[0]) == _PIECE:
            require_part(PART_BYTES, source.path)
            for chunk, row in zip(chunks, rows, strict=True):
                chunk.append(pa.array(row, pa.binary()))
                row.clear()
    for chunk, row in zip(chunks, rows, strict=True):
        chunk.append(pa.array(row, pa.binary()))
    columns = [pa.chunked_array(chunk) for chunk in chunks]
    try:
        return [column.cast(pa.string()) for column in columns], np.asarray(lines)
    except pa.ArrowInvalid:
        values = zip(*columns, strict=True)
        wrong = next(i for i, row in enumerate(values) if not all(is_utf8(one.as_py() or b"") for one in row))
        msg = "expected UTF-8 text; convert the file to UTF-8"
        raise FormatError(msg, path=source.path, line=lines[wrong]) from None


def _all_records(source: Source, head: Head) -> Iterator[Record]:
    """Yield the records of a CSV file, the heading included."""
    data = source.read_bytes()[head.records[0].start :]
    return _records(data, head.delimiter, source.path, whole=True, line=head.records[0].line)


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


def _records(data: bytes, delimiter: bytes, path: Path, *, whole: bool, line: int) -> Iterator[Record]:
    """Yield the records of a text without empty lines.

    The text begins with a line of this number. `whole` is false if the file goes on.
    """
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
    at = 0
    while at < len(data):
        empty = _EMPTY_LINES.match(data, at).end()  # type: ignore[union-attr] # matches nothing, too
        line, at = line + data.count(b"\n", at, empty), empty
        if at == len(data):
            return
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
            yield Record(fields, line, start, at, not data.endswith(b"\n", start, at))
        line += data.count(b"\n", start, at)


def _first_row(data: bytes) -> tuple[int, int, bytes | None]:
    """Return where the first row begins, the lines before it, and the delimiter if one of them states it."""
    at, delimiter = 0, None
    for _ in range(FIRST_LINES):
        at = _EMPTY_LINES.match(data, at).end()  # type: ignore[union-attr] # matches nothing, too
        comment = _COMMENT.match(data, at)
        if comment is None or _has_column_names(comment[0]):
            return at, data.count(b"\n", 0, at), delimiter
        at, delimiter = comment.end(), comment[1] or delimiter
    at = _COMMENTS.match(data, at).end()  # type: ignore[union-attr] # matches nothing, too
    last = data.rfind(b"\n", 0, at - 1) + 1
    at = last if _has_column_names(data[last:at]) else at
    return at, data.count(b"\n", 0, at), delimiter


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
