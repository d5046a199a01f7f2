"""Edge lists of names: the fields of text lines, and edges between string ids or between decimal integers.

If the first line has a tab, tabs separate the fields of all lines, and names may hold blanks and commas. If
it has a comma instead, commas separate the fields. Fields after tail and head may then be empty, and a line
may lack the last ones. Otherwise, or if the lines then differ in their numbers of fields, blanks, tabs and
commas all separate fields. A field in double quotes is one field.
"""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evener.errors import FormatError, first_clause
from evener.graph.arrow import find_edge_columns
from evener.graph.formats.edgelist_heading import NAMES, WEIGHT, cast_weights, warn_unread_weights
from evener.graph.formats.ids import number_strings, parse_isolated_ids
from evener.graph.formats.text_part import read_part
from evener.graph.share import EdgeIds
from evener.system import memory
from evener.system.agreement import on_all_ranks
from evener.system.log import log

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from evener.graph.formats.edgelist_heading import EdgeListHeading
    from evener.graph.formats.file import Source
    from evener.graph.formats.plain_names import PlainNames
    from evener.graph.formats.read_options import ReadOptions
    from evener.system.world import World

__all__ = [
    "TextFields",
    "are_decimal",
    "edges_of_names",
    "is_header_row",
    "read_fields",
    "warn_words_as_column_names",
]

# A number without blanks, as a field.
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?|[-+]?(nan|inf(inity)?)", re.IGNORECASE)

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
# An exponent needs a point, because "1e5" may be a name.
_DECIMAL = re.compile(rb"[-+]?(?:0|[1-9]\d*)(\.\d*([eE][-+]?\d+)?)?")
# Column names that may be vertices as well.
_COLUMN_WORDS = (["u", "v"], ["from", "to"], ["start", "end"], ["tail", "head"])
# A bracket without its partner in the field, as in the tail of "(0, 1)".
_BRACKET = re.compile(r"\([^)]*|\[[^]]*|\{[^}]*")
# Arrows between two ids.
_ARROW = re.compile(r"<?[-=]+>|<[-=]+|--+|→")
_MAX_EXACT = 2.0**53


class TextFields(NamedTuple):
    """The fields of this rank's lines of a text, and facts about all lines.

    `columns` has the first three fields of the lines, or two, as Arrow strings. `line` has the line number of
    each row, from 1. `begins` says whether the first row of the file is in `columns`.

    `first` has all fields of the first row of the file, and `second` the first fields of its second row.
    `has_header` says whether the first row looks like column names. `third` is the first third field that is
    not empty. `cut` says whether the last line has no newline. `plain` has the edges of plain lines.
    """

    columns: list[Any]
    line: NDArray[np.intp]
    begins: bool
    first: list[str]
    second: list[str]
    has_header: bool
    third: str
    last_line: int
    cut: bool
    plain: PlainNames | None = None


def read_fields(world: World, source: Source, *, line: int, offset: int) -> TextFields:
    """Return the fields of this rank's lines of a text with names.

    `line` lines precede byte `offset`, from which ranks read on. This is a collective operation; all ranks
    must call it. `FormatError` says that a line has more or fewer fields than the first, an unclosed quote,
    or no tail or head, or that separators have two meanings. Several ranks also refuse quotes and names with
    blanks or commas.
    """
    text, numbers, last_line, cut = read_part(world, source, line=line, offset=offset)
    begins = world.allgather(text[0].as_py() if len(text) else None)
    first_rank = next((rank for rank, begin in enumerate(begins) if begin is not None), 0)
    begin = begins[first_rank] or ""

    def split() -> Any:
        memory.require(_FIELD_COPIES * text.nbytes, f"the fields of {source.path}")
        if world.size > 1:
            _refuse_several_kinds(text, _separator_of(begin), numbers, source.path)
        return _choose_fields(text, begin, numbers, source.path) if len(text) else (None, "")

    fields, separator = on_all_ranks(world, split)
    first: list[str] = world.allgather(None if fields is None else fields[0].as_py())[first_rank] or []

    def columns_of() -> list[Any]:
        if fields is None:
            return [pa.chunked_array([], pa.string())] * min(max(len(first), 2), 3)
        return _columns(text, fields, len(first), separator, numbers, source.path, cut=cut)

    columns = on_all_ranks(world, columns_of)
    own_rows = [[column[row].as_py() for column in columns] for row in range(min(2, len(numbers)))]
    rows = [row for rows_of_rank in world.allgather(own_rows) for row in rows_of_rank]
    later = [column.slice(int(world.rank == first_rank)) for column in columns[:2]]
    ids = pa.array(rows[0][:2] if rows else [], pa.string())
    found_again = any(pc.any(pc.is_in(column, ids)).as_py() for column in later)
    repeats = any(world.allgather(found_again))
    third = next((field for field in world.allgather(_third(columns)) if field), "")
    return TextFields(
        columns,
        numbers,
        world.rank == first_rank,
        first,
        rows[1] if len(rows) > 1 else [],
        len(rows) > 1 and is_header_row(*rows[:2], repeats=repeats),
        third,
        last_line,
        any(world.allgather(cut)),
    )


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

    def split(separator: str) -> Any:
        if quotes:
            return _split_quoted(text, separator, line, path)
        return pc.split_pattern_regex(text, _ONE_KIND.get(separator, _ANY))

    separator = _separator_of(begin)
    if not separator or not (quotes or pc.any(pc.match_substring_regex(text, _MIXED[separator])).as_py()):
        return split(separator), separator
    one_kind, of_any = split(separator), split("")
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
    return bool(pc.all(pc.match_substring_regex(third, f"^(?i:{_NUMBER.pattern})$")).as_py())


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


