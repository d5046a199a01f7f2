"""World: the ranks that run one algorithm together."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Literal, Protocol

from evener.system.mpi import launched_rank, mpi_world

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Operation = Literal["sum", "min", "max"]

__all__ = ["SingleProcess", "World", "current_world", "enter_world", "prints"]


class World(Protocol):
    """The processes (ranks) that run one algorithm together.

    `allreduce`, `allgather`, `alltoall` and `barrier` are collective operations: every rank must call the
    same operations in the same order.

    Attributes
    ----------
    rank : int
        The number of this process, from 0.
    size : int
        The number of processes.
    host : str
        The name of this rank's machine.
    local_rank : int
        The number of this rank among the ranks of its machine.
    recovery : str
        How a user continues after the loss of a rank; empty if the job must begin again.
    sends_gpu_memory : bool
        Whether `post` and `expect` take arrays in GPU memory.
    calls : int
        The collective calls that ranks have compared so far.
    made : int
        The objects that ranks have numbered in the last of these calls: see `call_number`.
    """

    rank: int
    size: int
    host: str
    local_rank: int
    recovery: str
    sends_gpu_memory: bool
    calls: int
    made: int

    def allreduce(self, value: Any, operation: Operation) -> Any:
        """Return the values of all ranks, reduced.

        This is a collective operation; all ranks must call it.

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

        This is a collective operation; all ranks must call it. The values can be any objects that
        `pickle` accepts.
        """
        ...

    def alltoall(self, arrays: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        """Send one array to each rank, and return the array that each rank sent here.

        This is a collective operation; all ranks must call it.

        Parameters
        ----------
        arrays : sequence of ndarray
            The array for each rank, in the order of ranks; one-dimensional and contiguous. All arrays of all
            ranks have the same dtype, and any length.

        Returns
        -------
        list of ndarray
            In the order of ranks. The array for this rank itself is not copied.
        """
        ...

    def barrier(self) -> None:
        """Wait until every rank has called this method.

        This is a collective operation; all ranks must call it.
        """
        ...

    def post(self, rank: int, tag: int, array: NDArray[Any]) -> Any:
        """Begin to send an array to another rank, and return what `wait` needs.

        Do not change the array until `wait` returns.
        """
        ...

    def expect(self, rank: int, tag: int, array: NDArray[Any]) -> Any:
        """Begin to receive an array that another rank posts with this tag, and return what `wait` needs.

        Arrays arrive in the order in which they were posted. The posted array may be shorter than `array`.
        """
        ...

    def wait(self, messages: list[Any]) -> None:
        """Wait until posted arrays may change, and expected arrays have arrived."""
        ...

    def end_unless_all_fail(self, error: BaseException) -> None:
        """Return if all ranks have failed in the current collective call; else end all ranks."""
        ...

    def end(self, sentence: str) -> None:
        """End all ranks, with a sentence about the failure. Any thread may call this."""
        ...


class SingleProcess:
    """The world of a single process. Every operation returns at once."""

    rank = 0
    size = 1
    host = "this machine"
    local_rank = 0
    recovery = ""
    sends_gpu_memory = False
    calls = made = 0

    def allreduce(self, value: Any, operation: Operation) -> Any:  # noqa: ARG002 - one value needs none
        """Return the value."""
        return value

    def allgather(self, value: Any) -> list[Any]:
        """Return a list of the value."""
        return [value]

    def alltoall(self, arrays: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        """Return a list of the only array."""
        return list(arrays)

    def barrier(self) -> None:
        """Do nothing."""

    def post(self, rank: int, tag: int, array: NDArray[Any]) -> Any:
        """Raise an error: there is no other rank."""
        raise NotImplementedError

    def expect(self, rank: int, tag: int, array: NDArray[Any]) -> Any:
        """Raise an error: there is no other rank."""
        raise NotImplementedError

    def wait(self, messages: list[Any]) -> None:
        """Do nothing."""

    def end_unless_all_fail(self, error: BaseException) -> None:
        """Return: no other rank waits for this rank."""

    def end(self, sentence: str) -> None:
        """Raise an error: there is no other rank."""
        raise NotImplementedError


_SINGLE_PROCESS = SingleProcess()
# The world of this thread, if it is another one than that of the process.
_entered: ContextVar[World | None] = ContextVar("world", default=None)


def current_world() -> World:
    """Return the ranks that this process was started with by an MPI launcher; else a single process.

    Raises
    ------
    MpiError
        If the process was started as one of several ranks, and MPI cannot be used.
    """
    return _entered.get() or mpi_world() or _SINGLE_PROCESS


def prints() -> bool:
    """Return whether this process prints: rank 0 does."""
    world = _entered.get()
    return (launched_rank() if world is None else world.rank) == 0


def enter_world(world: World) -> None:
    """Use another world in this thread, for tests that run ranks as threads."""
    _entered.set(world)
