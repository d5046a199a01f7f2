"""The ranks of an MPI job, through mpi4py."""

from __future__ import annotations

import atexit
import ctypes
import operator
import os
import pickle
import struct
import sys
import threading
import traceback
from functools import cache, reduce
from time import sleep
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import MpiError, printable
from evener.system.failure import FailureReport
from evener.system.lifeline import Lifeline
from evener.system.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import TracebackType

    from numpy.typing import NDArray

__all__ = ["ENDED", "MpiWorld", "await_loss", "launched_rank", "launched_ranks", "mpi_world"]

_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {"sum": operator.add, "min": min, "max": max}
# Variables with the number of ranks and of this rank: of MPICH, Intel MPI and Slurm's PMI, and of Open MPI.
_SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE")
_RANKS = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK")
# With PMIx, Slurm sets the number of ranks in a variable of its own.
_PMIX_RANK, _SLURM_SIZE = "PMIX_RANK", "SLURM_STEP_NUM_TASKS"
# Bytes in the largest message: MPI counts them in an int32.
_PIECE = 1 << 30
# Bytes of the message of a rank in `allgather`, and of the length at its begin. Longer values need a second.
_SLOT, _HEAD = 256, 8
# Seconds that the launcher has to end this rank after the loss of another.
_ABORTING = 2.0
# Seconds in which the other ranks can fail too before the error of a rank in a collective call ends them.
_ALONE = 5.0
# Tags of the messages about errors. MPI promises no larger tags.
_TAGS = 1 << 15
# The header of a rank that has ended, in place of that of a call: see `evener.system.agreement`.
ENDED = "the end of the program", None, b""
# Seconds in which a lifeline notices that a machine is out of reach, and ends the job.
_NOTICING = 22.0


def launched_ranks() -> int:
    """Return the number of ranks that an MPI launcher started; 1 without a launcher."""
    sizes = (*_SIZES, _SLURM_SIZE) if _PMIX_RANK in os.environ else _SIZES
    return max(1, _number_in(sizes))


def launched_rank() -> int:
    """Return the number of this rank that an MPI launcher set; 0 without a launcher."""
    return _number_in(_RANKS)


def _number_in(variables: tuple[str, ...]) -> int:
    values = [os.environ[name] for name in variables if name in os.environ]
    return int(values[0]) if values and values[0].isdigit() else 0


