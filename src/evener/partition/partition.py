"""Partition: one element's share of the graph, in one index space of owned vertices and mirrors.

Owned vertices are numbered ``0..L-1`` in descending degree, of in-edges and out-edges. Mirrors are numbered
``L..L+M-1``, grouped by owner and sorted by the owner's numbering. The first part of a per-vertex array of
length ``L + M`` is the state of the owned vertices. Its tail is the outbox and the inbox of T13 §4.2. A
kernel therefore never tests whether a neighbour is remote.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.graph import csr as build
from evener.partition.degrees import by_descending_degree

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.elements import Element
    from evener.graph.csr import CSR
    from evener.graph.graph import Graph

__all__ = [
    "EDGES_PER_BLOCK",
    "Edges",
    "Partition",
    "PendingEdges",
    "mirrors_below",
    "neighbour_order",
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
    in_place : bool
        Whether an element may overwrite the rows, which are consecutive. Nothing else reads them.
    """

    graph: Graph | CSR
    owned: NDArray[np.uint32]
    bounds: NDArray[np.uint64]
    blocks: NDArray[np.uint32]
    position: NDArray[np.uint32]
    vertices: int
    order: NDArray[np.uint32]
    in_place: bool = False

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


def work_blocks(offsets: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """Return the bounds of blocks with about `EDGES_PER_BLOCK` edges and rows each."""
    rows = len(offsets) - 1
    steps = np.arange(0, int(offsets[-1]) + rows, EDGES_PER_BLOCK, dtype=np.uint64)
    return np.unique(np.append(build.rows_at(offsets, steps), np.uint64(rows))).astype(np.uint32)


def pending_edges(
    rows: Graph | CSR,
    owned: NDArray[np.uint32],
    bounds: NDArray[np.uint64],
    position: NDArray[np.uint32],
    vertices: int,
    order: NDArray[np.uint32],
    boundary: int,
    *,
    in_place: bool = False,
) -> Edges:
    """Return edges that are to be written; the arguments are as in `PendingEdges` and `Edges`."""
    blocks = work_blocks(bounds)
    targets = PendingEdges(rows, owned, bounds, blocks, position, vertices, order, in_place)
    return Edges(bounds, targets, None, blocks, int(np.searchsorted(bounds, bounds[-1])), boundary)


def partition_of(
    p: int,
    vertices: NDArray[np.uint32],
    mirror_bounds: NDArray[np.int64],
    out_degree: NDArray[np.uint32],
    stored: dict[str, Edges],
    *,
    directed: bool,
    element: Element | None = None,
) -> Partition:
    """Return a partition with the edges of each stored direction.

    The arrays are in the memory of the element, or in host memory without an element.
    """
    connected = max(edges.rows for edges in stored.values())
    if directed:
        on_host = out_degree if element is None else element.download(out_degree)
        connected = max(connected, up_to_last(on_host))
    out = stored.get("out")
    in_ = stored.get("in") if directed else out
    return Partition(p, vertices, mirror_bounds, out_degree, connected, out, in_)


def neighbour_order(vertices: NDArray[np.uint32], owned: int, out_degree: NDArray[Any]) -> NDArray[np.uint32]:
    """Return the order of neighbours in rows: see `PendingEdges.order`."""
    if len(vertices) == owned:  # owned vertices are in descending degree
        return np.empty(0, np.uint32)
    return by_descending_degree(out_degree[vertices])


def up_to_last(degree: NDArray[np.uint32]) -> int:
    """Return the length of the array without the zeros at its end."""
    last = degree[::-1] != 0
    return len(degree) - int(np.argmax(last)) if last.any() else 0


def mirrors_below(marked: Any, bounds: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many mirrors have owners before each owner, shape (P + 1,), after filling nearly full runs.

    `marked` has the numbers of remote targets: a `bitmap.Bitmap`, or flags on a GPU with the same methods.
    `bounds` has the first number of each owner. If nearly all vertices of a long run are marked, all of them
    get mirrors. Pulled values of a full run are sent without packing. For a CPU, packing is slower than
    sending.
    """
    below: NDArray[np.int64] = marked.counts_below(bounds)
    filled = False
    for owner, count in enumerate(np.diff(below).tolist()):
        if count >= LONG_RUN:
            first, end = marked.run_between(int(bounds[owner]), int(bounds[owner + 1]))
            if NEARLY_ALL * (end - first) <= count < end - first:
                marked.fill(first, end)
                filled = True
    if filled:
        below = marked.counts_below(bounds)
    return below
