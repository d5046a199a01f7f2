"""Ids in files: string ids, and ids of vertices without edges."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError, FormatError
from evener.graph import ids as graph_ids
from evener.system import memory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from evener.graph.graph import Graph
    from evener.graph.names import NameTable
    from evener.graph.share import EdgeIds

__all__ = ["ids_of_names", "number_strings", "number_vertices", "parse_isolated_ids", "refuse_names"]

# Bytes per id for sorted copies of integer ids, and per edge for the places of its ends.
_RENUMBER_BYTES, _PLACE_BYTES = 40, 24


def number_strings(
    columns: list[Any], path: Path, line_of: Callable[[int], int] | None = None
) -> tuple[list[NDArray[np.uint32]], NDArray[Any]]:
    """Return the positions of the strings of a file in its ids, and the ids, as `evener.graph.ids` does.

    `line_of` returns the line number of a row. A string with the character NUL raises `FormatError`.
    """
    import pyarrow.compute as pc

    positions, ids, nul = graph_ids.number_strings(columns, path)
    if nul is None:
        return positions, ids
    line = None
    if line_of is not None:  # the rows of a text, without dictionaries
        found = [pc.index(column, nul.cast(column.type)).as_py() for column in columns]
        line = line_of(min(row for row in found if row >= 0))
    raise _nul_error(nul, path, line)


def ids_of_names(names: NameTable, codes: Sequence[NDArray[np.uint32]], path: Path) -> NDArray[Any]:
    """Replace codes by the positions of their names in the ids, and return the ids, as `number_strings`."""
    ids, nul = names.number(codes)
    if nul is not None:
        raise _nul_error(nul, path)
    return ids


def _nul_error(nul: Any, path: Path, line: int | None = None) -> FormatError:
    msg = f"expected vertex ids without the character NUL, found {nul.as_py()!r}"
    return FormatError(msg, path=path, line=line)


def parse_isolated_ids(given: list[Any], path: Path) -> NDArray[np.int64]:
    """Return the ids of vertices without edges as integers; raise `FormatError` unless they fit 63 bits."""
    invalid = next(
        (i for i in given if not re.fullmatch(r"0|[1-9][0-9]{0,18}", str(i)) or int(i) >= 1 << 63), None
    )
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


def number_vertices(edges: EdgeIds) -> NDArray[np.int64] | None:
    """Replace integer tails and heads by positions in the ids of all vertices, and return these ids.

    Return None, and set `n`, if the file lists all vertices and the ids are ``0..n-1``.

    Raises
    ------
    FormatError
        If the file lists all vertices, and an edge names another one.
    """
    count = len(edges.src) + len(edges.dst) + len(edges.vertices)
    ids = edges.vertices
    if edges.listed:
        _refuse_unlisted(edges)
        if len(ids) == 0 or ids[-1] == len(ids) - 1:
            edges.n = len(ids)
            return None
    else:
        memory.require(_RENUMBER_BYTES * count, f"the ids of {count:,} ends of edges")
        ids = np.unique(np.concatenate([edges.src.astype(np.int64), edges.dst.astype(np.int64), ids]))
    edges.src = np.searchsorted(ids, edges.src).astype(np.uint32)
    edges.dst = np.searchsorted(ids, edges.dst).astype(np.uint32)
    return ids


def _refuse_unlisted(edges: EdgeIds) -> None:
    """Raise `FormatError` for the first tail, or else head, that is no vertex of the list."""
    ids = edges.vertices
    memory.require(_PLACE_BYTES * len(edges.src), f"the edges of {edges.path}")
    for end in (edges.src, edges.dst):
        place = np.minimum(np.searchsorted(ids, end), max(len(ids) - 1, 0))
        unknown = np.flatnonzero(ids[place] != end) if len(ids) else np.arange(min(len(end), 1))
        if len(unknown):
            msg = f"expected a vertex of the vertex file, found vertex {end[unknown[0]]}, which it lacks"
            line = None if edges.line_of is None else edges.line_of(int(unknown[0]))
            raise FormatError(msg, path=edges.path, line=line)
