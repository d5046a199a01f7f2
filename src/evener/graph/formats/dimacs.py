"""DIMACS shortest-path graphs (`.gr`): ``p sp n m``, then one ``a tail head weight`` per line, ids from 1.

The format is directed. An undirected graph lists both arcs of each edge, and a comment marks it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from evener.errors import ArgumentError, FormatError
from evener.graph.formats import number_lines as lines
from evener.graph.formats.edges import build_graph, pieces, write_columns
from evener.graph.formats.file import open_compressed
from evener.graph.formats.heading import TEXT_WEIGHT_BYTES, Heading
from evener.graph.formats.registry import Format
from evener.graph.formats.text_stream import HEADING_BYTES, open_text
from evener.system.files import atomic_write

if TYPE_CHECKING:
    from pathlib import Path

    from evener.graph.formats.file import Source
    from evener.graph.formats.read_options import ReadOptions
    from evener.graph.formats.text_stream import Text
    from evener.graph.graph import Graph

__all__ = ["FORMAT"]

_UNDIRECTED = b"c Undirected graph: both arcs of every edge"
_ORIGIN = "'a TAIL HEAD WEIGHT'"
_UNWEIGHTED = b"c Unweighted graph: every weight is 1"


def read(source: Source, options: ReadOptions, /) -> Graph:
    """Return the graph of a `.gr` file."""
    with open_text(source) as text:
        n, m, comments, where = _problem(text)
        if options.n is not None and options.n != n:
            msg = f"expected n = {options.n} vertices, but the problem line has {n}; remove n"
            raise FormatError(msg, path=source.path, line=where)
        unweighted = options.weighted is False or (options.weighted is None and _UNWEIGHTED in comments)
        grammar = lines.Grammar(b"c", 3, not unweighted, prefix=b"a", min_id=1, max_id=n, origin=_ORIGIN)
        edges = lines.parse(text, grammar)
    if len(edges.src) != m:
        msg = f"expected {m} arcs by the problem line, found {len(edges.src)}; download the file again"
        raise FormatError(msg, path=source.path, line=where)
    edges.src -= edges.src.dtype.type(1)
    edges.dst -= edges.dst.dtype.type(1)
    edges.n = n
    edges.directed = _UNDIRECTED not in comments
    edges.both_directions = True
    return build_graph(edges, options)


def read_heading(source: Source, /) -> Heading:
    """Return the sizes in the problem line."""
    with open_text(source, most=HEADING_BYTES) as text:
        n, m, comments, _ = _problem(text)
    weight_bytes = 0 if _UNWEIGHTED in comments else TEXT_WEIGHT_BYTES
    return Heading(n, m, _UNDIRECTED not in comments, weight_bytes, exact=True)


def _problem(text: Text) -> tuple[int, int, set[bytes], int]:
    """Return the vertices, the arcs, the comments before the problem line, and its line number."""
    comments = {line.strip() for line in text.ignored(b"c", kept=b"c Un")}
    line = text.peek()
    problem = re.fullmatch(rb"\s*p\s+\S+\s+(\d{1,18})\s+(\d{1,18})\s*", line or b"")
    if problem is None:
        found = "the end of the file" if line is None else repr(line[:60].decode("utf-8", "replace"))
        msg = f"expected the problem line 'p sp VERTICES ARCS' before the first arc, found {found}"
        raise FormatError(msg, path=text.source.path, line=text.line + 1)
    text.skip()
    return int(problem[1]), int(problem[2]), comments, text.line


def write(graph: Graph, target: Path, compression: str | None, /) -> None:
    """Write a `.gr` file; a graph without weights gets weights of 1, because the format requires weights."""
    import pyarrow as pa

    if graph.weights is not None and graph.weights.dtype.kind == "f":
        msg = f"{target}: expected integer weights for .gr, found {graph.weights.dtype}; write .mtx or .evg"
        raise ArgumentError(msg)
    heading = [] if graph.directed else [_UNDIRECTED]
    heading += [_UNWEIGHTED] if graph.weights is None else []
    heading.append(b"p sp %d %d" % (graph.n, graph.m))
    with atomic_write(target) as temporary, open_compressed(temporary, compression) as sink:
        sink.write(b"\n".join(heading) + b"\n")
        for piece in pieces(graph, each_once=False):
            count = len(piece.src)
            arc = pa.DictionaryArray.from_arrays(np.zeros(count, np.int8), ["a"]).cast(pa.string())
            weights = np.ones(count, np.int8) if piece.weights is None else piece.weights
            ends = [end.astype(np.int64) + 1 for end in (piece.src, piece.dst)]
            write_columns(sink, [arc, *ends, weights])


FORMAT = Format("DIMACS", (".gr",), read, write, stores_ids=False, first_id=1, read_heading=read_heading)
