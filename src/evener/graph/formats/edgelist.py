"""Edge lists as text, as in SNAP, KONECT and GAP (`.el`, `.wel`): one ``tail head [weight]`` per line.

Comments begin with # or %. Tabs, spaces or commas separate fields. If the ids of the first edge are no
numbers, or an id has leading zeros, all ids are names: see `evener.graph.formats.edgelist_names`. A file
that begins with usual column names is read as CSV. The reader interprets some comments: "Directed graph",
"Undirected graph" and the number of edges of SNAP, and "sym" and "asym" of KONECT. `write` adds comments for
vertices without edges, and for the types of weights and ids.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evener.errors import ArgumentError, FormatError
from evener.graph.arrow import find_edge_columns
from evener.graph.edge_counts import count_edges
from evener.graph.formats import number_lines as lines
from evener.graph.formats.edgelist_heading import (
    COMMENTS,
    NAMES,
    WEIGHT,
    EdgeListHeading,
    cast_weights,
    read_comments,
    warn_leading_zero,
    warn_unread_weights,
)
from evener.graph.formats.edges import (
    build_graph,
    isolated_vertices,
    refuse_infinite,
    write_lines,
)
from evener.graph.formats.file import open_compressed
from evener.graph.formats.heading import TEXT_WEIGHT_BYTES, Heading
from evener.graph.formats.ids import parse_isolated_ids, refuse_names
from evener.graph.formats.plain_names import read_plain_names
from evener.graph.formats.read_options import ReadOptions
from evener.graph.formats.registry import Format, format_of
from evener.graph.formats.text_part import parse_part, refuse_compressed, to_common_dtype
from evener.graph.formats.text_stream import HEADING_BYTES, open_text
from evener.graph.share import EdgeIds, EdgeShare
from evener.system.agreement import on_all_ranks
from evener.system.files import atomic_write
from evener.system.world import SingleProcess

if TYPE_CHECKING:
    from pathlib import Path

    from evener.graph.formats.edgelist_names import TextFields
    from evener.graph.formats.file import Source
    from evener.graph.formats.text_stream import Text
    from evener.graph.graph import Graph
    from evener.system.world import World

__all__ = ["FORMAT", "grammar_of"]

# Smallest accepted fraction of the edge count in the comment; published files may lack a few edges.
_MIN_EDGE_SHARE = 0.99

_COLUMN_NAMES = f"expected an edge, found column names; convert the file with evener convert, or {NAMES}"
# Commas within numbers: between thousands in the first field, or as decimal point in the third.
_COMMAS = re.compile(rb"\s*([1-9]\d{0,2}(,\d{3})+[ \t]+\d|\d+[ \t]+\d+[ \t]+[-+]?\d+,\d+\s*$)")
# Numbers with leading zeros, such as postal codes, are names.
_INTEGER = re.compile(rb"[-+]?(?:0|[1-9]\d*)")
_ISOLATED_PER_LINE = 1000
# Bytes that no plain name holds: blanks, control characters, and the comma.
_ENDS = bytes([*range(33), ord(",")])


class _ColumnNamesError(FormatError):
    """The first line has usual column names."""

    directed: bool | None = None


class _Start(NamedTuple):
    """The heading of an edge list, and where the edges begin."""

    heading: EdgeListHeading
    numbers: bool
    grammar: lines.Grammar | None
    line: int
    offset: int


def read(source: Source, options: ReadOptions, /) -> Graph:
    """Return the graph of an edge list; a file with usual column names is read as CSV."""
    if options.columns is not None:
        return _read_table(source, options)
    try:
        return build_graph(_read_edges(source, options, SingleProcess()), options)
    except _ColumnNamesError as error:
        directed = error.directed if options.directed is None else options.directed
        return _read_table(source, replace(options, directed=directed))


def _read_table(source: Source, options: ReadOptions) -> Graph:
    kind, _ = format_of(source.path, "csv")
    return kind.read(source, options)


def read_share(source: Source, options: ReadOptions, world: World, /) -> EdgeShare:
    """Return the edges in this rank's part of an edge list."""
    return options.share_of(_read_edges(source, options, world))


