"""Vertices named by strings: names to positions among the sorted names, with Arrow."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError, FormatError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from evener.graph.formats.edges import Edges
    from evener.graph.graph import Graph

__all__ = ["isolated_ids", "positions_of", "refuse_names", "with_isolated"]


def positions_of(columns: list[Any], path: Path) -> tuple[list[NDArray[np.uint32]], NDArray[Any]]:
    """Give numbers to the strings of some Arrow columns in their common ascending order.

    Parameters
    ----------
    columns : list of pyarrow.ChunkedArray
        Strings, without nulls.
    path : Path
        The file that they are from.

    Returns
    -------
    positions : list of ndarray of uint32
        For each column, the position of every string in `names`.
    names : ndarray of str
        The distinct strings, ascending.

    Raises
    ------
    FormatError
        If one holds the character NUL, with which strings of NumPy's end.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    text = [column.cast(pa.large_string()) for column in columns]
    distinct = pc.unique(pa.chunked_array([c for column in text for c in column.chunks], pa.large_string()))
    # Python and NumPy order strings by code point, which is the order of their UTF-8 bytes: Arrow's too.
    names = distinct.take(pc.sort_indices(distinct))
    cut = pc.index(pc.match_substring(names, "\0"), pa.scalar(True)).as_py()  # noqa: FBT003 - the value sought
    if cut >= 0:
        msg = f"a vertex is named {names[cut].as_py()!r}, and names must not hold the character NUL"
        raise FormatError(msg, path=path)
    found = [pc.index_in(column, value_set=names) for column in text]
    return [f.to_numpy().astype(np.uint32) for f in found], np.array(names.to_pylist(), dtype=np.str_)


def isolated_ids(given: list[Any], path: Path) -> NDArray[np.int64]:
    """Give the ids, integers or their digits, of vertices without edges that a file lists.

    Raises
    ------
    FormatError
        If one is no integer from 0 up to 63 bits.
    """
    strange = next((i for i in given if not re.fullmatch(r"[0-9]{1,19}", str(i)) or int(i) >= 1 << 63), None)
    if strange is not None:
        msg = f"vertices without edges have integer ids from 0 up, as its edges do, but {strange!r} is listed"
        raise FormatError(msg, path=path)
    return np.array([int(i) for i in given], dtype=np.int64)


def refuse_names(graph: Graph, unfit: str, why: str) -> None:
    """Refuse names of vertices that a file of text would not give back: those that match `unfit`."""
    names = graph.ids if graph.named_by_strings else ()
    wrong = next((str(name) for name in names if re.search(unfit, str(name))), None)
    if wrong is not None:
        msg = f"vertex {wrong!r} cannot be written to {why}"
        raise ArgumentError(msg)


def with_isolated(edges: Edges, isolated: NDArray[np.int64]) -> None:
    """Keep vertices with integer ids that no edge names: the ends become positions among all ids."""
    ids = np.unique(np.concatenate([edges.src.astype(np.int64), edges.dst.astype(np.int64), isolated]))
    edges.src = np.searchsorted(ids, edges.src).astype(np.uint32)
    edges.dst = np.searchsorted(ids, edges.dst).astype(np.uint32)
    edges.names = ids
