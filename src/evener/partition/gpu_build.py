"""Build a partition in the memory of a GPU, from the rows of the graph as the host stores them.

The host copies the rows in pieces. The GPU moves each row to its place, translates targets to local numbers,
and sorts the rows. The arrays equal those that `evener.partition.partition` and `evener.partition.upload`
build on the host.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.graph.arrays import constant
from evener.kernels.cpu.fill import copy
from evener.partition.footprint import bytes_excluding_edges
from evener.partition.numbering import Numbering
from evener.partition.partition import EDGES_PER_BLOCK, Edges, partition_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evener.elements.cuda.element import CudaElement
    from evener.elements.protocols import GpuElement
    from evener.graph.graph import Graph
    from evener.partition.partition import Partition
    from evener.partition.route import Route

__all__ = [
    "MAX_DEGREE",
    "Built",
    "RowsBuild",
    "build_whole",
    "on_gpu",
    "order_by_degree",
    "work_blocks_on_gpu",
]

# Highest degree on the GPU.
MAX_DEGREE = (1 << 32) - 1
# Bytes of a piece of rows that the host copies.
_PIECE_BYTES = 1 << 24
# Edges that are sorted at a time, unless a row is longer.
_EDGES_SORTED = 1 << 25
# Bytes per vertex of the graph: its number.
_NUMBER_BYTES = 4
# Pieces that the host writes, and pieces on the GPU, before the first one is reused.
_PAGES, _LANDINGS = 3, 2
# Bytes per vertex that is numbered: two degrees, a key and its copy.
_NUMBERED_BYTES = 4 + 4 + 8 + 8
# Bytes per edge that is sorted: a key and its copy; with weights, another key and two copies of its place.
_SORTED_BYTES, _ORDERED_BYTES = 16, 40


class Built(NamedTuple):
    """A partition in the memory of a GPU, with the routes of its mirrors in the memory of their owners.

    `longest` is the number of in-edges of the owned vertex with the most; 0 without in-edges.
    """

    partition: Partition
    routes: list[Route]
    longest: int


def build_whole(
    graph: Graph,
    directions: str,
    element: CudaElement,
    room: int,
    kind: type[RowsBuild] | None = None,
) -> tuple[Built, Numbering] | None:
    """Return the only partition of a graph, and its numbering.

    Returns None if `room` bytes of the GPU's memory are too few, or a degree is too high for the kernels.
    """
    # The numbers stay on the GPU.
    build = (kind or RowsBuild)(graph, directions, element, room - _NUMBER_BYTES * graph.n)
    if (degrees := build.begin()) is None:
        return None
    out_degree, degree = degrees
    vertices, numbers = build.number(degree)
    del degree, degrees
    build.find_rows(vertices, numbers)
    if not build.edges_fit(0, 0):
        return None
    build.copy_rows()
    partition = build.finish(0, vertices, np.full(2, graph.n, np.int64), numbers, out_degree)
    return Built(partition, [], build.longest_in), Numbering(vertices, numbers, element=element)


class RowsBuild:
    """The rows of one partition while a GPU builds them; `room` bytes of its memory may be used.

    The host has the rows of the graph.
    """

    # Bytes per vertex of the graph while rows are sorted: offsets of a direction, and the other arrays.
    offset_bytes, placed_bytes = 8, 4 + 4 + 1

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
        """Return true if the vertices fit, and the kernels support the graph and the GPU.

        The rows must be ascending, as on a GPU with column blocks.
        """
        graph, directions = self.graph, len(self.directions)
        supported = self.element.table_columns and graph.m > 0
        kept = bytes_excluding_edges(owned, 0, 0, 0, directions=directions)
        return bool(supported) and kept + self._vertex_bytes() + _NUMBERED_BYTES * graph.n <= self.room

    def edges_fit(self, mirrors: int, elsewhere: int) -> bool:
        """Return true if the partition fits, with the arrays that are needed while it is built."""
        edges = sum(self.counts)
        kept = bytes_excluding_edges(
            len(self.owned), mirrors, elsewhere, edges, directions=len(self.directions)
        )
        dtype = self.graph.weight_dtype
        weight = 0 if dtype is None else dtype.itemsize
        sorted_bytes = _ORDERED_BYTES + weight if weight else _SORTED_BYTES
        batch = min(max(self.counts), max(self.longest, _EDGES_SORTED) + EDGES_PER_BLOCK)
        temporary = self._vertex_bytes() + batch * sorted_bytes + 8 * _PIECE_BYTES
        return kept + edges * (4 + weight) + temporary <= self.room

    def _vertex_bytes(self) -> int:
        """Return the bytes of the temporary arrays with a value for each vertex of the graph."""
        return self.graph.n * (self.offset_bytes * len(self.directions) + self.placed_bytes)

    # ---- vertices -------------------------------------------------------------------------------

    def begin(self) -> tuple[Any, Any] | None:
        """Copy the offsets, and return the out-degrees and degrees; None if `build_whole` returns None."""
        if not self.numbers_fit(self.graph.n):
            return None
        self.upload_offsets()
        return self.degrees()

    def upload_offsets(self) -> None:
        """Copy the offsets of the graph."""
        self.offsets = {d: self.element.upload(rows.offsets) for d, rows in self.rows.items()}

    def degrees(self) -> tuple[Any, Any] | None:
        """Return the out-degrees and the degrees of all vertices; None if a degree is too high."""
        out_degree = self.degrees_in("out")
        degree = self.degrees_in("out", "in") if self.graph.directed else out_degree
        return None if out_degree is None or degree is None else (out_degree, degree)

    def number(self, degree: Any) -> tuple[Any, Any]:
        """Return the vertices in descending degree, and the place of each vertex."""
        return order_by_degree(self.element, degree)

    def degrees_in(self, *directions: str) -> Any:
        """Return the edges of each vertex of the graph in some directions; None if they are too many."""
        element, graph = self.element, self.graph
        stored = [d for d in directions if d in graph.stored_directions]
        if len(stored) == len(directions):
            degree = element.allocate(graph.n, np.uint32, 0)
        else:
            counted = graph.in_degree() if "out" in stored else graph.out_degree()
            if counted.max(initial=0) > MAX_DEGREE:
                return None
            degree = element.upload(counted.astype(np.uint32))
        for d in stored:
            offsets = self.offsets.get(d)
            if offsets is None:
                offsets = element.upload((graph if d == "out" else graph.reverse).offsets)
            # The kernel returns the complement of the highest degree.
            if (1 << 64) - 1 - self.result("add_degrees", offsets, degree) > MAX_DEGREE:
                return None
        return degree

    def find_rows(self, owned: Any, numbers: Any, first: int = 0) -> None:
        """Find the bounds of the rows of the owned vertices, whose numbers begin at `first`."""
        self.owned, self.numbers, self.first = owned, numbers, first
        self.bounds, longest, self.counts = {}, {}, []
        for d, offsets in self.offsets.items():
            bounds = self.element.allocate(len(owned) + 1, np.uint64)
            # The kernel returns the complement of the length.
            longest[d] = (1 << 64) - 1 - self.result("row_bounds", offsets, owned, bounds)
            self.bounds[d] = bounds
            self.counts.append(int(self.element.download(bounds[len(owned) :])[0]))
        self.longest = max(longest.values())
        self.longest_in = longest.get("in", 0) if self.graph.directed else self.longest

    # ---- edges ----------------------------------------------------------------------------------

    def copy_rows(self) -> None:
        """Copy the rows of all vertices, which are the owned ones, with the vertex numbers of the graph."""
        self.allocate_rows()
        self.send_rows([self])

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
                    kernel, offsets, self.numbers, bounds, first_number, first, first + len(piece), landing,
                    out.view(unsigned),
                )  # fmt: skip

    def finish(self, p: int, vertices: Any, mirror_bounds: Any, position: Any, out_degree: Any) -> Partition:
        """Sort the rows in the local numbers of `position`, and return the partition."""
        element, directed = self.element, self.graph.directed
        degree = element.allocate(len(self.owned), np.uint32)
        self.run("take_degrees", out_degree, self.owned, degree)
        stored = {d: self._sorted(d, position) for d in self.directions}
        element.prepare_workspace(max(self.counts))
        arrays = constant(vertices), mirror_bounds, constant(degree)
        return partition_of(p, *arrays, stored, directed=directed, element=element)

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


def order_by_degree(element: GpuElement, degree: Any) -> tuple[Any, Any]:
    """Return the vertices in descending degree, and the place of each vertex, on a GPU."""
    keys = element.allocate(len(degree), np.uint64)
    vertices, places = (element.allocate(len(degree), np.uint32) for _ in range(2))
    element.run(element.kernel("partition.degree_keys"), degree, keys)
    element.sort(keys)
    element.run(element.kernel("partition.number_by_keys"), keys, vertices, places)
    return vertices, places


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
