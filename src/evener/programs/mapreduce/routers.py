"""Routers: the element that reduces a key, by a hash, by blocks of vertices, or by owners of vertices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.errors import ArgumentError
from evener.partition.block_exchange import block_bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from evener.partition.partitioned import PartitionedGraph
    from evener.system.world import World

__all__ = ["Router", "by_block", "by_hash", "by_owner", "check_keys"]


class Router(NamedTuple):
    """How the element of each record is chosen."""

    kernel: str  # of ``kernels_cpu.py`` or of ``programs/mapreduce_shuffle.cu``
    arguments: Sequence[Sequence[Any]]  # of the kernel for each element of this rank: numbers, host arrays
    keys: int | None = None  # the number of keys, from 0 on; None if all integers are keys


def by_hash(pg: PartitionedGraph) -> Router:
    """Choose an element by a hash of the key."""
    return Router("choose_by_hash", [(np.uint64(len(pg.ranks)),)] * len(pg.elements))


def by_block(pg: PartitionedGraph) -> Router:
    """Give each element the keys of a block of vertex numbers; a rank gets the keys of its block."""
    ranks = block_bounds(pg.graph.n, pg.world.size)
    bounds = [0]
    for rank in range(pg.world.size):
        of_rank = block_bounds(int(ranks[rank + 1] - ranks[rank]), pg.ranks.count(rank))
        bounds += (ranks[rank] + of_rank[1:]).tolist()
    return Router("choose_by_block", [(np.array(bounds, np.uint64),)] * len(pg.elements), pg.graph.n)


def by_owner(pg: PartitionedGraph) -> Router:
    """Send a record to the owner of the vertex that is its key.

    A mapped key is a local number of the partition. The copied key is the owner's local number. A single
    element chooses no owners, because each edge gives a record.
    """
    places = range(len(pg.partitions) if len(pg.ranks) > 1 else 0)
    return Router("choose_by_table", [_owners(pg, p) for p in places])


def _owners(pg: PartitionedGraph, p: int) -> tuple[NDArray[np.uint16], NDArray[np.uint32]]:
    """Return the owner of each local vertex, and its local number on the owner."""
    partition = pg.partitions[p]
    element = np.full(len(partition.vertices), partition.index, np.uint16)
    number = np.arange(len(partition.vertices), dtype=np.uint32)
    own = {one.index: at for one, at in zip(pg.partitions, pg.elements, strict=True)}
    for route in pg.routes:
        if route.mirror_partition == partition.index:
            mirrors = slice(route.begin, route.begin + len(route))
            element[mirrors] = route.owner
            # The owner's element has the index, if it is on this rank.
            at = own.get(route.owner)
            number[mirrors] = route.index if at is None else at.download(route.index)
    return element, number


def check_keys(world: World, n: int, outside: Sequence[int], keys: Callable[[], list[NDArray[Any]]]) -> None:
    """Raise an error on all ranks if a key is no vertex number below `n`.

    This is a collective operation; all ranks must call it. `outside` has the number of wrong keys on each
    element of this rank, and `keys` returns the mapped keys.
    """
    example = None
    if any(outside):
        mapped = np.concatenate(keys())
        example = int(mapped[(mapped < 0) | (mapped >= n)][0])
    first = next((one for one in world.allgather(example) if one is not None), None)
    if first is not None:
        msg = (
            f'map: expected vertex numbers from 0 to {n - 1} as keys of owner="block", found '
            f'{first}; use owner="hash" for other keys'
        )
        raise ArgumentError(msg)
