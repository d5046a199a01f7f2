"""Read the graph of a path or a generator spec: whole with one rank, in parts with several."""

from __future__ import annotations

import os
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.graph.arrays import read_only
from evener.graph.csr import CSR
from evener.graph.formats import generated_on_gpus, read, read_share
from evener.graph.share import EdgeIds, StoredRows
from evener.kernels.cpu import check
from evener.partition.block_exchange import block_bounds
from evener.partition.degrees import check_out_degree
from evener.partition.distributed.graph import DistributedGraph
from evener.partition.distributed.rows import (
    EdgeChunks,
    RowPiece,
    RowRanges,
    build_rows,
    chunks_of_pieces,
    count_opposite,
    cut_ranges,
    degrees_of,
    empty_ranges,
    row_ranges,
)
from evener.partition.distributed.vertex_ids import check_vertex_count, number_ids
from evener.system.agreement import collective
from evener.system.memory import return_freed
from evener.system.world import current_world

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.graph.graph import Graph
    from evener.graph.share import EdgeShare
    from evener.partition.placement import Placement
    from evener.system.world import World

__all__ = ["READ_OPTIONS", "build_graph", "graph_of_rows", "is_path", "read_graph"]

# The options of `read`.
READ_OPTIONS = tuple(name for name in signature(read).parameters if name != "path")

# Weights of a rank in the sample.
_SAMPLE = 1 << 12


def is_path(graph: Any) -> bool:
    """Return whether an argument names a graph instead of holding one."""
    return isinstance(graph, str | os.PathLike)


@collective(own=("near",), files=("path",), name="read")
def read_graph(
    path: str | os.PathLike[str], directions: str, *, near: Placement | None = None, **options: Any
) -> Graph:
    """Return the graph of a path or a generator spec.

    With several ranks, each rank reads its own part. This is a collective operation; all ranks must call it.
    `directions` are the edges that the graph is read for, and `options` those of `evener.read`. If the
    placement `near` has GPUs only, they generate the graph of a spec.
    """
    world = current_world()
    if world.size == 1:
        generated = None
        if near is not None:
            generated = generated_on_gpus(path, near.generating_gpus, directions, **options)
        return read(path, **options) if generated is None else generated
    return build_graph(world, read_share(path, world, **options), directions)


def build_graph(world: World, share: EdgeShare, directions: str) -> DistributedGraph:
    """Return the graph of the edges that all ranks read, of which `share` has those of this rank.

    This is a collective operation; all ranks must call it. `directions` are the rows to build, for a directed
    graph.
    """
    return_freed()
    block_ids = _block_of(world, share.ids)
    source: Any = share.edges
    if isinstance(source, EdgeIds):
        source, block_ids = number_ids(world, source)
        return_freed()
    first = "in" if share.directed and directions == "in" else "out"
    if isinstance(source, StoredRows):
        n, weights = len(source.rows.offsets) - 1, source.rows.weights
        dtype = None if weights is None else weights.dtype
        check_vertex_count(n)
        ranges, pieces = _own_rows(world, source.rows)
        rows = {"out": pieces}
        if first == "in":
            rows = {"in": _turned(world, ranges, pieces, dtype)}
    else:
        n, dtype = source.n, source.weight_dtype
        check_vertex_count(n)
        loops = share.self_loops == "keep"
        edges = EdgeChunks([(source, 0)], dtype, symmetrise=share.symmetrise, loops=loops)
        del source, share.edges
        ranges = row_ranges(world, n, edges)
        pieces = build_rows(world, ranges, edges, duplicates=share.duplicates, turned=first == "in")
        rows = {first: pieces}
        del edges
    return_freed()
    return graph_of_rows(world, n, ranges, rows, dtype, block_ids, share.directed, directions)


