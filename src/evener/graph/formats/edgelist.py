"""Edge lists as text, as SNAP, KONECT and GAP's `.el` and `.wel` write them: ``tail head [weight]`` a line.

Comments begin with # or %, fields are parted by tabs, spaces or commas. What comments say counts: SNAP's
"Directed graph" and "Undirected graph" and its number of edges, KONECT's "sym" and "asym", and what `write`
adds so that nothing is lost: vertices without edges, and the type of weights and of ids.
"""

from __future__ import annotations

import contextlib
import logging
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError, FormatError, first_clause
from evener.graph.formats import number_lines as lines
from evener.graph.formats.columns import known_by_name
from evener.graph.formats.edges import Edges, graph_of, isolated, pieces, stored_as
from evener.graph.formats.file import compressing
from evener.graph.formats.ids import isolated_ids, positions_of, refuse_names, with_isolated
from evener.graph.formats.integer_weights import misfit
from evener.graph.formats.registry import Format
from evener.graph.formats.text_stream import opened
from evener.system.files import replacing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from evener.graph.formats.edges import Wishes
    from evener.graph.formats.file import Source
    from evener.graph.formats.text_stream import Text
    from evener.graph.graph import Graph

__all__ = ["FORMAT", "Heading", "read_numbers", "refuse_columns", "refuse_infinite", "write_lines"]

COMMENTS = b"#%"

# A file with fewer edges than its comment says was cut short. Published files are sometimes a few edges off.
_ENOUGH = 0.99

_log = logging.getLogger("evener")
_NUMBER = re.compile(rb"[-+]?(\d|\.\d|nan\b|inf)", re.IGNORECASE)
_ISOLATED_IN_A_LINE = 1000
_TYPES = [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)] + ["float32", "float64"]


@dataclass
class Heading:
    """What the comments before the first edge say."""

    directed: bool | None = None
    bipartite: bool = False
    edges: int | None = None
    n: int | None = None
    weights: str | None = None
    strings: bool = False
    isolated: list[str] = field(default_factory=list)

    def heed(self, line: str) -> None:
        """Take in one comment."""
        if word := re.search(r"\b(un)?directed graph", line, re.IGNORECASE):
            self.directed = word[1] is None if self.directed is None else self.directed
        elif word := re.match(r"%\s*(sym|asym|bip)\b", line):
            self.directed = word[1] != "sym"
            self.bipartite = word[1] == "bip"
        if count := re.search(r"\bEdges:\s*(\d{1,18})\b", line):
            self.edges = int(count[1])
        if span := re.fullmatch(r"# Ids: 0 to (\d{1,18})", line):
            self.n = int(span[1]) + 1
        if line == "# Ids: strings":
            self.strings = True
        if word := re.fullmatch(r"# Weights: (u?int\d\d?|float\d\d)", line):
            self.weights = word[1]
        if line.startswith("# Without edges: "):
            self.isolated += line.removeprefix("# Without edges: ").split()


def read(source: Source, wishes: Wishes, /) -> Graph:
    """Read an edge list."""
    refuse_columns(wishes, "an edge list")
    source.check()
    with opened(source) as text:
        heading = _heading(text)
        if heading.bipartite and wishes.directed is None:
            msg = (
                "the comment says bipartite ('bip'), where the two ends are numbered apart, so 1 and 1 are "
                "two vertices; make the ids distinct, or give directed= to take them as they are"
            )
            raise FormatError(msg, path=source.path, line=1)
        first = text.peek()
        fields = lines.fields_of(first) if first is not None else []
        numbers = not heading.strings and all(_NUMBER.match(f) for f in fields[:2])
        if numbers:
            edges = read_numbers(text, wishes, heading)
        elif len(fields) < 2:
            raise FormatError(_too_few(first), path=source.path, line=text.line + 1)
    if not numbers:
        edges = _read_names(source, wishes, heading)
    return graph_of(edges, wishes, source.path)


