"""Conversion of the CSR rows of a file to a graph, with full checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError, FormatError
from evener.graph import csr
from evener.graph.arrays import check_csr
from evener.graph.arrays import check_symmetric as check_rows_symmetric
from evener.graph.graph import Graph
from evener.system import memory

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from evener.graph.formats.read_options import ReadOptions

__all__ = [
    "apply_options",
    "check_options",
    "check_symmetric",
    "graph_from_rows",
    "parallel_edges",
    "sum_parallel_edges",
    "to_undirected",
]


# Bytes per edge for the sums of parallel edges.
_SUM_BYTES = 20


def graph_from_rows(
    offsets: NDArray[Any],
    targets: NDArray[Any],
    weights: NDArray[Any] | None,
    *,
    directed: bool,
    options: ReadOptions,
    path: Path,
) -> Graph:
    """Return the graph of CSR rows, checked; undirected rows list every edge in both directions."""
    n, m = len(offsets) - 1, len(targets)
    if n < 0 or offsets[0] != 0 or int(offsets[-1]) != m or (offsets[1:] < offsets[:-1]).any():
        found = f"offsets from {offsets[0]} to {offsets[-1]}, or a descent" if n >= 0 else "no offsets"
        msg = f"expected row offsets that ascend from 0 to the number of edges, {m}, found {found}"
        raise FormatError(msg, path=path)
    graph = Graph(offsets, targets, weights=weights, directed=directed, validate=False)
    try:
        if not (unsorted := _unsorted(graph)):
            check_csr(graph.offsets, graph.targets, weights=graph.weights)
        return apply_options(graph, options, path, sort=unsorted)
    except ArgumentError as error:
        raise FormatError(str(error), path=path) from error


def apply_options(
    graph: Graph, options: ReadOptions, path: Path, *, sort: bool = False, symmetric: bool = False
) -> Graph:
    """Return a graph with the options of `evener.read` applied.

    `sort` sorts the rows. `symmetric` says that the symmetry of an undirected graph was checked before.
    """
    check_options(graph, options, path)
    weights = None if options.weighted is False else graph.weights
    directed = graph.directed if options.directed is None else options.directed
    offsets, targets = graph.offsets, graph.targets
    if sort or options.self_loops != "keep" or options.duplicates != "keep":
        offsets, targets, weights, _ = _built_again(graph, weights, symmetrise=False, **options.repeated)
    ids = graph.ids if graph.has_custom_ids else None
    result = Graph(offsets, targets, weights=weights, ids=ids, directed=directed, validate=False)
    if directed or (symmetric and not graph.directed):
        return result
    if graph.directed:
        return to_undirected(result)
    check_symmetric(result, path)
    return result


def _built_again(graph: Graph, weights: NDArray[Any] | None, **how: Any) -> csr.CSR:
    """Return the rows that `csr.from_edges` builds from the edges of a graph."""
    src = np.repeat(np.arange(graph.n, dtype=np.uint32), np.diff(graph.offsets).astype(np.intp))
    return csr.from_edges(src, graph.targets, weights, n=graph.n, **how)


def to_undirected(graph: Graph) -> Graph:
    """Return the undirected graph of rows that list every edge in one or both directions.

    Symmetric rows stay as they are. Other rows get the missing directions, and each pair of vertices keeps
    its lightest edge, as in `Graph.from_scipy`.
    """
    ids = graph.ids if graph.has_custom_ids else None
    offsets, targets, weights = graph.offsets, graph.targets, graph.weights
    try:
        check_rows_symmetric(offsets, targets, weights)
    except ArgumentError:
        offsets, targets, weights, _ = _built_again(graph, weights, symmetrise=True, duplicates="drop")
    return Graph(offsets, targets, weights=weights, ids=ids, directed=False, validate=False)


def parallel_edges(graph: Graph) -> NDArray[np.bool_]:
    """Return for each edge whether the edge before it has the same tail and head."""
    same = np.zeros(graph.m, dtype=bool)
    np.equal(graph.targets[1:], graph.targets[:-1], out=same[1:])
    starts = graph.offsets[:-1]
    same[starts[starts < graph.m].astype(np.intp)] = False
    return same


def sum_parallel_edges(graph: Graph, *, widen_integers: bool = False) -> Graph:
    """Return the graph with one edge for parallel edges, whose weight is the sum of their weights.

    `widen_integers` gives sums of int32 weights the type int64.
    """
    same = parallel_edges(graph)
    if not same.any():
        return graph
    memory.require(_SUM_BYTES * graph.m, f"the sums of {graph.m:,} weights")
    kept = np.flatnonzero(~same)
    offsets = np.searchsorted(kept, graph.offsets).astype(np.uint64)
    weights = None
    if graph.weights is not None:
        widen = widen_integers and graph.weights.dtype.kind == "i"
        dtype = np.dtype(np.int64) if widen else graph.weights.dtype
        weights = np.add.reduceat(graph.weights, kept, dtype=dtype)
    directed = graph.directed
    return Graph(offsets, graph.targets[kept], weights=weights, directed=directed, validate=False)


def check_options(graph: Graph, options: ReadOptions, path: Path) -> None:
    """Raise `FormatError` if a graph has another number of vertices than `n`, or lacks weights."""
    if options.n is not None and options.n != graph.n:
        msg = f"expected n = {options.n} vertices, but the file has {graph.n}; remove n"
        raise FormatError(msg, path=path)
    if options.weighted and graph.weights is None:
        raise FormatError("expected weights, but the file has none; remove weighted=True", path=path)


def check_symmetric(graph: Graph, path: Path) -> None:
    """Raise `FormatError` unless rows store every edge in both directions with the same weight."""
    try:
        check_rows_symmetric(graph.offsets, graph.targets, graph.weights)
    except ArgumentError as error:
        raise FormatError(str(error), path=path) from error


def _unsorted(graph: Graph) -> bool:
    from evener.kernels.cpu.check import count_descents

    return bool(count_descents(graph.offsets, graph.targets))
