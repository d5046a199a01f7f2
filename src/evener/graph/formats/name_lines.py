"""Fields of text lines with names: separators, quotes, and blanks in names.

If the first line has a tab, tabs separate the fields of all lines, and names may hold blanks and commas. If
it has a comma instead, commas separate the fields. Fields after tail and head may then be empty, and a line
may lack the last ones. Otherwise, or if the lines then differ in their numbers of fields, blanks, tabs and
commas all separate fields. A field in double quotes is one field.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evener.errors import FormatError
from evener.graph.arrow import find_edge_columns
from evener.graph.formats.file import require_part
from evener.graph.formats.text_part import parse_in_parts, part_of
from evener.graph.formats.text_stream import is_utf8, open_text
from evener.system import memory
from evener.system.agreement import on_all_ranks

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from evener.graph.formats.file import Source
    from evener.system.world import World

__all__ = ["NUMBER", "TextFields", "is_header_row", "read_fields"]

# A number without blanks, as a field.
NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?|[-+]?(nan|inf(inity)?)", re.IGNORECASE)

_ANY = r"[ \t]*,[ \t]*|[ \t]+"
# Separators of one kind, and signs that a line has another separator too.
_ONE_KIND = {"\t": r" *\t *", ",": r"[ \t]*,[ \t]*"}
_MIXED = {"\t": r"[^\t ] +[^\t ]|,", ",": r"[^, \t][ \t]+[^, \t]"}
_WORDS = {"\t": "tabs", ",": "commas"}
# A field that a quote begins or not, and the separator after it; possessive repeats need linear time only.
_QUOTED = r'"([^"]*+(?:""[^"]*+)*+)"'
_FIELD = {
    "\t": re.compile(rf'(?:{_QUOTED} *+|((?!")[^\t]*+))(?:\t *+|$)'),
    ",": re.compile(rf'(?:{_QUOTED}[ \t]*+|((?!")[^,]*+))(?:,[ \t]*+|$)'),
    "": re.compile(rf'(?:{_QUOTED}|((?!")[^ \t,]*+))(?:[ \t]*+,[ \t]*+|[ \t]++|$)'),
}

# Fields of one text may need this many times the memory of the text.
_FIELD_COPIES = 3


class TextFields(NamedTuple):
    """The fields of the lines of a text.

    `columns` has the first three fields of the lines, or two, by column, as Arrow strings. `first` has all
    fields of the first line of the file, and `third` is the first third field that is not empty. `line` has
    the line number of each row, from 1; `last_line` is the last one of the text, and `cut` says whether that
    line has no newline.
    """

    columns: list[Any]
    first: list[str]
    third: str
    line: NDArray[np.intp]
    last_line: int
    cut: bool


def read_fields(world: World, source: Source, *, line: int, offset: int) -> TextFields:
    """Return the fields of this rank's lines of a text with names.

    `line` lines precede byte `offset`, from which ranks read on. This is a collective operation; all ranks
    must call it.

    Raises
    ------
    FormatError
        If a line has more fields than the first, or fewer unless tabs or commas separate them. If a line has
        an unclosed quote, or no tail or head. If the separators have two meanings. With several ranks, also
        for quotes, and for names with blanks or commas.
    """
    if source.compression is not None:  # one process reads all lines
        part, line = source, 0
    else:
        part = part_of(world, source, offset=offset)
    text, own, count, cut = parse_in_parts(world, lambda: _read_lines(part), line=line)
    counts = world.allgather(count)
    own += line + sum(counts[: world.rank])
    begin = next((one for one in world.allgather(text[0].as_py() if len(text) else None) if one), "")

    def split() -> Any:
        memory.require(_FIELD_COPIES * text.nbytes, f"the fields of {source.path}")
        if world.size > 1:
            _refuse_several_kinds(text, _separator_of(begin), own, source.path)
        return _choose_fields(text, begin, own, source.path) if len(text) else (None, "")

    fields, separator = on_all_ranks(world, split)
    firsts = world.allgather(None if fields is None else fields[0].as_py())
    first: list[str] = next((one for one in firsts if one is not None), [])

    def columns_of() -> list[Any]:
        if fields is None:
            return [pa.chunked_array([], pa.string())] * min(max(len(first), 2), 3)
        return _columns(text, fields, len(first), separator, own, source.path, cut=cut)

    columns = on_all_ranks(world, columns_of)
    third = next((one for one in world.allgather(_third(columns)) if one), "")
    return TextFields(columns, first, third, own, line + sum(counts), any(world.allgather(cut)))


def _refuse_several_kinds(text: Any, separator: str, line: NDArray[np.intp], path: Path) -> None:
    """Raise `FormatError` for a line with quotes, or with a second kind of separator."""
    signs = rf'"|{_MIXED[separator]}' if separator else '"'
    several = np.flatnonzero(pc.match_substring_regex(text, signs).to_numpy())
    if len(several):
        msg = (
            "expected fields without quotes and one kind of separator, because several ranks read the "
            f"file, found {text[int(several[0])].as_py()[:60]!r}; convert the file with evener convert"
        )
        raise FormatError(msg, path=path, line=int(line[several[0]]))


def _third(columns: list[Any]) -> str:
    """Return the first field of a third column that is not empty."""
    if len(columns) < 3:
        return ""
    row = pc.index(pc.not_equal(columns[2], ""), pa.scalar(True)).as_py()  # noqa: FBT003 - the value sought
    return "" if row < 0 else str(columns[2][row].as_py())


def _separator_of(first: str) -> str:
    """Return the separator of one kind in the first line without its quoted fields, if it has one.

    Tabs may also align columns: then several of them follow each other, and no field is empty.
    """
    plain = re.sub(r'"[^"]*"', "q", first)
    separator = next((s for s in "\t," if s in plain), "")
    ends = plain.split(separator)[:2] if separator else []
    return separator if all(map(str.strip, ends)) else ""


def _columns(
    text: Any, fields: Any, count: int, separator: str, line: NDArray[np.intp], path: Path, *, cut: bool
) -> list[Any]:
    """Return the first columns of fields, as `TextFields`; the first line of the file has `count` fields."""
    counts = pc.list_value_length(fields).to_numpy()
    if count < 2:
        msg = f"expected tail and head with a separator between them, found {text[0].as_py()[:60]!r}"
        raise FormatError(msg, path=path, line=int(line[0]))
    wrong = _misfits(fields, count) if separator else counts != count
    is_part = np.zeros_like(wrong)
    is_part[-1] = cut and counts[-1] < count
    if (wrong | is_part).any():
        row = int((wrong | is_part).argmax())
        kind = f" separated by {_WORDS[separator]}" if separator else ""
        msg = f"expected {count} fields{kind}, as in the first line, found {counts[row]}"
        end = "; the file ends within this line, so download it again" if is_part[row] else ""
        raise FormatError(msg + end, path=path, line=int(line[row]))
    columns = [_column(fields, place) for place in range(min(count, 3))]
    for column in columns[:2]:
        empty = np.flatnonzero(pc.equal(column, "").to_numpy())
        if len(empty):
            msg = "expected 2 fields, a tail and a head, found 1 and an empty field; complete the line"
            raise FormatError(msg, path=path, line=int(line[empty[0]]))
    return columns


def _misfits(fields: Any, count: int) -> NDArray[np.bool_]:
    """Return whether each line lacks a head, or has fields that are not empty after the first `count`."""
    counts = pc.list_value_length(fields).to_numpy()
    wrong: NDArray[np.bool_] = counts < 2
    for row in np.flatnonzero(counts > count):
        wrong[row] = any(fields[int(row)].as_py()[count:])
    return wrong


def _column(fields: Any, place: int) -> Any:
    """Return the field at a place of each line, or an empty field."""
    if (pc.list_value_length(fields).to_numpy() > place).all():
        return pc.list_element(fields, place)
    parts = []
    for chunk in fields.chunks:
        begin, end = chunk.offsets.to_numpy()[:-1], chunk.offsets.to_numpy()[1:]
        missing = begin + place >= end
        places = pa.array(np.where(missing, 0, begin + place), mask=missing)
        parts.append(pc.fill_null(chunk.values.take(places), ""))
    return pa.chunked_array(parts, pa.string())


def _choose_fields(text: Any, begin: str, line: NDArray[np.intp], path: Path) -> tuple[Any, str]:
    """Return the fields of each line, and the separator if it is of one kind, given the first line."""
    quotes = bool(pc.any(pc.match_substring(text, '"')).as_py())
    split = _split_quoted if quotes else _split_plain
    separator = _separator_of(begin)
    if not separator or not (quotes or pc.any(pc.match_substring_regex(text, _MIXED[separator])).as_py()):
        return split(text, separator, line, path), separator
    one_kind = split(text, separator, line, path)
    of_any = split(text, "", line, path)
    if not _is_regular(one_kind):
        fits = _is_regular(of_any) and _misfits(one_kind, len(one_kind[0])).any()
        return (of_any, "") if fits else (one_kind, separator)
    if _is_regular(of_any) and _is_weighted(of_any) and one_kind[0].as_py()[:2] != of_any[0].as_py()[:2]:
        msg = (
            f"expected {_WORDS[separator]} or blanks between fields, found both in {text[0].as_py()[:60]!r}; "
            "use one of them, or put names with blanks in double quotes"
        )
        raise FormatError(msg, path=path, line=int(line[0]))
    return one_kind, separator


def _is_regular(fields: Any) -> bool:
    counts = pc.list_value_length(fields).to_numpy()
    return bool(counts[0] >= 2 and (counts == counts[0]).all())


def _is_weighted(fields: Any) -> bool:
    """Return whether the third field of each line is a number."""
    if len(fields[0]) < 3:
        return False
    third = _column(fields, 2)
    return bool(pc.all(pc.match_substring_regex(third, f"^(?i:{NUMBER.pattern})$")).as_py())


def _split_plain(text: Any, separator: str, line: NDArray[np.intp], path: Path) -> Any:  # noqa: ARG001
    return pc.split_pattern_regex(text, _ONE_KIND.get(separator, _ANY))


def _split_quoted(text: Any, separator: str, line: NDArray[np.intp], path: Path) -> Any:
    """Return the fields of lines with quotes. Only a quote at the start of a field begins a quoted field."""
    kind = pa.list_(pa.string())
    parts, done = [], 0
    for part in text.chunks:
        numbers = line[done : done + len(part)].tolist()
        rows = (_quoted_fields(*row, separator, path) for row in zip(part.to_pylist(), numbers, strict=True))
        parts.append(pa.array(rows, kind, size=len(part)))
        done += len(part)
    return pa.chunked_array(parts, kind)


def _quoted_fields(content: str, line: int, separator: str, path: Path) -> list[str]:
    """Return the fields of one line with quotes."""
    at, row = 0, []
    while True:
        match = _FIELD[separator].match(content, at)
        if match is None:
            msg = f"expected a closing quote before the next separator, found {content[at : at + 60]!r}"
            raise FormatError(f"{msg}; double each quote in a name", path=path, line=line)
        quoted = match[1] is not None
        row.append(match[1].replace('""', '"') if quoted else match[2].rstrip(" \t"))
        at = match.end()
        if at == len(content):
            return row


def is_header_row(columns: list[Any]) -> bool:
    """Return whether the first of several rows is a header row with column names."""
    first, second = ([column[row].as_py() for column in columns] for row in (0, 1))
    if all(map(NUMBER.fullmatch, second[:2])) and not all(map(NUMBER.fullmatch, first[:2])):
        return True
    if len(first) > 2 and first[2] and not NUMBER.fullmatch(first[2]) and NUMBER.fullmatch(second[2]):
        return True
    # Vertices may have these ids, but then another line repeats the id.
    return bool(find_edge_columns(first[:2])) and not any(
        pc.any(pc.is_in(column.slice(1), pa.array(first[:2], column.type))).as_py() for column in columns[:2]
    )


def _read_lines(source: Source) -> tuple[tuple[Any, NDArray[np.intp], int, bool], int]:
    """Return the lines with fields, their numbers, the number of lines, and whether the last one was cut.

    The number of lines comes twice, for `parse_in_parts`.
    """
    kept, numbers = [], [np.empty(0, np.intp)]
    with open_text(source, empty=True) as text:
        for chunk in text.chunks():
            require_part(chunk.stop - chunk.start, source.path)
            for lines in chunk.arrow_lines():
                try:
                    lines.validate(full=True)
                except pa.ArrowInvalid as error:
                    valid = map(is_utf8, lines.cast(pa.binary()).to_pylist())
                    line = text.line + 1 + list(valid).index(False)
                    msg = "expected lines of UTF-8 text; convert the file to UTF-8"
                    raise FormatError(msg, path=source.path, line=line) from error
                trimmed = pc.ascii_trim_whitespace(lines)  # another blank at an end is a part of a name
                ignored = pc.or_(pc.starts_with(trimmed, "#"), pc.starts_with(trimmed, "%"))
                is_row = pc.invert(pc.or_(pc.equal(trimmed, ""), ignored))
                kept.append(pc.ascii_trim(lines.filter(is_row), " \r\n"))  # a tab may separate empty fields
                numbers.append(text.line + 1 + np.flatnonzero(is_row.to_numpy(zero_copy_only=False)))
                text.line += len(lines)
        rows = pa.chunked_array(kept, pa.string())
        return (rows, np.concatenate(numbers), text.line, text.cut), text.line
