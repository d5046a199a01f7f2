"""Block exchange: values of vertices, between the ranks that use them and the ranks of their blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.system.world import World

__all__ = ["BlockExchange"]


class BlockExchange:
    """Carries values between this rank, which lists some vertices, and the ranks of their blocks.

    The constructor and all methods are collective operations; all ranks must call them.

    Parameters
    ----------
    world : World
    bounds : ndarray of int64, shape (ranks + 1,)
        The first vertex of each rank's block.
    numbers : ndarray of unsigned integers
        Global numbers of vertices, in any order. Ranks may list different vertices.
    """

    def __init__(self, world: World, bounds: NDArray[np.int64], numbers: NDArray[Any]) -> None:
        rank = np.searchsorted(bounds, numbers, side="right") - 1
        self._world = world
        self._order = np.argsort(rank.astype(np.uint16), kind="stable")  # a radix sort
        self._cuts = np.cumsum(np.bincount(rank, minlength=world.size))[:-1]
        begin, end = bounds[world.rank : world.rank + 2]
        self._length = int(end - begin)
        asked = world.alltoall(np.split(numbers[self._order], self._cuts))
        self._asked_cuts = np.cumsum([len(part) for part in asked])[:-1]
        self._places = np.concatenate(asked).astype(np.int64) - begin

    def fetch(self, block: NDArray[Any]) -> NDArray[Any]:
        """Return the value of each listed vertex, given the values of this rank's block.

        This is a collective operation; all ranks must call it.
        """
        answers = self._world.alltoall(np.split(block[self._places], self._asked_cuts))
        values = np.empty(len(self._order), block.dtype)
        values[self._order] = np.concatenate(answers)
        return values

    def deliver(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the values of this rank's block, given the value of each vertex that this rank lists.

        This is a collective operation; all ranks must call it. The ranks together list each vertex once.
        """
        received = self._world.alltoall(np.split(values[self._order], self._cuts))
        block = np.empty(self._length, values.dtype)
        block[self._places] = np.concatenate(received)
        return block
