"""Graphs in files: `read` and `write`, by suffix.

Examples
--------
>>> import evener as ev
>>> g = ev.Graph.from_edges([0, 0, 1], [1, 2, 2])
>>> ev.write(g, "triangle.mtx")  # doctest: +SKIP
>>> ev.read("triangle.mtx").m  # doctest: +SKIP
3
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evener.errors import ArgumentError, FileError
from evener.graph.checks import MAX_VERTICES, check_name_of_file, check_path, type_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evener.graph.graph import Graph

__all__ = ["read", "write"]

_log = logging.getLogger("evener")

# The rows of a Kronecker graph's matrix are joined by slashes; in another name they say that it is a path.
_SPEC = re.compile(r"kronecker:.*|[A-Za-z][A-Za-z0-9_-]*:[^/\\]*")


def read(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - the word users know
    directed: bool | None = None,
    weighted: bool | None = None,
    n: int | None = None,
    self_loops: str = "keep",
    duplicates: str = "keep",
    columns: Sequence[str | int] | None = None,
) -> Graph:
    """Read a graph from a file, or make the one that a spec such as ``rmat:20`` names.

    Parameters
    ----------
    path : path-like or str
        A file or folder whose suffix says its format, plain or compressed (``.gz``, ``.zst``, ``.bz2``), or a
        spec of `evener.graph.generators.models`: ``"rmat:20"``, ``"uniform:20"``, ``"grid:1000x1000"``.
    format : str, optional
        The format's name or suffix, where the path's own does not say it.
    directed : bool, optional
        Whether edges count in one direction; by default what the file says, else true. For formats that hold
        rows (`.evg`, `.sg`, `.npz`, `.gr`, METIS), false asks that every edge is there in both directions.
    weighted : bool, optional
        True demands weights, false reads over them; by default they are kept if the file has them.
    n : int, optional
        The number of vertices, whose ids are then ``0..n-1``, for files that do not say it.
    self_loops, duplicates : {"keep", "drop"}
        What to do with edges from a vertex to itself, and with repeated edges; of these the lightest is kept.
    columns : sequence of str or int, optional
        The columns of tail, head and (a third) weight, for CSV, Parquet and Arrow. By default those named
        like src and dst, source and target, from and to, and weight. Numbers say that a CSV file has no
        heading.

    Returns
    -------
    Graph

    Raises
    ------
    FileError
        If the file is missing or cannot be read.
    FormatError
        If its content is not what its format says, with the line where there is one.
    ArgumentError
        For an unknown suffix, format or spec, an argument of another kind, or `n` for a file whose ids are
        strings.
    OutOfMemoryError
        If the graph needs more memory than there is, before it is allocated.
    """
    from evener.graph.formats.edges import Wishes
    from evener.graph.formats.file import Source
    from evener.graph.formats.registry import format_of

    check_name_of_file(path, "read takes a path or a spec such as 'rmat:20'")
    for name, truth in (("directed", directed), ("weighted", weighted)):
        if not isinstance(truth, bool | None):
            raise ArgumentError(f"{name} is True, False, or None for what the file says, not {truth!r}")
    if n is not None and not (_is_integer(n) and 0 <= n <= MAX_VERTICES):
        raise ArgumentError(f"n is a whole number of vertices, from 0 to {MAX_VERTICES:,}, not {n!r}")
    for name, choice in (("self_loops", self_loops), ("duplicates", duplicates)):
        if choice not in ("keep", "drop"):
            raise ArgumentError(f"{name} must be 'keep' or 'drop', not {choice!r}")
    wishes = Wishes(
        directed, weighted, None if n is None else int(n), self_loops, duplicates, _columns_of(columns)
    )
    if format is None and isinstance(path, str) and _SPEC.fullmatch(path) and not _exists(path):
        from evener.graph.generators.models import from_spec

        if wishes != Wishes():
            msg = (
                f"{path} is a spec, not a file: say how it is to be made within it, as in 'rmat:20,directed'"
            )
            raise ArgumentError(msg)
        return from_spec(path)
    file = Path(path)
    if format is None and not file.suffix and not _exists(file):
        raise FileError(_missing(str(path)))
    kind, compression = format_of(file, format)
    source = Source(file, compression)
    with source.reading():
        return kind.read(source, wishes)


def write(
    graph: Graph,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - the word users know
    ids: str = "keep",
) -> None:
    """Write a graph to a file, whole or not at all.

    Parameters
    ----------
    graph : Graph
    path : path-like
        Where to; the suffix says the format, and after it `.gz`, `.zst` or `.bz2` the compression. Sibling
        files of a format with several are named alike.
    format : str, optional
        The format's name or suffix, where the path's own does not say it.
    ids : {"keep", "drop"}
        Matrix Market, METIS, DIMACS, GAP and SciPy files number vertices and hold no ids of their own: "keep"
        refuses to lose them, "drop" writes the numbers ``0..n-1`` in order of the ids.

    Raises
    ------
    FileError
        If the file cannot be written; what was there before still is.
    ArgumentError
        For an unknown suffix or format, a graph that the format cannot hold, or what is no graph.
    """
    from evener.graph.formats.registry import format_of
    from evener.graph.graph import Graph

    if not isinstance(graph, Graph):
        placed = isinstance(getattr(graph, "graph", None), Graph)
        remedy = "give its .graph" if placed else "make one with evener.read or Graph.from_edges"
        raise ArgumentError(f"write takes a Graph, not {type_name(graph)}; {remedy}")
    target = check_path(path, "write")
    if ids not in ("keep", "drop"):
        raise ArgumentError(f"ids must be 'keep' or 'drop', not {ids!r}")
    kind, compression = format_of(target, format)
    if graph.has_own_ids and ids == "keep" and not kind.keeps_ids:
        msg = (
            f"{target}: {kind.name} files number vertices from 0 or 1 and cannot hold this graph's ids "
            f"({graph.ids[0]} to {graph.ids[-1]}); write .evg, .parquet or .txt, or give ids='drop'"
        )
        raise ArgumentError(msg)
    if graph.has_own_ids and ids == "drop":
        graph = Graph(
            graph.offsets, graph.targets, weights=graph.weights, directed=graph.directed, validate=False
        )
    kind.write(graph, target, compression)
    if not graph.directed and not kind.tells_direction:
        _log.warning(
            "%s: %s files do not say that edges are undirected; read it with directed=False",
            target,
            kind.name,
        )


def _columns_of(columns: Any) -> tuple[str | int, ...] | None:
    """Give the names or numbers of columns as a tuple."""
    if columns is None:
        return None
    several = isinstance(columns, Iterable) and not isinstance(columns, str)
    chosen = tuple(columns) if several else (columns,)
    for column in chosen:
        if not isinstance(column, str) and not _is_integer(column):
            raise ArgumentError(f"columns= takes names of columns, or their numbers, not {column!r}")
    return tuple(column if isinstance(column, str) else int(column) for column in chosen)


def _is_integer(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _exists(path: str | Path) -> bool:
    return os.path.exists(path)  # noqa: PTH110 - Path.exists raises where a folder may not be entered


def _missing(name: str) -> str:
    near = re.fullmatch(r"(rmat|uniform|grid)[-_ =.]?(\d\w*.*)", name, re.IGNORECASE)
    hint = (
        f"did you mean the spec {near[1].lower()}:{near[2]}?"
        if near
        else "check the name, or give a spec such as rmat:20"
    )
    return f"there is no file {name}; {hint}"
