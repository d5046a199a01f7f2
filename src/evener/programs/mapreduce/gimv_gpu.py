"""GIM-V in two MapReduce stages on one GPU, by kernels with the operators linked in.

A message of 4 bytes is packed with its key into one word, and words are sorted. Other messages stay in place,
and the positions of sorted keys are their order. Both sorts are the radix sort of CUB, through CuPy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from evener.kernels.kernel import Kernel, LinkedFile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.partition.partitioned import PartitionedGraph
    from evener.programs.compilation import Operators
    from evener.programs.mapreduce.stages import Stages

__all__ = ["FILE", "GpuStages"]

FILE = "evener.programs:stages"
# Bytes that a record needs: it and its sorted copy; or key, message, and copies of keys and positions.
_PACKED_BYTES, _APART_BYTES = 16, 44
# Edges of the smallest chunk.
_MIN_CHUNK = 1 << 16


class GpuStages:
    """Both stages on the only element of a placement, a GPU."""

    def __init__(
        self,
        pg: PartitionedGraph,
        stages: Stages,
        operators: Operators,
        first: NDArray[Any],
        identity: float,
    ) -> None:
        (partition,) = self._partitions = pg.partitions
        self._element = cast("Any", pg.elements[0])
        self._edges = cast("Any", partition.out)
        real = first.dtype.kind == "f"
        key = " ".join([*(one.key for one in operators), *(" ".join(one.extra) for one in operators)])
        self._file = LinkedFile(FILE, key, operators.linked(real=real))
        self._stages, self._n, self._identity = stages, pg.graph.n, identity
        self._wide = np.dtype(np.float64 if real else np.int64)
        self._wide_identity = self._element.upload(np.array([identity], self._wide))
        self._packed = first.itemsize == 4
        self._initial = self._element.upload(first)
        self._value = self._element.allocate(len(first), first.dtype)
        self.values = [self._value]
        self._element.run(self._value.__setitem__, slice(None), self._initial)
        record = _PACKED_BYTES if self._packed else _APART_BYTES
        room = self._element.room_after(partition.nbytes) - len(first) * self._wide.itemsize
        edges = self._edges.count
        chunks = -(-edges // max(room // record, _MIN_CHUNK))
        self._bounds = [edges * chunk // max(chunks, 1) for chunk in range(chunks + 1)]

    def step(self, total: float) -> tuple[int, float, float]:
        """Run both stages."""
        run = self._stages.run
        combined = [self._element.allocate(len(self._value), self._wide, self._identity)]
        for begin, end in zip(self._bounds[:-1], self._bounds[1:], strict=True):
            records = run("map", self._map, [begin], [end], edges=end - begin)
            order = run("sort", self._sort, records)
            run("reduce", self._combine, records, order, combined)
        ((ready, change, size),) = run("assign", self._assign, combined, [total])
        return int(ready), change, size

    def _kernel(self, name: str) -> Any:
        return self._element.kernel(Kernel(cuda=self._file, name=name))

    def _map(self, begin: int, end: int) -> list[Any]:
        """Return the records of a chunk of edges: packed, or keys and messages."""
        edges, (partition,) = self._edges, self._partitions
        dtypes: list[Any] = [np.uint64] if self._packed else [np.uint32, self._value.dtype]
        records = [self._element.allocate(end - begin, dtype) for dtype in dtypes]
        weighted = edges.weights is not None
        name = f"map_{'weighted_' * weighted}{'packed' if self._packed else 'apart'}"
        weights = [edges.weights] if weighted else []
        self._kernel(name)(
            begin, end, edges.offsets, edges.targets, *weights, self._wide_identity, partition.out_degree,
            partition.vertices, self._n, self._value, *records,
        )  # fmt: skip
        return records

    def _sort(self, records: list[Any]) -> Any:
        """Sort packed records, or return the positions of sorted keys."""
        if not self._packed:
            return self._element.argsort(records[0])
        self._element.sort(records[0])
        return None

    def _combine(self, records: list[Any], order: Any, combined: Any) -> None:
        if self._packed:
            self._kernel("reduce_packed")(records[0], combined)
        else:
            self._kernel("reduce_apart")(records[0], order, records[1], combined)

    def _assign(self, combined: Any, total: float) -> Any:
        (partition,) = self._partitions
        return self._kernel("assign_values")(
            combined, partition.out_degree, partition.vertices, self._n, total, self._initial, self._value
        )
