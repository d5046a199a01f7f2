"""Partition: one element's share of the graph, in one index space of owned vertices and mirrors.

Owned vertices are numbered ``0..L-1`` in descending degree, mirrors ``L..L+M-1``, grouped by owner and
sorted by the owner's numbering. A per-vertex array of length ``L + M`` is thus the state of the owned
vertices and, in its tail, the outbox and the inbox of T13 §4.2; a kernel never asks whether a neighbour is
remote.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numba
import numpy as np

from evener import build
from evener.checks import read_only
from evener.kernels.cpu import partition as kernels
from evener.partition.footprint import HEAD, IN_ONE_MEMORY, Tiers, whole_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.elements import Element
    from evener.graph import Graph

__all__ = [
    "LONG_RUN",
    "Edges",
    "Numbering",
    "Partition",
    "Renumbered",
    "build_partition",
    "number_vertices",
    "place",
    "work_blocks",
]

# Edges and rows handed to a thread at a time.
EDGES_PER_BLOCK = 1 << 15
# Mirrors that are a long run, and the part of its vertices that must be needed for all to be mirrored: a CPU
# takes longer to pick a value out than it takes to travel, so a few that nobody needs may come along.
LONG_RUN = 1 << 16
_NEARLY_ALL = 0.9
# What one memory holds of the edges is a multiple of so many: a line of a GPU's cache.
_EDGES_TOGETHER = 32
# Edges written at a time: hundreds of blocks for the threads, and little memory beside the partition's. Pages
# for them are locked in powers of two, of which this, and the rest of a block, leave next to nothing unused.
_EDGES_WRITTEN = (1 << 25) - EDGES_PER_BLOCK


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """The adjacency of a partition's owned vertices in one direction, as CSR in local numbers.

    Attributes
    ----------
    offsets : ndarray of uint64, shape (L + 1,)
    targets : ndarray of uint32, shape (edges,), or Renumbered
        Local numbers, ascending in each row: owned neighbours first, those of high degree before the others.
        Until the partition is placed, what they, and the weights, will be written from.
    weights : ndarray, shape (edges,), or None
    blocks : ndarray of uint32, shape (B + 1,)
        Bounds of runs of rows with about equal work.
    rows : int
        Number of rows up to the last one that has an edge.
    boundary : int
        Number of edges that lead to mirrors.
    mapped_rows : int
        Number of rows up to the last one with an edge in the host's memory, where the partition is a GPU's.
    prepared : dict
        What was made of the edges where they are placed, for all runs: see `evener.partition.columns`.
    """

    offsets: NDArray[np.uint64]
    targets: NDArray[np.uint32] | Renumbered
    weights: NDArray[Any] | None
    blocks: NDArray[np.uint32]
    rows: int
    boundary: int
    mapped_rows: int = 0
    prepared: dict[str, Any] = field(default_factory=dict, repr=False)

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
class Renumbered:
    """Rows of a graph that are to be a partition's: what its targets and weights are written from.

    They are written where they are to lie, some at a time: the host never holds them beside the graph unless
    the partition is the host's.

    Attributes
    ----------
    graph : Graph
        Its out-edges are what is stored.
    owned : ndarray of uint32, shape (L,)
        The graph's number of each row.
    bounds : ndarray of uint64, shape (L + 1,)
        The partition's offsets.
    blocks : ndarray of uint32
        Runs of rows, see `Edges`.
    position : ndarray of uint32, shape (n,)
        The partition's number of each of the graph's vertices.
    vertices : int
        How many the partition has, with mirrors.
    """

    graph: Graph
    owned: NDArray[np.uint32]
    bounds: NDArray[np.uint64]
    blocks: NDArray[np.uint32]
    position: NDArray[np.uint32]
    vertices: int

    def __len__(self) -> int:
        return int(self.bounds[-1])

    @property
    def nbytes(self) -> int:
        """Bytes that targets and weights will take."""
        return len(self) * (4 + (0 if self.graph.weights is None else self.graph.weights.itemsize))

    def write(self, element: Element, far: int) -> tuple[Any, Any]:
        """The targets and weights in an element's memory, the first `far` of each in the host's."""
        graph = self.graph
        targets = element.edges(len(self), np.dtype(np.uint32), far)
        weights = None if graph.weights is None else element.edges(len(self), graph.weights.dtype, far)
        none = np.empty(0, np.float32)
        given = read_only(none if graph.weights is None else graph.weights)
        ends = self.bounds[self.blocks]
        steps = np.arange(0, len(self), _EDGES_WRITTEN, dtype=np.uint64)
        cuts = np.unique(np.append(np.searchsorted(ends, steps), len(ends) - 1))
        most = int(np.diff(ends[cuts]).max(initial=0))
        spare = np.empty(most, np.uint32)
        spare_weights = none if weights is None else np.empty(most, given.dtype)
        bits = np.uint64(max(1, (self.vertices - 1).bit_length()))
        for first, last in pairwise(cuts.tolist()):
            begin, end = int(ends[first]), int(ends[last])
            out = element.open_edges(targets, begin, end)
            out_weights = none if weights is None else element.open_edges(weights, begin, end)
            kernels.renumber_rows(
                read_only(graph.offsets), read_only(graph.targets), given,
                read_only(self.owned), self.bounds, self.position, self.blocks[first : last + 1], bits,
                out, out_weights, spare, spare_weights,
            )  # fmt: skip
            element.close_edges(targets, begin, out)
            if weights is not None:
                element.close_edges(weights, begin, out_weights)
        return targets, weights


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
    connected : int
        Number of owned vertices up to the last one that has an out-edge, or another that is stored.
    out, in_ : Edges or None
        Out-edges and in-edges of the owned vertices; the same object for an undirected graph, None for a
        direction that was not asked for.
    """

    index: int
    vertices: NDArray[np.uint32]
    mirror_bounds: NDArray[np.int64]
    out_degree: NDArray[np.uint32]
    connected: int
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
        return sum(_mapped(e.targets) for e in self.directions)

    @property
    def mapped_rows(self) -> int:
        """The rows up to the last one that has such edges, of each adjacency."""
        return sum(e.mapped_rows for e in self.directions)

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
    counts = np.zeros((numba.get_num_threads(), partitions), dtype=np.uint64)
    kernels.count_owned(by_degree, owner, counts)
    bounds = np.zeros(partitions + 1, dtype=np.uint64)
    bounds[1:] = np.cumsum(counts.sum(axis=0))
    places = bounds[:-1] + np.cumsum(counts, axis=0) - counts
    local = np.empty(n, dtype=np.uint32)
    vertices = np.empty(n, dtype=np.uint32)
    kernels.number_locally(by_degree, owner, bounds, places, local, vertices)
    return Numbering(owner, local, vertices, bounds)


