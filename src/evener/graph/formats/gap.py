"""GAP serialized graphs: `.sg`, and `.wsg` with int32 weights (Beamer, Asanovic and Patterson 2015).

Encoding, little-endian: directed uint8, stored edges int64, vertices int64, offsets int64, rows. A row holds
int32 heads, or pairs of int32 head and int32 weight. A directed graph adds offsets and rows of in-edges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError, FormatError
from evener.graph.formats.heading import Heading
from evener.graph.formats.npy import write_bytes
from evener.graph.formats.registry import Format
from evener.graph.formats.rows import graph_from_rows
from evener.system import memory
from evener.system.files import atomic_write

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from evener.graph.formats.file import Source
    from evener.graph.formats.read_options import ReadOptions
    from evener.graph.graph import Graph

__all__ = ["FORMAT"]

_HEADER = np.dtype([("directed", "u1"), ("m", "<i8"), ("n", "<i8")])
_WEIGHTED = np.dtype([("head", "<i4"), ("weight", "<i4")])
_MAX_INT32 = np.iinfo(np.int32).max
# Elements per conversion step.
_PIECE = 1 << 22


def read(source: Source, options: ReadOptions, /) -> Graph:
    """Return the graph of a serialized graph file, without its in-edges."""
    path = source.path
    weighted = path.suffix.lower() == ".wsg"
    row = _WEIGHTED if weighted else np.dtype("<i4")
    with source.translate_errors(), path.open("rb") as file:
        n, m, directed = _header(file, source, row)
        memory.require(8 * (n + 1) + 4 * m * (2 if weighted else 1), f"the graph {path}")
        offsets = np.fromfile(file, "<u8", n + 1)
        targets = np.empty(m, dtype=np.uint32)
        weights = np.empty(m, dtype=np.int32) if weighted else None
        _fill(file, row, targets, weights)
    return graph_from_rows(offsets, targets, weights, directed=directed, options=options, path=path)


def read_heading(source: Source, /) -> Heading:
    """Return the sizes in the header."""
    weighted = source.path.suffix.lower() == ".wsg"
    with source.translate_errors(), source.path.open("rb") as file:
        n, m, directed = _header(file, source, _WEIGHTED if weighted else np.dtype("<i4"))
    return Heading(n, m, directed, weight_bytes=4 * weighted, exact=True)


def _header(file: Any, source: Source, row: np.dtype[Any]) -> tuple[int, int, bool]:
    """Return the vertices, the stored edges and the direction, checked against the size of the file."""
    header = np.fromfile(file, _HEADER, 1)
    if len(header) == 0 or header["directed"][0] > 1:
        msg = f"expected a serialized GAP graph with a header of {_HEADER.itemsize} bytes"
        raise FormatError(msg, path=source.path)
    directed, m, n = bool(header["directed"][0]), int(header["m"][0]), int(header["n"][0])
    half = 8 * (n + 1) + row.itemsize * m
    expected = _HEADER.itemsize + half * (2 if directed else 1)
    if not (0 <= n <= _MAX_INT32 and m >= 0 and expected == source.size):
        kind = "directed" if directed else "undirected"
        msg = (
            f"expected {expected} bytes for a {kind} graph with {n} vertices and {m} stored edges, found "
            f"{source.size}; copy the file again, and use the suffix .wsg only for weights"
        )
        raise FormatError(msg, path=source.path)
    return n, m, directed


def _fill(file: Any, row: np.dtype[Any], targets: NDArray[Any], weights: NDArray[Any] | None) -> None:
    for at in range(0, len(targets), _PIECE):
        piece = np.fromfile(file, row, min(_PIECE, len(targets) - at))
        if weights is None:
            targets[at : at + len(piece)] = piece.view("<u4")
        else:
            targets[at : at + len(piece)] = piece["head"].astype(np.uint32)
            weights[at : at + len(piece)] = piece["weight"]


def write(graph: Graph, target: Path, compression: str | None, /) -> None:  # noqa: ARG001 - never compressed
    """Write a serialized graph for the programs of GAP."""
    weighted = target.suffix.lower() == ".wsg"
    if weighted != (graph.weights is not None):
        found, suffix = ("weights", ".wsg") if graph.weights is not None else ("no weights", ".sg")
        raise ArgumentError(f"{target}: the graph has {found}; write {suffix}")
    if graph.n > _MAX_INT32:
        raise ArgumentError(
            f"{target}: expected at most {_MAX_INT32} vertices for this format, found {graph.n}; write .evg"
        )
    if graph.weights is not None and not _fits_int32(graph.weights):
        msg = f"{target}: the format holds int32 weights, but {graph.weights.dtype} do not fit; write .evg"
        raise ArgumentError(msg)
    halves = [graph, graph.reverse] if graph.directed else [graph]
    with atomic_write(target) as temporary, temporary.open("wb") as file:
        write_bytes(file, np.array([(graph.directed, graph.m, graph.n)], dtype=_HEADER))
        for half in halves:
            write_bytes(file, half.offsets.astype("<i8", copy=False))
            for at in range(0, half.m, _PIECE):
                heads = half.targets[at : at + _PIECE]
                if half.weights is None:
                    write_bytes(file, heads)
                else:
                    rows = np.empty(len(heads), dtype=_WEIGHTED)
                    rows["head"], rows["weight"] = heads, half.weights[at : at + _PIECE]
                    write_bytes(file, rows)


def _fits_int32(weights: NDArray[Any]) -> bool:
    if weights.dtype.kind == "f":
        return False
    span = np.iinfo(np.int32)
    return len(weights) == 0 or bool(span.min <= weights.min() and weights.max() <= span.max)


FORMAT = Format(
    "GAP", (".sg", ".wsg"), read, write, stores_ids=False, compressed=False, read_heading=read_heading
)