def _say_unread(path: Path, third: bytes) -> None:
    """Say that edges get no weight: NetworkX, for one, writes a dictionary there unless told otherwise."""
    said = third.decode("utf-8", "replace")
    _log.warning(
        "%s: edges have no weight, for the third field, %r in the first line, is no number", path, said
    )


def read_numbers(text: Text, wishes: Wishes, heading: Heading) -> Edges:
    """Read the rest of a text as edges between integers."""
    first = text.peek()
    if first is None:
        edges = Edges(np.empty(0, np.uint32), np.empty(0, np.uint32))
        edges.weights = np.empty(0, heading.weights) if wishes.weighted or heading.weights else None
    else:
        fields = lines.fields_of(first)
        if len(fields) < 2:
            raise FormatError(_too_few(first), path=text.source.path, line=text.line + 1)
        weighted = wishes.weighted
        if weighted is None:
            weighted = len(fields) > 2 and _NUMBER.match(fields[2]) is not None
            if len(fields) > 2 and not weighted:
                _say_unread(text.source.path, fields[2])
        if weighted and len(fields) < 3:
            msg = f"weights were asked for, so three fields are expected, but {len(fields)} came"
            raise FormatError(msg, path=text.source.path, line=text.line + 1)
        limit = None if wishes.n is None else max(wishes.n - 1, 0)
        grammar = lines.Grammar(COMMENTS, len(fields), weighted, limit=limit)
        before = text.line
        edges = lines.parse(text, grammar)
        _check_count(text, heading, len(edges.src))
        if edges.weights is not None:
            # Where each line is an edge, a row tells its line.
            gapless = text.line - before == len(edges.weights)
            where = range(before + 1, text.line + 1) if gapless else None
            edges.weights = _as_said(edges.weights, heading, text.source.path, where)
    edges.directed = heading.directed
    edges.n = heading.n
    if heading.isolated:
        with_isolated(edges, isolated_ids(heading.isolated, text.source.path))
    return edges


def _as_said(weights: Any, heading: Heading, path: Path, where: Sequence[int] | None) -> Any:
    """Give weights in the type that the comments tell, if they do and all are of it."""
    if heading.weights is None:
        return weights
    if (wrong := misfit(weights, heading.weights)) is not None:
        edge = f" for edge {wrong + 1}" if where is None else ""
        msg = (
            f"the comment says that weights are {heading.weights}, but {weights[wrong]} came{edge}: mend one"
        )
        raise FormatError(msg, path=path, line=None if where is None else int(where[wrong]))
    return weights.astype(heading.weights)


def refuse_columns(wishes: Wishes, what: str) -> None:
    """Refuse `columns` for a format that has no named columns."""
    if wishes.columns is not None:
        msg = f"columns= names the columns of a CSV, Parquet or Arrow file; {what} has no named columns"
        raise ArgumentError(msg)


def _heading(text: Text) -> Heading:
    heading = Heading()
    while (line := text.peek()) is not None and (not line.strip() or line.lstrip()[:1] in (b"#", b"%")):
        heading.heed(line.decode("utf-8", "replace").strip())
        if heading.weights not in (None, *_TYPES):
            msg = f"weights are {', '.join(_TYPES)}, but the comment says {heading.weights}"
            raise FormatError(msg, path=text.source.path, line=text.line + 1)
        text.skip()
    return heading


def _too_few(line: bytes | None) -> str:
    came = "nothing" if line is None else repr(line[:60].decode("utf-8", "replace").strip())
    return f"expected the two ends of an edge, parted by a tab, space or comma, but {came} came"


def _check_count(text: Text, heading: Heading, came: int) -> None:
    if heading.edges is None or came >= heading.edges:
        return
    if text.cut or came < _ENOUGH * heading.edges:
        msg = (
            f"the comment says {heading.edges} edges, but {came} came: the file is cut short, so fetch it "
            "again; if the comment is wrong, remove it"
        )
        raise FormatError(msg, path=text.source.path, line=text.line)


