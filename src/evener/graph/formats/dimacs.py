"""DIMACS shortest-path graphs (`.gr`): ``p sp n m``, then an arc ``a tail head weight`` a line, from 1.

The format is directed: an undirected graph lists both arcs of every edge, and so it is read back.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from evener.errors import ArgumentError, FormatError
from evener.graph.formats import number_lines as lines
from evener.graph.formats.edgelist import refuse_columns
from evener.graph.formats.edges import graph_of, pieces
from evener.graph.formats.file import compressing
from evener.graph.formats.registry import Format
from evener.graph.formats.text_stream import opened
from evener.system.files import replacing

if TYPE_CHECKING:
    from pathlib import Path

    from evener.graph.formats.edges import Wishes
    from evener.graph.formats.file import Source
    from evener.graph.graph import Graph

__all__ = ["FORMAT"]

_UNDIRECTED = b"c Undirected graph: both arcs of every edge"
_UNWEIGHTED = b"c Unweighted graph: every weight is 1"


def read(source: Source, wishes: Wishes, /) -> Graph:
    """Read a `.gr` file."""
    refuse_columns(wishes, "a .gr file")
    source.check()
    comments = set()
    with opened(source) as text:
        while (line := text.peek()) is not None and (not line.strip() or line.startswith(b"c")):
            comments.add(line.strip())
            text.skip()
        problem = re.fullmatch(rb"p\s+\S+\s+(\d{1,18})\s+(\d{1,18})\s*", line or b"")
        if problem is None:
            came = "the file ends" if line is None else repr(line[:60].decode("utf-8", "replace"))
            msg = f"expected the problem line 'p sp VERTICES ARCS' before the first arc, but {came}"
            raise FormatError(msg, path=source.path, line=text.line + 1)
        n, m = int(problem[1]), int(problem[2])
        where = text.line + 1
        text.skip()
        if wishes.n is not None and wishes.n != n:
            msg = f"n = {wishes.n} was asked for, but the problem line says {n}; leave n out"
            raise FormatError(msg, path=source.path, line=where)
        unweighted = wishes.weighted is False or (wishes.weighted is None and _UNWEIGHTED in comments)
        grammar = lines.Grammar(b"c", 3, not unweighted, lead=b"a", least=1, limit=n)
        edges = lines.parse(text, grammar)
    if len(edges.src) != m:
        msg = f"the problem line says {m} arcs, but {len(edges.src)} came: was the file downloaded whole?"
        raise FormatError(msg, path=source.path, line=where)
    edges.src -= edges.src.dtype.type(1)
    edges.dst -= edges.dst.dtype.type(1)
    edges.n = n
    edges.directed = _UNDIRECTED not in comments
    edges.both_directions = True
    return graph_of(edges, wishes, source.path)


def write(graph: Graph, target: Path, compression: str | None, /) -> None:
    """Write a `.gr` file; one without weights gets weights of 1, as the format demands some."""
    import pyarrow as pa
    from pyarrow import csv

    if graph.weights is not None and graph.weights.dtype.kind == "f":
        kind = graph.weights.dtype
        msg = f"{target}: a .gr file has integer weights, and this graph's are {kind}; write .mtx or .evg"
        raise ArgumentError(msg)
    heading = [] if graph.directed else [_UNDIRECTED]
    heading += [_UNWEIGHTED] if graph.weights is None else []
    heading.append(b"p sp %d %d" % (graph.n, graph.m))
    options = csv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none")
    with replacing(target) as temporary, compressing(temporary, compression) as sink:
        sink.write(b"\n".join(heading) + b"\n")
        for piece in pieces(graph, each_once=False):
            count = len(piece.src)
            arc = pa.DictionaryArray.from_arrays(np.zeros(count, np.int8), ["a"]).cast(pa.string())
            weights = np.ones(count, np.int8) if piece.weights is None else piece.weights
            ends = [end.astype(np.int64) + 1 for end in (piece.src, piece.dst)]
            csv.write_csv(pa.table([arc, *ends, weights], ["a", "src", "dst", "weight"]), sink, options)


FORMAT = Format("DIMACS", (".gr",), read, write, keeps_ids=False)
