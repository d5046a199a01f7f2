"""GIM-V in two MapReduce stages (S13 §II.B and §III.B).

Stage 1 maps each edge to the message of its source, with the target as key. Stage 2 combines the messages of
each vertex, on the element that owns the vertex, and assigns its next value. Values stay on the owners
between iterations, so only messages are copied.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from evener.engine.array import PartitionedArray
from evener.programs.mapreduce.compilation import assign_kernel, combine_kernel, message_kernel
from evener.programs.mapreduce.gimv_gpu import GpuStages
from evener.programs.mapreduce.job import Job
from evener.programs.mapreduce.placement import memory_limit
from evener.programs.mapreduce.reducer import Combine
from evener.programs.mapreduce.routers import OwnerRouter
from evener.programs.mapreduce.worker import JobFunctions
from evener.programs.payload import Payload
from evener.programs.steps import absolute_sum, owned_values, raise_nan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evener.partition.partitioned import PartitionedGraph
    from evener.programs.arguments import Condition
    from evener.programs.compilation import Operators
    from evener.programs.mapreduce.records import Run
    from evener.programs.mapreduce.stages import Stages

__all__ = ["run_two_stages"]


class TwoStages(Protocol):
    """Both stages on the elements of a rank.

    Attributes
    ----------
    values : list of ndarray
        The value of each owned vertex of each partition.
    """

    values: list[Any]

    def step(self, total: float) -> tuple[int, float, float]:
        """Run both stages, given the sum of the absolute values of all ranks.

        Returns (converged vertices, sum of changes, sum of absolute values) of this rank.
        """
        ...


def run_two_stages(
    pg: PartitionedGraph,
    stages: Stages,
    operators: Operators,
    first: NDArray[Any],
    identity: float,
    condition: Condition,
) -> tuple[PartitionedArray, int, bool | None]:
    """Return the values, the number of iterations, and whether the condition is met.

    This is a collective operation; all ranks must call it.

    Parameters
    ----------
    pg : PartitionedGraph
        On CPU elements, or on GPUs of one rank.
    stages : Stages
    operators : Operators
        Checked for the type of `first`.
    first : ndarray of shape (n,)
    identity : number
        The combined message of a vertex without in-edges.
    condition : Condition
        A number of iterations is never met: None.

    Raises
    ------
    ArgumentError
        If a value becomes NaN.
    """
    kind = GpuStages if pg.elements[0].kind == "cuda" else CpuStages
    steps: TwoStages = kind(pg, stages, operators, first, identity)
    n, total = pg.graph.n, absolute_sum(first)
    iteration, converged = 0, n == 0
    while iteration < condition.limit and not converged:
        iteration += 1
        ready, change, total = pg.world.allreduce(steps.step(total), "sum")
        converged = condition.is_met(ready == n, change)
        if math.isnan(total):
            raise_nan("gimv", pg, PartitionedArray(steps.values), iteration)
    return PartitionedArray(steps.values), iteration, None if condition.fixed else converged


class CpuStages:
    """Both stages on CPU elements: a job with numbers of targets as keys, then a kernel that assigns."""

    def __init__(
        self,
        pg: PartitionedGraph,
        stages: Stages,
        operators: Operators,
        first: NDArray[Any],
        identity: float,
    ) -> None:
        dtype = first.dtype
        real = dtype.kind == "f"
        message = message_kernel(operators.combine2, real=real, weighted=pg.graph.weight_dtype is not None)
        combine = combine_kernel(operators.combine_all, Payload.of_number(real=real), checked=True)
        self._assign = assign_kernel(operators, real=real)
        self._job = Job(
            pg,
            stages,
            functions={"cpu": JobFunctions(message, Combine(combine.kernel), np.dtype(np.uint32), [dtype])},
            router=OwnerRouter(pg),
            memory=memory_limit(None, pg.world),
        )
        self._pg, self._stages, self._identity = pg, stages, identity
        self._wide = np.float64 if real else np.int64
        self._initial = owned_values(pg, first)
        self.values = [own.copy() for own in self._initial]

    def step(self, total: float) -> tuple[int, float, float]:
        """Run both stages."""
        rows = self._job.run(self.values)
        found = self._stages.run("assign", self._assign_on, range(len(rows)), rows, [total] * len(rows))
        ready, change, size = (sum(column) for column in zip(*found, strict=True))
        return ready, change, size

    def _assign_on(self, p: int, rows: Run, total: float) -> Sequence[Any]:
        partition, values = self._pg.partitions[p], self.values[p]
        message = np.full(len(values), self._identity, self._wide)
        message[rows.keys] = rows.columns[0]
        reduced: Sequence[Any] = self._assign(
            message, partition.out_degree, partition.vertices, self._pg.graph.n, total, self._initial[p],
            values,
        )  # fmt: skip
        return reduced