@cache
def mpi_world() -> MpiWorld | None:
    """Return the world of an MPI job of several ranks, None for a single process.

    Raises
    ------
    MpiError
        If a launcher started several ranks, and mpi4py or its MPI library cannot be used. If ranks have
        different versions of Evener.
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


def await_loss(error: BaseException) -> bool:
    """Return whether an error is of the MPI library.

    The usual cause of such an error is the loss of another rank. So the function first waits for a lifeline,
    which ends the job with the name of the lost rank.
    """
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is None or not isinstance(error, mpi.Exception):
        return False
    sleep(_NOTICING)
    return True


class MpiWorld:
    """All ranks of an MPI job.

    An error that a rank does not handle ends all ranks.

    Parameters
    ----------
    mpi : module
        ``mpi4py.MPI``.

    Attributes
    ----------
    host : str
        The name of this machine.
    local_rank : int
        The number of this rank among the ranks of this machine.
    cores : int
        The cores of this rank. Ranks divide the cores that several of them may use.
    recovery : str
        How a user continues after the loss of a rank, for the message.
    sends_gpu_memory : bool
        Whether the MPI library says that messages can be in GPU memory.
    calls, made : int
        As in `World`.
    """

    def __init__(self, mpi: Any) -> None:
        self._mpi = mpi
        # Messages between partitions do not meet messages of the caller, or collective operations.
        self._collective = mpi.COMM_WORLD.Dup()
        self._messages = mpi.COMM_WORLD.Dup()
        self._errors = mpi.COMM_WORLD.Dup()
        self._failures = mpi.COMM_WORLD.Dup()
        self.recovery = ""
        self.calls = self.made = 0
        self.rank = int(self._collective.rank)
        self.size = int(self._collective.size)
        self.host = str(mpi.Get_processor_name())
        self._slot = bytearray(_SLOT)
        self._slots = bytearray(_SLOT * self.size)
        self._excepthook, sys.excepthook = sys.excepthook, self._end_all
        local = mpi.COMM_WORLD.Split_type(mpi.COMM_TYPE_SHARED)
        self.local_rank = int(local.rank)
        usable = _usable_cores()
        users = [core for cores in local.allgather(usable) for core in cores]
        self.cores = max(1, int(sum(1 / users.count(core) for core in usable) + 1e-6))
        local.Free()
        self.sends_gpu_memory = _sends_gpu_memory(mpi.__file__)
        versions = self.allgather(__version__)
        for rank, version in enumerate(versions):
            if version != versions[0]:
                msg = (
                    f"expected the same version of Evener on all ranks, found {versions[0]} on rank 0 and "
                    f"{version} on rank {rank}; install one version on all machines"
                )
                raise MpiError(msg)
        self._lifeline = Lifeline(self.rank, self.host, self.allgather, self.end)
        atexit.register(self._await_ends, os.getpid())  # runs before the lifeline says goodbye

    def allreduce(self, value: Any, operation: str) -> Any:
        """Return the values of all ranks, reduced."""
        combine = _OPERATIONS[operation]
        values = self.allgather(value)
        if isinstance(value, tuple):
            return tuple(reduce(combine, column) for column in zip(*values, strict=True))
        return reduce(combine, values)

    def allgather(self, value: Any) -> list[Any]:
        """Return the values of all ranks, in the order of ranks.

        Values of up to 248 bytes are gathered by one collective operation.
        """
        content = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        short = content[: _SLOT - _HEAD]
        struct.pack_into("<q", self._slot, 0, len(content))
        self._slot[_HEAD : _HEAD + len(short)] = short
        byte = self._mpi.BYTE
        self._collective.Allgather([self._slot, byte], [self._slots, byte])
        begins = range(0, _SLOT * self.size, _SLOT)
        lengths = [struct.unpack_from("<q", self._slots, begin)[0] for begin in begins]
        if max(lengths) <= _SLOT - _HEAD:
            slots = memoryview(self._slots)
            return [
                pickle.loads(slots[begin + _HEAD : begin + _HEAD + length])  # noqa: S301 - a rank of this job sent it
                for begin, length in zip(begins, lengths, strict=True)
            ]
        return list(self._collective.allgather(value))

    def alltoall(self, arrays: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        """Send one array to each rank, and return the array that each rank sent here."""
        lengths = self._collective.alltoall([len(array) for array in arrays])
        received = [np.empty(length, array.dtype) for length, array in zip(lengths, arrays, strict=True)]
        received[self.rank] = arrays[self.rank]
        requests = []
        for begin, array, rank in self._pieces(received):
            requests.append(self._collective.Irecv([array, self._mpi.BYTE], rank, begin // _PIECE))
        for begin, array, rank in self._pieces(arrays):
            requests.append(self._collective.Isend([array, self._mpi.BYTE], rank, begin // _PIECE))
        self._mpi.Request.Waitall(requests)
        return received

    def _pieces(self, arrays: Sequence[NDArray[Any]]) -> Iterator[tuple[int, NDArray[Any], int]]:
        """Yield the first byte, the bytes and the rank of pieces that one message can carry."""
        for rank, array in enumerate(arrays):
            if rank != self.rank:
                in_bytes = array.view(np.uint8)
                for begin in range(0, len(in_bytes), _PIECE):
                    yield begin, in_bytes[begin : begin + _PIECE], rank

    def barrier(self) -> None:
        """Wait until every rank has called this method."""
        self._collective.Barrier()

    def post(self, rank: int, tag: int, array: NDArray[Any]) -> Any:
        """Begin to send an array to another rank."""
        return self._messages.Isend([array, self._mpi.BYTE], rank, tag), array

    def expect(self, rank: int, tag: int, array: NDArray[Any]) -> Any:
        """Begin to receive an array that another rank posts."""
        return self._messages.Irecv([array, self._mpi.BYTE], rank, tag), array

    def wait(self, messages: list[Any]) -> None:
        """Wait until posted arrays may change, and expected arrays have arrived."""
        self._mpi.Request.Waitall([request for request, _ in messages])

    def end_unless_all_fail(self, error: BaseException) -> None:
        """Return if all ranks have failed in this collective call; else end all ranks.

        The other ranks would wait forever for this rank.
        """
        message = "".join(traceback.format_exception(error)).rstrip("\n")
        report = FailureReport(self._mpi, self._errors, tag=self.calls % _TAGS)
        if not report.is_of_all_ranks(message, 1, "", seconds=_ALONE, prints_common=False):
            self._lifeline.leave()
            self._mpi.COMM_WORLD.Abort(report.status)

    def _await_ends(self, process: int) -> None:
        """Wait until all ranks have ended. A rank that calls a collective operation instead gets an error."""
        if os.getpid() == process and not self._mpi.Is_finalized():
            while any(header != ENDED for header in self.allgather(ENDED)):
                pass

    def fail(self, message: str, status: int, program: str = "") -> None:
        """Report the failure of this rank. Return if all ranks have failed; else end all ranks.

        Ranks with the same message print it once, after `program`. `status` is the exit status of the job.
        """
        report = FailureReport(self._mpi, self._failures)
        if not report.is_of_all_ranks(message, status, program):
            self._lifeline.leave()
            self._mpi.COMM_WORLD.Abort(report.status)

    def end(self, sentence: str) -> None:
        """End all ranks, also if other threads wait for lost ranks."""
        recovery = f"; to continue, run {self.recovery}" if self.recovery else ""
        print(printable(f"evener: {sentence}{recovery}"), file=sys.stderr, flush=True)  # noqa: T201 - the end of the program
        threading.Timer(_ABORTING, os._exit, (1,)).start()  # an abort may wait for the lost rank
        self._mpi.COMM_WORLD.Abort(1)

    def _end_all(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        await_loss(error)
        self.fail("".join(traceback.format_exception(kind, error, trace)).rstrip("\n"), 1)


def _sends_gpu_memory(file: str) -> bool:
    """Return the answer of the MPI library that a module is linked with; a library that has none cannot."""
    query = getattr(ctypes.CDLL(file), "MPIX_Query_cuda_support", None)
    return query is not None and bool(query())


def _usable_cores() -> list[int]:
    """Return the numbers of the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))
