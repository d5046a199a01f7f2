"""Between edge lists and graphs: what every format that holds edges, rather than rows, has in common."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.errors import ArgumentError, FormatError, OutOfMemoryError
from evener.graph.formats.rows import check_symmetric
from evener.graph.graph import Graph

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["Edges", "Piece", "Wishes", "blocks", "graph_of", "isolated", "narrowed", "pieces", "stored_as"]

# Edges handed to a writer at a time: 64 MiB of ids, so that writing needs little beside the graph.
PIECE = 1 << 22


@dataclass(frozen=True)
class Wishes:
    """What the caller of `read` asked for; None leaves it to the file."""

    directed: bool | None = None
    weighted: bool | None = None
    n: int | None = None
    self_loops: str = "keep"
    duplicates: str = "keep"
    columns: tuple[str | int, ...] | None = None

    def but(self, **changes: Any) -> Wishes:
        """Give these wishes with some changed."""
        return replace(self, **changes)


@dataclass
class Edges:
    """Edges as a file gives them.

    Parameters
    ----------
    src, dst : ndarray, shape (edges,)
        Ids, or positions in `names`.
    weights : ndarray, shape (edges,), optional
    directed : bool, optional
        The file's word, if it has one.
    n : int, optional
        The file's number of vertices, where ids are ``0..n-1``.
    names : ndarray, optional
        Every vertex's id, ascending; `src` and `dst` are then positions in it.
    both_directions : bool
        Whether the file lists an undirected edge in both directions.
    """

    src: NDArray[Any]
    dst: NDArray[Any]
    weights: NDArray[Any] | None = None
    directed: bool | None = None
    n: int | None = None
    names: NDArray[Any] | None = None
    both_directions: bool = False


def graph_of(edges: Edges, wishes: Wishes, path: Path) -> Graph:
    """Build the graph of a file's edges.

    Raises
    ------
    FormatError
        If the edges do not form a graph.
    ArgumentError
        If `wishes` give a number of vertices, and the file names each.
    OutOfMemoryError
        Before it is built, if it does not fit.
    """
    if wishes.n is not None and edges.names is not None:
        others = "its ids are strings" if edges.names.dtype.kind == "U" else "it lists ids of its own"
        msg = f"n = {wishes.n} says that ids are the integers 0..n-1, but {others}; leave n out"
        raise ArgumentError(f"{path}: {msg}")
    directed = next((d for d in (wishes.directed, edges.directed) if d is not None), True)
    n = len(edges.names) if edges.names is not None else wishes.n if wishes.n is not None else edges.n
    weights = None if wishes.weighted is False else edges.weights
    if wishes.weighted and weights is None:
        raise FormatError("weights were asked for, but the file has none", path=path)
    try:
        graph = Graph.from_edges(
            edges.src,
            edges.dst,
            weights,
            directed or edges.both_directions,
            n,
            self_loops=wishes.self_loops,
            duplicates=wishes.duplicates,
        )
    except ArgumentError as error:
        raise FormatError(str(error), path=path) from error
    except OutOfMemoryError as error:
        msg = f"{path}: {error}"
        raise OutOfMemoryError(msg, needed=error.needed, available=error.available) from error
    if edges.names is None and directed == graph.directed:
        return graph
    graph = Graph(
        graph.offsets,
        graph.targets,
        weights=graph.weights,
        directed=directed,
        ids=edges.names if edges.names is not None else graph.ids if graph.has_own_ids else None,
        validate=False,
    )
    if edges.both_directions and not directed:
        check_symmetric(graph, path)
    return graph


class Piece(NamedTuple):
    """Some edges of a graph, by vertex number; an undirected edge is given once."""

    src: NDArray[np.uint32]
    dst: NDArray[np.uint32]
    weights: NDArray[Any] | None


def narrowed(weights: NDArray[Any]) -> NDArray[Any]:
    """Give whole numbers in the smaller of int32 and int64 that holds them; floats beyond 2^53 stay so."""
    largest = max(-float(weights.min()), float(weights.max())) if len(weights) else 0.0
    if largest <= np.iinfo(np.int32).max:
        return weights.astype(np.int32)
    return weights.astype(np.int64) if largest <= 2**53 else weights


def blocks(graph: Graph) -> Iterator[tuple[int, int]]:
    """Ranges of rows of at most `PIECE` edges, or of one row."""
    row = 0
    while row < graph.n:
        last = int(np.searchsorted(graph.offsets, graph.offsets[row] + np.uint64(PIECE), side="right")) - 1
        last = min(max(last, row + 1), graph.n)
        yield row, last
        row = last


def pieces(graph: Graph, *, each_once: bool = True, untyped: bool = False) -> Iterator[Piece]:
    """Cut the edges of a graph into pieces, in order of their tails.

    Parameters
    ----------
    graph : Graph
    each_once : bool, default True
        Give an undirected edge once, not in both directions.
    untyped : bool, default False
        Give float32 weights as float64, for text that does not say which they are: digits that are enough to
        tell numbers apart in float32 are others when they are read as float64.
    """
    for row, last in blocks(graph):
        begin, end = int(graph.offsets[row]), int(graph.offsets[last])
        degrees = np.diff(graph.offsets[row : last + 1]).astype(np.intp)
        src = np.repeat(np.arange(row, last, dtype=np.uint32), degrees)
        dst = graph.targets[begin:end]
        weights = None if graph.weights is None else graph.weights[begin:end]
        if untyped and weights is not None and weights.dtype == np.float32:
            weights = weights.astype(np.float64)
        if each_once and not graph.directed:
            kept = src <= dst
            src, dst, weights = src[kept], dst[kept], None if weights is None else weights[kept]
        yield Piece(src, dst, weights)


def isolated(graph: Graph) -> NDArray[np.intp]:
    """Find the numbers of the vertices that no edge touches, ascending."""
    untouched = np.diff(graph.offsets) == 0
    if graph.directed and untouched.any():
        for piece in pieces(graph):
            untouched[piece.dst] = False
    return np.flatnonzero(untouched)


def stored_as(graph: Graph) -> int:
    """How many edges `pieces` gives: each undirected edge once."""
    if graph.directed:
        return graph.m
    return sum(len(piece.src) for piece in pieces(graph))
