"""Routers: the element that reduces a key, by a hash, by blocks of vertices, or by owners of vertices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError
from evener.partition.block_exchange import block_bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from evener.partition.partitioned import PartitionedGraph
    from evener.system.world import World

__all__ = ["BlockRouter", "HashRouter", "OwnerRouter", "Router"]


class Router:
    """Chooses the element of each record."""

    # The kernel that chooses, of ``kernels_cpu.py`` or of ``programs/mapreduce_shuffle.cu``.
    kernel: str
    # Whether keys may be wrong.
    checks = False

    def arguments(self, place: int) -> Sequence[Any]:
        """Return the arguments of the kernel for an element of this rank: numbers and host arrays."""
        raise NotImplementedError

    def check(self, world: World, outside: Sequence[int], keys: Callable[[], list[NDArray[Any]]]) -> None:
        """Raise an error on all ranks if keys are wrong.

        This is a collective operation; all ranks must call it. `outside` has the number of wrong keys on each
        element of this rank, and `keys` returns the mapped keys.
        """


class HashRouter(Router):
    """Chooses an element by a hash of the key."""

    kernel = "choose_by_hash"

    def __init__(self, pg: PartitionedGraph) -> None:
        self._elements = np.uint64(len(pg.ranks))

    def arguments(self, place: int) -> Sequence[Any]:  # noqa: ARG002 - equal for all elements
        """Return the number of elements."""
        return (self._elements,)


class BlockRouter(Router):
    """Gives each element the keys of a block of vertex numbers; a rank gets the keys of its block."""

    kernel = "choose_by_block"
    checks = True

    def __init__(self, pg: PartitionedGraph) -> None:
        self._n = pg.graph.n
        ranks = block_bounds(self._n, pg.world.size)
        bounds = [0]
        for rank in range(pg.world.size):
            own = block_bounds(int(ranks[rank + 1] - ranks[rank]), pg.ranks.count(rank))
            bounds += (ranks[rank] + own[1:]).tolist()
        self._bounds = np.array(bounds, np.uint64)

    def arguments(self, place: int) -> Sequence[Any]:  # noqa: ARG002 - equal for all elements
        """Return the bounds of the blocks."""
        return (self._bounds,)

    def check(self, world: World, outside: Sequence[int], keys: Callable[[], list[NDArray[Any]]]) -> None:
        """Raise an error if a key is no vertex number."""
        example = None
        if any(outside):
            mapped = np.concatenate(keys())
            example = int(mapped[(mapped < 0) | (mapped >= self._n)][0])
        first = next((one for one in world.allgather(example) if one is not None), None)
        if first is not None:
            msg = (
                f'map: expected vertex numbers from 0 to {self._n - 1} as keys of owner="block", found '
                f'{first}; use owner="hash" for other keys'
            )
            raise ArgumentError(msg)


class OwnerRouter(Router):
    """Sends a record to the owner of the vertex that is its key.

    A mapped key is a local number of the partition. The copied key is the owner's local number.
    """

    kernel = "choose_by_table"

    def __init__(self, pg: PartitionedGraph) -> None:
        self._tables = [] if len(pg.ranks) == 1 else [_owners(pg, p) for p in range(len(pg.partitions))]

    def arguments(self, place: int) -> Sequence[Any]:
        """Return the owner and the number of each local vertex."""
        return self._tables[place]


def _owners(pg: PartitionedGraph, p: int) -> tuple[NDArray[np.uint16], NDArray[np.uint32]]:
    """Return the owner of each local vertex, and its local number on the owner."""
    partition = pg.partitions[p]
    element = np.full(len(partition.vertices), partition.index, np.uint16)
    number = np.arange(len(partition.vertices), dtype=np.uint32)
    for owner, begin, end in zip(
        range(len(pg.ranks)), partition.mirror_bounds[:-1], partition.mirror_bounds[1:], strict=True
    ):
        element[begin:end] = owner
    number[partition.owned :] = pg.mirror_numbers(partition)
    return element, number
