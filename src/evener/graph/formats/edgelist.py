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
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError, FormatError
from evener.graph.arrow import find_edge_columns
from evener.graph.formats import number_lines as lines
from evener.graph.formats.edgelist_heading import COMMENTS, EdgeListHeading, cast_weights, read_comments
from evener.graph.formats.edgelist_names import (
    NAMES,
    WEIGHT,
    edges_of_names,
    has_column_names,
    warn_leading_zero,
    warn_unread_weights,
    warn_words_as_column_names,
)
from evener.graph.formats.edges import (
    Edges,
    build_graph,
    count_edges,
    isolated_vertices,
    refuse_infinite,
    write_lines,
)
from evener.graph.formats.file import open_compressed
from evener.graph.formats.heading import TEXT_WEIGHT_BYTES, Heading
from evener.graph.formats.ids import add_isolated, parse_isolated_ids, refuse_names
from evener.graph.formats.name_lines import (
    read_fields,
    read_fields_in_parts,
)
from evener.graph.formats.read_options import ReadOptions
from evener.graph.formats.registry import Format, format_of
from evener.graph.formats.row_lines import line_of_row
from evener.graph.formats.text_part import parse_part, refuse_compressed, to_common_dtype
from evener.graph.formats.text_stream import open_text
from evener.graph.share import EdgeIds, EdgeShare
from evener.system.agreement import on_all_ranks
from evener.system.files import atomic_write

if TYPE_CHECKING:
    from pathlib import Path

    from evener.graph.formats.file import Source
    from evener.graph.formats.text_stream import Text
    from evener.graph.graph import Graph
    from evener.system.world import World

__all__ = ["FORMAT", "read_numbers", "refuse_columns"]

# Smallest accepted fraction of the edge count in the comment; published files may lack a few edges.
_MIN_EDGE_SHARE = 0.99

# Commas within numbers: between thousands in the first field, or as decimal point in the third.
_COMMAS = re.compile(rb"\s*([1-9]\d{0,2}(,\d{3})+[ \t]+\d|\d+[ \t]+\d+[ \t]+[-+]?\d+,\d+\s*$)")
# Numbers with leading zeros, such as postal codes, are names.
_INTEGER = re.compile(rb"[-+]?(?:0|[1-9]\d*)")
_ISOLATED_PER_LINE = 1000


def read(source: Source, options: ReadOptions, /) -> Graph:
    """Return the graph of an edge list; a file with usual column names is read as CSV."""
    source.check()
    if options.columns is not None:
        return _read_table(source, options)
    with open_text(source) as text:
        heading, numbers = _begin(text, options)
        if numbers:
            try:
                edges = read_numbers(text, options, heading)
            except lines.LeadingZeroError as error:
                warn_leading_zero(error.path, error.line)
                heading, numbers = replace(heading, strings=True), False
            else:
                line, cut = text.line, text.cut
    if not numbers:
        fields = read_fields(source)
        head = fields.first
        if has_column_names(fields, heading) and find_edge_columns(head):
            warn_words_as_column_names(source.path, head, [c[1].as_py() for c in fields.columns])
            directed = heading.directed if options.directed is None else options.directed
            return _read_table(source, replace(options, directed=directed))
        edges = edges_of_names(fields, source, options, heading)
        line, cut = fields.last_line, fields.cut
    _check_count(source.path, line, heading, len(edges.src), cut=cut)
    return build_graph(edges, options, source.path)


def _read_table(source: Source, options: ReadOptions) -> Graph:
    kind, _ = format_of(source.path, "csv")
    return kind.read(source, options)


def _refuse_column_names(text: Text, heading: EdgeListHeading) -> None:
    """Raise if a first line has usual column names: ranks do not look at the other lines before they read."""
    names = [field.decode("utf-8", "replace") for field in lines.fields_of(text.peek() or b"")]
    if not heading.strings and find_edge_columns(names):
        msg = f"expected an edge, found column names; convert the file with evener convert, or {NAMES}"
        raise FormatError(msg, path=text.source.path, line=text.line + 1)


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
    source.check()
    with open_text(source) as text:
        stated, numbers = _begin(text, ReadOptions())
        if stated.vertices is None or stated.edges is None or not (numbers or stated.strings):
            return None
        weighted = text.peek() is not None and _grammar_of(text, ReadOptions()).weighted
    weight_bytes = np.dtype(stated.weights).itemsize if stated.weights else TEXT_WEIGHT_BYTES * weighted
    directed = stated.directed is not False
    return Heading(
        stated.vertices, stated.edges * (1 if directed else 2), directed, int(weight_bytes), exact=False
    )