def _read_names(source: Source, wishes: Wishes, heading: Heading) -> Edges:
    """Read a list whose vertices are named by strings: Arrow splits its lines."""
    import pyarrow as pa
    import pyarrow.compute as pc

    table = _as_lines(source)
    text = pc.utf8_trim_whitespace(table.column(0))
    comment = pc.or_(pc.starts_with(text, "#"), pc.starts_with(text, "%"))
    kept = pc.invert(pc.or_(pc.equal(text, ""), comment))
    line = np.flatnonzero(kept.to_numpy(zero_copy_only=False)) + 1
    fields = pc.split_pattern_regex(text.filter(kept), r"[ \t]*,[ \t]*|[ \t]+")
    counts = pc.list_value_length(fields).to_numpy()
    count = int(counts[0]) if len(counts) else 2
    wrong = np.flatnonzero((counts != count) | (counts < 2))
    if len(wrong):
        msg = f"expected {max(count, 2)} fields, as in the first line, but {counts[wrong[0]]} came"
        raise FormatError(msg, path=source.path, line=int(line[wrong[0]]))
    ends = [pc.list_element(fields, 0), pc.list_element(fields, 1)]
    if len(line) > 1 and not heading.strings and _names_columns(fields, ends):
        msg = "expected an edge, but this looks like names of columns: begin the line with #, or use .csv"
        raise FormatError(msg, path=source.path, line=int(line[0]))
    weights = None
    third = str(pc.list_element(fields, 2)[0]).encode() if count > 2 and len(line) else b""
    if third and wishes.weighted is None and not _NUMBER.match(third):
        _say_unread(source.path, third)
    if wishes.weighted or (wishes.weighted is None and _NUMBER.match(third)):
        if count < 3:
            raise FormatError("weights were asked for, but the lines have two fields", path=source.path)
        weights = _weights(pc.list_element(fields, 2), line, source.path, heading)
    extra = pa.chunked_array([heading.isolated], pa.string())
    (src, dst, _), names = positions_of([*ends, extra], source.path)
    return Edges(src, dst, weights, heading.directed, names=names)


def _names_columns(fields: Any, ends: list[Any]) -> bool:
    """Whether the first of several lines is a heading: over numbers, of known names, or over weights."""
    import pyarrow as pa
    import pyarrow.compute as pc

    first, second = ([str(field) for field in fields[row].as_py()] for row in (0, 1))
    if all(re.fullmatch(r"\d+", end) for end in second[:2]):
        return True
    if len(first) > 2 and not _NUMBER.match(first[2].encode()) and _NUMBER.match(second[2].encode()):
        return True
    # Vertices may have such names, but then they are met again.
    return bool(known_by_name(first[:2])) and not any(
        pc.any(pc.is_in(end.slice(1), pa.array(first[:2], end.type))).as_py() for end in ends
    )


def _as_lines(source: Source) -> Any:
    import pyarrow as pa
    from pyarrow import csv

    with source.reading(), pa.input_stream(str(source.path), compression=source.compression) as stream:
        try:
            return csv.read_csv(
                stream,
                read_options=csv.ReadOptions(column_names=["line"]),
                # A delimiter that no text contains: each line is one field.
                parse_options=csv.ParseOptions(delimiter="\x01", quote_char=False, ignore_empty_lines=False),
                convert_options=csv.ConvertOptions(column_types={"line": pa.string()}),
            )
        except pa.ArrowInvalid as error:
            msg = f"expected lines of UTF-8 text; convert the file to UTF-8 ({first_clause(error)})"
            raise FormatError(msg, path=source.path, line=_first_that_is_no_text(source)) from error


def _first_that_is_no_text(source: Source) -> int | None:
    """The first line that is no UTF-8, counted from 1; None where that is not what is wrong."""
    with opened(source) as text:
        while (line := text.peek()) is not None:
            try:
                line.decode()
            except UnicodeDecodeError:
                return text.line + 1
            text.skip()
    return None