def _read_edges(source: Source, options: ReadOptions, world: World) -> EdgeIds:
    """Return the edges in this rank's part of an edge list."""
    isolated: list[str] = []  # on one rank, which may use much memory for them

    def begin() -> _Start | None:
        if options.columns is not None:
            msg = "columns= applies to an edge list in one process only; remove it, or convert to .parquet"
            raise ArgumentError(msg)
        if world.rank:
            return None
        with open_text(source, most=HEADING_BYTES) as text:
            heading, numbers = _begin(text, options)
            syntax = options
            if not numbers and world.size > 1:
                if not heading.strings and (names := _column_names(text)):
                    syntax = _skip_column_names(text, names, options)
                    heading, numbers = EdgeListHeading(directed=heading.directed), True
                else:
                    refuse_compressed(source)
            if heading.isolated and numbers:
                options.refuse_n(source.path, "a list of ids")
                heading.n = None
            isolated[:], heading.isolated = heading.isolated, []
            grammar = None if not numbers or text.peek() is None else grammar_of(text, syntax)
            if grammar is not None and syntax is not options:  # CSV has no comments
                remedy = f"remove comments below column names; {grammar.remedy}"
                grammar = grammar._replace(comments=b"", remedy=remedy)
            return _Start(heading, numbers, grammar, text.line, text.offset)

    start = world.allgather(on_all_ranks(world, begin))[0]
    if start.numbers:
        try:
            return _read_numbers(source, options, world, start, isolated)
        except lines.LeadingZeroError as error:
            if world.rank == 0:
                warn_leading_zero(error.path, error.line)
            if world.size > 1:
                refuse_compressed(source)
            start = start._replace(heading=replace(start.heading, strings=True))
    return _read_names(source, options, world, start, isolated)


def _read_numbers(
    source: Source, options: ReadOptions, world: World, start: _Start, isolated: list[str]
) -> EdgeIds:
    """Return the edges in this rank's part of an edge list with integer ids."""
    heading, path = start.heading, source.path
    vertices = on_all_ranks(world, lambda: parse_isolated_ids(isolated, path))
    if start.grammar is None:
        dtype = heading.weights or (np.float64 if options.weighted else None)
        dtype = None if options.weighted is False else dtype
        edges, last_line, cut = EdgeIds.empty(path, dtype), start.line, False
    else:
        edges, last_line, cut = parse_part(world, source, start.grammar, line=start.line, offset=start.offset)
    _check_count(path, last_line, heading, world.allreduce(len(edges.src), "sum"), cut=cut)
    if edges.weights is not None:
        weights = to_common_dtype(world, edges.weights)
        edges.weights = on_all_ranks(world, lambda: cast_weights(weights, heading, path, edges.line_of))
    edges.directed, edges.n, edges.vertices = heading.directed, heading.n, vertices
    return edges


def _read_names(
    source: Source, options: ReadOptions, world: World, start: _Start, isolated: list[str]
) -> EdgeIds:
    """Return the edges in this rank's part of an edge list of names."""
    from evener.graph.formats import edgelist_names as names

    heading, path = start.heading, source.path
    fields = None
    if world.size == 1 and not options.weighted:
        fields = _read_plain_fields(source, start)
    if fields is None:
        fields = names.read_fields(world, source, line=start.line, offset=start.offset)
    if world.size == 1 and fields.has_header and not heading.strings and find_edge_columns(fields.first):
        names.warn_words_as_column_names(path, fields)
        error = _ColumnNamesError(_COLUMN_NAMES, path=path, line=int(fields.line[0]))
        error.directed = heading.directed
        raise error
    edges = on_all_ranks(world, lambda: names.edges_of_names(fields, path, options, heading, isolated))
    found = world.allreduce(len(edges.src), "sum")
    _check_count(path, fields.last_line, heading, found, cut=fields.cut)
    if heading.weights is None:
        edges.weights = to_common_dtype(world, edges.weights)
    return edges


