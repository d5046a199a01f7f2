"""The stages of GIM-V on a GPU, by the kernels of ``programs/stages.cu`` and the radix sort of CUB.

A message of 4 bytes is packed with its key into one word, and words are sorted. Other messages stay in place,
and the positions of sorted keys are their order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from evener.kernels.kernel import Kernel, LinkedFile
from evener.programs.compilation import digest, source_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evener.partition.partitioned import PartitionedGraph
    from evener.programs.compilation import Operators

__all__ = ["FILE", "GimvGpu", "linked_stages"]

FILE = "evener.programs:stages"
# Bytes that a record needs: it and its sorted copy; or key, message, and copies of keys and positions.
_PACKED_BYTES, _APART_BYTES = 16, 44
# Copies of the messages of mirrors that are under way to other ranks.
_TURNS = 2
# Edges of the smallest chunk.
_MIN_CHUNK = 1 << 16


def linked_stages(operators: Operators, *, real: bool) -> LinkedFile:
    """Return the kernels with the operators linked in, for floating-point numbers or integers."""
    key = digest(source_key(), f"{real}", *(operator.meaning for operator in operators))
    return LinkedFile(FILE, key, operators.linked(real=real))


class GimvGpu:
    """The stages of GIM-V on the GPU at a place of this rank.

    `initial` has the first value of each owned vertex, in the memory of the GPU. `chunks` is the least number
    of chunks of edges, so that the records of a chunk fit the memory.
    """

    words = 1

    def __init__(
        self, pg: PartitionedGraph, place: int, initial: tuple[Any], *, file: LinkedFile, identity: float
    ) -> None:
        self._element, self._partition = cast("Any", pg.elements[place]), pg.partitions[place]
        self._edges, self._file, self._n = cast("Any", self._partition.out), file, pg.graph.n
        (self._initial,) = initial
        dtype = self._initial.dtype
        self._wide = np.dtype(np.float64 if dtype.kind == "f" else np.int64)
        self._identity = identity
        self._wide_identity = self._element.upload(np.array([identity], self._wide))
        self._packed = dtype.itemsize == 4
        value = self._element.allocate(len(self._initial), dtype)
        self._element.run(value.__setitem__, slice(None), self._initial)
        self.values = (value,)
        record = _PACKED_BYTES if self._packed else _APART_BYTES
        received, mirrors = pg.mirrors_of(self._partition.index), self._partition.mirrors
        messages = len(self._partition.vertices) + _TURNS * mirrors + received
        usable = self._element.room_after(self._partition.nbytes) - messages * self._wide.itemsize
        self.edges = int(self._edges.count)
        self.chunks = -(-self.edges // max(usable // record, _MIN_CHUNK))

    def new_messages(self) -> Any:
        """Return the combined message of each vertex and mirror before any record is reduced."""
        length = len(self._partition.vertices)
        return self._element.allocate(length, self._wide, self._identity, exchanged=True)

    def map(self, begin: int, end: int) -> list[Any]:
        """Return the records of the edges ``begin:end``: packed, or keys and messages."""
        edges, (value,) = self._edges, self.values
        dtypes: list[Any] = [np.uint64] if self._packed else [np.uint32, value.dtype]
        records = [self._element.allocate(end - begin, dtype) for dtype in dtypes]
        weights = [] if edges.weights is None else [edges.weights]
        self._kernel(f"map_{'weighted_' * len(weights)}{self._form}")(
            begin, end, edges.offsets, edges.targets, *weights, self._wide_identity,
            self._partition.out_degree, self._partition.vertices, self._n, value, *records,
        )  # fmt: skip
        return records

    def sort(self, records: list[Any]) -> list[Any]:
        """Return sorted packed records, or keys, their order and messages."""
        if self._packed:
            self._element.sort(records[0])
            return records
        keys, messages = records
        return [keys, self._element.argsort(keys), messages]

    def reduce(self, records: list[Any], combined: Any) -> None:
        """Combine sorted records into the messages of vertices and mirrors."""
        self._kernel(f"reduce_{self._form}")(*records, combined)

    def merge(self, received: Sequence[tuple[Any, Any]], combined: Any) -> None:
        """Combine the messages of mirrors on other elements with those of the vertices."""
        for index, messages in received:
            self._kernel("merge_mirrors")(index, messages, combined)

    def assign(self, combined: Any, total: float) -> Any:
        """Assign the next values."""
        return self._kernel("assign_values")(
            combined, self._partition.out_degree, self._partition.vertices, self._n, total, self._initial,
            *self.values,
        )  # fmt: skip

    @property
    def _form(self) -> str:
        return "packed" if self._packed else "apart"

    def _kernel(self, name: str) -> Any:
        return self._element.kernel(Kernel(cuda=self._file, name=name))
