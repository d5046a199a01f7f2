"""A job: map, copy (hash, communication, transfer), sort and reduce, in chunks of edges.

In each round, every element maps one chunk of its edges. The records go to the element that reduces their
keys. A record is a key and a payload of fixed size, so no sizes or offsets are stored. S13 §III.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.programs.mapreduce import kernels_cpu as kernels
from evener.programs.mapreduce.copy import Copy
from evener.programs.mapreduce.records import PIECE, Grouped, Mapped, columns_of, words_of
from evener.programs.mapreduce.runs import Runs
from evener.programs.mapreduce.sort import sort_records

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from evener.partition.partitioned import PartitionedGraph
    from evener.programs.mapreduce.records import Run, Sorted
    from evener.programs.mapreduce.reducer import Reducer
    from evener.programs.mapreduce.routers import Router
    from evener.programs.mapreduce.stages import Stages

__all__ = ["Job"]

# Bytes of the position of a record while records are sorted.
_POSITION_BYTES = 8
# Pieces of the largest chunk.
_MAX_PIECES = 1 << 14


class Job:
    """A MapReduce job over the out-edges of a placed graph.

    This is a collective operation and must be called by all ranks, as is `run`.

    Parameters
    ----------
    pg : PartitionedGraph
    stages : Stages
    map_kernel : compiled function
        As `make_map` returns it.
    key_dtype, dtypes : dtype, sequence of dtype
        The types of the key and of the columns of a record.
    router : Router
        Chooses the element of each record.
    reducer : Reducer
    memory : int
        Bytes that records may use on this rank.

    Attributes
    ----------
    pairs : int
        The pairs that the map function returned on this rank.
    spilled : int
        Bytes that this rank has written to files.
    """

    def __init__(
        self,
        pg: PartitionedGraph,
        stages: Stages,
        *,
        map_kernel: Any,
        key_dtype: np.dtype[Any],
        dtypes: Sequence[np.dtype[Any]],
        router: Router,
        reducer: Reducer,
        memory: int,
    ) -> None:
        self._pg, self._stages, self._map_kernel = pg, stages, map_kernel
        self._key_dtype, self._dtypes, self._router, self._reducer = key_dtype, dtypes, router, reducer
        self._copy = Copy(pg, stages)
        self._edges = [0 if p.out is None else p.out.count for p in pg.partitions]
        own = len(pg.elements)
        # A mapped and a grouped record of each element, and a received and a sorted record of all elements.
        record = key_dtype.itemsize + sum(dtype.itemsize for dtype in dtypes) + _POSITION_BYTES
        room = memory // 2 // (2 * record * (own + len(pg.ranks)))
        pieces = min(max(room // PIECE, 1), _MAX_PIECES)
        self._memory = memory // 2 // max(own, 1)
        self._chunk = PIECE * int(pg.world.allreduce(pieces, "min"))
        rounds = max((-(-edges // self._chunk) for edges in self._edges), default=0)
        self._rounds = max(1, int(pg.world.allreduce(rounds, "max")))
        self.pairs = self.spilled = 0

    def run(self, values: Sequence[tuple[NDArray[Any], ...]]) -> list[Run]:
        """Return the rows of each element, sorted by key.

        Parameters
        ----------
        values : sequence of tuple of ndarray
            The fields of the vertices of each partition, which the map function reads.
        """
        stages, elements = self._stages, self._pg.elements
        if self._rounds == 1:
            (found,) = self._sorted_rounds(values)
            return stages.run("reduce", self._rows, elements, found)
        with ExitStack() as stack:
            runs = [Runs(element, self._reducer, self._memory, stack) for element in elements]
            for found in self._sorted_rounds(values):
                reduced = stages.run("reduce", self._reducer.run_of, elements, found)
                del found
                stages.run("merge", Runs.add, runs, reduced)
            rows = stages.run("merge", Runs.rows, runs)
            self.spilled += sum(own.spilled for own in runs)
        return rows

    def _sorted_rounds(self, values: Sequence[tuple[NDArray[Any], ...]]) -> Iterator[list[Sorted]]:
        """Yield the sorted records of each element, for each round."""
        stages, elements = self._stages, self._pg.elements
        places = range(len(elements))
        for number in range(self._rounds):
            chunks = [number * self._chunk] * len(elements)
            edges = sum(max(0, min(self._chunk, own - chunks[0])) for own in self._edges)
            mapped = stages.run("map", self._map, places, chunks, values, edges=edges)
            self.pairs += int(sum(own.counts.sum() for own in mapped))
            if len(self._pg.ranks) > 1 or self._router.checks or not all(own.is_dense for own in mapped):
                grouped = stages.run("hash", self._group, places, mapped)
                self._router.check(stages.world, [own.outside for own in grouped], mapped)
            else:
                bounds = np.array([0, len(mapped[0].keys)])
                grouped = [Grouped(mapped[0].keys, mapped[0].columns, bounds, 0)]
            del mapped
            received = self._copy.deliver(grouped)
            del grouped
            yield stages.run("sort", sort_records, elements, *zip(*received, strict=True))

    def _map(self, p: int, begin: int, values: tuple[NDArray[Any], ...]) -> Mapped:
        element, partition = self._pg.elements[p], self._pg.partitions[p]
        edges = partition.out
        end = min(begin + self._chunk, self._edges[p])
        counts = np.zeros(max(0, -(-(end - begin) // PIECE)), np.uint64)
        keys = element.allocate(max(0, end - begin), self._key_dtype)
        columns = columns_of(element, len(keys), self._dtypes)
        if edges is not None and len(counts):
            weights = edges.targets if edges.weights is None else edges.weights
            self._map_kernel(
                np.uint64(begin), np.uint64(end), np.uint64(PIECE), edges.offsets, edges.targets, weights,
                partition.vertices, partition.out_degree, values, self._pg.graph.n, keys, tuple(columns),
                counts,
            )  # fmt: skip
        return Mapped(keys, columns, counts)

    def _group(self, p: int, mapped: Mapped) -> Grouped:
        """Return the records with those of each element next to each other."""
        element, step = self._pg.elements[p], np.uint64(PIECE)
        keys, columns, counts = mapped
        sizes = np.zeros((len(counts), len(self._pg.ranks)), np.uint64)
        chosen = element.allocate(len(keys), np.uint16)
        outside = self._router.choose(p, keys, step, counts, chosen, sizes)
        totals = sizes.sum(axis=0)
        bounds = np.append(np.uint64(0), np.cumsum(totals, dtype=np.uint64))
        begins = bounds[:-1] + np.cumsum(sizes, axis=0, dtype=np.uint64) - sizes
        grouped = []
        for array in (keys, *columns):
            out = element.allocate(int(bounds[-1]), array.dtype)
            kernels.group_words(words_of(array), step, counts, chosen, begins.copy(), words_of(out))
            grouped.append(out)
        return Grouped(grouped[0], grouped[1:], bounds.astype(np.int64), outside)

    def _rows(self, element: Any, found: Any) -> Run:
        return self._reducer.rows_of(element, self._reducer.run_of(element, found))
