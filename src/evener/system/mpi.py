"""The ranks of an MPI job, through mpi4py."""

from __future__ import annotations

import operator
import os
import sys
import traceback
from functools import cache, reduce
from typing import TYPE_CHECKING, Any, NoReturn

from evener.errors import MpiError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from numpy.typing import NDArray

__all__ = ["MpiWorld", "launched_ranks", "mpi_world", "ranks_on_this_machine"]

_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {"sum": operator.add, "min": min, "max": max}
# Variables with the number of ranks: of MPICH, Intel MPI and Slurm's PMI, and of Open MPI.
_SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE")
# Variables with the number of ranks on this machine.
_LOCAL_SIZES = ("MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE")


def launched_ranks() -> int:
    """Return the number of ranks that an MPI launcher started; 1 without a launcher."""
    return _number_in(_SIZES)


def ranks_on_this_machine() -> int:
    """Return the number of ranks that an MPI launcher started on this machine; 1 if it does not say."""
    return _number_in(_LOCAL_SIZES)


def _number_in(variables: tuple[str, ...]) -> int:
    values = [os.environ[name] for name in variables if name in os.environ]
    return max(1, int(values[0])) if values and values[0].isdigit() else 1


@cache
def mpi_world() -> MpiWorld | None:
    """Return the world of an MPI job of several ranks, None for a single process.

    Raises
    ------
    MpiError
        If a launcher started several ranks, and mpi4py or its MPI library cannot be used.
    """
    ranks = launched_ranks()
    if ranks == 1:
        return None
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        why = str(error).partition("\n")[0]
        msg = (
            f"an MPI launcher started {ranks} ranks, but mpi4py cannot be used ({why}); "
            'pip install "evener[mpi]"'
        )
        raise MpiError(msg) from error
    if MPI.COMM_WORLD.size != ranks:
        msg = (
            f"an MPI launcher started {ranks} ranks, but mpi4py found {MPI.COMM_WORLD.size}; start the job "
            "with the launcher of the MPI library that mpi4py uses"
        )
        raise MpiError(msg)
    return MpiWorld(MPI)


class MpiWorld:
    """All ranks of an MPI job.

    An error that a rank does not handle ends all ranks.

    Parameters
    ----------
    mpi : module
        ``mpi4py.MPI``.
    """

    def __init__(self, mpi: Any) -> None:
        self._mpi = mpi
        # Messages between partitions do not meet messages of the caller, or collective operations.
        self._collective = mpi.COMM_WORLD.Dup()
        self._messages = mpi.COMM_WORLD.Dup()
        self.rank = int(self._collective.rank)
        self.size = int(self._collective.size)
        self._excepthook, sys.excepthook = sys.excepthook, self._end_all

    def allreduce(self, value: Any, operation: str) -> Any:
        """Return the values of all ranks, reduced."""
        combine = _OPERATIONS[operation]
        values = self._collective.allgather(value)  # one message for a tuple of integers and floats
        if isinstance(value, tuple):
            return tuple(reduce(combine, column) for column in zip(*values, strict=True))
        return reduce(combine, values)

    def allgather(self, value: Any) -> list[Any]:
        """Return the values of all ranks, in the order of ranks."""
        return list(self._collective.allgather(value))

    def barrier(self) -> None:
        """Wait until every rank has called this method."""
        self._collective.Barrier()

    def post(self, rank: int, tag: int, array: NDArray[Any]) -> Any:
        """Begin to send an array to another rank."""
        return self._messages.Isend([array, self._mpi.BYTE], rank, tag), array

    def fetch(self, rank: int, tag: int, array: NDArray[Any]) -> None:
        """Receive an array that another rank posted."""
        self._messages.Recv([array, self._mpi.BYTE], rank, tag)

    def wait(self, posted: list[Any]) -> None:
        """Wait until posted arrays may change."""
        self._mpi.Request.Waitall([request for request, _ in posted])

    def abort(self, error: BaseException) -> NoReturn:
        """Print the error and end all ranks."""
        self._end_all(type(error), error, error.__traceback__)
        raise error

    def _end_all(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        lines = traceback.format_exception(kind, error, trace)
        sys.stdout.flush()
        sys.stderr.write(f"rank {self.rank} of {self.size} failed:\n" + "".join(lines))
        sys.stderr.flush()
        self._mpi.COMM_WORLD.Abort(1)
