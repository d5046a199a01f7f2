"""Sparse matrices of SciPy in `.npz` files: an entry in row i, column j is an edge from i to j.

SciPy sums entries that repeat, so the reader sums them too. `write` stores parallel edges as entries that
repeat, and adds an array named `parallel_edges` to the archive. The reader then keeps the entries apart.

SciPy crashes on some malformed files. The reader checks all headers before SciPy loads an array, loads no
pickles, and checks the rows fully.
"""

from __future__ import annotations

import zipfile
import zlib
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.lib import format as npy

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
# Name of an array in an archive whose entries that repeat are parallel edges.
_PARALLEL = "parallel_edges"


def read(source: Source, options: ReadOptions, /) -> Graph:
    """Return the graph of a CSR, CSC or COO matrix; a boolean matrix gives no weights."""
    from scipy import sparse

    refuse_columns(options, "a sparse matrix")
    source.check()
    path = source.path
    parallel = _PARALLEL in _check_headers(source)
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
    if matrix.data.dtype.kind not in "iufb":
        raise FormatError(f"expected numbers as weights, found {matrix.data.dtype}", path=path)
    n = matrix.shape[0]
    if matrix.format != "coo":
        _check_rows(matrix, n, path)
    if not parallel:
        matrix.sum_duplicates()
    weights = None if matrix.data.dtype == np.bool_ else matrix.data
    if matrix.format == "csr":
        return graph_from_rows(
            matrix.indptr.astype(np.uint64),
            matrix.indices.astype(np.uint32),
            weights,
            directed=True,
            options=options,
            path=path,
        )
    if matrix.format == "csc":
        edges = Edges(matrix.indices, np.repeat(np.arange(n), np.diff(matrix.indptr)))
    else:
        edges = Edges(matrix.row, matrix.col)
    edges.weights, edges.n, edges.both_directions = weights, n, True
    return build_graph(edges, options, path)


def _check_rows(matrix: Any, n: int, path: Path) -> None:
    """Raise `FormatError` unless the bounds of rows or columns, and the indices, fit the matrix."""
    bounds, indices = matrix.indptr, matrix.indices
    entries = len(indices)
    if len(matrix.data) != entries or len(bounds) != n + 1:
        msg = f"expected {n + 1} row bounds, and one index for each value"
        raise FormatError(msg, path=path)
    if bounds[0] != 0 or bounds[-1] != entries or (np.diff(bounds) < 0).any():
        raise FormatError(f"expected ascending offsets of rows, from 0 to {entries}", path=path)
    if entries and not 0 <= indices.min() <= indices.max() < n:
        worst = indices.min() if indices.min() < 0 else indices.max()
        msg = f"expected vertices below {n}, from 0 to {n - 1}, found {worst}"
        raise FormatError(msg, path=path)


def _check_headers(source: Source) -> set[str]:
    """Check the headers of all arrays, and the memory they need, before SciPy loads an array.

    Returns the names of the arrays.
    """
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
            return set(members)
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
    with atomic_write(target) as temporary, temporary.open("w+b") as file:
        sparse.save_npz(file, matrix, compressed=False)
        if not matrix.has_canonical_format:
            _mark_parallel_edges(file)


def _mark_parallel_edges(file: IO[bytes]) -> None:
    """Add the array that keeps the reader from summing entries that repeat."""
    with zipfile.ZipFile(file, "a") as archive, archive.open(f"{_PARALLEL}.npy", "w") as member:
        npy.write_array(member, np.array(1, np.uint8))


FORMAT = Format("SciPy", (".npz",), read, write, stores_ids=False, compressed=False, stores_direction=False)
