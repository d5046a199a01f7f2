"""Partition: one element's share of the graph, in one index space of owned vertices and mirrors.

Owned vertices are numbered ``0..L-1`` in descending degree, of in-edges and out-edges. Mirrors are numbered
``L..L+M-1``, grouped by owner and sorted by the owner's numbering. The first part of a per-vertex array of
length ``L + M`` is the state of the owned vertices. Its tail is the outbox and the inbox of T13 §4.2. A
kernel therefore never tests whether a neighbour is remote.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from evener.graph import csr as build
from evener.graph.arrays import read_only
from evener.kernels.cpu import partition as kernels
from evener.kernels.cpu.fill import copy
from evener.partition.degrees import by_descending_degree, replace_by_places

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.graph.csr import CSR
    from evener.graph.graph import Graph

__all__ = [
    "EDGES_PER_BLOCK",
    "LONG_RUN",
    "NEARLY_ALL",
    "Edges",
    "Numbering",
    "Partition",
    "PendingEdges",
    "build_partition",
    "neighbour_order",
    "number_mirrors",
    "number_vertices",
    "partition_of",
    "pending_edges",
    "up_to_last",
    "work_blocks",
]

# Edges and rows in a block, the unit of work of a thread.
EDGES_PER_BLOCK = 1 << 15
# Vertices in the shortest long run. If this share of a long run needs mirrors, the whole run gets them.
LONG_RUN = 1 << 16
NEARLY_ALL = 0.9


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """The adjacency of a partition's owned vertices in one direction, as CSR in local numbers.

    Attributes
    ----------
    offsets : ndarray of uint64, shape (L + 1,)
    targets : ndarray of uint32, shape (edges,), or PendingEdges
        Local numbers, by descending out-degree in each row: see `PendingEdges.order`. A GPU that stores all
        edges keeps its rows ascending. Before the upload, the source of the edges.
    weights : ndarray, shape (edges,), or None
    blocks : ndarray of uint32, shape (B + 1,)
        Bounds of blocks of rows with about equal work.
    rows : int
        Number of rows up to the last one with an edge.
    boundary : int
        Number of edges that lead to mirrors.
    derived : dict
        Arrays built from the edges and kept for all runs, such as ``"column_blocks"``.
    """

    offsets: NDArray[np.uint64]
    targets: NDArray[np.uint32] | PendingEdges
    weights: NDArray[Any] | None
    blocks: NDArray[np.uint32]
    rows: int
    boundary: int
    derived: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def count(self) -> int:
        """Number of edges."""
        return len(self.targets)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        weights = 0 if self.weights is None else self.weights.nbytes
        return self.offsets.nbytes + self.targets.nbytes + self.blocks.nbytes + weights

    @property
    def host_edges(self) -> int:
        """Number of a GPU's edges in host memory."""
        return len(getattr(self.targets, "host_part", ()))

    @property
    def host_bytes(self) -> int:
        """Bytes of a GPU's edges in host memory."""
        parts = [getattr(array, "host_part", None) for array in (self.targets, self.weights)]
        return sum(part.nbytes for part in parts if part is not None)


@dataclass(frozen=True, slots=True, eq=False)
class PendingEdges:
    """Rows of a graph from which a partition's targets and weights will be written.

    Attributes
    ----------
    graph : Graph or CSR
        The rows.
    owned : ndarray of uint32, shape (L,)
        The row of each owned vertex.
    bounds, blocks : ndarray
        As `offsets` and `blocks` of `Edges`.
    position : ndarray of uint32
        For each target of the rows, its place in `order`; its local number if `order` is empty.
    vertices : int
        Number of owned vertices and mirrors.
    order : ndarray of uint32, shape (L + M,)
        Local numbers in the order of neighbours in rows: hubs come first. Empty if rows ascend.
    """

    graph: Graph | CSR
    owned: NDArray[np.uint32]
    bounds: NDArray[np.uint64]
    blocks: NDArray[np.uint32]
    position: NDArray[np.uint32]
    vertices: int
    order: NDArray[np.uint32]

    def __len__(self) -> int:
        return int(self.bounds[-1])

    @property
    def nbytes(self) -> int:
        """Bytes of the targets and weights."""
        return len(self) * (4 + (0 if self.graph.weights is None else self.graph.weights.itemsize))


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """One element's share: owned vertices, their edges, and mirrors of neighbours with another owner.

    Attributes
    ----------
    index : int
        Number of this partition.
    vertices : ndarray of uint32, shape (L + M,)
        Global number of each local vertex.
    mirror_bounds : ndarray of int64, shape (P + 1,)
        The mirrors of owner ``q`` are the local vertices ``mirror_bounds[q]:mirror_bounds[q + 1]``.
    out_degree : ndarray of uint32, shape (L,)
        Out-degree of each owned vertex in the whole graph.
    connected : int
        Number of owned vertices up to the last one with an out-edge or a stored edge.
    out, in_ : Edges or None
        Out-edges and in-edges of the owned vertices: the same object for an undirected graph, None for a
        direction that is not stored.
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
        """The stored adjacencies, each once."""
        both = (self.out,) if self.out is self.in_ else (self.out, self.in_)
        return tuple(edges for edges in both if edges is not None)

    @property
    def stored_edges(self) -> int:
        """Number of edges of all stored adjacencies."""
        return sum(edges.count for edges in self.directions)

    @property
    def host_edges(self) -> int:
        """Number of a GPU's edges in host memory."""
        return sum(edges.host_edges for edges in self.directions)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        own = self.vertices.nbytes + self.mirror_bounds.nbytes + self.out_degree.nbytes
        return own + sum(edges.nbytes for edges in self.directions)

    @property
    def host_bytes(self) -> int:
        """Bytes of a GPU's edges in host memory."""
        return sum(edges.host_bytes for edges in self.directions)


