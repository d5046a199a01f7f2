"""The stages of a job on a GPU, by the kernels of ``programs/mapreduce_*.cu`` and the radix sort of CUB."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from evener.kernels.kernel import Kernel, KernelFile
from evener.programs.mapreduce.records import Grouped, Sorted, columns_of
from evener.programs.mapreduce.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evener.elements import Element

__all__ = ["SHUFFLE", "GpuWorker", "addresses", "gathered"]

SHUFFLE = KernelFile("evener.programs", "mapreduce_shuffle")
# Bytes for each record while records are sorted and reduced, in addition to the record and its row.
_SORT_BYTES = 56
# Edges of the smallest chunk.
_MIN_CHUNK = 1 << 16


class GpuWorker(Worker):
    """A worker that maps each edge to one position, with a flag whether a record is there."""

    _found: Any = None
    _order: Any = None
    _bounds: Any = None

    def room(self, memory: int, elements: int) -> int:
        """Leave memory for a mapped and a grouped record of the element, and two records of all elements."""
        values = 8 * len(self._partition.vertices)
        room = min(self.element.room_after(self._partition.nbytes) - values, memory)
        record = self._functions.record_bytes
        return max(int(room) // (2 * record + elements * (2 * record + _SORT_BYTES)), _MIN_CHUNK)

    def map(self, begin: int, end: int) -> Any:
        """Call the map function for each edge."""
        partition, edges = self._partition, cast("Any", self._partition.out)
        self._keys = self.element.allocate(end - begin, np.int64)
        self._columns = columns_of(self.element, end - begin, self._functions.dtypes)
        self._found = self.element.allocate(end - begin, np.uint8)
        if begin == end:
            return 0
        weights = [] if edges.weights is None else [edges.weights]
        kernel = Kernel(cuda=self._functions.map, name=f"map_{'weighted_' * len(weights)}edges")
        return self.element.kernel(kernel)(
            begin, end, edges.offsets, edges.targets, *weights, partition.vertices, partition.out_degree,
            self.values[0].view(np.uint64), self._n, self._keys, addresses(self.element, self._columns),
            self._found,
        )  # fmt: skip

    def choose(self) -> Any:
        """Choose the element of each record, and begin to sort the records by element."""
        element = self.element
        self._chosen = element.allocate(len(self._keys), np.uint16)
        given = [
            element.upload(one) if isinstance(one, np.ndarray) else int(one)
            for one in self._router.arguments(self._place)
        ]
        kernel = element.kernel(getattr(SHUFFLE, self._router.kernel))
        outside = kernel(self._keys, self._found, *given, self._chosen)
        self._order = element.argsort(self._chosen)
        self._bounds = element.allocate(self._elements + 1, np.uint64)
        element.kernel(SHUFFLE.find_bounds)(self._order, self._chosen, self._bounds)
        return 0 if outside is None else outside

    def mapped_keys(self) -> NDArray[Any]:
        """Return the keys of all records."""
        keys, found = (self.element.download(array) for array in (self._keys, self._found))
        present: NDArray[Any] = keys[found != 0]
        return present

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
        self._found = self._order = None

    def sort(self, keys: Any, columns: list[Any]) -> Sorted:
        """Return sorted keys, and the positions of their records."""
        order = self.element.argsort(keys)
        return Sorted(gathered(self.element, keys, order, len(keys)), order, columns)


def gathered(element: Element, array: Any, order: Any, count: int) -> Any:
    """Return the values of an array of a GPU at the first `count` positions of an order."""
    out = element.allocate(count, array.dtype)
    element.kernel(SHUFFLE.gather_words)(array.view(np.uint64), order, out.view(np.uint64))
    return out


def addresses(element: Element, columns: Sequence[Any]) -> Any:
    """Return the addresses of columns of a GPU, as an array of the GPU."""
    return element.upload(np.array([column.data.ptr for column in columns], np.uint64))