def _read_plain_fields(source: Source, start: _Start) -> TextFields | None:
    """Return the fields of lines of two names, or None if a line needs another reader."""
    from evener.graph.formats import edgelist_names as names

    # The lines of compressed data are known only from the begin.
    line, offset = (start.line, start.offset) if source.compression is None else (0, 0)
    with open_text(replace(source, start=offset), empty=True) as text:
        for _ in text.ignored(COMMENTS):
            pass
        first, first_line = text.peek() or b"", line + text.line + 1
        separator = next((mark for mark in "\t, " if mark.encode() in first), None)
        if separator is None or names.are_decimal(lines.fields_of(first)[:2], start.heading):
            return None
        plain = read_plain_names(text, separator, COMMENTS, _ENDS)
    if plain is None:
        return None
    rows = plain.first_rows(2)
    repeats = bool(find_edge_columns(rows[0])) and plain.repeats_first()  # read only for usual column names
    return names.TextFields(
        columns=[],
        line=np.array([first_line]),
        begins=True,
        first=rows[0],
        second=rows[1] if len(rows) > 1 else [],
        has_header=len(rows) > 1 and names.is_header_row(*rows, repeats=repeats),
        third="",
        last_line=line + text.line,
        cut=text.cut,
        plain=plain,
    )


def _column_names(text: Text) -> list[str]:
    """Return the fields of the first line if they are usual column names, or an empty list."""
    names = [field.decode("utf-8", "replace") for field in lines.fields_of(text.peek() or b"")]
    return names if find_edge_columns(names) else []


def _skip_column_names(text: Text, names: list[str], options: ReadOptions) -> ReadOptions:
    """Skip column names, and return the options for the lines below.

    Ranks read only what they can read as one process reads CSV: the columns are tail, head and perhaps
    weight, and the next line has integer ids between the same separators. `FormatError` refuses other files.
    """
    line, header = text.line + 1, text.peek() or b""
    text.skip()
    first = text.peek() or b""
    fields = lines.fields_of(first)
    same = all((mark in header) == (mark in first) for mark in b",\t ")
    plain = same and find_edge_columns(names) == names and len(fields) == len(names)
    if not plain or not all(_INTEGER.fullmatch(field) for field in fields[:2]):
        raise FormatError(_COLUMN_NAMES, path=text.source.path, line=line)
    weighted = len(names) > 2 if options.weighted is None else options.weighted
    return replace(options, weighted=weighted)


def _begin(text: Text, options: ReadOptions) -> tuple[EdgeListHeading, bool]:
    """Return the heading, and whether the ids are integers."""
    heading, path = read_comments(text), text.source.path
    if heading.bipartite and options.directed is None:
        msg = (
            "found a bipartite graph ('bip'), where tails and heads have separate ids; "
            "make the ids distinct, or give directed= to read the ids as they are"
        )
        raise FormatError(msg, path=path, line=1)
    first = text.peek()
    fields = lines.fields_of(first) if first is not None else []
    if first is not None and not heading.strings and _COMMAS.match(first):
        msg = (
            f"expected tail and head with one kind of separator, found {first[:60].decode()!r}; remove the "
            "commas within numbers, or use commas only"
        )
        raise FormatError(msg, path=path, line=text.line + 1)
    numbers = not heading.strings and all(_INTEGER.fullmatch(f) for f in fields[:2])
    if not numbers and len(fields) < 2:
        raise FormatError(_too_few_fields(first), path=path, line=text.line + 1)
    return heading, numbers