def read_share(source: Source, options: ReadOptions, world: World, /) -> EdgeShare:
    """Return the edges in this rank's part of an edge list."""

    def begin() -> Any:
        refuse_columns(options, "an edge list on several ranks")
        source.check()
        if world.rank:
            return None
        with open_text(source) as text:
            heading, numbers = _begin(text, options)
            if not numbers:
                refuse_compressed(source)
                _refuse_column_names(text, heading)
                return heading, None, None, text.line, text.offset
            if heading.isolated:
                options.refuse_n(source.path, "a list of ids")
            isolated = parse_isolated_ids(heading.isolated, source.path)
            heading.isolated = []
            grammar = None if text.peek() is None else _grammar_of(text, options)
            return heading, isolated, grammar, text.line, text.offset

    heading, isolated, grammar, line, offset = world.allgather(on_all_ranks(world, begin))[0]
    if isolated is None:
        return _share_of_names(source, options, world, heading, line=line, offset=offset)
    dtype = heading.weights if options.weighted is not False else None
    if grammar is None:
        weights = np.empty(0, dtype) if options.weighted or dtype else None
        _check_count(source.path, line, heading, 0, cut=False)
        edges = EdgeIds(np.empty(0, np.uint32), np.empty(0, np.uint32), weights, path=source.path)
    else:
        try:
            part = parse_part(world, source, grammar, line=line, offset=offset)
        except lines.LeadingZeroError as error:
            if world.rank == 0:
                warn_leading_zero(error.path, error.line)
            refuse_compressed(source)
            heading = replace(heading, strings=True, isolated=[str(i) for i in isolated.tolist()])
            return _share_of_names(source, options, world, heading, line=line, offset=offset)
        found = world.allreduce(len(part.edges.src), "sum")
        _check_count(source.path, part.last_line, heading, found, cut=part.cut)
        weights = to_common_dtype(world, part.edges.weights)
        if weights is not None:
            weights = on_all_ranks(world, lambda: cast_weights(weights, heading, source.path, part.line_of))
        edges = EdgeIds(part.edges.src, part.edges.dst, weights, path=source.path)
    listed = len(isolated) > 0
    edges.n = options.n if options.n is not None else None if listed else heading.n
    edges.vertices = isolated if world.rank == 0 else isolated[:0]
    return options.share_of(edges, stated=heading.directed)


def _share_of_names(
    source: Source, options: ReadOptions, world: World, heading: EdgeListHeading, *, line: int, offset: int
) -> EdgeShare:
    """Return the edges in this rank's part of an edge list of names."""
    fields = read_fields_in_parts(world, source, line=line, offset=offset)
    begins = next((rank for rank, rows in enumerate(world.allgather(len(fields.line))) if rows), 0)
    own = heading if world.rank == begins else replace(heading, isolated=[])
    edges = on_all_ranks(
        world,
        lambda: edges_of_names(fields, source, options, own, begins=world.rank == begins),
    )
    found = world.allreduce(len(edges.src), "sum")
    _check_count(source.path, fields.last_line, heading, found, cut=fields.cut)
    weights = to_common_dtype(world, edges.weights)
    share = EdgeIds(edges.src, edges.dst, weights, names=edges.ids, path=source.path)
    if edges.ids is not None and edges.ids.dtype.kind == "i":  # integers with a point
        share.src, share.dst = edges.ids[edges.src], edges.ids[edges.dst]
        share.vertices, share.names = edges.ids, None
    share.n = edges.n if options.n is None else options.n
    return options.share_of(share, stated=heading.directed)


def read_numbers(text: Text, options: ReadOptions, heading: EdgeListHeading, *, remedy: str = NAMES) -> Edges:
    """Return the edges in the rest of a text, with integer ids; `remedy` ends the error for other ids."""
    first = text.peek()
    if first is None:
        edges = Edges(np.empty(0, np.uint32), np.empty(0, np.uint32))
        edges.weights = np.empty(0, heading.weights) if options.weighted or heading.weights else None
    else:
        grammar = _grammar_of(text, options, remedy=remedy)
        line_of = partial(line_of_row, text.source, comments=COMMENTS, after=text.line)
        edges = lines.parse(text, grammar)
        edges.line_of = line_of
        if edges.weights is not None:
            edges.weights = cast_weights(edges.weights, heading, text.source.path, line_of)
    edges.directed = heading.directed
    edges.n = heading.n
    if heading.isolated:
        add_isolated(edges, parse_isolated_ids(heading.isolated, text.source.path))
    return edges


def _grammar_of(text: Text, options: ReadOptions, *, remedy: str = NAMES) -> lines.Grammar:
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


def refuse_columns(options: ReadOptions, what: str) -> None:
    """Raise if `columns` is given for a format without named columns."""
    if options.columns is not None:
        msg = f"columns= applies to CSV, Parquet and Arrow files, but {what} has no named columns; remove it"
        raise ArgumentError(msg)


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
)
