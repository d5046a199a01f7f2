"""The copy stage: records go to the elements that reduce them, between ranks and between elements."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.system.memory import require_for_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evener.elements import Element
    from evener.partition.partitioned import PartitionedGraph
    from evener.programs.mapreduce.records import Grouped
    from evener.programs.mapreduce.stages import Stages

__all__ = ["Copy"]


class Copy:
    """Sends records to the elements of all ranks."""

    def __init__(self, pg: PartitionedGraph, stages: Stages) -> None:
        self._pg, self._stages, self._world = pg, stages, pg.world
        # The elements of rank r are bounds[r]:bounds[r + 1].
        self._bounds = np.searchsorted(pg.ranks, range(pg.world.size + 1)).tolist()
        self._first = self._bounds[pg.world.rank]

    def deliver(self, grouped: Sequence[Grouped]) -> list[tuple[NDArray[Any], list[NDArray[Any]]]]:
        """Return the keys and the columns that each element of this rank receives.

        This is a collective operation; all ranks must call it.
        """
        if len(self._pg.ranks) == 1:
            return [(grouped[0].keys, grouped[0].columns)]
        remote = self._exchange(grouped) if self._world.size > 1 else []
        elements = self._pg.elements
        received: list[Any] = [None] * len(grouped)

        def receive(place: int) -> list[tuple[int, int]]:
            local = [own.cut(self._first + place, self._first + place + 1) for own in grouped]
            parts = [*local, *(own[place] for own in remote)]
            nbytes = sum(array.nbytes for part in parts for array in part)
            require_for_run(nbytes, "receiving the records of a MapReduce job")
            keys, *columns = (_joined(elements[place], arrays) for arrays in zip(*parts, strict=True))
            received[place] = keys, columns
            return [
                (sender, sum(array.nbytes for array in part))
                for sender, part in enumerate(local)
                if sender != place
            ]

        self._stages.receive(receive, range(len(grouped)))
        return received

    def _exchange(self, grouped: Sequence[Grouped]) -> list[list[list[NDArray[Any]]]]:
        """Return the records from each element of other ranks, for each element of this rank."""
        ranks = range(self._world.size)
        sizes: list[NDArray[Any]] = []
        arrays: list[list[NDArray[Any]]] = []
        for rank in ranks:
            first, end = self._bounds[rank : rank + 2]
            if rank == self._world.rank:
                first = end  # these records stay here
            sizes.append(np.concatenate([np.diff(own.bounds[first : end + 1]) for own in grouped]))
            parts = zip(*(own.cut(first, end) for own in grouped), strict=True)
            arrays.append([part[0] if len(part) == 1 else np.concatenate(part) for part in parts])
        sent = [
            sum(array.nbytes for array in own.cut(0, len(self._pg.ranks)))
            - sum(array.nbytes for array in own.cut(*self._bounds[self._world.rank : self._world.rank + 2]))
            for own in grouped
        ]
        counts, *columns = self._stages.alltoall([sizes, *zip(*arrays, strict=True)], sent)
        return [
            part
            for rank in ranks
            if rank != self._world.rank
            for part in _by_element(counts[rank], [column[rank] for column in columns], len(grouped))
        ]


def _joined(element: Element, arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    joined = element.allocate(sum(map(len, arrays)), arrays[0].dtype)
    return np.concatenate(arrays, out=joined)


def _by_element(
    counts: NDArray[np.int64], arrays: list[NDArray[Any]], elements: int
) -> list[list[list[NDArray[Any]]]]:
    """Return the records from each element of a rank, for each element of this rank."""
    bounds = np.append(0, np.cumsum(counts))
    parts = [[array[begin:end] for array in arrays] for begin, end in pairwise(bounds.tolist())]
    return [parts[first : first + elements] for first in range(0, len(parts), elements)]
