"""A job: map, copy (hash, communication, transfer), sort and reduce, in chunks of edges.

In each round, every element maps one chunk of its edges. The records go to the element that reduces their
keys. A record is a key and a payload of fixed size, so no sizes or offsets are stored. S13 §III.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.elements.protocols import copy_between
from evener.partition.partitioned import PartitionedGraph
from evener.programs.mapreduce.records import SortedRun
from evener.programs.mapreduce.routers import check_keys
from evener.programs.mapreduce.runs import Runs
from evener.programs.mapreduce.worker import worker_on
from evener.spec.algorithm import AlgorithmSpec, StateBytes, Traffic
from evener.system.agreement import on_all_ranks
from evener.system.memory import available, parse_bytes, require_for_run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from evener.elements import Element
    from evener.programs.mapreduce.records import Grouped, Sorted
    from evener.programs.mapreduce.routers import Router
    from evener.programs.mapreduce.stages import Stages
    from evener.programs.mapreduce.worker import JobFunctions, JobWorker
    from evener.spec.run import Run
    from evener.system.world import World

    # The keys and the columns of some records.
    Part = list[NDArray[Any]]

__all__ = ["SPEC", "MapReduceJob", "memory_limit", "place"]

SPEC = AlgorithmSpec(
    name="mapreduce",
    summary="Key-value jobs over edges with functions of the user.",
    run="evener.programs.mapreduce.mapreduce:mapreduce",
    columns=(),
    directions="out",
    reads_every_edge=True,
    # On a GPU: a value, and the records of as many edges as there are vertices, while they are sorted.
    state=StateBytes(8 + 120, 8),
    host_state=StateBytes(0, 0),
    traffic=Traffic(pushed=0.0, pulled=0.0),
    unit="a job",
)
# The work that an error names if there is no memory for the records of other ranks and CPUs.
_RECEIVING = "receiving the records of a MapReduce job"
# The share of the available memory that records may use.
_MEMORY_SHARE = 0.5


def place(run: Run) -> PartitionedGraph:
    """Return the graph on elements for MapReduce; the default is all cores.

    This is a collective operation; all ranks must call it.
    """
    run.placement = replace(run.placement, directions=SPEC.directions)
    if not isinstance(run.given, PartitionedGraph) and run.placement.on is None:
        run.placement = replace(run.placement, on=("cpu",))
    return run.place(SPEC)


def memory_limit(memory: str | int | None, world: World) -> int:
    """Return the bytes that records may use on this rank; by default, half of the available memory.

    The ranks of a machine divide its memory. This is a collective operation; all ranks must call it.
    """
    here = world.allgather(world.host).count(world.host)
    if memory is None:
        memory = int(_MEMORY_SHARE * available()) // here
    return on_all_ranks(world, lambda: parse_bytes(memory, "memory"))


class MapReduceJob:
    """A MapReduce job over the out-edges of a placed graph.

    This is a collective operation; all ranks must call it.

    `memory` is the number of bytes that records may use on this rank. `pairs` counts the pairs that the map
    function returned on this rank, and `spilled` the bytes that the rank has written to files.
    """

    def __init__(
        self,
        pg: PartitionedGraph,
        stages: Stages,
        *,
        functions: JobFunctions,
        router: Router,
        memory: int,
    ) -> None:
        self._pg, self._stages, self._router = pg, stages, router
        self._workers = [worker_on(pg, place, functions) for place in range(len(pg.elements))]
        self._copy = _Copy(pg, stages, self._workers)
        self._memory = memory // 2 // len(self._workers)
        capacity = min(worker.capacity(memory) for worker in self._workers)
        self._chunk = int(pg.world.allreduce(capacity, "min"))
        rounds = max(-(-worker.edges // self._chunk) for worker in self._workers)
        self._rounds = max(1, int(pg.world.allreduce(rounds, "max")))
        self.pairs = self.spilled = 0

    def run(self, values: Sequence[tuple[NDArray[Any], ...]]) -> list[SortedRun]:
        """Return the rows of each element on the host, sorted by key.

        This is a collective operation; all ranks must call it. `values` has the fields of the vertices of
        each partition on the host; see `Worker`.
        """
        stages, workers = self._stages, self._workers
        for worker, fields in zip(workers, values, strict=True):
            worker.values = tuple(map(worker.element.upload, fields))
        if self._rounds == 1:
            return self._reduced(0, _rows_of)
        with ExitStack() as stack:
            runs = [Runs(worker, self._chunk, self._memory, stack) for worker in workers]
            for number in range(self._rounds):
                stages.run("merge", Runs.add, runs, self._reduced(number, _run_of))
            rows = stages.run("merge", Runs.rows, runs)
            self.spilled += sum(element_runs.spilled for element_runs in runs)
        return rows

    def _reduced(self, number: int, reduce: Callable[[JobWorker, Sorted], SortedRun]) -> list[SortedRun]:
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
        mapped = stages.run("map", lambda worker, *at: worker.map(*at), workers, begins, ends, edges=edges)
        self.pairs += sum(mapped)
        keys = self._router.keys
        if len(self._pg.ranks) > 1 or keys is not None or sum(mapped) < edges:
            outside = stages.run("hash", lambda worker: worker.choose(self._router), workers)
            if keys is not None:
                check_keys(stages.world, keys, outside, lambda: [worker.mapped_keys() for worker in workers])
            grouped = stages.run("hash", lambda worker: worker.group(), workers)
        else:
            grouped = [worker.take_all() for worker in workers]
        received = self._copy.deliver(grouped)
        del grouped
        return stages.run("sort", lambda worker, given: worker.sort(given[0], given[1:]), workers, received)


def _run_of(worker: JobWorker, found: Sorted) -> SortedRun:
    return worker.reducer.run_of(worker.element, found)


def _rows_of(worker: JobWorker, found: Sorted) -> SortedRun:
    return worker.reducer.rows_of(worker.element, _run_of(worker, found))


class _Copy:
    """Sends records to the elements that reduce them, between ranks and between elements.

    This is a collective operation; all ranks must call it, and its methods.
    """

    def __init__(self, pg: PartitionedGraph, stages: Stages, workers: Sequence[JobWorker]) -> None:
        self._pg, self._stages, self._workers, self._world = pg, stages, workers, pg.world
        # The elements of rank r are bounds[r]:bounds[r + 1].
        self._bounds = np.searchsorted(pg.ranks, range(pg.world.size + 1)).tolist()
        self._first = self._bounds[pg.world.rank]
        on_gpus = not all(element.addressable for element in pg.elements)
        self._on_gpus = bool(pg.world.allreduce(on_gpus, "max"))

    def download(self, runs: Sequence[SortedRun]) -> list[SortedRun]:
        """Return the run of each element on the host; those of CPUs are not copied."""
        downloaded = list(runs)
        if not self._on_gpus:
            return downloaded

        def to_host(place: int) -> list[tuple[int, int]]:
            element, run = self._pg.elements[place], runs[place]
            if element.addressable:
                return []
            downloaded[place] = SortedRun(
                element.download(run.keys), [element.download(column) for column in run.columns]
            )
            return [(place, run.nbytes)]

        self._stages.receive(to_host, range(len(downloaded)))
        return downloaded

    def deliver(self, grouped: Sequence[Grouped]) -> list[Part]:
        """Return the keys and the columns that each element of this rank receives, in its memory.

        `grouped` has the records from each element of this rank. An OutOfMemoryError is raised if a rank has
        no memory for the records of other ranks, or for those that its CPUs receive.
        """
        if len(self._pg.ranks) == 1:
            return [[grouped[0].keys, *grouped[0].columns]]
        elements = self._pg.elements
        parts = [[records.part(element) for element in range(len(self._pg.ranks))] for records in grouped]
        if self._on_gpus:
            self._stages.receive(lambda place: self._to_host(place, parts[place]), range(len(parts)))
        remote = self._exchange(parts) if self._world.size > 1 else []
        received: list[Any] = [None] * len(grouped)

        def receive(place: int) -> list[tuple[int, int]]:
            local = [sent_parts[self._first + place] for sent_parts in parts]
            given = [*local, *(sent_parts[place] for sent_parts in remote)]
            if elements[place].addressable:
                require_for_run(sum(map(_nbytes, given)), _RECEIVING)
            senders = [*elements, *([None] * len(remote))]
            here = [_moved(elements[place], *pair) for pair in zip(senders, given, strict=True)]
            received[place] = self._workers[place].join(here)
            return [(sender, _nbytes(part)) for sender, part in enumerate(local) if sender != place]

        self._stages.receive(receive, range(len(grouped)))
        return received

    def _to_host(self, place: int, parts: list[Part]) -> list[tuple[int, int]]:
        """Download the records of a GPU for all elements except the GPUs of this rank."""
        elements, nbytes = self._pg.elements, 0
        if elements[place].addressable:
            return []
        for target, part in enumerate(parts):
            near = target - self._first
            if not (0 <= near < len(elements)) or elements[near].addressable:
                parts[target] = [elements[place].download(array) for array in part]
                nbytes += _nbytes(part)
        return [(place, nbytes)]

    def _exchange(self, parts: Sequence[Sequence[Part]]) -> list[list[Part]]:
        """Return the records from each element of other ranks, for each element of this rank."""
        ranks = range(self._world.size)
        sizes: list[NDArray[Any]] = []
        arrays: list[Part] = []
        for rank in ranks:
            first, end = self._bounds[rank : rank + 2]
            sent = (
                []
                if rank == self._world.rank
                else [part for sent_parts in parts for part in sent_parts[first:end]]
            )
            sizes.append(np.array([len(part[0]) for part in sent], np.int64))
            arrays.append(
                [
                    arrays_of_parts[0] if len(arrays_of_parts) == 1 else np.concatenate(arrays_of_parts)
                    for arrays_of_parts in zip(*sent, strict=True)
                ]
                or [np.empty(0, array.dtype) for array in parts[0][0]]
            )
        first, end = self._bounds[self._world.rank : self._world.rank + 2]
        nbytes = [sum(map(_nbytes, [*sent_parts[:first], *sent_parts[end:]])) for sent_parts in parts]
        counts = self._world.alltoall(sizes)
        record_bytes = sum(array.itemsize for array in parts[0][0])
        received = record_bytes * sum(int(of_rank.sum()) for of_rank in counts)
        on_all_ranks(self._world, lambda: require_for_run(received, _RECEIVING))
        columns = self._stages.alltoall(list(zip(*arrays, strict=True)), nbytes)
        return [
            part
            for rank in ranks
            if rank != self._world.rank
            for part in _by_element(counts[rank], [column[rank] for column in columns], len(parts))
        ]


def _moved(element: Element, sender: Element | None, part: Part) -> Part:
    """Return records in the memory of an element, given those of another element or of another rank."""
    if element.addressable or sender is element:
        return part
    if sender is None or sender.addressable:
        return [element.upload(array) for array in part]
    moved = []
    for array in part:
        target = element.allocate(len(array), array.dtype, exchanged=True)
        element.wait_for(copy_between(sender, element, array, target))
        moved.append(target)
    return moved


def _nbytes(part: Part) -> int:
    return sum(array.nbytes for array in part)


def _by_element(counts: NDArray[np.int64], arrays: Part, elements: int) -> list[list[Part]]:
    """Return the records from each element of a rank, for each element of this rank."""
    bounds = np.append(0, np.cumsum(counts))
    parts = [[array[begin:end] for array in arrays] for begin, end in pairwise(bounds.tolist())]
    return [parts[first : first + elements] for first in range(0, len(parts), elements)]