def is_header_row(first: list[str], second: list[str], *, repeats: bool) -> bool:
    """Return whether the first of several rows is a header row; `repeats` says that another has its ids."""
    if all(map(_NUMBER.fullmatch, second[:2])) and not all(map(_NUMBER.fullmatch, first[:2])):
        return True
    if len(first) > 2 and first[2] and not _NUMBER.fullmatch(first[2]) and _NUMBER.fullmatch(second[2]):
        return True
    return bool(find_edge_columns(first[:2])) and not repeats  # vertices may have these ids, too


def warn_words_as_column_names(path: Path, fields: TextFields) -> None:
    """Warn that the first line of a list of names is a heading, if it may be an edge as well."""
    words = [word.lower() for word in fields.first]
    if words in _COLUMN_WORDS and not all(map(_NUMBER.fullmatch, fields.second)):
        msg = "%s: the first line, %r, is read as column names; to read it as an edge, begin the file with %r"
        log.warning(msg, path, " ".join(fields.first), "# Ids: strings")


def _check_first_line(fields: TextFields, path: Path, heading: EdgeListHeading) -> None:
    """Raise `FormatError` if the first line of a list of names is no edge."""
    head, msg = fields.first, ""
    if fields.has_header and not heading.strings:
        if any(map(_NUMBER.fullmatch, head[:2])):
            found = " ".join(head[:2])
            msg = f"expected two integer vertex ids, as in the next line, found {found!r}; {NAMES}"
        else:
            msg = "expected an edge, found column names; begin the line with #, or give columns="
    elif not heading.strings and len(head) > 2 and _ARROW.fullmatch(head[1]):
        msg = f"expected tail and head in the first two fields, found {head[1]!r} as head; remove it"
    elif not heading.strings and head[0][-1] in ";|":
        msg = f"expected a tab, space or comma between tail and head, found {head[0]!r}; give format='csv'"
    elif not heading.strings and _BRACKET.fullmatch(head[0]):
        msg = f"expected tail and head without brackets around them, found {head[0]!r}; remove them; {NAMES}"
    if msg:
        raise FormatError(msg, path=path, line=int(fields.line[0]))


def edges_of_names(
    fields: TextFields, path: Path, options: ReadOptions, heading: EdgeListHeading, isolated: list[str]
) -> EdgeIds:
    """Return the edges of a list with string ids, or with integer ids that have a point.

    `isolated` has the ids of vertices without edges.
    """
    columns, line = fields.columns, fields.line

    def line_of(row: int) -> int:
        return int(line[row])

    ends, count = columns[:2], len(columns)
    if fields.begins:
        _check_first_line(fields, path, heading)
    weights = None
    head, third = fields.first, fields.third.encode()
    if fields.begins and any(head[2:]) and options.weighted is None and not WEIGHT.match(third):
        warn_unread_weights(path, third)
    if options.weighted or (options.weighted is None and WEIGHT.match(third)):
        if count < 3:
            raise FormatError("expected weights, but the lines have two fields", path=path)
        weights = _parse_weights(columns[2], line, path, heading)
    if are_decimal([end.encode() for end in head[:2]], heading):
        src, dst = (_parse_decimal_ids(end, line, path) for end in ends)
        edges = EdgeIds(src, dst, weights, path, heading.directed, n=heading.n, line_of=line_of)
        edges.vertices = parse_isolated_ids(isolated, path)
        return edges
    if fields.plain is not None:
        return fields.plain.edges(path, directed=heading.directed, isolated=isolated)
    (src, dst, _), ids = number_strings([*ends, pa.chunked_array([isolated], pa.string())], path, line_of)
    return EdgeIds(src, dst, weights, path, heading.directed, names=ids)


def are_decimal(ends: list[bytes], heading: EdgeListHeading) -> bool:
    """Return whether the ids of the first edge are numbers, perhaps with a point."""
    return bool(ends) and not heading.strings and all(map(_DECIMAL.fullmatch, ends))


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
        wrong = _first_mismatch(column, f"^(?i:{_NUMBER.pattern})$")
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