@dataclass(frozen=True, slots=True, eq=False)
class Numbering:
    """The owner and the local number of each vertex.

    Attributes
    ----------
    owner : ndarray of uint8 or uint16, shape (n,)
    local : ndarray of uint32, shape (n,)
        Local number of each vertex in its owner's partition.
    vertices : ndarray of uint32, shape (n,)
        The vertices of all partitions, ordered by partition, then by local number.
    bounds : ndarray of uint64, shape (P + 1,)
        The first position of each partition in `vertices`.
    """

    owner: NDArray[Any]
    local: NDArray[np.uint32]
    vertices: NDArray[np.uint32]
    bounds: NDArray[np.uint64]

    def owned_by(self, p: int) -> NDArray[np.uint32]:
        """Return the vertices of partition `p` by local number."""
        return self.vertices[int(self.bounds[p]) : int(self.bounds[p + 1])]

    def mirror_numbers(self, partition: Partition) -> NDArray[np.uint32]:
        """Return the local number, on its owner, of each mirror of a partition in host memory."""
        numbers = np.empty(partition.mirrors, np.uint32)
        mirrors = read_only(partition.vertices[partition.owned :])
        kernels.gather_values(read_only(self.local), mirrors, numbers)
        return numbers

    def place_of(self, vertex: int) -> tuple[int, int]:
        """Return the owner and the local number of a vertex."""
        return int(self.owner[vertex]), int(self.local[vertex])

    def places_of(self, vertices: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.uint32]]:
        """Return the owners and the local numbers of vertices."""
        given = vertices.astype(np.uint32)
        local = np.empty(len(given), np.uint32)
        kernels.gather_values(read_only(self.local), read_only(given), local)
        single = len(self.bounds) == 2
        return np.zeros(len(given), self.owner.dtype) if single else self.owner[given], local


def number_vertices(by_degree: NDArray[np.uint32], owner: NDArray[Any], partitions: int) -> Numbering:
    """Return local numbers of each partition's vertices, in descending degree."""
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
    """Return the bounds of blocks with about `EDGES_PER_BLOCK` edges and rows each."""
    rows = len(offsets) - 1
    steps = np.arange(0, int(offsets[-1]) + rows, EDGES_PER_BLOCK, dtype=np.uint64)
    return np.unique(np.append(build.rows_at(offsets, steps), np.uint64(rows))).astype(np.uint32)


def build_partition(
    p: int, numbering: Numbering, graph: Graph, out_degree: NDArray[np.uint32], *, out: bool, in_: bool
) -> Partition:
    """Return partition `p` of `graph` with pending edges; `upload.upload_partition` writes them.

    `out_degree` is the out-degree of each vertex of the graph. With several partitions, the function needs 5
    bytes per vertex of the graph for temporary arrays.
    """
    owned = numbering.owned_by(p)
    wanted = {"out": graph} if out or not graph.directed else {}
    if in_ and graph.directed:
        wanted["in"] = graph.reverse
    bounds = {direction: _row_bounds(rows, owned) for direction, rows in wanted.items()}
    boundary = dict.fromkeys(wanted, 0)
    partitions = len(numbering.bounds) - 1
    vertices, mirror_bounds, position = owned, np.full(partitions + 1, len(owned), np.int64), numbering.local
    if partitions > 1:
        needed = np.zeros(graph.n, dtype=np.uint8)
        kernels.assign(read_only(owned), kernels.OWN, needed)
        for direction, rows in wanted.items():
            blocks = work_blocks(bounds[direction])
            crossing = kernels.mark_remote(rows.offsets, rows.targets, owned, blocks, needed)
            boundary[direction] = int(crossing)
        vertices, mirror_bounds, position = number_mirrors(p, numbering, needed)
    order = neighbour_order(vertices, len(owned), out_degree)
    replace_by_places(position, order)
    stored = {
        direction: pending_edges(
            rows, owned, bounds[direction], position, len(vertices), order, boundary[direction]
        )
        for direction, rows in wanted.items()
    }
    own_degree = np.empty(len(owned), np.uint32)
    kernels.gather_values(read_only(out_degree), read_only(owned), own_degree)
    return partition_of(p, vertices, mirror_bounds, own_degree, stored, directed=graph.directed)


