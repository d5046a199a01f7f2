"""The contract of a world: a class of tests for each world to inherit.

A subclass runs a function on each rank::

    class TestMyWorld(WorldContract):
        sizes = (1, 2)

        def run(self, size, function):
            return my_launcher.run(size, function)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from evener.system.world import World

__all__ = ["WorldContract"]


class WorldContract:
    """Tests that every world passes.

    Attributes
    ----------
    sizes : tuple of int
        The numbers of ranks to test.
    """

    sizes: tuple[int, ...] = (1,)

    def run(self, size: int, function: Callable[[World], Any]) -> list[Any]:
        """Call a function with the world of each rank; return its values in the order of ranks."""
        raise NotImplementedError

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run every test with each number of ranks."""
        if "size" in metafunc.fixturenames:
            metafunc.parametrize("size", self.sizes)

    def test_ranks_are_numbered(self, size: int) -> None:
        """Each rank knows its number and the number of ranks."""
        assert self.run(size, lambda world: (world.rank, world.size)) == [(r, size) for r in range(size)]

    def test_allreduce_of_numbers(self, size: int) -> None:
        """Every rank gets the sum, minimum or maximum of integers and floats."""

        def reduce(world: World) -> list[Any]:
            value = 10 + world.rank
            return [
                world.allreduce(value, "sum"),
                world.allreduce(value, "min"),
                world.allreduce(value, "max"),
                world.allreduce(value / 2, "sum"),
            ]

        total = sum(range(10, 10 + size))
        assert self.run(size, reduce) == [[total, 10, 9 + size, total / 2]] * size

    def test_allreduce_of_tuples(self, size: int) -> None:
        """Tuples are reduced position by position, and integers beyond 32 bits are exact."""
        large = 1 << 52
        found = self.run(size, lambda world: world.allreduce((world.rank, large, 0.5), "sum"))
        assert found == [(sum(range(size)), large * size, 0.5 * size)] * size

    def test_allgather_keeps_the_order_of_ranks(self, size: int) -> None:
        """Values may be any objects, with different sizes on different ranks."""
        found = self.run(size, lambda world: world.allgather({"rank": world.rank, "list": [0] * world.rank}))
        assert found == [[{"rank": r, "list": [0] * r} for r in range(size)]] * size

    def test_successive_operations_do_not_mix(self, size: int) -> None:
        """Many operations in a row do not mix their values."""

        def run(world: World) -> list[Any]:
            found = []
            for k in range(50):
                found.append(world.allreduce(k * (world.rank + 1), "sum"))
                world.barrier()
                found.append(sum(world.allgather(k)))
            return found

        expected = [value for k in range(50) for value in (k * size * (size + 1) // 2, k * size)]
        assert self.run(size, run) == [expected] * size

    def test_no_rank_passes_a_barrier_alone(self, size: int) -> None:
        """No rank passes a barrier before every rank has reached it."""
        arrived: list[int] = []

        def run(world: World) -> int:
            arrived.append(world.rank)
            world.barrier()
            return len(arrived)

        assert self.run(size, run) == [size] * size

    def test_messages_of_a_tag_arrive_in_order(self, size: int) -> None:
        """Each rank gets the arrays of every other rank by tag, the oldest first."""

        def run(world: World) -> bool:
            others = [rank for rank in range(size) if rank != world.rank]
            sent = [(tag, np.full(9, 100 * world.rank + 10 * tag + k)) for k in range(2) for tag in (0, 1)]
            routes = [(rank, tag, k) for rank in others for tag in (1, 0) for k in range(2)]
            arrays = [np.empty(9 + k, np.int64) for _, _, k in routes]  # at least as long as the message
            expected = [world.expect(*route[:2], array) for route, array in zip(routes, arrays, strict=True)]
            posted = [world.post(rank, tag, array) for rank in others for tag, array in sent]
            world.wait(expected[::-1] + posted)
            pairs = zip(routes, arrays, strict=True)
            return all((array[:9] == 100 * rank + 10 * tag + k).all() for (rank, tag, k), array in pairs)

        assert self.run(size, run) == [True] * size

    def test_alltoall(self, size: int) -> None:
        """Each rank gets one array of each rank; lengths differ, and some are 0."""

        def run(world: World) -> list[list[int]]:
            arrays = [np.full(rank * world.rank, 10 * world.rank + rank) for rank in range(size)]
            return [array.tolist() for array in world.alltoall(arrays)]

        expected = [[[10 * r + rank] * (r * rank) for r in range(size)] for rank in range(size)]
        assert self.run(size, run) == expected
