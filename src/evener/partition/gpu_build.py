"""Build a partition in the memory of a GPU, from the rows of the graph as the host stores them.

The host copies the rows in pieces. The GPU moves each row to its place, marks the targets that need mirrors,
translates targets to local numbers, and sorts the rows. The arrays equal those that
`evener.partition.partition` and `evener.partition.upload` build on the host.
"""

from __future__ import annotations

from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numba
import numpy as np

from evener.graph.arrays import constant
from evener.kernels.cpu.fill import copy
from evener.partition.element_numbering import ElementNumbering
from evener.partition.footprint import bytes_excluding_edges, run_bytes
from evener.partition.partition import (
    EDGES_PER_BLOCK,
    Edges,
    Partition,
    number_mirrors,
    up_to_last,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evener.elements import Element
    from evener.elements.cuda.element import CudaElement
    from evener.graph.graph import Graph
    from evener.partition.partition import Numbering

__all__ = ["Built", "RowsBuild", "Whole", "build_parts", "build_whole", "descending_degree", "on_gpu"]

# Degrees are uint32 on the GPU.
_MAX_EDGES = (1 << 32) - 1
# Bytes of a piece of rows that the host copies.
_PIECE_BYTES = 1 << 24
# Edges that are sorted at a time, unless a row is longer.
_EDGES_SORTED = 1 << 25
# Bytes per vertex of the graph: offsets of a direction, and local number, position and state for mirrors.
_OFFSET_BYTES, _NUMBER_BYTES, _PLACED_BYTES = 8, 4, 4 + 4 + 1
# Bytes per vertex that is numbered: two degrees, a key and its copy.
_NUMBERED_BYTES = 4 + 4 + 8 + 8
# Bytes per edge that is sorted: a key and its copy; with weights, another key and two copies of its place.
_SORTED_BYTES, _ORDERED_BYTES = 16, 40


class Built(NamedTuple):
    """A partition in the memory of a GPU.

    `vertices` is the array of the partition in host memory. `longest` is the number of in-edges of the owned
    vertex with the most; 0 without in-edges.
    """

    partition: Partition
    vertices: NDArray[np.uint32]
    longest: int


class Whole(NamedTuple):
    """The only partition of a graph in the memory of a GPU; `longest` is as in `Built`."""

    partition: Partition
    numbering: ElementNumbering
    longest: int


def build_whole(
    graph: Graph,
    directions: str,
    element: CudaElement,
    room: int,
    kind: type[RowsBuild] | None = None,
) -> Whole | None:
    """Return the only partition of a graph, and its numbering.

    Returns None if `room` bytes of the GPU's memory are too few, or the kernels cannot count the edges.
    """
    # The local numbers stay on the GPU.
    build = (kind or RowsBuild)(graph, directions, element, room - _NUMBER_BYTES * graph.n)
    if not build.numbers_fit(graph.n):
        return None
    build.upload_offsets()
    out_degree, degree = build.degrees()
    vertices, local = build.number(degree)
    del degree
    build.find_rows(vertices, local)
    if not build.edges_fit(0, 0):
        return None
    build.copy_rows()
    partition = build.finish(0, vertices, np.full(2, graph.n, np.int64), local, out_degree)
    return Whole(partition, ElementNumbering(element, vertices, local), build.longest_in)


def descending_degree(
    graph: Graph, element: CudaElement, room: int
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]] | None:
    """Return the vertices in descending degree, their degrees, and their out-degrees, in host memory.

    Returns None in the same cases as `build_whole`.
    """
    build = RowsBuild(graph, "both", element, room)
    if not build.numbers_fit(graph.n):
        return None
    out_degree, degree = build.degrees()
    vertices, _ = build.number(degree)
    degrees = element.download(out_degree)
    return element.download(vertices), element.download(degree) if graph.directed else degrees, degrees


