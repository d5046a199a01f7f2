"""From CSR rows as a file gives them to a graph: nothing in them is believed before it is checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError, FormatError
from evener.graph import csr as build
from evener.graph.graph import Graph

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from evener.graph.formats.edges import Wishes

__all__ = ["check_symmetric", "graph_of_rows", "wished"]


def graph_of_rows(
    offsets: NDArray[Any],
    targets: NDArray[Any],
    weights: NDArray[Any] | None,
    *,
    directed: bool,
    wishes: Wishes,
    path: Path,
) -> Graph:
    """Build a graph from rows that list, if it is undirected, every edge in both directions.

    Raises
    ------
    FormatError
        If the rows break a rule of CSR, or an undirected graph's are not symmetric.
    """
    n, m = len(offsets) - 1, len(targets)
    if n < 0 or offsets[0] != 0 or int(offsets[-1]) != m or (offsets[1:] < offsets[:-1]).any():
        span = f"from {offsets[0]} to {offsets[-1]}" if n >= 0 else "nowhere"
        msg = f"row offsets must rise from 0 to the number of edges, {m}; they run {span}, or fall between"
        raise FormatError(msg, path=path)
    graph = Graph(offsets, targets, weights=weights, directed=directed, validate=False)
    try:
        if not (unsorted := _unsorted(graph)):
            build.check_csr(graph.offsets, graph.targets, weights=graph.weights)
        return wished(graph, wishes, path, sort=unsorted)
    except ArgumentError as error:
        raise FormatError(str(error), path=path) from error


def wished(graph: Graph, wishes: Wishes, path: Path, *, sort: bool = False, symmetric: bool = False) -> Graph:
    """Give a graph of rows as the caller wants it.

    Parameters
    ----------
    graph : Graph
    wishes : Wishes
    path : Path
    sort : bool
        Whether rows are to be sorted.
    symmetric : bool
        Whether an undirected graph's symmetry has been checked before.
    """
    if wishes.n is not None and wishes.n != graph.n:
        msg = f"n = {wishes.n} was asked for, but the file itself says {graph.n} vertices; leave n out"
        raise FormatError(msg, path=path)
    if wishes.weighted and graph.weights is None:
        raise FormatError("weights were asked for, but the file has none", path=path)
    weights = None if wishes.weighted is False else graph.weights
    directed = graph.directed if wishes.directed is None else wishes.directed
    offsets, targets = graph.offsets, graph.targets
    if sort or wishes.self_loops != "keep" or wishes.duplicates != "keep":
        src = np.repeat(np.arange(graph.n, dtype=np.uint32), np.diff(offsets).astype(np.intp))
        csr = build.from_edges(
            src,
            targets,
            weights,
            symmetrise=False,
            n=graph.n,
            self_loops=wishes.self_loops,
            duplicates=wishes.duplicates,
        )
        offsets, targets, weights = csr.offsets, csr.targets, csr.weights
    ids = graph.ids if graph.has_own_ids else None
    given = Graph(offsets, targets, weights=weights, ids=ids, directed=directed, validate=False)
    if not directed and not (symmetric and not graph.directed):
        check_symmetric(given, path)
    return given


def check_symmetric(graph: Graph, path: Path) -> None:
    """Refuse rows that do not hold every edge in both directions with the same weight."""
    try:
        build.check_symmetric(graph.offsets, graph.targets, graph.weights)
    except ArgumentError as error:
        raise FormatError(str(error), path=path) from error


def _unsorted(graph: Graph) -> bool:
    from evener.kernels.cpu.rows import descents

    return bool(descents(graph.offsets, graph.targets))