def _weights(column: Any, line: Any, path: Path, heading: Heading) -> Any:
    import pyarrow as pa

    try:
        weights = column.cast(pa.float64()).to_numpy()
    except pa.ArrowInvalid as error:
        for number, text in zip(line, column.to_pylist(), strict=True):
            if not _NUMBER.match(text.encode()):
                msg = f"expected a weight as third field, but {text!r} came"
                raise FormatError(msg, path=path, line=int(number)) from error
        raise FormatError(f"a weight is not a number: {error}", path=path) from error
    wrong = np.flatnonzero(~np.isfinite(weights))
    if len(wrong):
        msg = f"expected a weight, a finite number, as third field, but {weights[wrong[0]]} came"
        raise FormatError(msg, path=path, line=int(line[wrong[0]]))
    if heading.weights is not None and "int" in heading.weights and (np.abs(weights) >= 2**53).any():
        with contextlib.suppress(pa.ArrowInvalid):  # the floats are rounded, these are not
            weights = column.cast(heading.weights).to_numpy()
    return _as_said(weights, heading, path, line)


def write(graph: Graph, target: Path, compression: str | None, /) -> None:
    """Write an edge list, tab between fields, with a heading of comments."""
    names = graph.named_by_strings
    why = "an edge list: blanks and commas part fields, and # begins a comment; write .csv, .parquet or .evg"
    refuse_names(graph, r"[\s,]|^[#%]|^$|[\"\x00\x01]", why)
    refuse_infinite(graph, target)
    kind = "Directed" if graph.directed else "Undirected"
    heading = [f"# {kind} graph", f"# Nodes: {graph.n} Edges: {stored_as(graph)}"]
    if names:
        heading.append("# Ids: strings")
    if not graph.has_own_ids and graph.n:
        heading.append(f"# Ids: 0 to {graph.n - 1}")
    elif graph.has_own_ids:
        alone = graph.ids[isolated(graph)]
        for at in range(0, len(alone), _ISOLATED_IN_A_LINE):
            some = " ".join(str(i) for i in alone[at : at + _ISOLATED_IN_A_LINE])
            heading.append(f"# Without edges: {some}")
    if graph.weights is not None:
        heading.append(f"# Weights: {graph.weights.dtype}")
    heading.append("# FromNodeId\tToNodeId" + ("" if graph.weights is None else "\tWeight"))
    with replacing(target) as temporary, compressing(temporary, compression) as sink:
        sink.write("".join(f"{line}\n" for line in heading).encode())
        write_lines(graph, sink, delimiter="\t")


def refuse_infinite(graph: Graph, target: Path) -> None:
    """Refuse infinite weights for a format whose weights are finite numbers."""
    weights = graph.weights
    if weights is None or weights.dtype.kind != "f" or not len(weights):
        return
    for extreme in (weights.min(), weights.max()):  # they take no array as large as the weights
        if np.isinf(extreme):
            msg = f"{target}: its weights are finite numbers, but one is {extreme}"
            raise ArgumentError(f"{msg}; write .csv, .npz, .parquet or .evg")


def write_lines(
    graph: Graph, sink: Any, *, delimiter: str, quoting: str = "none", untyped: bool = False
) -> None:
    """Write the edges of a graph, each undirected one once, as lines of its own ids; see `pieces`."""
    import pyarrow as pa
    from pyarrow import csv

    options = csv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style=quoting)
    for piece in pieces(graph, untyped=untyped):
        ends = [piece.src, piece.dst]
        if graph.has_own_ids:
            ends = [graph.ids[end] for end in ends]
        columns = ends if piece.weights is None else [*ends, piece.weights]
        names = ["src", "dst", "weight"][: len(columns)]
        csv.write_csv(pa.table([pa.array(c) for c in columns], names), sink, options)


FORMAT = Format("edge list", (".txt", ".tsv", ".edges", ".edgelist", ".el", ".wel"), read, write)
