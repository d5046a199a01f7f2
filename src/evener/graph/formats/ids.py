"""Ids in files: string ids, and ids of vertices without edges."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError, FormatError
from evener.graph.arrays import string_array
from evener.system import memory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from evener.graph.graph import Graph
    from evener.graph.share import EdgeIds

__all__ = ["number_strings", "number_vertices", "parse_isolated_ids", "refuse_names"]

# Bytes of a short Python string.
_STRING_BYTES = 64
# Bytes per id for sorted copies of integer ids, and per edge for the places of its ends.
_RENUMBER_BYTES, _PLACE_BYTES = 40, 24


def number_strings(
    columns: list[Any], path: Path, line_of: Callable[[int], int] | None = None
) -> tuple[list[NDArray[np.uint32]], NDArray[Any]]:
    """Number the strings of several Arrow columns in ascending order.

    Return the positions of each column in the ids, as uint32, and the ids: the distinct strings, ascending.
    The columns hold strings, or dictionaries of strings, without nulls. `line_of` returns the line number of
    a row.

    Raises
    ------
    FormatError
        If a string holds the character NUL, which ends strings in NumPy.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = sum(map(len, columns))
    memory.require(8 * rows + sum(column.nbytes for column in columns), f"the ids of {path}")
    encoded = pa.chunked_array([_encode(chunk) for column in columns for chunk in column.chunks])
    unified = encoded.unify_dictionaries()
    del encoded
    names = unified.chunk(0).dictionary
    codes = np.concatenate([part.indices.to_numpy() for part in unified.chunks])
    used = np.zeros(len(names), np.bool_)
    used[codes] = True
    # Python and NumPy sort by code point, Arrow by UTF-8 bytes; both orders are equal.
    order = pc.sort_indices(names).to_numpy()
    order = order[used[order]]
    memory.require(_STRING_BYTES * len(order) + 2 * names.nbytes, f"the list of ids of {path}")
    ids = names.take(pa.array(order))
    cut = pc.index(pc.match_substring(ids, "\0"), pa.scalar(True)).as_py()  # noqa: FBT003 - the value sought
    if cut >= 0:
        msg = f"expected vertex ids without the character NUL, found {ids[cut].as_py()!r}"
        line = None
        if line_of is not None:  # the rows of a text, without dictionaries
            found = [pc.index(column, ids[cut].cast(column.type)).as_py() for column in columns]
            line = line_of(min(row for row in found if row >= 0))
        raise FormatError(msg, path=path, line=line)
    places = np.empty(len(names), np.uint32)
    places[order] = np.arange(len(order), dtype=np.uint32)
    ends = np.cumsum([len(column) for column in columns])[:-1]
    return np.split(places[codes], ends), string_array(ids.to_pylist())


def _encode(strings: Any) -> Any:
    """Return an Arrow array of strings, or of a dictionary of strings, as codes and a dictionary."""
    import pyarrow as pa

    encoded = strings if pa.types.is_dictionary(strings.type) else strings.dictionary_encode()
    indices, names = encoded.indices.cast(pa.int32()), encoded.dictionary.cast(pa.large_string())
    return pa.DictionaryArray.from_arrays(indices, names)


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
