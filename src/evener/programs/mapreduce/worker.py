"""Workers: the stages of a job on one element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.programs.mapreduce.records import Grouped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evener.partition.partitioned import PartitionedGraph
    from evener.programs.mapreduce.records import Sorted
    from evener.programs.mapreduce.reducer import Reducer
    from evener.programs.mapreduce.routers import Router

__all__ = ["JobFunctions", "Worker"]


class JobFunctions(NamedTuple):
    """The functions of a job for one kind of element, and the types of its records."""

    map: Any  # a kernel for CPUs, or the LinkedFile of one for GPUs
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

    def __init__(self, pg: PartitionedGraph, place: int, functions: JobFunctions, router: Router) -> None:
        self.element: Any = pg.elements[place]
        self.reducer = functions.reducer
        self._partition, self._n, self._elements = pg.partitions[place], pg.graph.n, len(pg.ranks)
        self._own, self._place, self._functions, self._router = len(pg.elements), place, functions, router
        self.edges = 0 if self._partition.out is None else self._partition.out.count
        self.values: tuple[Any, ...] = ()
        # The mapped records of a chunk, and the element of each.
        self._keys: Any = None
        self._columns: list[Any] = []
        self._chosen: Any = None

    def room(self, memory: int, elements: int) -> int:
        """Return the edges of the largest chunk, if the job may use so many bytes on the rank.

        All `elements` of all ranks may send their records here.
        """
        raise NotImplementedError

    def map(self, begin: int, end: int) -> Any:
        """Call the map function for the edges ``begin:end``, and return the number of records."""
        raise NotImplementedError

    def choose(self) -> Any:
        """Choose the element of each record, and return the number of wrong keys."""
        raise NotImplementedError

    def mapped_keys(self) -> NDArray[Any]:
        """Return the keys of all mapped records on the host."""
        raise NotImplementedError

    def group(self) -> Grouped:
        """Return the records, those of each element next to each other."""
        raise NotImplementedError

    def take_all(self) -> Grouped:
        """Return the records of the only element, if each edge of the chunk gave one."""
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

    def sort(self, keys: Any, columns: list[Any]) -> Sorted:
        """Return the records sorted by key. The sort may overwrite the given arrays."""
        raise NotImplementedError

    def _forget(self) -> None:
        """Free the memory of the mapped records."""
        self._keys = self._chosen = None
        self._columns = []
