"""Sparse matrices of SciPy in `.npz` files: an entry in row i, column j is an edge from i to j.

SciPy sums entries that repeat, so the reader sums them too. `write` stores parallel edges as entries that
repeat, and adds an array named `parallel_edges` to the archive. The reader then keeps the entries apart.

SciPy crashes on some malformed files, and cuts arrays that are too long. The reader therefore reads the
arrays itself: it checks all headers first, loads no pickles, and checks the rows fully.
"""

from __future__ import annotations

import struct
import zipfile
from dataclasses import replace
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.lib import format as npy

from evener.errors import EvenerError, FormatError, first_clause
from evener.graph.formats.edges import build_graph
from evener.graph.formats.npy import Header, read_header
from evener.graph.formats.registry import Format
from evener.graph.formats.rows import apply_options, graph_from_rows, sum_parallel_edges
from evener.graph.share import EdgeIds
from evener.system import memory
from evener.system.files import atomic_write

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from evener.graph.formats.file import Source
    from evener.graph.formats.read_options import ReadOptions
    from evener.graph.graph import Graph

__all__ = ["FORMAT"]

_ARRAYS = {
    "csr": ("indptr", "indices", "data"),
    "csc": ("indptr", "indices", "data"),
    "coo": ("row", "col", "data"),
}
# Kinds of dtypes of each array.
_KINDS = {
    "format": "SU",
    "shape": "iu",
    "indptr": "iu",
    "indices": "iu",
    "row": "iu",
    "col": "iu",
    "data": "iufb",
}
# Name of an array in an archive whose entries that repeat are parallel edges.
_PARALLEL = "parallel_edges"
# The arrays are copied to other types.
_COPIES = 2
# Errors of zipfile for an unknown compression, a password, and numbers that cannot be right.
_DAMAGED = (NotImplementedError, RuntimeError, ValueError, OverflowError, struct.error, KeyError, IndexError)


def read(source: Source, options: ReadOptions, /) -> Graph:
    """Return the graph of a CSR, CSC or COO matrix; a boolean matrix gives no weights."""
    path = source.path
    layout, arrays = _read_arrays(source)
    shape = arrays["shape"]
    if shape.shape != (2,) or shape[0] != shape[1] or shape[0] < 0:
        raise FormatError(f"expected a square matrix, found shape {tuple(shape.tolist())}", path=path)
    n = int(shape[0])
    weights = None if arrays["data"].dtype == np.bool_ else arrays["data"]
    kept = replace(options, directed=None, self_loops="keep", duplicates="keep")
    if layout == "csr":
        _check_rows(arrays, n, path)
        offsets, targets = arrays["indptr"].astype(np.uint64), arrays["indices"].astype(np.uint32)
        graph = graph_from_rows(offsets, targets, weights, directed=True, options=kept, path=path)
    else:
        graph = build_graph(_edges_of(layout, arrays, weights, n, path), kept)
    if _PARALLEL not in arrays:
        graph = sum_parallel_edges(graph)
    return apply_options(graph, options, path)


def _edges_of(
    layout: str, arrays: dict[str, NDArray[Any]], weights: NDArray[Any] | None, n: int, path: Path
) -> EdgeIds:
    """Return the entries of a CSC or COO matrix as edges."""
    if layout == "csc":
        _check_rows(arrays, n, path)
        columns = np.repeat(np.arange(n), np.diff(arrays["indptr"]))
        return EdgeIds(arrays["indices"], columns, weights, path, n=n)
    rows, columns = arrays["row"], arrays["col"]
    if not len(rows) == len(columns) == len(arrays["data"]):
        found = f"{len(rows)}, {len(columns)} and {len(arrays['data'])}"
        raise FormatError(f"expected row, col and data of one length, found {found}", path=path)
    return EdgeIds(rows, columns, weights, path, n=n)


def _check_rows(arrays: dict[str, NDArray[Any]], n: int, path: Path) -> None:
    """Raise `FormatError` unless the bounds of rows or columns, and the indices, fit the matrix."""
    bounds, indices = arrays["indptr"], arrays["indices"]
    entries = len(indices)
    if len(arrays["data"]) != entries or len(bounds) != n + 1:
        msg = (
            f"expected {n + 1} bounds of rows and one value for each of {entries} indices, found "
            f"{len(bounds)} bounds and {len(arrays['data'])} values"
        )
        raise FormatError(msg, path=path)
    if bounds[0] != 0 or bounds[-1] != entries or (bounds[1:] < bounds[:-1]).any():
        msg = f"expected ascending offsets of rows, from 0 to {entries}, found {bounds[0]} to {bounds[-1]}"
        raise FormatError(msg, path=path)
    if entries and not 0 <= indices.min() <= indices.max() < n:
        worst = indices.min() if indices.min() < 0 else indices.max()
        msg = f"expected vertices below {n}, from 0 to {n - 1}, found {worst}"
        raise FormatError(msg, path=path)


def _read_arrays(source: Source) -> tuple[str, dict[str, NDArray[Any]]]:
    """Return the layout and the arrays of an archive, after a check of the memory that they need."""
    path = source.path
    try:
        with source.translate_errors("a .npz archive"), zipfile.ZipFile(path) as archive:
            members = {i.filename.removesuffix(".npy"): i for i in archive.infolist()}
            if len(members) < len(archive.infolist()):
                raise FormatError("expected each array once, found two arrays of one name", path=path)
            memory.require(_COPIES * sum(i.file_size for i in members.values()), f"the matrix {path}")
            for name, member in members.items():
                with archive.open(member) as file:
                    _read_header(file, name, member, path)
            layout = ""
            if "format" in members:
                first = _read_array(archive, "format", members["format"], path).ravel()[:1]
                layout = "".join(first.astype(np.str_).tolist())
            _check_layout(layout, set(members), path)
            names = {"shape", *_ARRAYS[layout], _PARALLEL} & set(members)
            return layout, {name: _read_array(archive, name, members[name], path) for name in names}
    except EvenerError:
        raise
    except _DAMAGED as error:
        cause = first_clause(error)
        msg = f"expected a .npz archive, neither encrypted nor damaged ({cause}); download or save it again"
        raise FormatError(msg, path=path) from error


def _read_header(file: IO[bytes], name: str, member: zipfile.ZipInfo, path: Path) -> Header:
    """Return the header of one array, checked."""
    header = read_header(file, name=name, size=member.file_size, path=path)
    if header.dtype.kind not in _KINDS.get(name, header.dtype.kind):
        kind = {"data": "numbers as weights", "format": "a text in format"}.get(name, f"integers in {name}")
        raise FormatError(f"expected {kind}, found {header.dtype}", path=path)
    if name in _KINDS and name != "format" and len(header.shape) != 1:
        raise FormatError(f"expected {name} of one dimension, found shape {header.shape}", path=path)
    return header


def _read_array(archive: zipfile.ZipFile, name: str, member: zipfile.ZipInfo, path: Path) -> NDArray[Any]:
    """Return one array of an archive."""
    with archive.open(member) as file:
        header = _read_header(file, name, member, path)
        content = file.read(member.file_size - header.start)
    if len(content) != member.file_size - header.start:
        msg = f"expected {member.file_size:,} bytes of {name}, found fewer; download the file again"
        raise FormatError(msg, path=path)
    return np.frombuffer(content, header.dtype).reshape(header.shape)


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
