"""Fake ranks: threads of one process instead of MPI processes."""

from __future__ import annotations

import operator
import threading
from collections import defaultdict, deque
from functools import reduce
from time import monotonic
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from evener.errors import EvenerError
from evener.system.world import enter_world

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from evener.system.world import Operation, World

    T = TypeVar("T")

__all__ = ["RankError", "run_ranks"]

_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {"sum": operator.add, "min": min, "max": max}


class RankError(EvenerError):
    """A collective operation failed because of another rank."""


def run_ranks(size: int, function: Callable[[World], T], *, timeout: float = 60.0) -> list[T]:
    """Run a function on several ranks, each on a thread, and return their values in the order of ranks.

    Parameters
    ----------
    size : int
        The number of ranks.
    function : callable
        Called on each rank with its `World`.
    timeout : float, default 60.0
        The maximum seconds that a rank waits for other ranks in one collective operation.

    Returns
    -------
    list

    Raises
    ------
    BaseException
        The first error of a rank. Other ranks end with a `RankError` at their next collective operation.
    """
    meeting = _Meeting(size, timeout)
    values: list[Any] = [None] * size

    def run(rank: int) -> None:
        try:
            world = _Rank(meeting, rank)
            enter_world(world)
            values[rank] = function(world)
        except BaseException as error:  # noqa: BLE001 - raised by the calling thread
            meeting.fail(rank, error)
        else:
            meeting.leave(rank)

    threads = [threading.Thread(target=run, args=(rank,), name=f"rank {rank}") for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if meeting.error is not None:
        raise meeting.error
    return values


class _Expected:
    """An array that another rank will post."""

    def __init__(self, route: tuple[int, int, int], array: NDArray[Any]) -> None:
        self.route = route
        self.array = array
        self.arrived = False


class _Rank:
    """The world of one fake rank."""

    sends_gpu_memory = False

    def __init__(self, meeting: _Meeting, rank: int) -> None:
        self.rank = rank
        self.size = meeting.size
        self.host = "this machine"
        self.local_rank = rank
        self.recovery = ""
        self.calls = self.made = 0
        self._expected: defaultdict[tuple[int, int, int], deque[_Expected]] = defaultdict(deque)
        self._meeting = meeting

    def allreduce(self, value: Any, operation: Operation) -> Any:
        values = self._meeting.exchange(self.rank, f"allreduce({operation!r})", value)
        combine = _OPERATIONS[operation]
        if isinstance(value, tuple):
            return tuple(reduce(combine, column) for column in zip(*values, strict=True))
        return reduce(combine, values)

    def allgather(self, value: Any) -> list[Any]:
        return self._meeting.exchange(self.rank, "allgather", value)

    def alltoall(self, arrays: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        of_ranks = self._meeting.exchange(self.rank, "alltoall", [array.copy() for array in arrays])
        return [of_rank[self.rank] for of_rank in of_ranks]

    def post(self, rank: int, tag: int, array: NDArray[Any]) -> Any:
        self._meeting.post((self.rank, rank, tag), array.copy())

    def expect(self, rank: int, tag: int, array: NDArray[Any]) -> Any:
        expected = _Expected((rank, self.rank, tag), array)
        self._expected[expected.route].append(expected)
        return expected

    def wait(self, messages: list[Any]) -> None:
        """Wait for expected arrays; posted arrays were copied."""
        for expected in messages:
            while expected is not None and not expected.arrived:
                posted = self._meeting.fetch(expected.route)
                oldest = self._expected[expected.route].popleft()
                assert posted.dtype == oldest.array.dtype, "ranks expect arrays of different types"
                oldest.array[: len(posted)] = posted
                oldest.arrived = True

    def barrier(self) -> None:
        self._meeting.exchange(self.rank, "barrier", None)

    def end_unless_all_fail(self, error: BaseException) -> None:
        """Return: the other ranks end when this rank returns or fails."""

    def end(self, sentence: str) -> None:
        self._meeting.fail(self.rank, RankError(sentence))


class _Meeting:
    """Synchronize the collective operations of all ranks.

    Attributes
    ----------
    error : BaseException or None
        The first error of a rank.
    """

    def __init__(self, size: int, timeout: float) -> None:
        self.size = size
        self.error: BaseException | None = None
        self._timeout = timeout
        self._changed = threading.Condition()
        self._round = 0
        self._arrived: dict[int, tuple[str, Any]] = {}
        self._values: list[Any] = []
        self._left: set[int] = set()
        self._failed = ""
        self._posted: defaultdict[tuple[int, int, int], deque[NDArray[Any]]] = defaultdict(deque)

    def post(self, route: tuple[int, int, int], array: NDArray[Any]) -> None:
        """Keep an array for the rank that fetches it."""
        with self._changed:
            self._posted[route].append(array)
            self._changed.notify_all()

    def fetch(self, route: tuple[int, int, int]) -> NDArray[Any]:
        """Return the oldest array that was posted, once there is one."""
        with self._changed:
            until = monotonic() + self._timeout
            while not self._posted[route]:
                self._check(route[1], "fetch")
                if not self._changed.wait(until - monotonic()):
                    self._fail(f"rank {route[1]} waited {self._timeout:g} s for an array of rank {route[0]}")
            return self._posted[route].popleft()

    def exchange(self, rank: int, operation: str, value: Any) -> list[Any]:
        """Return the values of all ranks, once all have called this with the same operation."""
        with self._changed:
            self._check(rank, operation)
            if others := {one for one, _ in self._arrived.values()} - {operation}:
                self._fail(f"rank {rank} called {operation}, and other ranks called {', '.join(others)}")
            self._arrived[rank] = operation, value
            turn = self._round
            if len(self._arrived) == self.size:
                self._values = [self._arrived[other][1] for other in range(self.size)]
                self._arrived = {}
                self._round += 1
                self._changed.notify_all()
                return list(self._values)
            until = monotonic() + self._timeout
            while self._round == turn:
                self._check(rank, operation)
                if not self._changed.wait(until - monotonic()) and self._round == turn:
                    self._fail(f"rank {rank} waited {self._timeout:g} s in {operation} for {self._missing()}")
            # The next round cannot end before this rank has arrived in it.
            return list(self._values)

    def leave(self, rank: int) -> None:
        """Record that a rank has returned; ranks that still wait for it fail."""
        with self._changed:
            self._left.add(rank)
            self._changed.notify_all()

    def fail(self, rank: int, error: BaseException) -> None:
        """Record that a rank has failed, and end all others."""
        with self._changed:
            if self.error is None:
                self.error = error
            if not self._failed:
                self._failed = f"rank {rank} failed: {type(error).__name__}: {error}"
            self._changed.notify_all()

    def _check(self, rank: int, operation: str) -> None:
        """Raise an error if this operation cannot end."""
        if self._failed:
            raise RankError(self._failed)
        if self._left:
            self._fail(f"rank {rank} called {operation}, and rank {min(self._left)} has returned without it")

    def _fail(self, sentence: str) -> NoReturn:
        error = RankError(sentence)
        self._failed = sentence
        if self.error is None:
            self.error = error
        self._changed.notify_all()
        raise error

    def _missing(self) -> str:
        missing = [rank for rank in range(self.size) if rank not in self._arrived]
        return f"rank {missing[0]}" if len(missing) == 1 else f"ranks {', '.join(map(str, missing))}"
