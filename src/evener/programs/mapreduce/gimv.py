"""GIM-V in two MapReduce stages (S13 §II.B and §III.B).

Stage 1 maps each edge to the message of its source, with the target as key. Stage 2 combines the messages of
each vertex, on the element that owns the vertex, and assigns its next value. Values stay on the owners
between iterations, so only messages are copied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.engine.array import PartitionedArray
from evener.graph.graph import Graph
from evener.programs.mapreduce.compilation import assign_kernel, combine_kernel, message_kernel
from evener.programs.mapreduce.gimv_gpu import GpuStages
from evener.programs.mapreduce.job import MapReduceJob
from evener.programs.mapreduce.placement import memory_limit, place_for_gimv
from evener.programs.mapreduce.reducer import Combine
from evener.programs.mapreduce.routers import OwnerRouter
from evener.programs.mapreduce.stages import Stages
from evener.programs.mapreduce.worker import JobFunctions
from evener.programs.steps import (
    absolute_sum,
    message_dtypes,
    owned_values,
)
from evener.programs.supersteps import ProgramRun
from evener.programs.value_check import ValueCheck

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from evener.partition.partitioned import PartitionedGraph
    from evener.programs.arguments import Condition
    from evener.programs.compilation import Operators
    from evener.programs.mapreduce.compilation import Signature
    from evener.programs.mapreduce.records import SortedRun
    from evener.spec.run import Run

__all__ = ["run_two_stages"]


def run_two_stages(
    run: Run,
    operators: Operators,
    signature: Signature,
    *,
    first: Mapping[str, NDArray[Any]],
    identity: Any,
    condition: Condition,
) -> ProgramRun:
    """Place a graph and run GIM-V on it, in two stages for each iteration.

    This is a collective operation; all ranks must call it.

    The operators are checked for the signature. `first` has the first values of the fields, and `identity` is
    the combined message of a vertex without in-edges. Other arguments are those of `evener.gimv`.
    """
    pg = place_for_gimv(run, fields=not signature.value.single)
    stages = Stages(pg, "gimv", run.progress)
    steps: CpuStages | GpuStages
    if pg.elements[0].kind == "cuda":
        (values,) = first.values()
        steps = GpuStages(pg, stages, operators, values, identity)
    else:
        steps = CpuStages(pg, stages, operators, signature, first, identity)
    n, total = pg.graph.n, sum(absolute_sum(values) for values in first.values())

    def all_hear() -> bool:
        return isinstance(pg.graph, Graph) and bool(pg.graph.in_degree().all())

    def fields() -> dict[str, PartitionedArray]:
        return dict(zip(first, map(PartitionedArray, zip(*steps.values, strict=True)), strict=True))

    check = ValueCheck(
        "gimv", pg, stages, condition, first=first.values(), identity=identity, operators=operators,
        weighted=operators.combine2.own[0] in operators.combine2.reads, all_hear=all_hear,
    )  # fmt: skip

    iteration, ready, converged = 0, 0, n == 0
    while iteration < condition.limit and not converged:
        iteration += 1
        ready, change, total = pg.world.allreduce(steps.step(total), "sum")
        converged = condition.is_met(ready == n, change, total)
        check.step(fields(), change, total, iteration)
    check.finish(fields())
    done = converged or (condition.fixed and ready == n)
    return ProgramRun(
        pg, stages, fields(), iteration, done, pg.graph.m * iteration, condition, total, passes=0
    )


class CpuStages:
    """Both stages on CPU elements: a job with numbers of targets as keys, then a kernel that assigns.

    `values` has the fields of the owned vertices of each partition.
    """

    def __init__(
        self,
        pg: PartitionedGraph,
        stages: Stages,
        operators: Operators,
        signature: Signature,
        first: Mapping[str, NDArray[Any]],
        identity: Any,
    ) -> None:
        message = signature.message
        weighted = pg.graph.weight_dtype is not None
        map_kernel = message_kernel(operators.combine2, signature, weighted=weighted)
        combine = combine_kernel(operators.combine_all, message, is_checked=True)
        dtypes = message_dtypes((str(own.dtype) for own in first.values()), message.dtypes)
        functions = JobFunctions(map_kernel, Combine(combine.kernel), np.dtype(np.uint32), dtypes)
        self._assign = assign_kernel(operators, signature)
        self._job = MapReduceJob(
            pg,
            stages,
            functions={"cpu": functions},
            router=OwnerRouter(pg),
            memory=memory_limit(None, pg.world),
        )
        self._pg, self._stages = pg, stages
        self._nothing = list(zip((identity,) if message.single else identity, message.dtypes, strict=True))
        self._initial = list(zip(*(owned_values(pg, values) for values in first.values()), strict=True))
        self.values = [tuple(field.copy() for field in own) for own in self._initial]

    def step(self, total: float) -> tuple[int, float, float]:
        """Run both stages, given the sum of the absolute values of all ranks.

        This is a collective operation; all ranks must call it. Returns (converged vertices, sum of changes,
        sum of absolute values) of this rank.
        """
        rows = self._job.run(self.values)
        found = self._stages.run("assign", self._assign_on, range(len(rows)), rows, [total] * len(rows))
        ready, change, size = (sum(column) for column in zip(*found, strict=True))
        return ready, change, size

    def _assign_on(self, p: int, rows: SortedRun, total: float) -> Sequence[Any]:
        partition, values = self._pg.partitions[p], self.values[p]
        messages = tuple(np.full(partition.owned, *nothing) for nothing in self._nothing)
        for message, column in zip(messages, rows.columns, strict=True):
            message[rows.keys] = column
        reduced: Sequence[Any] = self._assign(
            messages, partition.out_degree, partition.vertices, self._pg.graph.n, total, self._initial[p],
            values,
        )  # fmt: skip
        return reduced
