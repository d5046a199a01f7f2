"""Fake ranks: threads of one process instead of MPI processes.

MPI promises little about when a message moves. Fake ranks move it at the last or the first time that MPI
allows, and one rank can always be late. So a fault that needs an unlucky timing appears in every run.
"""

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
    from collections.abc import Callable, Collection, Sequence

    from numpy.typing import NDArray

    from evener.system.world import Operation, World

    T = TypeVar("T")

    # The sending rank, the receiving rank, and the tag.
    Route = tuple[int, int, int]

__all__ = ["RankError", "run_ranks"]

_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {"sum": operator.add, "min": min, "max": max}


class RankError(EvenerError):
    """A collective operation failed because of another rank."""


def run_ranks(
    size: int,
    function: Callable[[World], T],
    *,
    timeout: float = 60.0,
    eager: bool = False,
    late: int | None = None,
) -> list[T]:
    """Run a function on several ranks, each on a thread, and return their values in the order of ranks.

    Parameters
    ----------
    size : int
        The number of ranks.
    function : callable
        Called on each rank with its `World`.
    timeout : float, default 60.0
        The maximum seconds that a rank waits for other ranks in one collective operation.
    eager : bool, default False
        When messages move. By default, the receiver reads a posted array when it waits for the array, and the
        sender waits until then, as for large messages of MPI. An eager message arrives as early as possible:
        once its receive is posted. Its sender does not wait, as for small messages of MPI.
    late : int, optional
        A rank that waits for its messages only when no other rank can go on.

    Returns
    -------
    list

    Raises
    ------
    BaseException
        The first error of a rank. Other ranks end with a `RankError` at their next collective operation.
    """
    meeting = _Meeting(size, timeout, eager=eager, late=late)
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


class _Message:
    """An array that a rank posts or expects.

    Attributes
    ----------
    route : (int, int, int)
    array : ndarray
    done : bool
        Whether a posted array may change, or an expected array has arrived.
    """

    def __init__(self, route: Route, array: NDArray[Any]) -> None:
        self.route = route
        self.array = array
        self.done = False


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
        return self._meeting.post((self.rank, rank, tag), array)

    def expect(self, rank: int, tag: int, array: NDArray[Any]) -> Any:
        return self._meeting.expect((rank, self.rank, tag), array)

    def wait(self, messages: list[Any]) -> None:
        """Receive the expected arrays first, because other ranks may wait for this."""
        if messages:
            self._meeting.let_others_go_on(self.rank)
        for message in sorted(messages, key=lambda message: message.route[0] == self.rank):
            self._meeting.finish(self.rank, message)

    def notify(self) -> None:
        """Let ranks in `await_event` look again."""
        self._meeting.notify()

    def await_event(self, ready: Callable[[], bool], doing: str) -> None:
        """Wait until `ready` returns True, for messages that a test sends outside of this world."""
        self._meeting.await_event(self.rank, ready, doing)

    def barrier(self) -> None:
        self._meeting.exchange(self.rank, "barrier", None)

    def end_unless_all_fail(self, error: BaseException) -> None:
        """Return: the other ranks end when this rank returns or fails."""

    def end(self, sentence: str) -> None:
        self._meeting.fail(self.rank, RankError(sentence))


