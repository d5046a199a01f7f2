"""The clock of one GPU: the host's time at its events."""

from __future__ import annotations

import math
from time import perf_counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["EventClock"]

# Seconds after which the clock is reset, because elapsed times are float32 and clocks drift.
_RESET_AFTER = 1.0
# Marks that are kept. The engine reads marks before it has made as many; see engine/recorder.py.
_EVENTS = 1024


class EventClock:
    """Converts CUDA events to the host's time.

    Every method runs with the GPU as the current one.
    """

    def __init__(self) -> None:
        from cupy import cuda

        self._cuda: Any = cuda
        self._anchor: tuple[Any, float] = (None, -math.inf)
        self._events: list[Any] = []
        self._next = 0

    def mark(self) -> Any:
        """Return an event after all work queued so far. It is valid until many more are marked."""
        if not self._events:
            self._events = [self._cuda.Event() for _ in range(_EVENTS)]
        self._next = (self._next + 1) % _EVENTS
        event = self._events[self._next]
        event.record()
        return event

    def prepare(self) -> None:
        """Reset the clock unless it is recent."""
        if perf_counter() - self._anchor[1] > _RESET_AFTER / 2:
            self.reset()

    def reset(self) -> None:
        """Set the clock by a new event, after waiting for all earlier work."""
        event = self._cuda.Event()
        event.record()
        event.synchronize()
        self._anchor = (event, perf_counter())

    def times(self, events: Sequence[Any]) -> list[float]:
        """Return the host's time in seconds at each event, after waiting for the last one."""
        anchor, at = self._anchor
        events[-1].synchronize()
        elapsed = [at + self._cuda.get_elapsed_time(anchor, event) / 1e3 for event in events]
        if elapsed[-1] - at > _RESET_AFTER:
            self.reset()
        return elapsed
