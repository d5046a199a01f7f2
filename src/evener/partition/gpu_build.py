"""Build a partition in the memory of a GPU, from the rows of the graph as the host stores them.

The host copies the rows in pieces. The GPU moves each row to its place, numbers the mirrors, translates
targets to local numbers, and sorts the rows. The arrays equal those that `evener.partition.partition` and
`evener.partition.upload` build on the host.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.graph.arrays import constant
from evener.kernels.cpu.fill import copy
from evener.partition.footprint import bytes_excluding_edges
from evener.partition.partition import EDGES_PER_BLOCK, Edges, partition_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evener.elements.cuda.element import CudaElement
    from evener.elements.protocols import GpuElement
    from evener.graph.graph import Graph
    from evener.partition.gpu_vertices import VertexArrays
    from evener.partition.partition import Partition
    from evener.partition.route import Route

__all__ = [
    "MAX_DEGREE",
    "Built",
    "RowsBuild",
    "on_gpu",
    "work_blocks_on_gpu",
]

# Highest degree on the GPU.
MAX_DEGREE = (1 << 32) - 1
# Bytes of a piece of rows that the host copies.
_PIECE_BYTES = 1 << 24
# Edges that are sorted at a time, unless a row is longer.
_EDGES_SORTED = 1 << 25
# Pieces that the host writes, and pieces on the GPU, before the first one is reused.
_PAGES, _LANDINGS = 3, 2
# Bytes per vertex of the graph: offsets of a direction, and vertex, number and out-degree.
_OFFSET_BYTES, _ARRAY_BYTES = 8, 4 + 4 + 4
# Bytes per vertex that is numbered: two degrees, a key and its copy, and another order.
_NUMBERED_BYTES = 4 + 4 + 8 + 8 + 8
# Bytes per vertex while mirrors are numbered: a state, a flag, a number of flags, and a position.
_MIRRORS_BYTES = 1 + 4 + 4 + 4
# Bytes per edge that is sorted: a key and its copy; with weights, another key and two copies of its place.
_SORTED_BYTES, _ORDERED_BYTES = 16, 40


class Built(NamedTuple):
    """A partition in the memory of a GPU, with the routes of its mirrors in the memory of their owners.

    `longest` is the number of in-edges of the owned vertex with the most; 0 without in-edges.
    """

    partition: Partition
    routes: list[Route]
    longest: int


class RowsBuild:
    """The rows and mirrors of one partition while a GPU builds them; `room` bytes of its memory may be used.

    The host has the rows of the graph.
    """

    def __init__(self, graph: Graph, directions: str, element: CudaElement, room: int) -> None:
        self.graph, self.element, self.room = graph, element, room
        self.offsets: dict[str, Any] = {}
        self.directions = (directions,) if directions != "both" else ("out", "in")
        if not graph.directed:
            self.directions = ("out",)

    @property
    def rows(self) -> dict[str, Graph]:
        """The rows of the graph by direction; a direction that the graph does not store is built first."""
        return {d: self.graph if d == "out" else self.graph.reverse for d in self.directions}

    def run(self, name: str, *args: Any) -> Any:
        """Launch a kernel, and return its pending result."""
        return self.element.run(self.element.kernel(f"partition.{name}"), *args)

    def result(self, name: str, *args: Any) -> int:
        """Return the result of a kernel, after waiting for it."""
        return int(self.element.result(self.run(name, *args)))

    # ---- memory ---------------------------------------------------------------------------------

    def numbers_fit(self, owned: int) -> bool:
        """Return true if the arrays of all vertices fit, and the kernels support the graph and the GPU.

        The GPU also has the state of `owned` vertices. The rows must be ascending, as on a GPU with column
        blocks.
        """
        graph, directions = self.graph, len(self.directions)
        supported = self.element.table_columns and graph.m > 0
        kept = bytes_excluding_edges(owned, 0, 0, 0, directions=directions)
        each = _OFFSET_BYTES * directions + _ARRAY_BYTES + _NUMBERED_BYTES
        return bool(supported) and kept + each * graph.n <= self.room

    def edges_fit(self, mirrors: int, elsewhere: int) -> bool:
        """Return true if the partition fits, with the arrays that are needed while it is built."""
        weight = self.graph.edge_bytes - 4
        sorted_bytes = _ORDERED_BYTES + weight if weight else _SORTED_BYTES
        batch = min(max(self.counts), max(self.longest, _EDGES_SORTED) + EDGES_PER_BLOCK)
        return batch * sorted_bytes + 8 * _PIECE_BYTES <= self.spare(mirrors, elsewhere)

    def spare(self, mirrors: int, elsewhere: int) -> int:
        """Return the bytes that the partition leaves for sorting."""
        self.run_bytes = bytes_excluding_edges(
            len(self.owned), mirrors, elsewhere, sum(self.counts), directions=len(self.directions)
        )
        edges = sum(self.counts) * self.graph.edge_bytes
        temporary = _MIRRORS_BYTES * self.graph.n if mirrors else 0
        return self.room - self.run_bytes - edges - temporary

    # ---- vertices -------------------------------------------------------------------------------

    def upload_offsets(self) -> None:
        """Let the GPU have the bounds of the graph's rows."""
        self.offsets = {d: self.offsets_of(d) for d in self.directions}

    def offsets_of(self, direction: str) -> Any:
        """Return the bounds of the graph's rows in one direction, on the GPU."""
        return self.element.upload((self.graph if direction == "out" else self.graph.reverse).offsets)

    def degrees(self) -> tuple[Any, Any] | None:
        """Return the out-degrees and the degrees of all vertices; None if a degree is too high."""
        out_degree = degree = self.degrees_in("out")
        if self.graph.directed and out_degree is not None:
            degree = self.degrees_in("in", self.element.run(out_degree.copy))
        return None if degree is None else (out_degree, degree)

    def degrees_in(self, direction: str, total: Any = None) -> Any:
        """Return `total` with the edges of each vertex in a direction added; None if they are too many."""
        element, graph, offsets = self.element, self.graph, self.offsets.get(direction)
        if offsets is None and direction in graph.stored_directions:
            offsets = self.offsets_of(direction)
        elif offsets is None:
            counted = graph.in_degree() if direction == "in" else graph.out_degree()
            offsets = element.upload(np.cumsum(np.append(np.uint64(0), counted), dtype=np.uint64))
        degree = element.allocate(graph.n, np.uint32, 0) if total is None else total
        # The kernel returns the complement of the highest degree.
        highest = (1 << 64) - 1 - self.result("add_degrees", offsets, degree)
        return None if highest > MAX_DEGREE else degree

    def find_rows(self, p: int, number_bounds: NDArray[np.int64], arrays: VertexArrays) -> None:
        """Find the bounds of the rows of partition `p`, given the first number of each partition."""
        self.p, self.number_bounds, self.arrays = p, number_bounds, arrays
        self.first, end = (int(bound) for bound in number_bounds[p : p + 2])
        self.owned, self.offsets = arrays.vertices[self.first : end], arrays.offsets
        self.bounds, longest, self.counts = {}, {}, []
        for d, offsets in self.offsets.items():
            bounds = self.element.allocate(len(self.owned) + 1, np.uint64)
            # The kernel returns the complement of the length.
            longest[d] = (1 << 64) - 1 - self.result("row_bounds", offsets, self.owned, bounds)
            self.bounds[d] = bounds
            self.counts.append(int(self.element.download(bounds[len(self.owned) :])[0]))
        self.longest = max(longest.values())
        self.longest_in = longest.get("in", 0) if self.graph.directed else self.longest

    def mark_targets(self, needed: Any) -> None:
        """Mark the owned vertices and the remote targets."""
        self.run("mark_owned", self.owned, needed)
        for d, (targets, _) in self.edges.items():
            self.boundary[d] = self.result("mark_targets", on_gpu(targets), needed)

    # ---- edges ----------------------------------------------------------------------------------

    def allocate_rows(self, fill: int | None = None) -> None:
        """Allocate the rows of the owned vertices, filled or undefined."""
        self.boundary = dict.fromkeys(self.directions, 0)
        dtype, element = self.graph.weight_dtype, self.element
        self.edges: dict[str, tuple[Any, Any]] = {}
        for d, count in zip(self.directions, self.counts, strict=True):
            dtypes = [np.dtype(np.uint32)] if dtype is None else [np.dtype(np.uint32), dtype]
            arrays = [element.allocate_edges(count, one, 0) for one in dtypes]
            if fill is not None:
                for array in arrays:
                    element.fill(on_gpu(array), fill)
            self.edges[d] = arrays[0], None if dtype is None else arrays[1]

    @property
    def row_bytes(self) -> int:
        """Bytes of the targets and weights."""
        return sum(array.nbytes for arrays in self.edges.values() for array in arrays if array is not None)

    def send_rows(self, receivers: Sequence[RowsBuild], part: int = 0, parts: int = 1) -> None:
        """Copy one of equal parts of the graph's edges to the GPU, which moves the rows to their owners.

        The kernels of this GPU write the rows of all `receivers`.
        """
        for d, rows in self.rows.items():
            begin, end = len(rows.targets) * part // parts, len(rows.targets) * (part + 1) // parts
            columns = [rows.targets] if rows.weights is None else [rows.targets, rows.weights]
            for column, values in enumerate(columns):
                to = [(r.bounds[d], r.first, on_gpu(r.edges[d][column])) for r in receivers]
                self._send(self.offsets[d], values, begin, end, to)

    def _send(
        self,
        offsets: Any,
        values: NDArray[Any],
        begin: int,
        end: int,
        receivers: Sequence[tuple[Any, int, Any]],
    ) -> None:
        """Send the values of the edges ``begin:end``. A receiver has row bounds, a first number and values.

        The GPU moves the rows of a piece while it receives the next piece, and the host writes another.
        """
        element, unsigned = self.element, np.dtype(f"u{values.itemsize}")
        step = _PIECE_BYTES // values.itemsize
        length = min(step, end - begin)
        landings = [element.allocate(length, unsigned, exchanged=True) for _ in range(_LANDINGS)]
        pages = [element.allocate_staging(length * unsigned.itemsize).view(unsigned) for _ in range(_PAGES)]
        copies: list[Any] = [None] * _PAGES
        kernel = element.kernel("partition.scatter_rows")
        element.begin_round()
        for number, first in enumerate(range(begin, end, step)):
            piece = values[first : min(first + step, end)].view(unsigned)
            page, landing = pages[number % _PAGES][: len(piece)], landings[number % _LANDINGS][: len(piece)]
            if (earlier := copies[number % _PAGES]) is not None:
                earlier.wait()
            copy(piece, page)
            copies[number % _PAGES] = arrived = element.copy_in(page, landing)
            element.wait_for(arrived)
            element.begin_round()  # the next copy waits for earlier kernels, and not for those below
            for bounds, first_number, out in receivers:
                element.run(
                    kernel, offsets, self.arrays.numbers, bounds, first_number, first, first + len(piece),
                    landing, out.view(unsigned),
                )  # fmt: skip

    def finish(self, vertices: Any, mirror_bounds: Any, position: Any) -> Partition:
        """Sort the rows in the local numbers of `position`, and return the partition."""
        element, directed = self.element, self.graph.directed
        degree = element.allocate(len(self.owned), np.uint32)
        self.run("take_degrees", self.arrays.out_degree, self.owned, degree)
        stored = {d: self._sorted(d, position) for d in self.directions}
        element.prepare_workspace(max(self.counts))
        arrays = constant(vertices), mirror_bounds, constant(degree)
        return partition_of(self.p, *arrays, stored, directed=directed, element=element)

    def edges_sorted(self) -> int:
        """Return the number of edges that are sorted at a time, unless a row is longer."""
        return _EDGES_SORTED

    def _sorted(self, direction: str, position: Any) -> Edges:
        """Return the edges in one direction, with each row sorted by local numbers."""
        element, bounds = self.element, self.bounds[direction]
        targets, weights = self.edges[direction]
        rows, blocks, ends = work_blocks_on_gpu(element, bounds, len(targets))
        steps = np.arange(0, len(targets), self.edges_sorted(), dtype=np.uint64)
        cuts = np.unique(np.append(np.searchsorted(ends, steps), len(ends) - 1))
        most = int(np.diff(ends[cuts]).max(initial=0))
        keys = element.allocate(most, np.uint64)
        for one, other in pairwise(cuts.tolist()):
            begin, end = int(ends[one]), int(ends[other])
            batch = keys[: end - begin]
            self.sort_rows(direction, position, int(blocks[one]), int(blocks[other]), begin, batch)
        return Edges(
            offsets=constant(bounds),
            targets=constant(targets),
            weights=constant(weights),
            blocks=constant(element.upload(blocks)),
            rows=rows,
            boundary=self.boundary[direction],
        )

    def sort_rows(self, direction: str, position: Any, first: int, last: int, begin: int, keys: Any) -> None:
        """Sort the rows ``first:last``, which begin at edge `begin`, in place; `keys` has a key per edge."""
        element, bounds = self.element, self.bounds[direction]
        targets, weights = self.edges[direction]
        self.run("edge_keys", bounds, position, on_gpu(targets), first, last, keys)
        if weights is None:
            element.sort(keys)
            self.run("put_targets", keys, begin, on_gpu(targets))
            return
        values = on_gpu(weights).view(np.dtype(f"u{weights.itemsize}"))
        given = element.run(values[begin : begin + len(keys)].copy)
        self.run("put_weighted", keys, element.argsort(keys), given, begin, on_gpu(targets), values)


def work_blocks_on_gpu(
    element: GpuElement, bounds: Any, edges: int
) -> tuple[int, NDArray[np.uint32], NDArray[np.uint64]]:
    """Return the rows up to the last one with an edge, the bounds of blocks, and where blocks begin.

    The blocks are those of `evener.partition.partition.work_blocks`.
    """
    owned = len(bounds) - 1
    blocks = element.allocate(-(-(edges + owned) // EDGES_PER_BLOCK), np.uint32)
    ends = element.allocate(len(blocks), np.uint64)
    rows = element.run(element.kernel("partition.block_rows"), bounds, EDGES_PER_BLOCK, blocks, ends)
    found, first = np.unique(np.append(element.download(blocks), np.uint32(owned)), return_index=True)
    return int(element.result(rows)), found, np.append(element.download(ends), np.uint64(edges))[first]


def on_gpu(values: Any) -> Any:
    """Return the part of tiered values in the memory of the GPU: all of them here."""
    return getattr(values, "device_part", values)
