"""Matrix Market coordinate files (`.mtx`): an entry in row i, column j is an edge from i to j.

Ids count from 0, as SciPy numbers rows. A symmetric matrix is an undirected graph; the file lists its lower
triangle. A skew-symmetric matrix is a directed graph: an entry v in row i, column j also gives the edge from
j to i with weight -v. Entries that repeat are summed, as in SciPy, unless a comment of `write` says that they
are parallel edges.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import FormatError
from evener.graph.edge_counts import count_edges
from evener.graph.formats import number_lines as lines
from evener.graph.formats.edges import build_graph, pieces, refuse_infinite, write_columns
from evener.graph.formats.file import open_compressed
from evener.graph.formats.heading import TEXT_WEIGHT_BYTES, Heading
from evener.graph.formats.integer_weights import first_not_representable
from evener.graph.formats.registry import Format
from evener.graph.formats.rows import apply_options, parallel_edges, sum_parallel_edges
from evener.graph.formats.text_stream import HEADING_BYTES, open_text
from evener.system.files import atomic_write

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from evener.graph.formats.file import Source
    from evener.graph.formats.read_options import ReadOptions
    from evener.graph.formats.text_stream import Text
    from evener.graph.graph import Graph
    from evener.graph.share import EdgeIds

__all__ = ["FORMAT"]

_BANNER = (
    "%%MatrixMarket matrix coordinate pattern|integer|unsigned-integer|real general|symmetric|skew-symmetric"
)
# Comment of a file whose entries that repeat are parallel edges.
_PARALLEL = b"% Entries that repeat are parallel edges"
_FIELDS = ("pattern", "integer", "unsigned-integer", "real")
_SYMMETRIES = ("general", "symmetric", "skew-symmetric")


def read(source: Source, options: ReadOptions, /) -> Graph:
    """Return the graph of a `.mtx` file."""
    with open_text(source) as text:
        field, symmetry = _banner(text)
        n, entries, where, parallel = _sizes(text)
        if options.n is not None and options.n != n:
            msg = f"expected n = {options.n} vertices, but the size line has {n}; remove n"
            raise FormatError(msg, path=source.path, line=where)
        weighted = field != "pattern" and options.weighted is not False
        origin = f"because the banner says {field!r}"
        fields = 2 if field == "pattern" else 3
        edges = lines.parse(text, lines.Grammar(b"%", fields, weighted, min_id=1, max_id=n, origin=origin))
    if len(edges.src) != entries:
        msg = f"expected {entries} entries by the size line, found {len(edges.src)}; download the file again"
        raise FormatError(msg, path=source.path, line=where)
    if field.endswith("integer"):
        _check_integers(edges, field)
    edges.src -= edges.src.dtype.type(1)
    edges.dst -= edges.dst.dtype.type(1)
    if edges.weights is not None and field == "real":
        edges.weights = edges.weights.astype(np.float64)
    edges.n = n
    edges.directed = symmetry != "symmetric"
    if symmetry == "skew-symmetric":
        _add_upper_triangle(edges)
    kept = replace(options, directed=None, self_loops="keep", duplicates="keep")
    graph = build_graph(edges, kept)
    if not parallel:
        graph = sum_parallel_edges(graph, widen_integers=True)
    # An undirected graph has the edges of both triangles, as the directed graph of a symmetric matrix.
    return apply_options(graph, options, source.path, symmetric=True)


def read_heading(source: Source, /) -> Heading:
    """Return the sizes in the size line. Entries that repeat count there."""
    with open_text(source, most=HEADING_BYTES) as text:
        field, symmetry = _banner(text)
        n, entries, _, _ = _sizes(text)
    m = entries if symmetry == "general" else 2 * entries
    weight_bytes = 0 if field == "pattern" else TEXT_WEIGHT_BYTES
    return Heading(n, m, symmetry != "symmetric", weight_bytes, exact=False)


def _banner(text: Text) -> tuple[str, str]:
    line = (text.peek() or b"").decode("utf-8", "replace")
    words = line.lower().lstrip("% \t").split()
    # Some files have one % only, or blanks after it.
    if not line.startswith("%") or line.lower().lstrip("% \t").split()[:2] != ["matrixmarket", "matrix"]:
        msg = f"expected '{_BANNER}', found {line[:60]!r}"
        raise FormatError(msg, path=text.source.path, line=1)
    if len(words) != 5:
        msg = f"expected five words, '{_BANNER}', found {line[:60]!r}"
        raise FormatError(msg, path=text.source.path, line=1)
    layout, field, symmetry = words[2:]
    if layout != "coordinate":
        msg = f"expected a sparse matrix ('coordinate'), found {layout!r}"
        raise FormatError(msg, path=text.source.path, line=1)
    signed = field in ("integer", "real")
    if field not in _FIELDS or symmetry not in _SYMMETRIES or (symmetry == "skew-symmetric" and not signed):
        msg = f"expected '{_BANNER}', found '{field} {symmetry}'"
        raise FormatError(msg, path=text.source.path, line=1)
    text.skip()
    return field, symmetry


def _check_integers(edges: EdgeIds, field: str) -> None:
    """Raise `FormatError` if a weight does not fit the 64-bit integers of the banner."""
    weights = edges.weights
    if weights is None or (field == "integer" and weights.dtype.kind in "iu"):  # "integer" may mean uint64
        return
    target = np.int64 if field == "integer" else np.uint64
    if (wrong := first_not_representable(weights, target)) is not None:
        kind = field.replace("-", " ")
        msg = f"expected 64-bit {kind}s by the banner, found {weights[wrong]} in entry {wrong + 1}"
        raise _error_at(edges, wrong, msg)


def _error_at(edges: EdgeIds, entry: int, msg: str) -> FormatError:
    """Return the error for an entry."""
    return FormatError(msg, path=edges.path, line=edges.line_of and edges.line_of(entry))


def _add_upper_triangle(edges: EdgeIds) -> None:
    """Add the entry -v in row j, column i for each entry v in row i, column j."""
    if (loops := edges.src == edges.dst).any():
        msg = "expected no diagonal entry in a skew-symmetric matrix, found one; remove it"
        raise _error_at(edges, int(loops.argmax()), msg)
    edges.src, edges.dst = (np.concatenate(ends) for ends in ((edges.src, edges.dst), (edges.dst, edges.src)))
    if edges.weights is not None:
        if edges.weights.dtype.kind in "iu" and len(edges.weights):
            _check_negatives(edges, edges.weights)
        edges.weights = np.concatenate([edges.weights, -edges.weights])


def _check_negatives(edges: EdgeIds, weights: NDArray[Any]) -> None:
    """Raise `FormatError` if -v is no 64-bit integer for a weight v."""
    lowest = np.iinfo(np.int64).min
    wrong = weights == lowest if weights.dtype.kind == "i" else weights > np.iinfo(np.int64).max
    if wrong.any():
        entry = int(wrong.argmax())
        msg = f"expected an integer whose negative fits 64 bits, found {weights[entry]}"
        raise _error_at(edges, entry, f"{msg}; write 'real' in the banner")


def _sizes(text: Text) -> tuple[int, int, int, bool]:
    """Return the sizes, the line of the sizes, and whether entries that repeat are parallel edges."""
    parallel = _PARALLEL in {line.rstrip() for line in text.ignored(b"%", kept=_PARALLEL)}
    line = text.peek()
    where = text.line + 1
    sizes = re.fullmatch(rb"\s*(\d{1,18})\s+(\d{1,18})\s+(\d{1,18})\s*", line or b"")
    if sizes is None:
        found = "the end of the file" if line is None else repr(line[:60].decode("utf-8", "replace"))
        msg = f"expected the size line 'ROWS COLUMNS ENTRIES', found {found}"
        raise FormatError(msg, path=text.source.path, line=where)
    rows, columns, entries = (int(s) for s in sizes.groups())
    if rows != columns:
        msg = f"expected a square matrix, found {rows} x {columns}"
        raise FormatError(msg, path=text.source.path, line=where)
    text.skip()
    return rows, entries, where, parallel


def write(graph: Graph, target: Path, compression: str | None, /) -> None:
    """Write a `.mtx` file, with a symmetric matrix for an undirected graph."""
    refuse_infinite(graph, target)
    kinds = {"f": "real", "i": "integer", "u": "integer"}
    field = "pattern" if graph.weights is None else kinds[graph.weights.dtype.kind]
    symmetry = "general" if graph.directed else "symmetric"
    with atomic_write(target) as temporary, open_compressed(temporary, compression) as sink:
        sink.write(f"%%MatrixMarket matrix coordinate {field} {symmetry}\n".encode())
        if parallel_edges(graph).any():
            sink.write(_PARALLEL + b"\n")
        sink.write(f"{graph.n} {graph.n} {count_edges(graph)}\n".encode())
        for piece in pieces(graph, widen_float32=True):
            # `pieces` gives the smaller vertex as tail; the lower triangle has the smaller vertex as column.
            ends = (piece.src, piece.dst) if graph.directed else (piece.dst, piece.src)
            columns = [end.astype(np.int64) + 1 for end in ends]
            columns += [] if piece.weights is None else [piece.weights]
            write_columns(sink, columns)


FORMAT = Format("Matrix Market", (".mtx",), read, write, stores_ids=False, read_heading=read_heading)
