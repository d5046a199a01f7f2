"""Ids in files: string ids, and ids of vertices without edges."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError, FormatError
from evener.graph.arrays import string_array

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from evener.graph.formats.edges import Edges
    from evener.graph.graph import Graph

__all__ = ["add_isolated", "number_strings", "parse_isolated_ids", "refuse_names"]


def number_strings(columns: list[Any], path: Path) -> tuple[list[NDArray[np.uint32]], NDArray[Any]]:
    """Number the strings of several Arrow columns in ascending order.

    Parameters
    ----------
    columns : list of pyarrow.ChunkedArray
        Strings, without nulls.
    path : Path
        Path of the file, for messages.

    Returns
    -------
    positions : list of ndarray of uint32
        For each column, the position of each string in `ids`.
    ids : ndarray of str
        The distinct strings, ascending.

    Raises
    ------
    FormatError
        If a string holds the character NUL, which ends strings in NumPy.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    text = [column.cast(pa.large_string()) for column in columns]
    distinct = pc.unique(pa.chunked_array([c for column in text for c in column.chunks], pa.large_string()))
    # Python and NumPy sort by code point, Arrow by UTF-8 bytes; both orders are equal.
    ids = distinct.take(pc.sort_indices(distinct))
    cut = pc.index(pc.match_substring(ids, "\0"), pa.scalar(True)).as_py()  # noqa: FBT003 - the value sought
    if cut >= 0:
        msg = f"expected vertex ids without the character NUL, found {ids[cut].as_py()!r}"
        raise FormatError(msg, path=path)
    positions = [pc.index_in(column, value_set=ids) for column in text]
    return [f.to_numpy().astype(np.uint32) for f in positions], string_array(ids.to_pylist())


def parse_isolated_ids(given: list[Any], path: Path) -> NDArray[np.int64]:
    """Return the ids of vertices without edges as integers.

    Raises
    ------
    FormatError
        If an id is not an integer from 0 to 2^63 - 1.
    """
    invalid = next((i for i in given if not re.fullmatch(r"[0-9]{1,19}", str(i)) or int(i) >= 1 << 63), None)
    if invalid is not None:
        msg = f"expected integer ids of vertices without edges, found {invalid!r}"
        raise FormatError(msg, path=path)
    return np.array([int(i) for i in given], dtype=np.int64)


def refuse_names(graph: Graph, pattern: str, why: str) -> None:
    """Raise if a string id matches a pattern that a text file cannot store; `why` ends the message."""
    names = graph.ids if graph.has_string_ids else ()
    wrong = next((str(name) for name in names if re.search(pattern, str(name))), None)
    if wrong is not None:
        msg = f"vertex {wrong!r} cannot be written to {why}"
        raise ArgumentError(msg)


def add_isolated(edges: Edges, isolated: NDArray[np.int64]) -> None:
    """Add vertices without edges to edges with integer ids; tails and heads become positions."""
    ids = np.unique(np.concatenate([edges.src.astype(np.int64), edges.dst.astype(np.int64), isolated]))
    edges.src = np.searchsorted(ids, edges.src).astype(np.uint32)
    edges.dst = np.searchsorted(ids, edges.dst).astype(np.uint32)
    edges.ids = ids