class _Meeting:
    """Synchronize the operations of all ranks.

    Attributes
    ----------
    error : BaseException or None
        The first error of a rank.
    """

    def __init__(self, size: int, timeout: float, *, eager: bool, late: int | None) -> None:
        self.size = size
        self.error: BaseException | None = None
        self._timeout = timeout
        self._eager = eager
        self._late = late
        self._changed = threading.Condition()
        self._round = 0
        self._arrived: dict[int, tuple[str, Any]] = {}
        self._values: list[Any] = []
        self._left: set[int] = set()
        # The ranks that cannot go on before something changes.
        self._waiting: set[int] = set()
        self._failed = ""
        # The posted and the expected arrays of each route that have not met, oldest first.
        self._posted: defaultdict[Route, deque[_Message]] = defaultdict(deque)
        self._expected: defaultdict[Route, deque[_Message]] = defaultdict(deque)

    def post(self, route: Route, array: NDArray[Any]) -> _Message:
        """Return a message that the receiver takes later, or that has arrived or is a copy if eager."""
        with self._changed:
            message = _Message(route, array)
            self._posted[route].append(message)
            if self._eager:
                self._deliver(route)
                if not message.done:
                    message.array, message.done = array.copy(), True
            self._change()
            return message

    def expect(self, route: Route, array: NDArray[Any]) -> _Message:
        """Return a message that arrives in an array."""
        with self._changed:
            message = _Message(route, array)
            self._expected[route].append(message)
            if self._eager:
                self._deliver(route)
            return message

    def finish(self, rank: int, message: _Message) -> None:
        """Wait until an expected array has arrived, or until a posted array may change."""
        route = message.route
        with self._changed:
            if rank == route[0]:
                doing = f"for rank {route[1]} to receive an array"
                self._await(rank, lambda: message.done, "wait", doing, route[1:2])
            while not message.done:
                doing = f"for an array of rank {route[0]}"
                self._await(rank, lambda: message.done or bool(self._posted[route]), "wait", doing, route[:1])
                self._deliver(route)

    def _deliver(self, route: Route) -> None:
        """Copy the oldest posted array of a route to the oldest array that expects it, if there are both."""
        if self._posted[route] and self._expected[route]:
            posted, expected = self._posted[route].popleft(), self._expected[route].popleft()
            assert posted.array.dtype == expected.array.dtype, "ranks expect arrays of different types"
            expected.array[: len(posted.array)] = posted.array
            posted.done = expected.done = True
            self._change()

    def let_others_go_on(self, rank: int) -> None:
        """If this is the late rank, wait until no other rank can go on."""
        if rank == self._late:
            others = set(range(self.size)) - {rank}
            with self._changed:
                self._await(rank, lambda: others <= self._waiting | self._left, "wait", "to be late")

    def exchange(self, rank: int, operation: str, value: Any) -> list[Any]:
        """Return the values of all ranks, once all have called this with the same operation."""
        with self._changed:
            everyone = range(self.size)
            self._check(rank, operation, everyone)
            if others := {one for one, _ in self._arrived.values()} - {operation}:
                self._fail(f"rank {rank} called {operation}, and other ranks called {', '.join(others)}")
            self._arrived[rank] = operation, value
            turn = self._round
            if len(self._arrived) == self.size:
                self._values = [self._arrived[other][1] for other in everyone]
                self._arrived = {}
                self._round += 1
                self._change()
                return list(self._values)
            self._await(rank, lambda: self._round != turn, operation, f"in {operation}", everyone)
            # The next round cannot end before this rank has arrived in it.
            return list(self._values)

    def notify(self) -> None:
        """Let ranks in `await_event` look again."""
        with self._changed:
            self._change()

    def await_event(self, rank: int, ready: Callable[[], bool], doing: str) -> None:
        """Wait until `ready` returns True."""
        with self._changed:
            self._await(rank, ready, "wait", doing)

    def leave(self, rank: int) -> None:
        """Record that a rank has returned; ranks that still wait for it fail."""
        with self._changed:
            self._left.add(rank)
            self._change()

    def fail(self, rank: int, error: BaseException) -> None:
        """Record that a rank has failed, and end all others."""
        with self._changed:
            if self.error is None:
                self.error = error
            if not self._failed:
                self._failed = f"rank {rank} failed: {type(error).__name__}: {error}"
            self._change()

    def _change(self) -> None:
        """Let waiting ranks look again."""
        self._waiting.clear()
        self._changed.notify_all()

    def _await(
        self, rank: int, ready: Callable[[], bool], operation: str, doing: str, of: Collection[int] = ()
    ) -> None:
        """Wait until `ready` returns True. Ranks `of` must not return before."""
        until = monotonic() + self._timeout
        while not ready():
            self._check(rank, operation, of)
            if rank not in self._waiting:
                self._waiting.add(rank)
                self._changed.notify_all()
            if not self._changed.wait(until - monotonic()) and not ready():
                missing = f" for {self._missing()}" if len(of) > 1 else ""
                self._fail(f"rank {rank} waited {self._timeout:g} s {doing}{missing}")
        self._waiting.discard(rank)

    def _check(self, rank: int, operation: str, of: Collection[int]) -> None:
        """Raise an error if this operation cannot end."""
        if self._failed:
            raise RankError(self._failed)
        if gone := self._left.intersection(of):
            self._fail(f"rank {rank} called {operation}, and rank {min(gone)} has returned without it")

    def _fail(self, sentence: str) -> NoReturn:
        error = RankError(sentence)
        self._failed = sentence
        if self.error is None:
            self.error = error
        self._change()
        raise error

    def _missing(self) -> str:
        missing = [rank for rank in range(self.size) if rank not in self._arrived]
        return f"rank {missing[0]}" if len(missing) == 1 else f"ranks {', '.join(map(str, missing))}"
