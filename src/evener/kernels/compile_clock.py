"""A clock of the time that this process spends compiling kernels, or loading compiled kernels from the cache.

Each kernel is compiled or loaded once, in the first run that needs it. The clock separates this time from the
run's own time. Garbage collection pauses while the clock runs: Numba makes millions of objects and little
garbage, and collections would take a tenth of the time.
"""

from __future__ import annotations

import gc
import os
from contextlib import contextmanager
from threading import RLock
from time import perf_counter
from typing import TYPE_CHECKING, Any

from numba.core import event

from evener.system.log import log
from evener.system.world import prints

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["announce", "compile_seconds", "compiles", "compiling"]


# The variable that silences the announcement, for scripts that read standard error.
_QUIET = "EVENER_QUIET"


class _Clock:
    """A clock that runs while at least one thread compiles."""

    def __init__(self) -> None:
        self._seconds, self._active, self._since = 0.0, 0, 0.0
        self._collects = False  # whether garbage collection was on when the clock started
        self._lock = RLock()

    def start(self) -> None:
        with self._lock:
            if self._active == 0:
                self._since = perf_counter()
                self._collects = gc.isenabled()
                gc.disable()
            self._active += 1

    def stop(self) -> None:
        with self._lock:
            self._active -= 1
            if self._active == 0:
                self._seconds += perf_counter() - self._since
                if self._collects:
                    gc.enable()

    @property
    def seconds(self) -> float:
        with self._lock:
            return self._seconds + (perf_counter() - self._since if self._active else 0.0)


class _NumbaListener(event.Listener):  # type: ignore[misc] # Numba has no types
    """Runs the clock while Numba compiles a kernel or looks for it on disk."""

    def on_start(self, _: Any) -> None:
        _clock.start()

    def on_end(self, _: Any) -> None:
        _clock.stop()


class _Compilations(event.Listener):  # type: ignore[misc] # Numba has no types
    """Counts the nested compilations, and announces the first kernel of Evener that is not in the cache."""

    active = 0  # Numba's lock lets one thread compile

    def on_start(self, begun: Any) -> None:
        self.active += 1
        if str(begun.data["dispatcher"].py_func.__module__).startswith("evener."):
            announce()

    def on_end(self, _: Any) -> None:
        self.active -= 1


_announced = False


def announce() -> None:
    """Log that kernels are compiled, once in a process and before the first of them."""
    global _announced
    if _announced or os.environ.get(_QUIET) or not prints():
        return
    _announced = True
    log.warning(
        "compiling kernels, in the first run only; this takes some seconds (evener warmup does it ahead)"
    )


_clock = _Clock()
event.register("numba:compiler_lock", _NumbaListener())
_compilations = _Compilations()
event.register("numba:compile", _compilations)


def compiles() -> bool:
    """Return whether a kernel is being compiled, by the thread that holds Numba's lock."""
    return _compilations.active > 0


@contextmanager
def compiling() -> Iterator[None]:
    """Run the clock during a block that compiles or loads kernels."""
    _clock.start()
    try:
        yield
    finally:
        _clock.stop()


def compile_seconds() -> float:
    """Return the seconds spent so far. Time in which several threads compile counts once."""
    return _clock.seconds
