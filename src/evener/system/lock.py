"""Alone: what one process at a time does, of those that name the same file."""

from __future__ import annotations

import fcntl
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = ["alone"]


@contextmanager
def alone(path: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Wait until no other process is in such a block; where no file can be locked, go on without.

    Parameters
    ----------
    path : Path
        The file to lock. It is left behind: another process may be waiting for it.
    waiting : callable
        Called before others are waited for, if there are any.
    """
    with ExitStack() as held:
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            file = held.enter_context(path.open("ab"))
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                waiting()
                fcntl.flock(file, fcntl.LOCK_EX)
        yield
