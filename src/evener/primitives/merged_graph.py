"""Placement of merged rows that several elements have: equal edges are added, and the graph is placed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.graph.arrays import read_only
from evener.graph.csr import CSR, ReverseEdges
from evener.partition.build import place_graph
from evener.partition.distributed.build import graph_of_rows
from evener.partition.distributed.rows import EdgeChunks, RowPiece, build_rows, row_ranges
from evener.partition.placement import Placement
from evener.partition.policy import find_policy
from evener.primitives import contract_cpu as kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.partition.partitioned import PartitionedGraph

__all__ = ["place_merged"]

_WEIGHT = np.dtype(np.float64)


def place_merged(old: PartitionedGraph, rows: list[CSR], size: int, direction: str) -> PartitionedGraph:
    """Return the graph with the edges of all rows, on the elements and with the policy of an older graph.

    This is a collective operation; all ranks must call it. Weights of equal edges are added. A policy that
    reads edges is replaced by "random".

    Parameters
    ----------
    old : PartitionedGraph
    rows : list of CSR
        Rows of all `size` vertices, with the edges that each element of this rank has.
    direction : {"out", "in"}
        The direction of the edges in rows.
    """
    edges = EdgeChunks([(ReverseEdges(*own[:3]), 0) for own in rows], _WEIGHT)
    ranges = row_ranges(old.world, size, edges)
    pieces = build_rows(old.world, ranges, edges, duplicates="keep", turned=True)
    merged = {direction: [RowPiece(piece.first, _added(piece.rows)) for piece in pieces]}
    graph = graph_of_rows(old.world, size, ranges, merged, _WEIGHT, None, old.graph.directed, old.directions)
    policy = "random" if find_policy(old.policy).needs == "edges" else old.policy
    return place_graph(graph, Placement(tuple(old.elements), policy, directions=old.directions))


def _added(rows: CSR) -> CSR:
    """Return rows with ascending targets, each once, with the sum of its weights."""
    weights: Any = rows.weights
    lengths = np.empty(len(rows.offsets) - 1, np.uint32)
    kernels.add_repeated(read_only(rows.offsets), rows.targets, weights, lengths)
    offsets = offsets_of(lengths)
    if offsets[-1] == rows.offsets[-1]:
        return rows
    kept = np.repeat(rows.offsets[:-1] - offsets[:-1], lengths) + np.arange(offsets[-1], dtype=np.uint64)
    return CSR(offsets, rows.targets[kept], weights[kept], None)


def offsets_of(lengths: NDArray[Any]) -> NDArray[np.uint64]:
    """Return the offsets of rows with these lengths."""
    offsets = np.zeros(len(lengths) + 1, np.uint64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets
