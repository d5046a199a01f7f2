"""Partition: one element's share of the graph, in one index space of owned vertices and mirrors.

Owned vertices are numbered ``0..L-1`` in descending degree, mirrors ``L..L+M-1``, grouped by owner and
sorted by the owner's numbering. A per-vertex array of length ``L + M`` is thus the state of the owned
vertices and, in its tail, the outbox and the inbox of T13 §4.2; a kernel never asks whether a neighbour is
remote.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from evener import build
from evener.kernels.cpu import partition as kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.elements import Element
    from evener.graph import Graph

__all__ = ["Edges", "Numbering", "Partition", "build_partition", "number_vertices", "place", "work_blocks"]

# Edges and rows handed to a thread at a time.
EDGES_PER_BLOCK = 1 << 15
# What one memory holds of the edges is a multiple of so many: a line of a GPU's cache.
_EDGES_TOGETHER = 32
# Targets compared at a time: their answers fit a cache.
_TARGETS_COUNTED = 1 << 18


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """The adjacency of a partition's owned vertices in one direction, as CSR in local numbers.

    Attributes
    ----------
    offsets : ndarray of uint64, shape (L + 1,)
    targets : ndarray of uint32, shape (edges,)
        Local numbers, ascending in each row: owned neighbours first, those of high degree before the others.
    weights : ndarray, shape (edges,), or None
    blocks : ndarray of uint32, shape (B + 1,)
        Bounds of runs of rows with about equal work.
    rows : int
        Number of rows up to the last one that has an edge.
    boundary : int
        Number of edges that lead to mirrors.
    """

    offsets: NDArray[np.uint64]
    targets: NDArray[np.uint32]
    weights: NDArray[Any] | None
    blocks: NDArray[np.uint32]
    rows: int
    boundary: int

    @property
    def count(self) -> int:
        """Number of edges."""
        return len(self.targets)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        weights = 0 if self.weights is None else self.weights.nbytes
        return self.offsets.nbytes + self.targets.nbytes + self.blocks.nbytes + weights


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """One element's share: its owned vertices, their edges, and mirrors of the neighbours owned elsewhere.

    Attributes
    ----------
    index : int
        Which of the partitions this is.
    vertices : ndarray of uint32, shape (L + M,)
        The graph's number of each local vertex.
    mirror_bounds : ndarray of int64, shape (P + 1,)
        The mirrors of owner ``q`` are the local vertices ``mirror_bounds[q]:mirror_bounds[q + 1]``.
    out_degree : ndarray of uint32, shape (L,)
        Out-edges of each owned vertex in the whole graph.
    out, in_ : Edges or None
        Out-edges and in-edges of the owned vertices; the same object for an undirected graph, None for a
        direction that was not asked for.
    """

    index: int
    vertices: NDArray[np.uint32]
    mirror_bounds: NDArray[np.int64]
    out_degree: NDArray[np.uint32]
    out: Edges | None
    in_: Edges | None

    @property
    def owned(self) -> int:
        """Number of owned vertices, L."""
        return len(self.out_degree)

    @property
    def mirrors(self) -> int:
        """Number of mirrors, M."""
        return len(self.vertices) - self.owned

    @property
    def directions(self) -> tuple[Edges, ...]:
        """The adjacencies stored, each once."""
        both = (self.out,) if self.out is self.in_ else (self.out, self.in_)
        return tuple(edges for edges in both if edges is not None)

    @property
    def stored_edges(self) -> int:
        """Edges of all adjacencies stored."""
        return sum(edges.count for edges in self.directions)

    @property
    def mapped_edges(self) -> int:
        """Those of them that lie in the host's memory though the partition is a GPU's."""
        return sum(len(getattr(e.targets, "far", ())) for e in self.directions)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        own = self.vertices.nbytes + self.mirror_bounds.nbytes + self.out_degree.nbytes
        return own + sum(edges.nbytes for edges in self.directions)


@dataclass(frozen=True, slots=True, eq=False)
class Numbering:
    """Who owns each vertex and what number it has there.

    Attributes
    ----------
    owner : ndarray of uint8 or uint16, shape (n,)
    local : ndarray of uint32, shape (n,)
        The vertex's number in its owner's partition.
    vertices : ndarray of uint32, shape (n,)
        The vertices of all partitions, one partition after another, each in its own numbering.
    bounds : ndarray of uint64, shape (P + 1,)
        Where each partition begins in `vertices`.
    """

    owner: NDArray[Any]
    local: NDArray[np.uint32]
    vertices: NDArray[np.uint32]
    bounds: NDArray[np.uint64]

    def owned_by(self, p: int) -> NDArray[np.uint32]:
        """The vertices of partition `p` in its numbering."""
        return self.vertices[int(self.bounds[p]) : int(self.bounds[p + 1])]


def number_vertices(by_degree: NDArray[np.uint32], owner: NDArray[Any], partitions: int) -> Numbering:
    """Number each partition's vertices in descending degree."""
    n = len(by_degree)
    bounds = np.zeros(partitions + 1, dtype=np.uint64)
    bounds[1:] = np.cumsum(np.bincount(owner, minlength=partitions))
    local = np.empty(n, dtype=np.uint32)
    vertices = np.empty(n, dtype=np.uint32)
    kernels.number_locally(by_degree, owner, bounds, np.zeros(partitions, np.uint64), local, vertices)
    return Numbering(owner, local, vertices, bounds)


