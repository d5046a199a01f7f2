"""GIM-V in two MapReduce stages on GPUs of one process, by kernels with the operators linked in.

A message of 4 bytes is packed with its key into one word, and words are sorted. Other messages stay in place,
and the positions of sorted keys are their order. Both sorts are the radix sort of CUB, through CuPy.

Each GPU reduces its own records before the copy, as combiners of MapReduce do. So it sends one message for
each mirror, and the owner combines the messages of all GPUs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from evener.elements.peers import copy_between
from evener.kernels.kernel import Kernel, LinkedFile
from evener.programs.compilation import digest, source_key
from evener.programs.steps import is_constant, owned_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evener.elements import Element
    from evener.partition.partition import Partition
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
    """Both stages on the elements of a placement, which are all GPUs."""

    def __init__(
        self,
        pg: PartitionedGraph,
        stages: Stages,
        operators: Operators,
        first: NDArray[Any],
        identity: float,
    ) -> None:
        real = first.dtype.kind == "f"
        key = digest(source_key(), f"{real}", *(one.meaning for one in operators))
        file = LinkedFile(FILE, key, operators.linked(real=real))
        self._gpus = [
            _Gpu(element, partition, file, own, identity, pg.graph.n)
            for element, partition, own in zip(pg.elements, pg.partitions, _uploaded(pg, first), strict=True)
        ]
        self._stages, self._routes = stages, pg.routes
        self._rounds = max(gpu.chunks for gpu in self._gpus)
        self.values = [(gpu.value,) for gpu in self._gpus]

    def step(self, total: float) -> tuple[int, float, float]:
        """Run both stages."""
        gpus, run = self._gpus, self._stages.run
        combined = [gpu.new_messages() for gpu in gpus]
        for number in range(self._rounds):
            bounds = [gpu.chunk(number, self._rounds) for gpu in gpus]
            records = run("map", _Gpu.map, gpus, bounds, edges=sum(end - begin for begin, end in bounds))
            order = run("sort", _Gpu.sort, gpus, records)
            run("reduce", _Gpu.reduce, gpus, records, order, combined)
            del records, order  # the next round needs their memory
        if self._routes:
            run("reduce", _Gpu.merge, gpus, self._copied(combined), combined)
        found = run("assign", _Gpu.assign, gpus, combined, [total] * len(gpus))
        ready, change, size = (sum(column) for column in zip(*found, strict=True))
        return int(ready), float(change), float(size)

    def _copied(self, combined: Sequence[Any]) -> list[list[tuple[Any, Any]]]:
        """Return, for each GPU, the numbers of its vertices and their messages from each other GPU."""
        received: list[list[tuple[Any, Any]]] = [[] for _ in self._gpus]

        def receive(place: int) -> list[tuple[int, int]]:
            own, sent = self._gpus[place], []
            own.element.begin_round()
            for sender, gpu in enumerate(self._gpus):
                for route in self._routes:
                    if (route.mirror_partition, route.owner) == (gpu.index, own.index):
                        source = combined[sender][route.begin : route.begin + len(route)]
                        received[place].append((route.index, own.copy_from(gpu, source)))
                        sent.append((sender, source.nbytes))
            return sent

        self._stages.receive(receive, range(len(self._gpus)))
        return received


class _Gpu:
    """The records and the values of one GPU.

    Attributes
    ----------
    element : Element
    index : int
        The number of the partition.
    value : ndarray
        The value of each owned vertex.
    chunks : int
        The least number of chunks, so that the records of a chunk fit the memory.
    """

    def __init__(
        self,
        element: Element,
        partition: Partition,
        file: LinkedFile,
        first: Any,
        identity: float,
        n: int,
    ) -> None:
        self.element, self.index = cast("Any", element), partition.index
        self._partition, self._edges, self._file = partition, cast("Any", partition.out), file
        self._identity, self._n = identity, n
        self._wide = np.dtype(np.float64 if first.dtype.kind == "f" else np.int64)
        self._wide_identity = element.upload(np.array([identity], self._wide))
        self._packed = first.itemsize == 4
        self._initial = first
        self.value = element.allocate(len(first), first.dtype)
        element.run(self.value.__setitem__, slice(None), self._initial)
        record = _PACKED_BYTES if self._packed else _APART_BYTES
        room = self.element.room_after(partition.nbytes) - len(partition.vertices) * self._wide.itemsize
        self.chunks = -(-self._edges.count // max(room // record, _MIN_CHUNK))

    def chunk(self, number: int, rounds: int) -> tuple[int, int]:
        """Return the bounds of the edges of a round."""
        return self._edges.count * number // rounds, self._edges.count * (number + 1) // rounds

    def new_messages(self) -> Any:
        """Return the combined message of each vertex and mirror before any record is reduced."""
        return self.element.allocate(len(self._partition.vertices), self._wide, self._identity)

    def map(self, bounds: tuple[int, int]) -> list[Any]:
        """Return the records of a chunk of edges: packed, or keys and messages."""
        edges, (begin, end) = self._edges, bounds
        dtypes: list[Any] = [np.uint64] if self._packed else [np.uint32, self.value.dtype]
        records = [self.element.allocate(end - begin, dtype) for dtype in dtypes]
        weights = [] if edges.weights is None else [edges.weights]
        name = f"map_{'weighted_' * len(weights)}{'packed' if self._packed else 'apart'}"
        self._kernel(name)(
            begin, end, edges.offsets, edges.targets, *weights, self._wide_identity,
            self._partition.out_degree, self._partition.vertices, self._n, self.value, *records,
        )  # fmt: skip
        return records

    def sort(self, records: list[Any]) -> Any:
        """Sort packed records, or return the positions of sorted keys."""
        if not self._packed:
            return self.element.argsort(records[0])
        self.element.sort(records[0])
        return None

    def reduce(self, records: list[Any], order: Any, combined: Any) -> None:
        """Combine sorted records into the messages of vertices and mirrors."""
        if self._packed:
            self._kernel("reduce_packed")(records[0], combined)
        else:
            self._kernel("reduce_apart")(records[0], order, records[1], combined)

    def copy_from(self, sender: _Gpu, source: Any) -> Any:
        """Return a copy of an array of another GPU."""
        target = self.element.allocate(len(source), source.dtype, exchanged=True)
        self.element.wait_for(copy_between(sender.element, self.element, source, target))
        return target

    def merge(self, received: list[tuple[Any, Any]], combined: Any) -> None:
        """Combine the messages of mirrors on other GPUs with those of the vertices."""
        for index, messages in received:
            self._kernel("merge_mirrors")(index, messages, combined)

    def assign(self, combined: Any, total: float) -> Any:
        """Assign the next values."""
        return self._kernel("assign_values")(
            combined, self._partition.out_degree, self._partition.vertices, self._n, total, self._initial,
            self.value,
        )  # fmt: skip

    def _kernel(self, name: str) -> Any:
        return self.element.kernel(Kernel(cuda=self._file, name=name))


def _uploaded(pg: PartitionedGraph, first: NDArray[Any]) -> list[Any]:
    """Return the first values of the owned vertices on each GPU."""
    if is_constant(first):
        return [
            element.allocate(partition.owned, first.dtype, first[0])
            for element, partition in zip(pg.elements, pg.partitions, strict=True)
        ]
    parts = owned_values(pg, first)
    return [element.upload(own) for element, own in zip(pg.elements, parts, strict=True)]
