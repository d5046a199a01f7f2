"""Agreement: errors that all ranks raise, and values that must be equal on all ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from evener.errors import EvenerError, MpiError

if TYPE_CHECKING:
    from collections.abc import Callable

    from evener.system.world import World

    T = TypeVar("T")

__all__ = ["check_equal", "on_all_ranks"]


def check_equal(world: World, operation: str, **arguments: object) -> None:
    """Raise an error on all ranks unless they call an operation with equal arguments.

    This is a collective operation; all ranks must call it.
    """
    of_ranks = world.allgather(arguments)
    for name, first in of_ranks[0].items():
        for rank, others in enumerate(of_ranks):
            if repr(others[name]) != repr(first):  # NaN differs from itself
                msg = (
                    f"{operation}: expected the same {name} on all ranks, found {first!r} on rank 0 and "
                    f"{others[name]!r} on rank {rank}; give all ranks the same graph and arguments"
                )
                raise MpiError(msg)


def on_all_ranks(world: World, function: Callable[[], T]) -> T:
    """Call a function, and return its value unless it fails on a rank.

    This is a collective operation; all ranks must call it. The function contains no collective operation.

    Raises
    ------
    EvenerError
        On all ranks, the error of the lowest rank whose call failed.
    """
    error: EvenerError | None = None
    try:
        value = function()
    except EvenerError as own:
        error = own
    first = next((one for one in world.allgather(error) if one is not None), None)
    if first is not None:
        raise first
    return value