def work_blocks(offsets: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """Cut the rows into runs of about `EDGES_PER_BLOCK` edges and rows."""
    rows = len(offsets) - 1
    steps = np.arange(0, int(offsets[-1]) + rows, EDGES_PER_BLOCK, dtype=np.uint64)
    return np.unique(np.append(build.rows_at(offsets, steps), np.uint64(rows))).astype(np.uint32)


def build_partition(
    p: int, numbering: Numbering, graph: Graph, out_degree: NDArray[np.uint32], *, out: bool, in_: bool
) -> Partition:
    """Lay out partition `p` of `graph` with the directions asked for; `place` writes its edges.

    `out_degree` is that of all vertices. Needs, beside the result, 5 bytes for each vertex of the graph while
    it runs where there are several partitions.
    """
    owned = numbering.owned_by(p)
    wanted = [graph] if out or not graph.directed else []
    if in_ and graph.directed:
        wanted.append(graph.reverse)
    bounds = [_row_bounds(g, owned) for g in wanted]
    blocks = [work_blocks(rows) for rows in bounds]
    boundary = [0] * len(wanted)
    partitions = len(numbering.bounds) - 1
    vertices, mirror_bounds, position = owned, np.full(partitions + 1, len(owned), np.int64), numbering.local
    if partitions > 1:
        needed = np.zeros(graph.n, dtype=np.uint8)
        boundary = [
            int(kernels.mark_remote(g.offsets, g.targets, owned, runs, numbering.owner, p, needed))
            for g, runs in zip(wanted, blocks, strict=True)
        ]
        _fill_gaps(p, numbering, needed)
        vertices, mirror_bounds, position = _number_mirrors(p, numbering, needed)
    stored = [
        Edges(
            offsets=rows,
            targets=Renumbered(g, owned, rows, runs, position, len(vertices)),
            weights=None,
            blocks=runs,
            rows=int(np.searchsorted(rows, rows[-1])),
            boundary=crossing,
        )
        for g, rows, runs, crossing in zip(wanted, bounds, blocks, boundary, strict=True)
    ]
    own_degree = out_degree[owned]
    connected = max(edges.rows for edges in stored)
    if not graph.directed:
        return Partition(p, vertices, mirror_bounds, own_degree, connected, stored[0], stored[0])
    return Partition(
        p,
        vertices,
        mirror_bounds,
        own_degree,
        max(connected, _up_to_last(own_degree)),
        stored[0] if out else None,
        stored[-1] if in_ else None,
    )


def place(partition: Partition, element: Element, tiers: Tiers = IN_ONE_MEMORY) -> Partition:
    """The same partition with its arrays in the memory of an element, its edges written there.

    Parameters
    ----------
    partition : Partition
    element : Element
    tiers : Tiers
        What stays in the host's memory, where the element is a GPU. Default: nothing.
    """

    def held(edges: Edges | None, headed: int) -> Edges | None:
        if edges is None:
            return None
        # Kernels read several edges at once, so a run of them does not lie in two memories.
        far = min(edges.count, -(-int(edges.count * tiers.mapped) // _EDGES_TOGETHER) * _EDGES_TOGETHER)
        targets, weights = cast("Renumbered", edges.targets).write(element, far)
        if rows := min(headed, whole_rows(edges.offsets, _mapped(targets))):
            targets = targets.headed(_heads(edges.offsets, targets.far, rows, element))
        return replace(
            edges,
            offsets=element.hold(edges.offsets),
            targets=targets,
            weights=weights,
            blocks=element.hold(edges.blocks),
            mapped_rows=int(np.searchsorted(edges.offsets, np.uint64(_mapped(targets)))),
            prepared={},
        )

    both = partition.in_ is partition.out
    out = held(partition.out, tiers.headed if both else 0)
    in_ = out if both else held(partition.in_, tiers.headed)
    element.reserve(max(edges.count for edges in partition.directions))
    return replace(
        partition,
        vertices=element.hold(partition.vertices),
        out_degree=element.hold(partition.out_degree),
        out=out,
        in_=in_,
    )


def _heads(
    offsets: NDArray[np.uint64], targets: NDArray[np.uint32], rows: int, element: Element
) -> NDArray[np.uint32]:
    """The first few edges of each row in an element's memory, written there some at a time."""
    heads = element.edges(rows * HEAD, np.dtype(np.uint32), 0)
    for begin in range(0, rows, _EDGES_WRITTEN // HEAD):
        end = min(rows, begin + _EDGES_WRITTEN // HEAD)
        written = element.open_edges(heads, begin * HEAD, end * HEAD)
        kernels.row_heads(offsets[begin:], targets, written.reshape(-1, HEAD))
        element.close_edges(heads, begin * HEAD, written)
    near: NDArray[np.uint32] = heads.near
    return near.reshape(-1, HEAD)


def _mapped(targets: Any) -> int:
    """How many of a partition's edges lie in the host's memory though it is a GPU's."""
    return len(getattr(targets, "far", ()))


def _row_bounds(graph: Graph, owned: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """Where the rows of the owned vertices begin when they are laid one after another, shape (L + 1,)."""
    bounds = np.zeros(len(owned) + 1, dtype=np.uint64)
    kernels.row_lengths(read_only(graph.offsets), read_only(owned), bounds[1:])
    np.cumsum(bounds, out=bounds)
    return bounds


def _up_to_last(degree: NDArray[np.uint32]) -> int:
    """The length of the array without the zeros at its end."""
    last = degree[::-1] != 0
    return len(degree) - int(np.argmax(last)) if last.any() else 0


def _fill_gaps(p: int, numbering: Numbering, needed: NDArray[np.uint8]) -> None:
    """Where nearly all of a long run of an owner's vertices are needed, have mirrors of the others too.

    What is pulled then travels as it lies: picking out takes a CPU longer than sending. Where it owns the
    vertices of low degree, and the hubs are elsewhere, that is nearly all it has with an edge.
    """
    for q in range(len(numbering.bounds) - 1):
        vertices = numbering.owned_by(q)
        wanted = needed[vertices] if q != p else None
        count = 0 if wanted is None else int(np.count_nonzero(wanted))
        if wanted is None or count < LONG_RUN:
            continue
        first, last = int(np.argmax(wanted)), len(wanted) - int(np.argmax(wanted[::-1]))
        if count >= _NEARLY_ALL * (last - first):
            needed[vertices[first:last]] = 1


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
