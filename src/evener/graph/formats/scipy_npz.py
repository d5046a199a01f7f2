"""Sparse matrices of SciPy in `.npz` files: an entry in row i, column j is an edge from i to j.

SciPy crashes on some malformed files. The reader checks all headers before SciPy loads an array, loads no
pickles, and checks the rows fully.
"""

from __future__ import annotations

import zipfile
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import FormatError
from evener.graph.formats.edgelist import refuse_columns
from evener.graph.formats.edges import Edges, build_graph
from evener.graph.formats.npy import read_header
from evener.graph.formats.registry import Format
from evener.graph.formats.rows import graph_from_rows
from evener.system import memory
from evener.system.files import atomic_write

if TYPE_CHECKING:
    from pathlib import Path

    from evener.graph.formats.file import Source
    from evener.graph.formats.read_options import ReadOptions
    from evener.graph.graph import Graph

__all__ = ["FORMAT"]

_ARRAYS = {
    "csr": ("indptr", "indices", "data"),
    "csc": ("indptr", "indices", "data"),
    "coo": ("row", "col", "data"),
}
_COUNTS = {"indptr", "indices", "row", "col"}


def read(source: Source, options: ReadOptions, /) -> Graph:
    """Return the graph of a CSR, CSC or COO matrix; a boolean matrix gives no weights."""
    from scipy import sparse

    refuse_columns(options, "a sparse matrix")
    source.check()
    path = source.path
    _check_headers(source)
    try:
        with source.translate_errors(), path.open("rb") as file:
            matrix: Any = sparse.load_npz(file)
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        IndexError,
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        raise FormatError(
            f"expected a SciPy sparse matrix: {str(error).splitlines()[0]}", path=path
        ) from error
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise FormatError(f"expected a square matrix, found shape {matrix.shape}", path=path)
    weights = None if matrix.data.dtype == np.bool_ else matrix.data
    if weights is not None and weights.dtype.kind not in "iuf":
        raise FormatError(f"expected numbers as weights, found {weights.dtype}", path=path)
    n = matrix.shape[0]
    if matrix.format == "csr":
        indptr, indices = matrix.indptr, matrix.indices
        if len(indptr) != n + 1 or len(indices) != len(matrix.data) or (len(indices) and indices.min() < 0):
            msg = f"expected {n + 1} row bounds and columns from 0 to {n - 1}, one for each value"
            raise FormatError(msg, path=path)
        return graph_from_rows(
            indptr.astype(np.uint64),
            indices.astype(np.uint32),
            weights,
            directed=True,
            options=options,
            path=path,
        )
    edges = _edges_by_column(matrix, n, path) if matrix.format == "csc" else Edges(matrix.row, matrix.col)
    edges.weights, edges.n, edges.both_directions = weights, n, True
    return build_graph(edges, options, path)


def _edges_by_column(matrix: Any, n: int, path: Path) -> Edges:
    counts = np.diff(matrix.indptr)
    if len(counts) != n or matrix.indptr[0] != 0 or (counts < 0).any() or counts.sum() != len(matrix.indices):
        raise FormatError(f"expected ascending column bounds from 0 to {len(matrix.indices)}", path=path)
    return Edges(matrix.indices, np.repeat(np.arange(n), counts))


def _check_headers(source: Source) -> None:
    """Check the headers of all arrays, and the memory they need, before SciPy loads an array."""
    path = source.path
    try:
        with source.translate_errors(), zipfile.ZipFile(path) as archive:
            members = {i.filename.removesuffix(".npy"): i for i in archive.infolist()}
            memory.require(sum(i.file_size for i in members.values()), f"the matrix {path}")
            for name, member in members.items():
                with archive.open(member) as file:
                    header = read_header(file, name=name, size=member.file_size, path=path)
                    if name in _COUNTS and header.dtype.kind not in "iu":  # SciPy would round floats
                        msg = f"expected integers in {name}, found {header.dtype}"
                        raise FormatError(msg, path=path)
                    if name == "format":
                        layout = np.frombuffer(file.read(64), header.dtype, 1)[0]
                        layout = (
                            layout.decode("ascii", "replace") if isinstance(layout, bytes) else str(layout)
                        )
                        _check_layout(layout, set(members), path)
            if "format" not in members:
                _check_layout("", set(members), path)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        msg = f"expected a .npz archive, but it is damaged or truncated ({error}); download it again"
        raise FormatError(msg, path=path) from error


def _check_layout(layout: str, members: set[str], path: Path) -> None:
    needed = {"shape", *_ARRAYS.get(layout, ())}
    if layout not in _ARRAYS or not needed <= members:
        missing = ", ".join(sorted(needed - members)) or "a known layout"
        msg = (
            f"expected a matrix of scipy.sparse.save_npz (csr, csc or coo), found layout {layout!r} "
            f"without {missing}"
        )
        raise FormatError(msg, path=path)


def write(graph: Graph, target: Path, compression: str | None, /) -> None:  # noqa: ARG001 - zip compresses
    """Write a CSR matrix for `scipy.sparse.load_npz`; without weights, its entries are True."""
    from scipy import sparse

    index = np.int32 if max(graph.n, graph.m) <= np.iinfo(np.int32).max else np.int64
    values = np.ones(graph.m, dtype=np.bool_) if graph.weights is None else graph.weights
    rows = (values, graph.targets.astype(index), graph.offsets.astype(index))
    matrix = sparse.csr_array(rows, shape=(graph.n, graph.n))
    with atomic_write(target) as temporary, temporary.open("wb") as file:
        sparse.save_npz(file, matrix, compressed=False)


FORMAT = Format("SciPy", (".npz",), read, write, stores_ids=False, compressed=False, stores_direction=False)
