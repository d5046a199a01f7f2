"""The copy stage: records go to the elements that reduce them, between ranks and between elements."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.elements.protocols import copy_between
from evener.programs.mapreduce.records import SortedRun
from evener.system.memory import require_for_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evener.elements import Element
    from evener.partition.partitioned import PartitionedGraph
    from evener.programs.mapreduce.records import Grouped
    from evener.programs.mapreduce.stages import Stages
    from evener.programs.mapreduce.worker import Worker

    # The keys and the columns of some records.
    Part = list[NDArray[Any]]

__all__ = ["Copy"]


class Copy:
    """Sends records to the elements that reduce them, given the worker of each element of this rank.

    This is a collective operation; all ranks must call it, and its methods.
    """

    def __init__(self, pg: PartitionedGraph, stages: Stages, workers: Sequence[Worker]) -> None:
        self._pg, self._stages, self._workers, self._world = pg, stages, workers, pg.world
        # The elements of rank r are bounds[r]:bounds[r + 1].
        self._bounds = np.searchsorted(pg.ranks, range(pg.world.size + 1)).tolist()
        self._first = self._bounds[pg.world.rank]
        self._on_gpus = bool(pg.world.allreduce(any(not one.addressable for one in pg.elements), "max"))

    def download(self, runs: Sequence[SortedRun]) -> list[SortedRun]:
        """Return the run of each element on the host; those of CPUs are not copied.

        This is a collective operation; all ranks must call it.
        """
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

        This is a collective operation; all ranks must call it.

        Parameters
        ----------
        grouped : sequence of Grouped
            The records from each element of this rank, in its memory.

        Raises
        ------
        OutOfMemoryError
            If a rank has no memory for the records that its CPUs receive.
        """
        if len(self._pg.ranks) == 1:
            return [[grouped[0].keys, *grouped[0].columns]]
        elements = self._pg.elements
        parts = [[own.part(element) for element in range(len(self._pg.ranks))] for own in grouped]
        if self._on_gpus:
            self._stages.receive(lambda place: self._to_host(place, parts[place]), range(len(parts)))
        remote = self._exchange(parts) if self._world.size > 1 else []
        received: list[Any] = [None] * len(grouped)

        def receive(place: int) -> list[tuple[int, int]]:
            local = [own[self._first + place] for own in parts]
            given = [*local, *(own[place] for own in remote)]
            if elements[place].addressable:
                require_for_run(sum(map(_nbytes, given)), "receiving the records of a MapReduce job")
            elements[place].begin_round()
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
            sent = [] if rank == self._world.rank else [part for own in parts for part in own[first:end]]
            sizes.append(np.array([len(part[0]) for part in sent], np.int64))
            arrays.append(
                [one[0] if len(one) == 1 else np.concatenate(one) for one in zip(*sent, strict=True)]
                or [np.empty(0, array.dtype) for array in parts[0][0]]
            )
        first, end = self._bounds[self._world.rank : self._world.rank + 2]
        nbytes = [sum(map(_nbytes, [*own[:first], *own[end:]])) for own in parts]
        counts, *columns = self._stages.alltoall([sizes, *zip(*arrays, strict=True)], nbytes)
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