def work_blocks(offsets: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """Cut the rows into runs of about `EDGES_PER_BLOCK` edges and rows."""
    rows = len(offsets) - 1
    work = offsets + np.arange(rows + 1, dtype=np.uint64)
    steps = np.arange(0, int(work[-1]), EDGES_PER_BLOCK, dtype=np.uint64)
    bounds = np.searchsorted(work, steps, side="left")
    return np.unique(np.append(bounds, rows)).astype(np.uint32)


def build_partition(p: int, numbering: Numbering, graph: Graph, *, out: bool, in_: bool) -> Partition:
    """Build partition `p` of `graph` with the directions asked for.

    Needs, beside the result, 5 bytes for each vertex of the graph while it runs, and what the builder needs.
    """
    owned = numbering.owned_by(p)
    out_degree = np.diff(graph.offsets)[owned].astype(np.uint32)
    wanted = [graph] if out or not graph.directed else []
    if in_ and graph.directed:
        wanted.append(graph.reverse)
    bounds = [_row_bounds(g, owned) for g in wanted]
    partitions = len(numbering.bounds) - 1
    vertices, mirror_bounds, position = owned, np.full(partitions + 1, len(owned), np.int64), numbering.local
    if partitions > 1:
        needed = np.zeros(graph.n, dtype=np.uint8)
        for g, rows in zip(wanted, bounds, strict=True):
            blocks = work_blocks(rows)
            kernels.mark_remote(g.offsets, g.targets, owned, blocks, numbering.owner, p, needed)
        vertices, mirror_bounds, position = _number_mirrors(p, numbering, needed)
    stored = [
        _renumbered(g, owned, rows, position, len(vertices)) for g, rows in zip(wanted, bounds, strict=True)
    ]
    if not graph.directed:
        return Partition(p, vertices, mirror_bounds, out_degree, stored[0], stored[0])
    return Partition(
        p, vertices, mirror_bounds, out_degree, stored[0] if out else None, stored[-1] if in_ else None
    )


def place(partition: Partition, element: Element, *, mapped: float = 0.0) -> Partition:
    """The same partition with its arrays in the memory of an element.

    Parameters
    ----------
    partition : Partition
    element : Element
    mapped : float
        Share of the edges that stay in the host's memory, those of the rows of highest degree.
    """

    def held(edges: Edges | None) -> Edges | None:
        if edges is None:
            return None
        # Kernels read several edges at once, so a run of them does not lie in two memories.
        far = min(edges.count, -(-int(edges.count * mapped) // _EDGES_TOGETHER) * _EDGES_TOGETHER)
        return replace(
            edges,
            offsets=element.hold(edges.offsets),
            targets=element.hold_edges(edges.targets, far),
            weights=None if edges.weights is None else element.hold_edges(edges.weights, far),
            blocks=element.hold(edges.blocks),
        )

    out = held(partition.out)
    element.reserve(max(edges.count for edges in partition.directions))
    return replace(
        partition,
        vertices=element.hold(partition.vertices),
        out_degree=element.hold(partition.out_degree),
        out=out,
        in_=out if partition.in_ is partition.out else held(partition.in_),
    )


def _row_bounds(graph: Graph, owned: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """Where the rows of the owned vertices begin when they are laid one after another, shape (L + 1,)."""
    bounds = np.zeros(len(owned) + 1, dtype=np.uint64)
    np.cumsum(np.diff(graph.offsets)[owned], out=bounds[1:])
    return bounds


def _number_mirrors(
    p: int, numbering: Numbering, needed: NDArray[np.uint8]
) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.uint32]]:
    """Extend the owned vertices by the mirrors; also give each vertex its position in the partition."""
    owned = numbering.owned_by(p)
    partitions = len(numbering.bounds) - 1
    vertices = np.empty(len(owned) + int(np.count_nonzero(needed)), dtype=np.uint32)
    vertices[: len(owned)] = owned
    position = numbering.local.copy()
    mirror_bounds = np.full(partitions + 1, len(owned), dtype=np.int64)
    for q in range(partitions):
        begin = int(mirror_bounds[q])
        found = 0
        if q != p:
            found = int(
                kernels.append_mirrors(
                    numbering.owned_by(q), needed, np.uint64(begin), vertices[begin:], position
                )
            )
        mirror_bounds[q + 1] = begin + found
    return vertices, mirror_bounds, position


def _renumbered(
    graph: Graph,
    owned: NDArray[np.uint32],
    bounds: NDArray[np.uint64],
    position: NDArray[np.uint32],
    vertices: int,
) -> Edges:
    csr = build.from_slices(_OwnedEdges(graph, owned, bounds, position, vertices), symmetrise=False)
    # The builder's rows include those of mirrors, which have no edges here.
    rows = int(np.searchsorted(bounds, bounds[-1], side="left"))
    boundary = _count_from(csr.targets, len(owned)) if vertices > len(owned) else 0
    return Edges(bounds, csr.targets, csr.weights, work_blocks(bounds), rows, boundary)


def _count_from(targets: NDArray[np.uint32], first: int) -> int:
    """How many targets are `first` or above, looked at in pieces that need little memory."""
    pieces = range(0, len(targets), _TARGETS_COUNTED)
    return sum(int(np.count_nonzero(targets[i : i + _TARGETS_COUNTED] >= np.uint32(first))) for i in pieces)


class _OwnedEdges:
    """The edges of some vertices of a graph in a partition's numbers, as the builder reads them."""

    def __init__(
        self,
        graph: Graph,
        owned: NDArray[np.uint32],
        bounds: NDArray[np.uint64],
        position: NDArray[np.uint32],
        vertices: int,
    ) -> None:
        self.n, self.m = vertices, int(bounds[-1])
        self.weight_dtype = None if graph.weights is None else graph.weights.dtype
        self._graph, self._owned, self._bounds, self._position = graph, owned, bounds, position
        self._parts = numba.get_num_threads()

    def fill(self, start: int, stop: int, src: NDArray[np.uint32], dst: NDArray[np.uint32]) -> None:  # noqa: ARG002 - the arrays say where to stop
        kernels.renumber_ends(
            self._graph.offsets, self._graph.targets, self._owned, self._bounds, self._position,
            np.uint64(start), src, dst, self._parts,
        )  # fmt: skip

    def fill_weights(self, start: int, stop: int, weights: NDArray[Any]) -> None:  # noqa: ARG002 - as above
        kernels.renumber_weights(
            self._graph.offsets, self._graph.weights, self._owned, self._bounds, np.uint64(start), weights,
            self._parts,
        )  # fmt: skip
