"""Conversion between edge arrays and graphs, for all formats that store edges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.errors import ArgumentError, FormatError, OutOfMemoryError
from evener.graph.formats.ids import number_vertices
from evener.graph.formats.rows import check_symmetric, to_undirected
from evener.graph.graph import Graph

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from evener.graph.formats.read_options import ReadOptions
    from evener.graph.share import EdgeIds

__all__ = [
    "EdgePiece",
    "blocks",
    "build_graph",
    "isolated_vertices",
    "narrow_integers",
    "pieces",
    "refuse_infinite",
    "write_columns",
    "write_lines",
]

# Edges per piece of a writer: 64 MiB of ids.
PIECE = 1 << 22


def build_graph(edges: EdgeIds, options: ReadOptions) -> Graph:
    """Return the graph of the edges of a file.

    Raises
    ------
    FormatError
        If the edges do not form a graph.
    ArgumentError
        If `options` give a number of vertices, but the file lists vertex ids.
    """
    ids = number_vertices(edges) if edges.listed or len(edges.vertices) else edges.names
    if ids is not None:
        options.refuse_n(edges.path, "string ids" if ids.dtype.kind in "UO" else "a list of ids")
    if options.weighted and edges.weights is None:
        raise FormatError("expected weights, but the file has none; remove weighted=True", path=edges.path)
    directed = options.is_directed(stated=edges.directed)
    graph = _graph_of_numbers(edges, ids, options, directed=directed or edges.both_directions)
    if ids is None and directed == graph.directed:
        return graph
    graph = Graph(
        graph.offsets,
        graph.targets,
        weights=graph.weights,
        directed=directed,
        ids=ids if ids is not None else graph.ids if graph.has_custom_ids else None,
        validate=False,
    )
    if directed or not edges.both_directions:
        return graph
    if edges.directed is not False:  # only the caller says that the edges are undirected
        return to_undirected(graph)
    check_symmetric(graph, edges.path)
    return graph


def _graph_of_numbers(
    edges: EdgeIds, ids: NDArray[Any] | None, options: ReadOptions, *, directed: bool
) -> Graph:
    """Return the graph of the tails and heads as numbers; an error names the file."""
    n = edges.n if options.n is None else options.n
    if n is not None and ids is None:
        _refuse_large_ids(edges, n)
    try:
        return Graph.from_edges(
            edges.src,
            edges.dst,
            None if options.weighted is False else edges.weights,
            directed,
            n if ids is None else len(ids),
            **options.repeated,
        )
    except ArgumentError as error:
        raise FormatError(str(error), path=edges.path) from error
    except OutOfMemoryError as error:
        msg = f"{edges.path}: {error}"
        raise OutOfMemoryError(msg, needed=error.needed, available=error.available) from error


def _refuse_large_ids(edges: EdgeIds, n: int) -> None:
    """Raise `FormatError` for the first edge with an id that is not below `n`."""
    first = None
    for ends in (edges.src, edges.dst):
        if ends.dtype.kind in "iu" and len(ends) and ends.max() >= n:
            row = int((ends >= n).argmax())
            first = (row, ends[row]) if first is None else min(first, (row, ends[row]))
    if first is not None:
        row, found = first
        line = None if edges.line_of is None else edges.line_of(row)
        where = f" in row {row + 1}" if line is None else ""
        msg = f"expected ids below n = {n}, found {found}{where}; omit n="
        raise FormatError(msg, path=edges.path, line=line)


class EdgePiece(NamedTuple):
    """Some edges of a graph, by vertex number."""

    src: NDArray[np.uint32]
    dst: NDArray[np.uint32]
    weights: NDArray[Any] | None


def narrow_integers(weights: NDArray[Any]) -> NDArray[Any]:
    """Return integral weights as int32 or int64, whichever fits; floats beyond 2^53 stay floats."""
    largest = max(-float(weights.min()), float(weights.max())) if len(weights) else 0.0
    if largest <= np.iinfo(np.int32).max:
        return weights.astype(np.int32)
    return weights.astype(np.int64) if largest <= 2**53 else weights


def blocks(graph: Graph) -> Iterator[tuple[int, int]]:
    """Yield ranges of rows with at most `PIECE` edges; a longer row is a range of its own."""
    row = 0
    while row < graph.n:
        last = int(np.searchsorted(graph.offsets, graph.offsets[row] + np.uint64(PIECE), side="right")) - 1
        last = min(max(last, row + 1), graph.n)
        yield row, last
        row = last


def pieces(graph: Graph, *, each_once: bool = True, widen_float32: bool = False) -> Iterator[EdgePiece]:
    """Yield the edges of a graph in pieces, in the order of their tails.

    With `each_once`, an undirected edge comes once instead of in both directions. `widen_float32` yields
    float32 weights as float64. The shortest digits of a float32 would parse to another float64, so text files
    without a weight type need this.
    """
    for row, last in blocks(graph):
        begin, end = int(graph.offsets[row]), int(graph.offsets[last])
        degrees = np.diff(graph.offsets[row : last + 1]).astype(np.intp)
        src = np.repeat(np.arange(row, last, dtype=np.uint32), degrees)
        dst = graph.targets[begin:end]
        weights = None if graph.weights is None else graph.weights[begin:end]
        if widen_float32 and weights is not None and weights.dtype == np.float32:
            weights = weights.astype(np.float64)
        if each_once and not graph.directed:
            kept = src <= dst
            src, dst, weights = src[kept], dst[kept], None if weights is None else weights[kept]
        yield EdgePiece(src, dst, weights)


def isolated_vertices(graph: Graph) -> NDArray[np.intp]:
    """Return the numbers of the vertices without edges, ascending."""
    untouched = np.diff(graph.offsets) == 0
    if graph.directed and untouched.any():
        for piece in pieces(graph):
            untouched[piece.dst] = False
    return np.flatnonzero(untouched)


def refuse_infinite(graph: Graph, target: Path) -> None:
    """Raise if a weight is infinite, for formats with finite weights only."""
    weights = graph.weights
    if weights is None or weights.dtype.kind != "f" or not len(weights):
        return
    for extreme in (weights.min(), weights.max()):  # min and max allocate no array
        if np.isinf(extreme):
            msg = f"{target}: expected finite weights for this format, found {extreme}"
            raise ArgumentError(f"{msg}; write .csv, .npz, .parquet or .evg")


def write_columns(sink: Any, columns: Sequence[Any], *, delimiter: str = " ") -> None:
    """Write arrays of one length as lines of fields without quotes."""
    import pyarrow as pa
    from pyarrow import csv

    table = pa.table(list(columns), list(map(str, range(len(columns)))))
    options = csv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style="none")
    csv.write_csv(table, sink, options)


def write_lines(graph: Graph, sink: Any, *, delimiter: str, widen_float32: bool = False) -> None:
    """Write edges as lines of ids, an undirected edge once; see `pieces`."""
    for piece in pieces(graph, widen_float32=widen_float32):
        ends = [piece.src, piece.dst]
        if graph.has_custom_ids:
            ends = [graph.ids[end] for end in ends]
        columns = ends if piece.weights is None else [*ends, piece.weights]
        write_columns(sink, columns, delimiter=delimiter)
