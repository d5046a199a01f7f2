"""Workers: the stages of a job on one element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import numpy as np

from evener.kernels.kernel import Kernel
from evener.programs.mapreduce import kernels_cpu as kernels
from evener.programs.mapreduce.records import (
    SHUFFLE,
    Grouped,
    Sorted,
    addresses,
    columns_of,
    gathered,
    sort_records,
    words_of,
)
from evener.programs.steps import exception_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evener.partition.partitioned import PartitionedGraph
    from evener.programs.mapreduce.compilation import UserKernel
    from evener.programs.mapreduce.reducer import Reducer
    from evener.programs.mapreduce.routers import Router

__all__ = ["CpuWorker", "GpuWorker", "JobFunctions", "JobWorker", "worker_on"]

# Edges of a piece, the unit of work of a thread.
_PIECE = 1 << 12
# Pieces of the largest chunk on a CPU.
_MAX_PIECES = 1 << 14
# Bytes of the position of a record while a CPU sorts records.
_POSITION_BYTES = 8
# Bytes for each record while a GPU sorts and reduces records, in addition to the record and its row.
_SORT_BYTES = 56
# Edges of the smallest chunk on a GPU.
_MIN_CHUNK = 1 << 16


class JobFunctions(NamedTuple):
    """The functions of a job, and the types of its records."""

    map: UserKernel
    reducer: Reducer
    key_dtype: np.dtype[Any]
    dtypes: Sequence[np.dtype[Any]]  # of the columns

    @property
    def record_bytes(self) -> int:
        """Bytes of a record."""
        return self.key_dtype.itemsize + sum(dtype.itemsize for dtype in self.dtypes)


class Worker:
    """Runs the stages of a job on one element.

    For each chunk of edges, a job calls `map`, then `choose` and `group`, or `take_all` instead of both.
    Calls on a GPU return before their work is done. A call waits, if at all, before it queues its longest
    work, so that several GPUs work at the same time.

    `place` is the number of the element on the rank, and `edges` the number of its edges. `values` has the
    fields of vertices that the map function reads, in the element's memory. Each field has a value for each
    local vertex, or for each owned vertex if the function does not read those of targets. It has one value if
    the function reads none.
    """

    def __init__(self, pg: PartitionedGraph, place: int, functions: JobFunctions) -> None:
        self.element: Any = pg.elements[place]
        self.reducer = functions.reducer
        self._partition, self._n, self._elements = pg.partitions[place], pg.graph.n, len(pg.ranks)
        self._local_elements, self._place = len(pg.elements), place
        self._functions = functions
        self.edges = 0 if self._partition.out is None else self._partition.out.count
        self.values: tuple[Any, ...] = ()
        # The mapped records of a chunk, and the element of each.
        self._keys: Any = None
        self._columns: list[Any] = []
        self._chosen: Any = None

    def take_all(self) -> Grouped:
        """Return all records as those of one element, if each edge of the chunk gave one."""
        grouped = Grouped(self._keys, self._columns, np.array([0, len(self._keys)]))
        self._forget()
        return grouped

    def join(self, parts: Sequence[Sequence[NDArray[Any]]]) -> list[NDArray[Any]]:
        """Return the keys and the columns of all parts, which are in the memory of the element."""
        joined = []
        for arrays in zip(*parts, strict=True):
            whole = self.element.allocate(sum(map(len, arrays)), arrays[0].dtype)
            begin = 0
            for array in arrays:
                whole[begin : begin + len(array)] = array
                begin += len(array)
            joined.append(whole)
        return joined

    def _forget(self) -> None:
        """Free the memory of the mapped records."""
        self._keys = self._chosen = None
        self._columns = []


class CpuWorker(Worker):
    """A worker whose threads map pieces. Piece ``k`` writes its records from position ``k * _PIECE`` on."""

    # The records of each piece, also those for each element.
    _counts: NDArray[np.uint64]
    _sizes: NDArray[np.uint64]

    def capacity(self, memory: int) -> int:
        """Return the edges of the largest chunk, if the job may use so many bytes on the rank.

        There is memory for a mapped and a grouped record of each element, and two records of all elements.
        """
        record = self._functions.record_bytes + _POSITION_BYTES
        pieces = memory // 2 // (2 * record * (self._local_elements + self._elements)) // _PIECE
        return min(max(pieces, 1), _MAX_PIECES) * _PIECE

    def map(self, begin: int, end: int) -> int:
        """Call the map function for the edges ``begin:end``, and return the number of records."""
        partition, edges = self._partition, self._partition.out
        self._counts = np.zeros(-(-(end - begin) // _PIECE), np.uint64)
        self._keys = self.element.allocate(end - begin, self._functions.key_dtype)
        self._columns = columns_of(self.element, end - begin, self._functions.dtypes)
        if edges is not None and len(self._counts):
            weights = edges.targets if edges.weights is None else edges.weights
            self._functions.map.kernel(
                np.uint64(begin), np.uint64(end), np.uint64(_PIECE), edges.offsets, edges.targets, weights,
                partition.vertices, partition.out_degree, self.values, self._n, self._keys,
                tuple(self._columns), self._counts,
            )  # fmt: skip
            if self._counts.max() > _PIECE:
                raise exception_of("map")
        return int(self._counts.sum())

    def choose(self, router: Router) -> int:
        """Choose the element of each record, and return the number of wrong keys."""
        self._sizes = np.zeros((len(self._counts), self._elements), np.uint64)
        self._chosen = self.element.allocate(len(self._keys), np.uint16)
        kernel = getattr(kernels, router.kernel)
        outside = kernel(
            self._keys, np.uint64(_PIECE), self._counts, *router.arguments[self._place], self._chosen,
            self._sizes,
        )  # fmt: skip
        return int(outside or 0)

    def mapped_keys(self) -> NDArray[Any]:
        """Return the keys of all mapped records on the host."""
        counts = enumerate(self._counts.tolist())
        pieces = [self._keys[k * _PIECE : k * _PIECE + count] for k, count in counts]
        return np.concatenate([self._keys[:0], *pieces])  # a chunk without edges has no pieces

    def group(self) -> Grouped:
        """Return the records with those of each element next to each other."""
        totals = self._sizes.sum(axis=0)
        bounds = np.append(np.uint64(0), np.cumsum(totals, dtype=np.uint64))
        begins = bounds[:-1] + np.cumsum(self._sizes, axis=0, dtype=np.uint64) - self._sizes
        grouped = []
        for array in (self._keys, *self._columns):
            out = self.element.allocate(int(bounds[-1]), array.dtype, exchanged=True)
            kernels.group_words(
                words_of(array), np.uint64(_PIECE), self._counts, self._chosen, begins.copy(), words_of(out)
            )
            grouped.append(out)
        self._forget()
        return Grouped(grouped[0], grouped[1:], bounds.astype(np.int64))

    def sort(self, keys: NDArray[Any], columns: list[NDArray[Any]]) -> Sorted:
        """Return the records sorted by key. The sort may overwrite the given arrays."""
        return sort_records(self.element, keys, columns)


class GpuWorker(Worker):
    """A worker that maps each edge to one position, with a flag whether a record is there.

    Its kernels are those of ``programs/mapreduce_*.cu``, and the radix sort of CUB.
    """

    _present: Any = None
    _order: Any = None
    _bounds: Any = None

    def capacity(self, memory: int) -> int:
        """Return the edges of the largest chunk, if the job may use so many bytes on the GPU.

        There is memory for a mapped and a grouped record of the element, and two records of all elements.
        """
        values = 8 * len(self._partition.vertices)
        usable = min(self.element.room_after(self._partition.nbytes) - values, memory)
        record = self._functions.record_bytes
        return max(int(usable) // (2 * record + self._elements * (2 * record + _SORT_BYTES)), _MIN_CHUNK)

    def map(self, begin: int, end: int) -> Any:
        """Call the map function for each edge."""
        partition, edges = self._partition, cast("Any", self._partition.out)
        self._keys = self.element.allocate(end - begin, np.int64)
        self._columns = columns_of(self.element, end - begin, self._functions.dtypes)
        self._present = self.element.allocate(end - begin, np.uint8)
        if begin == end:
            return 0
        weights = [] if edges.weights is None else [edges.weights]
        kernel = Kernel(cuda=self._functions.map.file, name=f"map_{'weighted_' * len(weights)}edges")
        return self.element.kernel(kernel)(
            begin, end, edges.offsets, edges.targets, *weights, partition.vertices, partition.out_degree,
            self.values[0].view(np.uint64), self._n, self._keys, addresses(self.element, self._columns),
            self._present,
        )  # fmt: skip

    def choose(self, router: Router) -> Any:
        """Choose the element of each record, and begin to sort the records by element."""
        element = self.element
        self._chosen = element.allocate(len(self._keys), np.uint16)
        given = [
            element.upload(argument) if isinstance(argument, np.ndarray) else int(argument)
            for argument in router.arguments[self._place]
        ]
        kernel = element.kernel(getattr(SHUFFLE, router.kernel))
        outside = kernel(self._keys, self._present, *given, self._chosen)
        self._order = element.argsort(self._chosen)
        self._bounds = element.allocate(self._elements + 1, np.uint64)
        element.kernel(SHUFFLE.find_bounds)(self._order, self._chosen, self._bounds)
        return 0 if outside is None else outside

    def mapped_keys(self) -> NDArray[Any]:
        """Return the keys of all records."""
        keys, present = (self.element.download(array) for array in (self._keys, self._present))
        mapped: NDArray[Any] = keys[present != 0]
        return mapped

    def group(self) -> Grouped:
        """Return the records in the order of their elements."""
        bounds = self.element.download(self._bounds).astype(np.int64)
        keys, *columns = (
            gathered(self.element, array, self._order, int(bounds[-1]))
            for array in (self._keys, *self._columns)
        )
        self._forget()
        return Grouped(keys, columns, bounds)

    def _forget(self) -> None:
        super()._forget()
        self._present = self._order = None

    def sort(self, keys: Any, columns: list[Any]) -> Sorted:
        """Return sorted keys, and the positions of their records."""
        order = self.element.argsort(keys)
        return Sorted(gathered(self.element, keys, order, len(keys)), order, columns)


JobWorker: TypeAlias = CpuWorker | GpuWorker


def worker_on(pg: PartitionedGraph, place: int, functions: JobFunctions) -> JobWorker:
    """Return the worker of an element of this rank; see `Worker`."""
    kind = GpuWorker if pg.elements[place].kind == "cuda" else CpuWorker
    return kind(pg, place, functions)
