"""GIM-V in two MapReduce stages (S13 §II.B and §III.B).

Stage 1 maps each edge to the message of its source, with the target as key. Stage 2 combines the messages of
each vertex, on the element that owns the vertex, and assigns its next value. Values stay on the owners
between iterations, so only messages are copied.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.programs.mapreduce.compilation import assign_kernel, combine_kernel, message_kernel
from evener.programs.mapreduce.job import Job
from evener.programs.mapreduce.placement import memory_limit
from evener.programs.mapreduce.reducer import Combine
from evener.programs.mapreduce.routers import OwnerRouter
from evener.programs.mapreduce.stages import Stages

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from evener.engine.timeline import Progress, Timeline
    from evener.partition.partitioned import PartitionedGraph
    from evener.programs.arguments import Condition
    from evener.programs.compilation import Operators
    from evener.programs.mapreduce.records import Run

__all__ = ["TwoStages"]


class TwoStages:
    """GIM-V on the elements of a placed graph, one MapReduce job for each iteration.

    Parameters
    ----------
    pg : PartitionedGraph
    operators : Operators
        Checked for the type of `first`.
    first : ndarray of shape (n,)
    identity : number
        The combined message of a vertex without in-edges.
    progress : callable or None
        Called with a `Progress` as each stage begins.

    Attributes
    ----------
    values : list of ndarray
        The value of each owned vertex of each partition.
    """

    def __init__(
        self,
        pg: PartitionedGraph,
        operators: Operators,
        *,
        first: NDArray[Any],
        identity: float,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        stages = Stages(pg, "gimv", progress)
        real = first.dtype.kind == "f"
        message = message_kernel(operators.combine2, real=real, weighted=pg.graph.weight_dtype is not None)
        self._assign = assign_kernel(operators, real=real)
        self._job = Job(
            pg,
            stages,
            map_kernel=message.kernel,
            key_dtype=np.dtype(np.uint32),
            dtypes=[first.dtype],
            router=OwnerRouter(pg),
            reducer=Combine(combine_kernel(operators.combine_all, message.payload, checked=True)),
            memory=memory_limit(None),
        )
        self._pg, self._stages, self._identity = pg, stages, identity
        self._wide = np.float64 if real else np.int64
        self._initial = [first[vertices] for vertices in pg.owned_vertices()]
        self.values = [own.copy() for own in self._initial]

    @property
    def timeline(self) -> Timeline:
        """The time of each stage and element so far."""
        return self._stages.timeline

    def iterate(self, condition: Condition) -> tuple[int, bool | None, float]:
        """Iterate until the condition is met or a value is NaN.

        This is a collective operation; all ranks must call it.

        Returns
        -------
        int, bool or None, float
            The iterations, whether the condition is met, and the sum of all absolute values. A condition
            that is a number of iterations gives None.
        """
        world, n = self._pg.world, self._pg.graph.n
        own = sum(float(np.abs(values.astype(np.float64)).sum()) for values in self.values)
        total, iteration, converged = float(world.allreduce(own, "sum")), 0, n == 0
        while iteration < condition.limit and not converged and not math.isnan(total):
            iteration += 1
            ready, change, total = self._step(total)
            converged = condition.is_met(ready == n, change)
        return iteration, None if condition.fixed else converged, total

    def finish(self) -> float:
        """End the timeline and return the seconds of the run."""
        return self._stages.finish()

    def _step(self, total: float) -> tuple[int, float, float]:
        """Run both stages, and return (converged vertices, sum of changes, sum of absolute values)."""
        rows = self._job.run(self.values)
        totals = [total] * len(rows)
        found = self._stages.run("assign", self._assign_on, range(len(rows)), rows, totals)
        own = tuple(sum(column) for column in zip(*found, strict=True))
        reduced: tuple[int, float, float] = self._pg.world.allreduce(own, "sum")
        return reduced

    def _assign_on(self, p: int, rows: Run, total: float) -> Sequence[Any]:
        partition, values = self._pg.partitions[p], self.values[p]
        message = np.full(len(values), self._identity, self._wide)
        message[rows.keys] = rows.columns[0]
        reduced: Sequence[Any] = self._assign(
            message, partition.out_degree, partition.vertices, self._pg.graph.n, total, self._initial[p],
            values,
        )  # fmt: skip
        return reduced
