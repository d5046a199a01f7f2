"""A job: map, copy (hash, communication, transfer), sort and reduce, in chunks of edges.

In each round, every element maps one chunk of its edges. The records go to the element that reduces their
keys. A record is a key and a payload of fixed size, so no sizes or offsets are stored. S13 §III.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from evener.programs.mapreduce.copy import Copy
from evener.programs.mapreduce.runs import Runs
from evener.programs.mapreduce.worker_cpu import CpuWorker
from evener.programs.mapreduce.worker_gpu import GpuWorker

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from evener.partition.partitioned import PartitionedGraph
    from evener.programs.mapreduce.records import Sorted, SortedRun
    from evener.programs.mapreduce.routers import Router
    from evener.programs.mapreduce.stages import Stages
    from evener.programs.mapreduce.worker import JobFunctions, Worker

__all__ = ["MapReduceJob"]

_WORKERS: dict[str, Any] = {"cpu": CpuWorker, "cuda": GpuWorker}


class MapReduceJob:
    """A MapReduce job over the out-edges of a placed graph.

    This is a collective operation; all ranks must call it.

    `functions` has the functions of the job for each kind of element. `memory` is the number of bytes that
    records may use on this rank. `pairs` counts the pairs that the map function returned on this rank, and
    `spilled` the bytes that the rank has written to files.
    """

    def __init__(
        self,
        pg: PartitionedGraph,
        stages: Stages,
        *,
        functions: Mapping[str, JobFunctions],
        router: Router,
        memory: int,
    ) -> None:
        self._pg, self._stages, self._router = pg, stages, router
        self._workers: list[Worker] = [
            _WORKERS[element.kind](pg, place, functions[element.kind], router)
            for place, element in enumerate(pg.elements)
        ]
        self._copy = Copy(pg, stages, self._workers)
        self._memory = memory // 2 // len(self._workers)
        room = min(worker.room(memory, len(pg.ranks)) for worker in self._workers)
        self._chunk = int(pg.world.allreduce(room, "min"))
        rounds = max(-(-worker.edges // self._chunk) for worker in self._workers)
        self._rounds = max(1, int(pg.world.allreduce(rounds, "max")))
        self.pairs = self.spilled = 0

    def run(self, values: Sequence[tuple[NDArray[Any], ...]]) -> list[SortedRun]:
        """Return the rows of each element on the host, sorted by key.

        This is a collective operation; all ranks must call it. `values` has the fields of the vertices of
        each partition on the host; see `Worker`.
        """
        stages, workers = self._stages, self._workers
        for worker, own in zip(workers, values, strict=True):
            worker.values = tuple(map(worker.element.upload, own))
        if self._rounds == 1:
            return self._reduced(0, _rows_of)
        with ExitStack() as stack:
            runs = [Runs(worker, self._chunk, self._memory, stack) for worker in workers]
            for number in range(self._rounds):
                stages.run("merge", Runs.add, runs, self._reduced(number, _run_of))
            rows = stages.run("merge", Runs.rows, runs)
            self.spilled += sum(own.spilled for own in runs)
        return rows

    def _reduced(self, number: int, reduce: Callable[[Worker, Sorted], SortedRun]) -> list[SortedRun]:
        """Return the reduced records of each element on the host, for one round.

        All other records of the round are freed, so that the next round can use their memory.
        """
        return self._copy.download(self._stages.run("reduce", reduce, self._workers, self._sorted(number)))

    def _sorted(self, number: int) -> list[Sorted]:
        """Return the sorted records of each element, for one round."""
        stages, workers = self._stages, self._workers
        begins = [min(number * self._chunk, worker.edges) for worker in workers]
        ends = [min((number + 1) * self._chunk, worker.edges) for worker in workers]
        edges = sum(ends) - sum(begins)
        mapped = stages.run("map", lambda own, *ends: own.map(*ends), workers, begins, ends, edges=edges)
        self.pairs += sum(mapped)
        if len(self._pg.ranks) > 1 or self._router.checks or sum(mapped) < edges:
            outside = stages.run("hash", lambda own: own.choose(), workers)
            self._router.check(stages.world, outside, lambda: [own.mapped_keys() for own in workers])
            grouped = stages.run("hash", lambda own: own.group(), workers)
        else:
            grouped = [own.take_all() for own in workers]
        received = self._copy.deliver(grouped)
        del grouped
        return stages.run("sort", lambda own, given: own.sort(given[0], given[1:]), workers, received)


def _run_of(worker: Worker, found: Sorted) -> SortedRun:
    return worker.reducer.run_of(worker.element, found)


def _rows_of(worker: Worker, found: Sorted) -> SortedRun:
    return worker.reducer.rows_of(worker.element, _run_of(worker, found))
