"""The time this process has spent on making kernels ready: on compiling them, or loading compiled ones.

A process does that once for each kernel, in the middle of the first run that needs it, and a run should be
able to tell that time from its own.
"""

from __future__ import annotations

from contextlib import contextmanager
from threading import RLock
from time import perf_counter
from typing import TYPE_CHECKING, Any

from numba.core import event

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["making_ready", "seconds_spent"]


class _Clock:
    """Runs while anything is being made ready, on whichever threads."""

    def __init__(self) -> None:
        self._seconds, self._under_way, self._since = 0.0, 0, 0.0
        self._lock = RLock()

    def start(self) -> None:
        with self._lock:
            if self._under_way == 0:
                self._since = perf_counter()
            self._under_way += 1

    def stop(self) -> None:
        with self._lock:
            self._under_way -= 1
            if self._under_way == 0:
                self._seconds += perf_counter() - self._since

    @property
    def seconds(self) -> float:
        with self._lock:
            return self._seconds + (perf_counter() - self._since if self._under_way else 0.0)


class _Numba(event.Listener):  # type: ignore[misc] # Numba has no types
    """Starts the clock where Numba begins to compile a kernel, or to look for it on disk."""

    def on_start(self, _: Any) -> None:
        _clock.start()

    def on_end(self, _: Any) -> None:
        _clock.stop()


_clock = _Clock()
event.register("numba:compiler_lock", _Numba())


@contextmanager
def making_ready() -> Iterator[None]:
    """A block that makes kernels ready."""
    _clock.start()
    try:
        yield
    finally:
        _clock.stop()


def seconds_spent() -> float:
    """Seconds so far, those of work on several threads at once counted once."""
    return _clock.seconds
