"""Group: elements whose kernels wait for each other, such as GPUs that access each other's memory."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from evener.engine.array import PartitionedArray
from evener.errors import DeviceError
from evener.partition.route import upload_route

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evener.elements.protocols import Element, GpuElement
    from evener.engine.exchange.network import Network
    from evener.engine.executor import StepsDone
    from evener.partition.partitioned import PartitionedGraph
    from evener.partition.route import Route

__all__ = ["ElementGroup", "forget_group", "group_of"]

# The first result of a kernel if an element did not answer: GROUP_FAILED in kernels/cuda/group.cuh.
_FAILED = (1 << 32) - 1

# In the place of a route's first vertex; also in kernels/cuda/group.cuh.
_NOT_CONTIGUOUS = (1 << 64) - 1


class ElementGroup:
    """The elements of a partitioned graph, if their kernels wait for each other.

    `launches` is what `Queue.group_with` of the first element returns, or `GpuElement.group_with_ranks`.
    `first` is the number of the first element's partition.

    Attributes
    ----------
    incoming : PartitionedArray
        For each element a table of the mirrors of its vertices: partition, first mirror, count, addresses of
        `Route.index`, `Route.owner_bitmap` and `Route.rank`; uint64.
    mirrored : PartitionedArray
        For each element a table of its mirrors: owner, first mirror, count, first vertex if the owner's
        vertices are contiguous (else 2^64 - 1), words of the bitmap, addresses of
        `Route.owner_bitmap`, `Route.rank` and `Route.index`; uint64.
    """

    def __init__(
        self, elements: Sequence[Element], routes: Sequence[Route], launches: Any, first: int = 0
    ) -> None:
        self._elements = elements
        self._launches = launches
        incoming: list[list[int]] = [[] for _ in elements]
        mirrored: list[list[int]] = [[] for _ in elements]
        own = range(first, first + len(elements))
        # Routes to other ranks, with copies of the owner's lookups here.
        self._copies: list[Route] = []
        for route in routes:
            if route.owner in own:
                incoming[route.owner - first] += [
                    route.mirror_partition, route.begin, len(route), _address(route.index),
                    _address(route.owner_bitmap), _address(route.rank),
                ]  # fmt: skip
            if route.mirror_partition in own:
                here, seen = route.mirror_partition - first, route
                if route.owner not in own:
                    seen = upload_route(route, elements[here])
                    self._copies.append(seen)
                mirrored[here] += [
                    seen.owner, seen.begin, len(seen),
                    _NOT_CONTIGUOUS if seen.first is None else seen.first, len(seen.owner_bitmap),
                    _address(seen.owner_bitmap), _address(seen.rank), _address(seen.index),
                ]  # fmt: skip
        self.incoming = self._upload(incoming)
        self.mirrored = self._upload(mirrored)
        # The last table of addresses, because a run often gets the memory of the one before.
        self._table: list[int] = []
        self._uploaded = self._upload([self._table for _ in elements])

    def addresses(self, arrays: Sequence[PartitionedArray]) -> PartitionedArray:
        """Return a table of the addresses of each array on each element, for kernels of this run.

        This is a collective operation; all ranks must call it.
        """
        table = self._launches.addresses([array.parts for array in arrays])
        if table != self._table:
            self._table, self._uploaded = table, self._upload([table] * len(self._elements))
        return self._uploaded

    def prepare(self, functions: Sequence[Any], args: Sequence[Sequence[Any]]) -> list[Callable[[], Any]]:
        """Return a function for each element that launches its kernel.

        All kernels are loaded first, because loading a kernel may wait for kernels on other elements.
        """
        self._launches.begin_launch()
        return [
            element.run(function.prepare, *own)
            for element, function, own in zip(self._elements, functions, args, strict=True)
        ]

    def results(self, done: Sequence[StepsDone]) -> list[Callable[[], Any]]:
        """Return a function of each element's result, after waiting for all elements.

        Raises
        ------
        DeviceError
            If a kernel waited too long for another element.
        """
        results = [one.result for one in done]
        silent = [
            element.name
            for element, result in zip(self._elements, results, strict=True)
            if (result[0] if isinstance(result, tuple) else result) == _FAILED
        ]
        if silent:
            msg = (
                f"{' and '.join(silent)} got no answer from another GPU of the run in time; another process "
                "may occupy that GPU; check nvidia-smi, and run on free GPUs"
            )
            raise DeviceError(msg)
        return [partial(results.__getitem__, p) for p in range(len(results))]

    def _upload(self, tables: list[list[int]]) -> PartitionedArray:
        return PartitionedArray(
            [
                element.upload(np.array(table, np.uint64))
                for element, table in zip(self._elements, tables, strict=True)
            ]
        )


def group_of(partitioned: PartitionedGraph, network: Network | None) -> ElementGroup | None:
    """Return the group of a graph's elements; None if their kernels cannot wait for each other.

    This is a collective operation; all ranks must call it.
    """
    cache = partitioned.run_cache
    if ElementGroup not in cache:
        elements, routes, first, launches = partitioned.elements, partitioned.routes, 0, None
        if network is None:
            peers = {element.peers for element in elements}
            if len(elements) > 1 and len(peers) == 1 and None not in peers:
                launches = elements[0].group_with(elements)
        elif network.shares_memory:
            first = network.world.rank
            launches = cast("GpuElement", elements[0]).group_with_ranks(network.world)
        cache[ElementGroup] = launches and ElementGroup(elements, routes, launches, first)
    group: ElementGroup | None = cache[ElementGroup]
    return group


def forget_group(partitioned: PartitionedGraph) -> None:
    """Let the next run on a partitioned graph make a new group, after an error."""
    partitioned.run_cache.pop(ElementGroup, None)


def _address(array: Any) -> int:
    return int(array.__cuda_array_interface__["data"][0])