def build_parts(
    numbering: Numbering,
    graph: Graph,
    out_degree: NDArray[np.uint32],
    directions: str,
    elements: Sequence[Element],
) -> dict[int, Built]:
    """Return the partitions of several that GPUs build, by number, each GPU on its own thread.

    The result lacks partitions of CPUs, and partitions that `build_whole` would not build.
    """
    groups: dict[object, list[int]] = defaultdict(list)
    for p, element in enumerate(elements):
        if element.kind == "cuda":
            groups[element.memory].append(p)
    if not groups:
        return {}
    threads = max(1, numba.get_num_threads() // len(groups))

    def build(group: list[int]) -> dict[int, Built]:
        numba.set_num_threads(threads)
        found: dict[int, Built] = {}
        taken = promised = 0
        for p in group:
            element = cast("CudaElement", elements[p])
            elsewhere = len(numbering.owned_by(p)) * (len(elements) - 1)
            room = element.room_after(taken) - promised
            part = _build_part(p, numbering, graph, out_degree, directions, element, elsewhere, room)
            if part is None:
                break  # the host counts the memory of earlier partitions
            found[p] = part
            taken += part.partition.nbytes
            promised += run_bytes(part.partition, elsewhere)
        return found

    with ThreadPoolExecutor(len(groups)) as pool:
        return {p: part for parts in pool.map(build, groups.values()) for p, part in parts.items()}


def _build_part(
    p: int,
    numbering: Numbering,
    graph: Graph,
    out_degree: NDArray[np.uint32],
    directions: str,
    element: CudaElement,
    elsewhere: int,
    room: int,
) -> Built | None:
    """Return partition `p` of several; None in the same cases as `build_whole`.

    `elsewhere` is the largest number of mirrors of the owned vertices on other elements.
    """
    build = RowsBuild(graph, directions, element, room)
    owned = numbering.owned_by(p)
    if not len(owned) or not build.numbers_fit(len(owned)):
        return None
    build.upload_offsets()
    build.find_rows(element.upload(owned), element.upload(numbering.local))
    if not build.edges_fit(graph.n - len(owned), elsewhere):
        return None
    build.copy_rows()
    vertices, mirror_bounds, position = number_mirrors(p, numbering, build.mark_targets())
    arrays = (element.upload(array) for array in (position, out_degree))
    partition = build.finish(p, element.upload(vertices), mirror_bounds, *arrays)
    return Built(partition, vertices, build.longest_in)


class RowsBuild:
    """The rows of one partition while a GPU builds them; `room` bytes of its memory may be used.

    The host has the rows of the graph.
    """

    def __init__(self, graph: Graph, directions: str, element: CudaElement, room: int) -> None:
        self.graph, self.element, self.room = graph, element, room
        self.offsets: dict[str, Any] = {}
        self.directions = (directions,) if directions != "both" else ("out", "in")
        if not graph.directed:
            self.directions = ("out",)

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
        supported = self.element.table_columns and 0 < graph.m <= _MAX_EDGES
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
        return self.graph.n * (_OFFSET_BYTES * len(self.directions) + _PLACED_BYTES)

    # ---- vertices -------------------------------------------------------------------------------

    def upload_offsets(self) -> None:
        """Copy the offsets of the graph; a direction that the graph does not store is built first."""
        self.rows = {d: self.graph if d == "out" else self.graph.reverse for d in self.directions}
        self.offsets = {d: self.element.upload(rows.offsets) for d, rows in self.rows.items()}

    def degrees(self) -> tuple[Any, Any]:
        """Return the out-degrees and the degrees of all vertices."""
        out_degree = self._degrees("out")
        return out_degree, self._degrees("out", "in") if self.graph.directed else out_degree

    def number(self, degree: Any) -> tuple[Any, Any]:
        """Return the vertices in descending degree, and the place of each vertex."""
        element, n = self.element, self.graph.n
        keys = element.allocate(n, np.uint64)
        self.run("degree_keys", degree, keys)
        element.sort(keys)
        vertices, local = element.allocate(n, np.uint32), element.allocate(n, np.uint32)
        self.run("number_by_keys", keys, vertices, local)
        return vertices, local

    def _degrees(self, *directions: str) -> Any:
        """Return the number of edges of each vertex of the graph in some directions."""
        element, graph = self.element, self.graph
        stored = [d for d in directions if d in graph.stored_directions]
        if len(stored) == len(directions):
            degree = element.allocate(graph.n, np.uint32, 0)
        else:
            counted = graph.in_degree() if "out" in stored else graph.out_degree()
            degree = element.upload(counted.astype(np.uint32))
        for d in stored:
            offsets = self.offsets.get(d)
            if offsets is None:
                offsets = element.upload((graph if d == "out" else graph.reverse).offsets)
            self.run("add_degrees", offsets, degree)
        return degree

    def find_rows(self, owned: Any, local: Any) -> None:
        """Find the bounds of the rows of the owned vertices, given their local numbers."""
        self.owned, self.local = owned, local
        self.bounds, longest, self.counts = {}, {}, []
        for d, offsets in self.offsets.items():
            bounds = self.element.allocate(len(owned) + 1, np.uint64)
            # The kernel returns the complement of the length.
            longest[d] = (1 << 64) - 1 - self.result("row_bounds", offsets, owned, bounds)
            self.bounds[d] = bounds
            self.counts.append(int(self.element.download(bounds[len(owned) :])[0]))
        self.longest = max(longest.values())
        self.longest_in = longest.get("in", 0) if self.graph.directed else self.longest

    def mark_targets(self) -> NDArray[np.uint8]:
        """Return the state of each vertex of the graph for this partition, and count boundary edges."""
        for d, (targets, _) in self.edges.items():
            self.boundary[d] = self.result("mark_targets", on_gpu(targets), self.needed)
        return self.element.download(self.needed)

    # ---- edges ----------------------------------------------------------------------------------

    def copy_rows(self) -> None:
        """Copy the rows of the owned vertices to their places, with the vertex numbers of the graph."""
        element = self.element
        self.needed = element.allocate(self.graph.n, np.uint8, 0)
        self.run("mark_owned", self.owned, self.needed)
        self.boundary = dict.fromkeys(self.directions, 0)
        self.edges: dict[str, tuple[Any, Any]] = {}
        for (d, rows), count in zip(self.rows.items(), self.counts, strict=True):
            weights = None if rows.weights is None else self._copied(d, rows.weights, count)
            self.edges[d] = (self._copied(d, rows.targets, count), weights)

    def _copied(self, direction: str, values: NDArray[Any], count: int) -> Any:
        """Return the values of the owned rows' edges, given the values of all edges of the graph."""
        element = self.element
        out = element.allocate_edges(count, values.dtype, 0)
        unsigned = np.dtype(f"u{values.itemsize}")
        step = _PIECE_BYTES // values.itemsize
        landing = element.allocate_edges(min(step, len(values)), unsigned, 0)
        kernel = element.kernel("partition.scatter_rows")
        for begin in range(0, len(values), step):
            piece = values[begin : begin + step]
            written = element.begin_write(landing, 0, len(piece))
            copy(piece, written)
            element.end_write(landing, 0, written)
            element.run(
                kernel, self.offsets[direction], self.needed, self.local, self.bounds[direction], begin,
                begin + len(piece), on_gpu(landing)[: len(piece)], on_gpu(out).view(unsigned),
            )  # fmt: skip
        return out

    def finish(self, p: int, vertices: Any, mirror_bounds: Any, position: Any, out_degree: Any) -> Partition:
        """Sort the rows in the local numbers of `position`, and return the partition."""
        element = self.element
        own_degree = element.allocate(len(self.owned), np.uint32)
        self.run("take_degrees", out_degree, self.owned, own_degree)
        stored = {d: self._sorted(d, position) for d in self.directions}
        element.prepare_workspace(max(self.counts))
        connected = max(edges.rows for edges in stored.values())
        if self.graph.directed:
            connected = max(connected, up_to_last(element.download(own_degree)))
        out = stored.get("out")
        in_ = stored.get("in") if self.graph.directed else out
        return Partition(p, constant(vertices), mirror_bounds, constant(own_degree), connected, out, in_)

    def edges_sorted(self) -> int:
        """Return the number of edges that are sorted at a time, unless a row is longer."""
        return _EDGES_SORTED

    def _sorted(self, direction: str, position: Any) -> Edges:
        """Return the edges in one direction, with each row sorted by local numbers."""
        element, bounds = self.element, self.bounds[direction]
        targets, weights = self.edges[direction]
        rows, blocks, ends = self._blocks(bounds, len(targets))
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

    def _blocks(self, bounds: Any, edges: int) -> tuple[int, NDArray[np.uint32], NDArray[np.uint64]]:
        """Return the rows up to the last one with an edge, the bounds of blocks, and where blocks begin."""
        element, owned = self.element, len(self.owned)
        blocks = element.allocate(-(-(edges + owned) // EDGES_PER_BLOCK), np.uint32)
        ends = element.allocate(len(blocks), np.uint64)
        rows = self.result("block_rows", bounds, EDGES_PER_BLOCK, blocks, ends)
        found, first = np.unique(np.append(element.download(blocks), np.uint32(owned)), return_index=True)
        return rows, found, np.append(element.download(ends), np.uint64(edges))[first]


def on_gpu(values: Any) -> Any:
    """Return the part of tiered values in the memory of the GPU: all of them here."""
    return getattr(values, "device_part", values)