def read_heading(source: Source, /) -> Heading | None:
    """Return the sizes in the comments, which state the numbers of vertices and edges, or None."""
    with open_text(source, most=HEADING_BYTES) as text:
        stated, numbers = _begin(text, ReadOptions())
        if stated.vertices is None or stated.edges is None or not (numbers or stated.strings):
            return None
        weighted = text.peek() is not None and grammar_of(text, ReadOptions()).weighted
    weight_bytes = np.dtype(stated.weights).itemsize if stated.weights else TEXT_WEIGHT_BYTES * weighted
    directed = stated.directed is not False
    return Heading(
        stated.vertices, stated.edges * (1 if directed else 2), directed, int(weight_bytes), exact=False
    )


def grammar_of(text: Text, options: ReadOptions, *, remedy: str = NAMES) -> lines.Grammar:
    """Return the syntax of the lines, given the first line of an edge."""
    first = text.peek()
    mark = lines.mark_of(first or b"")
    fields = lines.fields_of(first or b"", mark)
    if len(fields) < 2:
        raise FormatError(_too_few_fields(first), path=text.source.path, line=text.line + 1)
    weighted = options.weighted
    if weighted is None:
        weighted = len(fields) > 2 and WEIGHT.match(fields[2]) is not None
        if len(fields) > 2 and not weighted:
            warn_unread_weights(text.source.path, fields[2])
    if weighted and len(fields) < 3:
        msg = f"expected three fields because of weighted=True, found {len(fields)}"
        raise FormatError(msg, path=text.source.path, line=text.line + 1)
    max_id = None if options.n is None else max(options.n - 1, 0)
    return lines.Grammar(
        COMMENTS, len(fields), weighted, mark=mark, max_id=max_id, remedy=remedy, zeros=False
    )


def _too_few_fields(line: bytes | None) -> str:
    found = "nothing" if line is None else repr(line[:60].decode("utf-8", "replace").strip())
    other = line is not None and re.search(rb'[;|]|^"?sep=', line)
    remedy = "; give format='csv' for other separators" if other else ""
    return f"expected tail and head with a tab, space or comma between them, found {found}{remedy}"


def _check_count(path: Path, line: int, heading: EdgeListHeading, found: int, *, cut: bool) -> None:
    if heading.edges is None or found >= heading.edges:
        return
    if cut or found < _MIN_EDGE_SHARE * heading.edges:
        msg = (
            f"expected {heading.edges} edges, as in the comment, found {found}; download the file again, or "
            "remove a wrong comment"
        )
        raise FormatError(msg, path=path, line=line)


def write(graph: Graph, target: Path, compression: str | None, /) -> None:
    """Write an edge list with tabs between fields, after a heading of comments."""
    why = "an edge list, where ids hold no blanks, commas or leading #; write .csv, .parquet or .evg"
    refuse_names(graph, r"[\s,]|^[#%]|^$|[\"\x00\x01]", why)
    refuse_infinite(graph, target)
    kind = "Directed" if graph.directed else "Undirected"
    heading = [f"# {kind} graph", f"# Nodes: {graph.n} Edges: {count_edges(graph)}"]
    if graph.has_string_ids:
        heading.append("# Ids: strings")
    if not graph.has_custom_ids and graph.n:
        heading.append(f"# Ids: 0 to {graph.n - 1}")
    elif graph.has_custom_ids:
        untouched = graph.ids[isolated_vertices(graph)]
        for at in range(0, len(untouched), _ISOLATED_PER_LINE):
            ids = " ".join(str(i) for i in untouched[at : at + _ISOLATED_PER_LINE])
            heading.append(f"# Without edges: {ids}")
    if graph.weights is not None:
        heading.append(f"# Weights: {graph.weights.dtype}")
    heading.append("# FromNodeId\tToNodeId" + ("" if graph.weights is None else "\tWeight"))
    with atomic_write(target) as temporary, open_compressed(temporary, compression) as sink:
        sink.write("".join(f"{line}\n" for line in heading).encode())
        write_lines(graph, sink, delimiter="\t")


FORMAT = Format(
    "edge list",
    (".txt", ".tsv", ".edges", ".edgelist", ".el", ".wel"),
    read,
    write,
    read_share=read_share,
    read_heading=read_heading,
    has_columns=True,
)
