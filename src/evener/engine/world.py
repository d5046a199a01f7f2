"""World: the ranks that run one algorithm together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NoReturn, Protocol

if TYPE_CHECKING:
    Operation = Literal["sum", "min", "max"]

__all__ = ["SingleProcess", "World"]


class World(Protocol):
    """The processes (ranks) that run one algorithm together.

    `allreduce`, `allgather` and `barrier` are collective operations: every rank must call the same operations
    in the same order.

    Attributes
    ----------
    rank : int
        The number of this process, from 0.
    size : int
        The number of processes.
    """

    rank: int
    size: int

    def allreduce(self, value: Any, operation: Operation) -> Any:
        """Return the values of all ranks, reduced.

        This is a collective operation and must be called by all ranks.

        Parameters
        ----------
        value : number or tuple of numbers
            Tuples have the same length on every rank and are reduced position by position.
        operation : {"sum", "min", "max"}

        Returns
        -------
        number or tuple of numbers
            The same on every rank.
        """
        ...

    def allgather(self, value: Any) -> list[Any]:
        """Return the values of all ranks, in the order of ranks.

        This is a collective operation and must be called by all ranks. The values can be any objects that
        `pickle` accepts.
        """
        ...

    def barrier(self) -> None:
        """Wait until every rank has called this method. This is a collective operation."""
        ...

    def abort(self, error: BaseException) -> NoReturn:
        """End the run on all ranks because of an error on this rank, and raise it here."""
        ...


class SingleProcess:
    """The world of a single process. Every operation returns at once."""

    rank = 0
    size = 1

    def allreduce(self, value: Any, operation: Operation) -> Any:  # noqa: ARG002 - one value needs none
        """Return the value."""
        return value

    def allgather(self, value: Any) -> list[Any]:
        """Return a list of the value."""
        return [value]

    def barrier(self) -> None:
        """Do nothing."""

    def abort(self, error: BaseException) -> NoReturn:
        """Raise the error."""
        raise error