def pending_edges(
    rows: Graph | CSR,
    owned: NDArray[np.uint32],
    bounds: NDArray[np.uint64],
    position: NDArray[np.uint32],
    vertices: int,
    order: NDArray[np.uint32],
    boundary: int,
) -> Edges:
    """Return edges that are to be written; the arguments are as in `PendingEdges` and `Edges`."""
    blocks = work_blocks(bounds)
    targets = PendingEdges(rows, owned, bounds, blocks, position, vertices, order)
    return Edges(bounds, targets, None, blocks, int(np.searchsorted(bounds, bounds[-1])), boundary)


def partition_of(
    p: int,
    vertices: NDArray[np.uint32],
    mirror_bounds: NDArray[np.int64],
    out_degree: NDArray[np.uint32],
    stored: dict[str, Edges],
    *,
    directed: bool,
) -> Partition:
    """Return a partition with the edges of each stored direction; the arrays are in host memory."""
    connected = max(edges.rows for edges in stored.values())
    if directed:
        connected = max(connected, up_to_last(out_degree))
    out = stored.get("out")
    in_ = stored.get("in") if directed else out
    return Partition(p, vertices, mirror_bounds, out_degree, connected, out, in_)


def neighbour_order(vertices: NDArray[np.uint32], owned: int, out_degree: NDArray[Any]) -> NDArray[np.uint32]:
    """Return the order of neighbours in rows: see `PendingEdges.order`."""
    if len(vertices) == owned:  # owned vertices are in descending degree
        return np.empty(0, np.uint32)
    return by_descending_degree(out_degree[vertices])


def _row_bounds(graph: Graph, owned: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """Return the offsets of the rows of the owned vertices, shape (L + 1,)."""
    bounds = np.zeros(len(owned) + 1, dtype=np.uint64)
    kernels.row_lengths(read_only(graph.offsets), read_only(owned), bounds[1:])
    np.cumsum(bounds, out=bounds)
    return bounds


def up_to_last(degree: NDArray[np.uint32]) -> int:
    """Return the length of the array without the zeros at its end."""
    last = degree[::-1] != 0
    return len(degree) - int(np.argmax(last)) if last.any() else 0


def number_mirrors(
    p: int, numbering: Numbering, needed: NDArray[np.uint8]
) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.uint32]]:
    """Return the owned vertices and mirrors, the bounds of mirrors, and the local number of each vertex."""
    owners = range(len(numbering.bounds) - 1)
    others = {q: _fill_gaps(numbering.owned_by(q), needed) for q in owners if q != p}
    counts = [int(others[q].sum()) if q in others else 0 for q in owners]
    owned = numbering.owned_by(p)
    mirror_bounds = len(owned) + np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    vertices = np.empty(int(mirror_bounds[-1]), dtype=np.uint32)
    copy(owned, vertices[: len(owned)])
    position = np.empty_like(numbering.local)
    copy(numbering.local, position)
    for q, count in others.items():
        places = np.uint64(mirror_bounds[q]) + np.cumsum(count, dtype=np.uint64) - count
        kernels.append_mirrors(numbering.owned_by(q), needed, places, vertices, position)
    return vertices, mirror_bounds, position


def _fill_gaps(vertices: NDArray[np.uint32], needed: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return the number of an owner's needed vertices for each thread, after filling a nearly full run.

    If nearly all vertices of a long run are needed, all of them get mirrors. Pulled values of a full run are
    sent without packing. For a CPU, packing is slower than sending.
    """
    found = np.empty((numba.get_num_threads(), 3), dtype=np.uint64)
    kernels.find_needed(vertices, needed, found)
    count, first, last = int(found[:, 0].sum()), int(found[:, 1].min()), int(found[:, 2].max())
    if count >= LONG_RUN and NEARLY_ALL * (last - first) <= count < last - first:
        kernels.assign(read_only(vertices[first:last]), kernels.NEEDED, needed)
        kernels.find_needed(vertices, needed, found)
    return found[:, 0]
