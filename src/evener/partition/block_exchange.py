"""Block exchange: values of vertices, between the ranks that use them and the ranks of their blocks.

A block is the consecutive vertices whose values a rank holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from evener.system.world import World

__all__ = ["BlockExchange", "block_bounds", "combine_in_rounds", "fetch_in_rounds"]

# Vertices that all ranks together ask one rank for, in one round.
_PER_ROUND = 1 << 20


def block_bounds(n: int, size: int) -> NDArray[np.int64]:
    """Return the bounds of the vertices of each rank, shape (size + 1,).

    Rank ``r`` has the vertices ``bounds[r]:bounds[r + 1]``. Blocks differ by at most one vertex.
    """
    return np.array([n * rank // size for rank in range(size + 1)], dtype=np.int64)


class BlockExchange:
    """Carries values between this rank, which lists some vertices, and the ranks of their blocks.

    The constructor and all methods are collective operations; all ranks must call them. `bounds` are those of
    the blocks, and `numbers` the global numbers of the listed vertices, in any order. `order` sorts the
    listed vertices by rank, and `cuts` are the bounds of ranks in this order.
    """

    def __init__(self, world: World, bounds: NDArray[np.int64], numbers: NDArray[Any]) -> None:
        rank = np.searchsorted(bounds, numbers, side="right") - 1
        self._world = world
        self.order = np.argsort(rank.astype(np.uint16), kind="stable")  # a radix sort
        self.cuts = np.cumsum(np.bincount(rank, minlength=world.size))[:-1]
        begin, end = bounds[world.rank : world.rank + 2]
        self._length = int(end - begin)
        asked = world.alltoall(np.split(numbers[self.order], self.cuts))
        self._asked_cuts = np.cumsum([len(part) for part in asked])[:-1]
        self._places = np.concatenate(asked).astype(np.int64) - begin

    @property
    def places(self) -> list[NDArray[np.uint32]]:
        """The places in this rank's block of the vertices that each rank lists."""
        return np.split(self._places.astype(np.uint32), self._asked_cuts)

    def lists_each_once(self) -> bool:
        """Return whether the ranks together list each vertex of this rank's block once."""
        return bool((np.bincount(self._places, minlength=self._length) == 1).all())

    def fetch(self, block: NDArray[Any]) -> NDArray[Any]:
        """Return the value of each listed vertex, given the values of this rank's block.

        This is a collective operation; all ranks must call it.
        """
        answers = self._world.alltoall(np.split(block[self._places], self._asked_cuts))
        values = np.empty(len(self.order), block.dtype)
        values[self.order] = np.concatenate(answers)
        return values

    def send(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the values that all ranks have for vertices of this rank's block, given those of this rank.

        This is a collective operation; all ranks must call it.
        """
        return np.concatenate(self._world.alltoall(np.split(values[self.order], self.cuts)))

    def combine(self, values: NDArray[Any], block: NDArray[Any], operation: np.ufunc) -> None:
        """Combine the values of this rank's block with a value for each vertex that a rank lists.

        This is a collective operation; all ranks must call it. Several ranks may list the same vertex.
        """
        operation.at(block, self._places, self.send(values))

    def deliver(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the values of this rank's block, given the value of each vertex that this rank lists.

        This is a collective operation; all ranks must call it. The ranks together list each vertex once.
        """
        block = np.empty(self._length, values.dtype)
        block[self._places] = self.send(values)
        return block


def fetch_in_rounds(
    world: World, bounds: NDArray[np.int64], numbers: NDArray[Any], blocks: Sequence[NDArray[Any]]
) -> list[NDArray[Any]]:
    """Return the values of vertices in several blocks of values; a round carries some of the vertices.

    This is a collective operation; all ranks must call it. The arguments are as for `BlockExchange` and its
    method `fetch`. A rank whose block has many of the vertices needs memory for one round only.
    """
    found = [np.empty(len(numbers), block.dtype) for block in blocks]
    for own, exchange in _rounds(world, bounds, numbers):
        for values, block in zip(found, blocks, strict=True):
            values[own] = exchange.fetch(block)
    return found


def combine_in_rounds(
    world: World,
    bounds: NDArray[np.int64],
    numbers: NDArray[Any],
    values: NDArray[Any],
    block: NDArray[Any],
    operation: np.ufunc,
) -> None:
    """Combine the values of this rank's block with values of vertices, as `BlockExchange.combine` in rounds.

    This is a collective operation; all ranks must call it.
    """
    for own, exchange in _rounds(world, bounds, numbers):
        exchange.combine(values[own], block, operation)


def _rounds(
    world: World, bounds: NDArray[np.int64], numbers: NDArray[Any]
) -> Iterator[tuple[slice, BlockExchange]]:
    """Yield the vertices of each round, and their exchange. All ranks must exhaust the iterator."""
    rounds = world.allreduce(-(-len(numbers) * world.size // _PER_ROUND), "max")
    for start in range(rounds):
        # Each round takes vertices of all blocks, so that all ranks have work.
        own = slice(start, None, rounds)
        yield own, BlockExchange(world, bounds, numbers[own])
