"""Rows of distinct neighbours, also those of mirrors, for algorithms that compare the neighbours of vertices.

Idea: a vertex keeps each neighbour once, and not itself. With oriented rows, it keeps the neighbours that come
before it in the order of descending degree. A hub then has a short row, and each triangle is found once, at the
vertex of lowest degree. The rows of mirrors are fetched from their owners in batches, so that they never need
more memory than the rows of the partition itself.

Encoding: `offsets` uint64 and `targets` uint32, as CSR in local numbers, ascending in each row.

Chiba, Nishizeki: Arboricity and subgraph listing algorithms (1985); Sanders, Uhl: Engineering a distributed-memory
triangle counting algorithm (2023).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numba
import numpy as np

from evener.engine.array import PartitionedArray
from evener.kernels.kernel import KernelFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from evener.engine.engine import Engine
    from evener.partition.route import Route

__all__ = ["NeighbourRows", "RowBatch", "triangle_counts"]

kernels = KernelFile(__package__, "neighbour_rows")

# Fewest targets in a batch of rows of mirrors.
_MIN_BATCH = 1 << 20


class RowBatch(NamedTuple):
    """Rows of some vertices and mirrors of each partition, for a kernel.

    Attributes
    ----------
    first : PartitionedArray
        The local number of the first vertex.
    offsets, targets : PartitionedArray
        The rows as CSR. A neighbour of a mirror that the partition does not have is 2^32 - 1.
    """

    first: PartitionedArray
    offsets: PartitionedArray
    targets: PartitionedArray


class NeighbourRows:
    """Rows of the distinct neighbours of each owned vertex, ascending in local numbers.

    The constructor and `batches` are collective operations; all ranks must call them. A directed graph must be
    placed with the edges of both directions; rows have the ends of in-edges and of out-edges.

    Parameters
    ----------
    engine : Engine
    oriented : bool
        Whether a row has only the neighbours with a higher degree, or with an equal degree and a smaller number.

    Attributes
    ----------
    offsets, targets : PartitionedArray
        uint64 of shape (L + 1,) and uint32, for L owned vertices.
    """

    def __init__(self, engine: Engine, *, oriented: bool) -> None:
        self._engine = engine
        both = engine.partitioned.graph.directed
        edges = (*engine.out[:2], *(engine.in_ if both else engine.out)[:2], both)
        degree = engine.array("uint32")
        engine.compute(kernels.row_lengths, edges[0], edges[2], both, degree)
        engine.pull(degree)
        order = (oriented, degree, engine.vertices)
        lengths = engine.owned_array("uint32")
        engine.compute(kernels.count_neighbours, *edges, *order, lengths)
        begins, targets = self._allocate(lengths)
        engine.compute(kernels.write_neighbours, *edges, *order, begins, targets, lengths)
        self.offsets, self.targets = self._allocate(lengths)
        if [len(own) for own in targets] == [len(own) for own in self.targets]:
            self.targets = targets
        else:
            engine.compute(kernels.close_gaps, begins, targets, self.offsets, self.targets)

    def _allocate(self, lengths: PartitionedArray) -> tuple[PartitionedArray, PartitionedArray]:
        """Return offsets, and memory for the targets, of rows with these lengths."""
        engine = self._engine
        owned = zip(engine.elements, engine.owned, strict=True)
        offsets = PartitionedArray([element.allocate(count + 1, "uint64") for element, count in owned])
        engine.compute("scan.offsets_of", lengths, offsets)
        ends = [element.download(own[-1:]) for element, own in zip(engine.elements, offsets, strict=True)]
        targets = [e.allocate(int(end[0]), "uint32") for e, end in zip(engine.elements, ends, strict=True)]
        return offsets, PartitionedArray(targets)

    def batches(self) -> Iterator[RowBatch]:
        """Yield the rows of the owned vertices, then those of mirrors in batches.

        A batch has at most as many targets as the rows of the owned vertices of a partition, or a million.
        """
        engine = self._engine
        yield RowBatch(engine.scalar(0), self.offsets, self.targets)
        if not engine.has_mirrors:
            return
        lengths = engine.array("uint32")
        engine.compute(kernels.row_lengths, self.offsets, self.offsets, False, lengths)
        engine.pull(lengths)
        own = [part.astype(np.int64) for part in engine.download(lengths)]
        bounds = [
            _cut(part, owned, max(len(targets), _MIN_BATCH))
            for part, owned, targets in zip(own, engine.owned, self.targets, strict=True)
        ]
        local = [_ascending(vertices) for vertices in engine.download(engine.vertices)]
        search = [engine.upload(parts) for parts in zip(*local, strict=True)]
        all_bounds = engine.gather(bounds)
        for batch in range(max(map(len, all_bounds)) - 1):
            yield self._fetch([_part_of(one, batch) for one in all_bounds], own, search)

    def _fetch(
        self, mirrors: Sequence[slice], lengths: list[NDArray[np.int64]], search: Sequence[PartitionedArray]
    ) -> RowBatch:
        """Return the rows of some mirrors of each partition, given their local numbers for all partitions."""
        engine = self._engine
        ranks, world = engine.partitioned.ranks, engine.partitioned.world
        home = {partition.index: p for p, partition in enumerate(engine.partitions)}
        routes = sorted(engine.routes, key=lambda route: (route.mirror_partition, route.owner))
        outgoing: list[list[NDArray[np.uint32]]] = [[np.empty(0, np.uint32)] for _ in range(world.size)]
        for route in routes:
            if (p := home.get(route.owner)) is not None:
                listed = route.index[_part_of_route(route, mirrors[route.mirror_partition])]
                outgoing[ranks[route.mirror_partition]].append(self._pack(p, listed, lengths[p]))
        received = world.alltoall([np.concatenate(own) for own in outgoing])
        rows: list[list[NDArray[np.uint32]]] = [[np.empty(0, np.uint32)] for _ in home]
        for route in routes:
            if (p := home.get(route.mirror_partition)) is not None:
                part = _part_of_route(route, mirrors[route.mirror_partition])
                count = int(lengths[p][route.begin :][part].sum())
                own, rest = np.split(received[ranks[route.owner]], [count])
                received[ranks[route.owner]] = rest
                rows[p].append(own)
        own_mirrors = [mirrors[partition.index] for partition in engine.partitions]
        offsets = engine.upload(
            [_offsets_of(part[one]) for part, one in zip(lengths, own_mirrors, strict=True)]
        )
        targets = engine.upload([np.concatenate(parts) for parts in rows])
        engine.compute(kernels.to_local, *search, targets, numba.get_num_threads())
        return RowBatch(PartitionedArray([one.start for one in own_mirrors]), offsets, targets)

    def _pack(self, p: int, listed: Any, lengths: NDArray[np.int64]) -> NDArray[np.uint32]:
        """Return the rows of the listed vertices of a partition as numbers of the graph, in host memory."""
        engine, element = self._engine, self._engine.elements[p]
        begins = _offsets_of(lengths[element.download(listed)])
        packed = element.allocate(int(begins[-1]), "uint32")
        element.run(
            element.kernel(kernels.pack_rows), self.offsets[p], self.targets[p], engine.vertices[p], listed,
            element.upload(begins), packed,
        )  # fmt: skip
        return element.download(packed)


def triangle_counts(engine: Engine) -> PartitionedArray:
    """Return the number of triangles of each vertex, uint64; directions and repeated edges do not count.

    This is a collective operation; all ranks must call it.
    """
    engine.superstep("orient", active=engine.owned)
    rows = NeighbourRows(engine, oriented=True)
    counts = engine.array("uint64", 0)
    engine.superstep("intersect", active=engine.owned)
    for batch in rows.batches():
        engine.compute(kernels.count_triangles, rows.offsets, rows.targets, *batch, counts)
    engine.push(counts, "add")
    return counts


def _offsets_of(lengths: NDArray[Any]) -> NDArray[np.uint64]:
    """Return the offsets of rows with these lengths."""
    offsets = np.zeros(len(lengths) + 1, np.uint64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def _cut(lengths: NDArray[np.int64], owned: int, most: int) -> list[int]:
    """Return the bounds of batches of mirrors, each with at most `most` targets or one row."""
    ends, bounds = np.cumsum(lengths), [owned]
    while bounds[-1] < len(lengths):
        before = ends[bounds[-1] - 1] if bounds[-1] else 0
        bounds.append(max(bounds[-1] + 1, int(np.searchsorted(ends, before + most, side="right"))))
    return bounds


def _part_of(bounds: Sequence[int], batch: int) -> slice:
    """Return the mirrors of a batch, of which there are none after the last batch."""
    last = len(bounds) - 1
    return slice(bounds[min(batch, last)], bounds[min(batch + 1, last)])


def _part_of_route(route: Route, mirrors: slice) -> slice:
    """Return which mirrors of a route belong to a batch."""
    begin, end = (min(max(one - route.begin, 0), len(route)) for one in (mirrors.start, mirrors.stop))
    return slice(begin, end)


def _ascending(vertices: NDArray[np.uint32]) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the numbers of local vertices, ascending, and the local number of each of them."""
    order = np.argsort(vertices).astype(np.uint32)
    return vertices[order], order
