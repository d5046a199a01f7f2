"""The failure of ranks: each message is printed once, and a failure of some ranks ends all."""

from __future__ import annotations

import sys
from time import monotonic, sleep
from typing import Any

__all__ = ["FailureReport", "in_words"]

# Seconds in which the other ranks can fail too before a failed rank ends them.
_GRACE = 2.0
# Seconds in which a rank of a lower number can end the job instead of this rank.
_TURN = 3.0
# Seconds that the launcher has to forward the printed message before the rank ends.
_FORWARD = 0.2
# Seconds between looks for messages.
_POLL = 0.005
# Characters of the longest message that is sent.
_LONGEST = 8000


class FailureReport:
    """Collects the messages of the ranks that fail at about the same time.

    `comm` is a communicator of all ranks, without other messages of the tag.
    """

    def __init__(self, mpi: Any, comm: Any, tag: int = 0) -> None:
        self._mpi = mpi
        self._comm = comm
        self._tag = tag
        self._reports: dict[int, tuple[str, int]] = {}

    @property
    def status(self) -> int:
        """The exit status of the job."""
        return max(status for _, status in self._reports.values()) or 1

    def is_of_all_ranks(
        self, message: str, status: int, program: str, *, seconds: float = _GRACE, prints_common: bool = True
    ) -> bool:
        """Report the failure of this rank, and return whether all ranks fail within some seconds.

        If not, the caller ends the others. The failed rank of the lowest number prints, with the name of the
        program first. A failure of all ranks is printed only if `prints_common` is true.
        """
        rank, size = self._comm.rank, self._comm.size
        self._reports[rank] = message[-_LONGEST:], status
        sent = [
            self._comm.isend(self._reports[rank], other, self._tag) for other in range(size) if other != rank
        ]
        self._collect(seconds)
        if rank == min(self._reports) and (prints_common or len(self._reports) < size):
            self._print(program)
            sleep(_FORWARD)
        if len(self._reports) == size:
            self._mpi.Request.Waitall(sent)
            return True
        if rank != min(self._reports):
            self._collect(_TURN)
        return False

    def _collect(self, seconds: float) -> None:
        """Receive messages until all ranks have failed, or for some seconds."""
        until, probed = monotonic() + seconds, self._mpi.Status()
        while len(self._reports) < self._comm.size and monotonic() < until:
            if self._comm.iprobe(tag=self._tag, status=probed):
                self._reports[probed.source] = self._comm.recv(source=probed.source, tag=self._tag)
            else:
                sleep(_POLL)

    def _print(self, program: str) -> None:
        by_message: dict[str, list[int]] = {}
        for rank in sorted(self._reports):
            by_message.setdefault(self._reports[rank][0], []).append(rank)
        for message, ranks in by_message.items():
            head = ""
            if len(ranks) < self._comm.size:
                head = (
                    f"{in_words(ranks)} of {self._comm.size} failed:{chr(10) if chr(10) in message else ' '}"
                )
            print(f"{program}{head}{message}", file=sys.stderr, flush=True)  # noqa: T201 - the end of the program


def in_words(ranks: list[int]) -> str:
    """Return ranks as words.

    Examples
    --------
    >>> in_words([2]), in_words([0, 1, 3])
    ('rank 2', 'ranks 0, 1 and 3')
    """
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    return f"ranks {', '.join(map(str, ranks[:-1]))} and {ranks[-1]}"
