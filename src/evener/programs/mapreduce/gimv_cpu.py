"""The stages of GIM-V on a CPU, by the kernels of a job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from evener.programs.mapreduce.compilation import (
    assign_kernel,
    combine_kernel,
    merge_kernel,
    message_kernel,
)
from evener.programs.mapreduce.reducer import Combine
from evener.programs.mapreduce.worker import CpuWorker, JobFunctions
from evener.programs.steps import exception_of, message_dtypes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evener.partition.partitioned import PartitionedGraph
    from evener.programs.compilation import Operators
    from evener.programs.mapreduce.compilation import Signature
    from evener.programs.mapreduce.records import Grouped, Sorted

__all__ = ["GimvCpu", "GimvKernels"]


class GimvKernels:
    """The kernels of GIM-V for CPUs, and the number or tuple `identity` of a vertex without messages."""

    def __init__(
        self,
        pg: PartitionedGraph,
        operators: Operators,
        signature: Signature,
        first: Sequence[NDArray[Any]],
        identity: Any,
    ) -> None:
        message = self.message = signature.message
        mapped = message_kernel(operators.combine2, signature, weighted=pg.graph.weight_dtype is not None)
        combine = combine_kernel(operators.combine_all, message, is_checked=True)
        dtypes = message_dtypes((str(values.dtype) for values in first), message.dtypes)
        self.functions = JobFunctions(mapped, Combine(combine), np.dtype(np.uint32), dtypes)
        self.merge = merge_kernel(operators.combine_all, message)
        self.assign = assign_kernel(operators, signature)
        self.identity = (identity,) if message.single else identity


class GimvCpu:
    """The stages of GIM-V on the CPU element at a place of this rank.

    `initial` has the first values of the fields of the owned vertices. A combined message has one word for
    each number, next to each other.
    """

    def __init__(
        self,
        pg: PartitionedGraph,
        place: int,
        initial: tuple[NDArray[Any], ...],
        *,
        kernels: GimvKernels,
        memory: int,
    ) -> None:
        self._partition, self._n, self._kernels = pg.partitions[place], pg.graph.n, kernels
        self._worker = CpuWorker(pg, place, kernels.functions)
        self._element = self._worker.element
        self._initial = initial
        self.values = tuple(field.copy() for field in initial)
        self.words = len(kernels.identity)
        self.edges = self._worker.edges
        self.chunks = -(-self.edges // self._worker.capacity(memory))

    def new_messages(self) -> NDArray[Any]:
        """Return the combined message of each vertex and mirror before any record is reduced."""
        length = len(self._partition.vertices) * self.words
        dtype = self._kernels.message.dtypes[0]
        combined: NDArray[Any] = self._element.allocate(length, dtype, exchanged=True)
        for column, one in zip(self._columns(combined), self._kernels.identity, strict=True):
            column[:] = one
        return combined

    def map(self, begin: int, end: int) -> Grouped:
        """Return the records of the edges ``begin:end``."""
        self._worker.values = self.values
        self._worker.map(begin, end)
        return self._worker.take_all()

    def sort(self, records: Grouped) -> Sorted:
        """Return sorted records."""
        return self._worker.sort(records.keys, records.columns)

    def reduce(self, records: Sorted, combined: NDArray[Any]) -> None:
        """Combine sorted records into the messages of vertices and mirrors."""
        run = self._worker.reducer.run_of(self._element, records)
        self._merge(run.keys, tuple(run.columns), combined)

    def merge(self, received: Sequence[tuple[NDArray[Any], NDArray[Any]]], combined: NDArray[Any]) -> None:
        """Combine the messages of mirrors on other elements with those of the vertices."""
        for index, messages in received:
            self._merge(index, self._columns(messages), combined)

    def assign(self, combined: NDArray[Any], total: float) -> Any:
        """Assign the next values."""
        return self._kernels.assign(
            self._columns(combined), self._partition.out_degree, self._partition.vertices, self._n, total,
            self._initial, self.values,
        )  # fmt: skip

    def _merge(self, index: Any, columns: tuple[NDArray[Any], ...], combined: NDArray[Any]) -> None:
        failed = np.zeros(numba.get_num_threads(), bool)
        self._kernels.merge(index, columns, self._columns(combined), failed)
        if failed.any():
            raise exception_of("combine_all")

    def _columns(self, messages: NDArray[Any]) -> tuple[NDArray[Any], ...]:
        """Return the numbers of messages as arrays."""
        dtypes = self._kernels.message.dtypes
        return tuple(messages[k :: self.words].view(dtype) for k, dtype in enumerate(dtypes))
