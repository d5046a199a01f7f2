"""The stages of a job on a CPU element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.programs.mapreduce import kernels_cpu as kernels
from evener.programs.mapreduce.records import Grouped, columns_of, words_of
from evener.programs.mapreduce.sort import sort_records
from evener.programs.mapreduce.worker import Worker
from evener.programs.steps import exception_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.programs.mapreduce.records import Sorted

__all__ = ["CpuWorker"]

# Edges of a piece, the unit of work of a thread.
_PIECE = 1 << 12
# Pieces of the largest chunk.
_MAX_PIECES = 1 << 14
# Bytes of the position of a record while records are sorted.
_POSITION_BYTES = 8


class CpuWorker(Worker):
    """A worker whose threads map pieces. Piece ``k`` writes its records from position ``k * _PIECE`` on."""

    # The records of each piece, also those for each element.
    _counts: NDArray[np.uint64]
    _sizes: NDArray[np.uint64]

    def room(self, memory: int, elements: int) -> int:
        """Leave memory for a mapped and a grouped record of each element, and two records of all elements."""
        record = self._functions.record_bytes + _POSITION_BYTES
        pieces = memory // 2 // (2 * record * (self._own + elements)) // _PIECE
        return min(max(pieces, 1), _MAX_PIECES) * _PIECE

    def map(self, begin: int, end: int) -> int:
        """Call the map function for each edge."""
        partition, edges = self._partition, self._partition.out
        self._counts = np.zeros(-(-(end - begin) // _PIECE), np.uint64)
        self._keys = self.element.allocate(end - begin, self._functions.key_dtype)
        self._columns = columns_of(self.element, end - begin, self._functions.dtypes)
        if edges is not None and len(self._counts):
            weights = edges.targets if edges.weights is None else edges.weights
            self._functions.map(
                np.uint64(begin), np.uint64(end), np.uint64(_PIECE), edges.offsets, edges.targets, weights,
                partition.vertices, partition.out_degree, self.values, self._n, self._keys,
                tuple(self._columns), self._counts,
            )  # fmt: skip
            if self._counts.max() > _PIECE:
                raise exception_of("map")
        return int(self._counts.sum())

    def choose(self) -> int:
        """Choose the element of each record."""
        self._sizes = np.zeros((len(self._counts), self._elements), np.uint64)
        self._chosen = self.element.allocate(len(self._keys), np.uint16)
        kernel = getattr(kernels, self._router.kernel)
        outside = kernel(
            self._keys, np.uint64(_PIECE), self._counts, *self._router.arguments(self._place), self._chosen,
            self._sizes,
        )  # fmt: skip
        return int(outside or 0)

    def mapped_keys(self) -> NDArray[Any]:
        """Return the keys of all pieces."""
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
        """Return records sorted by key."""
        return sort_records(self.element, keys, columns)
