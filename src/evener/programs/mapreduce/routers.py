"""Routers: the element that reduces a key, by a hash, by blocks of vertices, or by owners of vertices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from evener.errors import ArgumentError
from evener.partition.blocks import block_bounds
from evener.programs.mapreduce import kernels_cpu as kernels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evener.partition.partitioned import PartitionedGraph
    from evener.programs.mapreduce.records import Mapped
    from evener.system.world import World

__all__ = ["BlockRouter", "HashRouter", "OwnerRouter", "Router"]


class Router(Protocol):
    """Chooses the element of each record.

    Attributes
    ----------
    checks : bool
        Whether keys may be wrong.
    """

    checks: bool

    def choose(
        self,
        p: int,
        keys: NDArray[Any],
        step: np.uint64,
        counts: NDArray[np.uint64],
        chosen: NDArray[np.uint16],
        sizes: NDArray[np.uint64],
    ) -> int:
        """Write the element of each record of partition `p`, and count the records of pieces and elements.

        Returns the number of wrong keys.
        """
        ...

    def check(self, world: World, outside: Sequence[int], mapped: Sequence[Mapped]) -> None:
        """Raise an error on all ranks if keys are wrong. This is a collective operation."""
        ...


class HashRouter:
    """Chooses an element by a hash of the key."""

    checks = False

    def __init__(self, pg: PartitionedGraph) -> None:
        self._elements = np.uint64(len(pg.ranks))

    def choose(self, p: int, keys: Any, step: Any, counts: Any, chosen: Any, sizes: Any) -> int:  # noqa: ARG002 - as the protocol says
        """Choose by a hash of the key."""
        kernels.choose_by_hash(keys, step, counts, self._elements, chosen, sizes)
        return 0

    def check(self, world: World, outside: Sequence[int], mapped: Sequence[Mapped]) -> None:
        """Do nothing: each key has a hash."""


class BlockRouter:
    """Gives each element the keys of a block of vertex numbers; a rank gets the keys of its block."""

    checks = True

    def __init__(self, pg: PartitionedGraph) -> None:
        self._n = pg.graph.n
        ranks = block_bounds(self._n, pg.world.size)
        bounds = [0]
        for rank in range(pg.world.size):
            own = block_bounds(int(ranks[rank + 1] - ranks[rank]), pg.ranks.count(rank))
            bounds += (ranks[rank] + own[1:]).tolist()
        self._bounds = np.array(bounds, np.uint64)

    def choose(self, p: int, keys: Any, step: Any, counts: Any, chosen: Any, sizes: Any) -> int:  # noqa: ARG002 - as the protocol says
        """Choose by the block of the key."""
        return int(kernels.choose_by_block(keys, step, counts, self._bounds, chosen, sizes))

    def check(self, world: World, outside: Sequence[int], mapped: Sequence[Mapped]) -> None:
        """Raise an error if a key is no vertex number."""
        example = None
        if any(outside):
            keys = np.concatenate([piece for own in mapped for piece in own.pieces()])
            example = int(keys[(keys < 0) | (keys >= self._n)][0])
        first = next((one for one in world.allgather(example) if one is not None), None)
        if first is not None:
            msg = (
                f'map: expected vertex numbers from 0 to {self._n - 1} as keys of owner="block", found '
                f'{first}; use owner="hash" for other keys'
            )
            raise ArgumentError(msg)


class OwnerRouter:
    """Sends a record to the owner of the vertex that is its key.

    A mapped key is a local number of the partition. The copied key is the owner's local number.
    """

    checks = False

    def __init__(self, pg: PartitionedGraph) -> None:
        self._tables = [] if len(pg.ranks) == 1 else [_owners(pg, p) for p in range(len(pg.partitions))]

    def choose(self, p: int, keys: Any, step: Any, counts: Any, chosen: Any, sizes: Any) -> int:
        """Choose the owner of the vertex."""
        kernels.choose_by_table(keys, step, counts, *self._tables[p], chosen, sizes)
        return 0

    def check(self, world: World, outside: Sequence[int], mapped: Sequence[Mapped]) -> None:
        """Do nothing: each vertex has an owner."""


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
