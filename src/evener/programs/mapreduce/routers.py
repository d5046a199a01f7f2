"""Routers: the element that reduces a key, by a hash or by blocks of vertices."""

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

__all__ = ["Router", "by_block", "by_hash", "check_keys"]


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
