"""Matrix Market (`.mtx`), coordinate: row i, column j is an edge from i to j, counted from 1.

A symmetric matrix is an undirected graph, of which the lower triangle is listed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from evener.errors import FormatError
from evener.graph.formats import number_lines as lines
from evener.graph.formats.edgelist import refuse_columns, refuse_infinite
from evener.graph.formats.edges import Edges, graph_of, pieces, stored_as
from evener.graph.formats.file import compressing
from evener.graph.formats.integer_weights import misfit
from evener.graph.formats.registry import Format
from evener.graph.formats.text_stream import opened
from evener.system.files import replacing

if TYPE_CHECKING:
    from pathlib import Path

    from evener.graph.formats.edges import Wishes
    from evener.graph.formats.file import Source
    from evener.graph.formats.text_stream import Text
    from evener.graph.graph import Graph

__all__ = ["FORMAT"]

_BANNER = "%%MatrixMarket matrix coordinate pattern|integer|real general|symmetric"


def read(source: Source, wishes: Wishes, /) -> Graph:
    """Read a `.mtx` file."""
    refuse_columns(wishes, "a Matrix Market file")
    source.check()
    with opened(source) as text:
        field, symmetry = _banner(text)
        n, entries, where = _sizes(text)
        if wishes.n is not None and wishes.n != n:
            msg = f"n = {wishes.n} was asked for, but the size line says {n}; leave n out"
            raise FormatError(msg, path=source.path, line=where)
        weighted = field != "pattern" and wishes.weighted is not False
        grammar = lines.Grammar(b"%", 2 if field == "pattern" else 3, weighted, least=1, limit=n)
        edges = lines.parse(text, grammar) if n else Edges(np.empty(0, np.uint32), np.empty(0, np.uint32))
    if len(edges.src) != entries:
        msg = (
            f"the size line says {entries} entries, but {len(edges.src)} came: was the file downloaded whole?"
        )
        raise FormatError(msg, path=source.path, line=where)
    if edges.weights is not None and field == "integer":
        wrong = misfit(edges.weights, np.int64) if edges.weights.dtype.kind == "f" else None
        if wrong is not None:
            came = edges.weights[wrong]
            msg = f"the banner says integer, so weights are integers of up to 64 bits, but {came} came"
            raise FormatError(f"{msg} as entry {wrong + 1}", path=source.path)
    edges.src -= edges.src.dtype.type(1)
    edges.dst -= edges.dst.dtype.type(1)
    if edges.weights is not None and field == "real":
        edges.weights = edges.weights.astype(np.float64)
    edges.n = n
    edges.directed = symmetry == "general"
    if not edges.directed and wishes.directed:
        # The caller wants the matrix itself: the triangle that is not listed is part of it.
        graph = graph_of(edges, wishes.but(directed=False), source.path)
        return type(graph)(graph.offsets, graph.targets, weights=graph.weights, directed=True, validate=False)
    # A general matrix that the caller says is symmetric lists both triangles.
    edges.both_directions = edges.directed
    return graph_of(edges, wishes, source.path)


def _banner(text: Text) -> tuple[str, str]:
    line = (text.peek() or b"").decode("utf-8", "replace")
    words = line.lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        msg = f"expected '{_BANNER}', but {line[:60]!r} came"
        raise FormatError(msg, path=text.source.path, line=1)
    layout, field, symmetry = words[2:]
    if layout != "coordinate":
        msg = f"expected a sparse matrix ('coordinate'), but {layout!r} came, which is no list of edges"
        raise FormatError(msg, path=text.source.path, line=1)
    if field not in ("pattern", "integer", "real") or symmetry not in ("general", "symmetric"):
        msg = f"expected '{_BANNER}', but '{field} {symmetry}' came, which is no graph with real weights"
        raise FormatError(msg, path=text.source.path, line=1)
    text.skip()
    return field, symmetry


def _sizes(text: Text) -> tuple[int, int, int]:
    while (line := text.peek()) is not None and (not line.strip() or line.startswith(b"%")):
        text.skip()
    where = text.line + 1
    sizes = re.fullmatch(rb"\s*(\d{1,18})\s+(\d{1,18})\s+(\d{1,18})\s*", line or b"")
    if sizes is None:
        came = "the file ends" if line is None else repr(line[:60].decode("utf-8", "replace"))
        msg = f"expected the size line 'ROWS COLUMNS ENTRIES', but {came}"
        raise FormatError(msg, path=text.source.path, line=where)
    rows, columns, entries = (int(s) for s in sizes.groups())
    if rows != columns:
        msg = f"a graph's matrix is square, but this one is {rows} x {columns}"
        raise FormatError(msg, path=text.source.path, line=where)
    text.skip()
    return rows, entries, where


def write(graph: Graph, target: Path, compression: str | None, /) -> None:
    """Write a `.mtx` file: symmetric if the graph is undirected."""
    import pyarrow as pa
    from pyarrow import csv

    refuse_infinite(graph, target)
    kinds = {"f": "real", "i": "integer", "u": "integer"}
    field = "pattern" if graph.weights is None else kinds[graph.weights.dtype.kind]
    symmetry = "general" if graph.directed else "symmetric"
    options = csv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none")
    with replacing(target) as temporary, compressing(temporary, compression) as sink:
        sink.write(f"%%MatrixMarket matrix coordinate {field} {symmetry}\n".encode())
        sink.write(f"{graph.n} {graph.n} {stored_as(graph)}\n".encode())
        for piece in pieces(graph, untyped=True):
            # Of an undirected edge, `pieces` gives the smaller end first, and the lower triangle has it last.
            ends = (piece.src, piece.dst) if graph.directed else (piece.dst, piece.src)
            columns = [end.astype(np.int64) + 1 for end in ends]
            columns += [] if piece.weights is None else [piece.weights]
            csv.write_csv(pa.table(columns, ["row", "column", "value"][: len(columns)]), sink, options)


FORMAT = Format("Matrix Market", (".mtx",), read, write, keeps_ids=False)