def graph_of_rows(
    world: World,
    n: int,
    ranges: RowRanges,
    rows: dict[str, list[RowPiece]],
    dtype: np.dtype[Any] | None,
    block_ids: NDArray[Any] | None,
    directed: bool,  # noqa: FBT001 - one of many facts, all given by position
    directions: str,
) -> DistributedGraph:
    """Return the graph of the rows in one direction of all ranks, of which `rows` has those of this rank.

    This is a collective operation; all ranks must call it. The rows of the other direction are added if
    `directions` are "both". The other arguments are as in `DistributedGraph`.
    """
    ((first, pieces),) = rows.items()
    degree = {first: degrees_of(pieces)}
    strength = None
    if first == "out" and dtype is not None and (directions != "out" or not directed):
        strength = _row_sums(pieces)
    if directed and directions == "both":
        rows["in"] = _turned(world, ranges, pieces, dtype)
        degree["in"] = degrees_of(rows["in"])
    elif directed:
        other = "in" if first == "out" else "out"
        degree[other], sums = count_opposite(world, ranges, pieces, dtype if other == "out" else None)
        strength = sums if other == "out" else strength
    check_out_degree(world.allreduce(int(degree["out"].max(initial=0)), "max"))
    weights = [piece.rows.weights for piece in pieces if piece.rows.weights is not None]
    lightest, heaviest, sample = _weights(world, weights)
    return DistributedGraph(
        world,
        n=n,
        m=world.allreduce(sum(len(piece.rows.targets) for piece in pieces), "sum"),
        directed=directed,
        weight_dtype=dtype,
        weight_range=(lightest, heaviest),
        weight_sample=sample,
        block_ids=block_ids,
        ranges=ranges,
        rows=rows,
        out_degrees=degree["out"],
        degrees=degree["out"] + degree["in"] if directed else degree["out"],
        strength=strength,
    )


def _own_rows(world: World, rows: CSR) -> tuple[RowRanges, list[RowPiece]]:
    """Return the ranges of all ranks, and the mapped rows of this rank."""
    n = len(rows.offsets) - 1
    ranges = empty_ranges(n)
    bounds = ranges.vertices(np.arange(ranges.group_count + 1))
    ranges = cut_ranges(world, ranges, np.diff(rows.offsets[bounds]).astype(np.int64))
    begin, end = ranges.bounds[world.rank : world.rank + 2]
    first, last = int(rows.offsets[begin]), int(rows.offsets[end])
    offsets = rows.offsets[begin : end + 1] - np.uint64(first)
    weights = None if rows.weights is None else rows.weights[first:last]
    return ranges, [RowPiece(int(begin), CSR(offsets, rows.targets[first:last], weights, None))]


def _block_of(world: World, ids: NDArray[Any] | None) -> NDArray[Any] | None:
    """Return a copy of the ids of this rank's block."""
    if ids is None:
        return None
    begin, end = block_bounds(len(ids), world.size)[world.rank : world.rank + 2]
    return np.array(ids[begin:end])


def _turned(
    world: World, ranges: RowRanges, pieces: list[RowPiece], dtype: np.dtype[Any] | None
) -> list[RowPiece]:
    """Return the rows of the reverse graph, given the rows of a graph."""
    edges = chunks_of_pieces(pieces, dtype)
    return build_rows(world, ranges, edges, duplicates="keep")


def _row_sums(pieces: list[RowPiece]) -> NDArray[np.float64]:
    """Return the sum of the weights of each row."""
    sums = [np.zeros(len(piece.rows.offsets) - 1) for piece in pieces]
    for own, piece in zip(sums, pieces, strict=True):
        weights: Any = piece.rows.weights
        check.row_sums(read_only(piece.rows.offsets), read_only(weights), own)
    return np.concatenate(sums)


def _weights(world: World, weights: list[NDArray[Any]]) -> tuple[float, float, NDArray[Any]]:
    """Return the smallest and largest weight of all ranks, (1, 1) without weights, and a sample."""
    own = [part for part in weights if len(part)]
    ends = (float(min(part.min() for part in own)), float(max(part.max() for part in own))) if own else None
    sample = [part[:: max(1, len(part) // _SAMPLE)] for part in own]
    of_ranks = world.allgather((ends, np.concatenate(sample) if sample else None))
    found = [pair for pair, _ in of_ranks if pair is not None]
    if not found:
        return 1.0, 1.0, np.empty(0)
    lowest, highest = zip(*found, strict=True)
    return min(lowest), max(highest), np.concatenate([part for _, part in of_ranks if part is not None])
