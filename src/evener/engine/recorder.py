"""The recorder: the timeline of a run, its counts of active vertices, and its progress."""

from __future__ import annotations

import weakref
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Any

from evener.engine.timeline import Progress, Slice, Span, Timeline
from evener.errors import ArgumentError
from evener.kernels.compile_clock import compile_seconds
from evener.system.notebook import new_bar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from evener.engine.executor import StepsDone

__all__ = ["Recorder"]

# Recorded steps whose times are not known yet. Their results have slots in elements/cuda/scratch.py.
MAX_PENDING = 64


class Recorder:
    """Records the supersteps of a run of an algorithm on elements with these names.

    `progress` is called with a `Progress` as each superstep begins. Without it, a notebook shows a progress
    bar. `ends` is how often a superstep's number of edges counts each edge: 2 if from both ends.
    """

    def __init__(
        self,
        algorithm: str,
        names: Sequence[str],
        progress: Callable[[Progress], None] | None,
        ends: int,
    ) -> None:
        self.timeline = Timeline()
        self.algorithm = algorithm
        self._names = names
        self._progress = progress
        self._bar = new_bar(algorithm) if progress is None else None
        if self._bar is not None:
            weakref.finalize(self, self._bar.stop)  # if the run fails and the cell goes on
        self._ends = ends
        self._began = perf_counter()
        self._compiled = compile_seconds()
        self._superstep = -1
        self._merges = False
        self._edges = 0
        self._spans: list[Span] = []
        self._pending: list[tuple[list[Span], Sequence[StepsDone], bool]] = []
        self._next_active = [0] * len(names)

    @property
    def seconds(self) -> float:
        """The seconds since the run began, with those of `count_earlier`."""
        return perf_counter() - self._began

    def count_earlier(self, seconds: float) -> None:
        """Let the run begin earlier, because it continues another run of these seconds."""
        self._began -= seconds
        self.timeline.earlier_seconds = seconds

    def begin(self, phase: str, active: Sequence[int] | None, edges: int, fraction: float | None) -> None:
        """Begin a superstep, and report progress."""
        if self._merges:
            return
        self._superstep += 1
        counts = self._next_active if active is None else active
        self._next_active = [0] * len(self._names)
        self._spans = [
            Span(self._superstep, phase, name, active=count)
            for name, count in zip(self._names, counts, strict=True)
        ]
        for span in self._spans:
            self.timeline.add(span)
        if self._progress is not None:
            seconds = self.seconds
            rate = self._edges / self._ends / seconds if self._edges else None
            self._progress(
                Progress(self.algorithm, self._superstep, phase, sum(counts), seconds, rate, fraction)
            )
        elif self._bar is not None:
            done = f"{self.algorithm}: superstep {self._superstep}"
            self._bar.show(f"{done}, {sum(counts):,} vertices active", fraction)
        self._edges += edges

    @contextmanager
    def merged_supersteps(self) -> Iterator[None]:
        """Count the supersteps that begin in a ``with`` statement as a part of the superstep before it.

        Their active vertices do not count.
        """
        self._merges = True
        try:
            yield
        finally:
            self._merges = False

    def count_active(self, results: Sequence[Any], *, now: bool, next_superstep: bool) -> None:
        """Record the first value of each result as the active vertices of this superstep, or of the next.

        With both, the second value is that of the next. Raise ArgumentError if a kernel returned too few.
        """
        if self._merges:
            return
        if now:
            for span, count in zip(self._spans, _counts(results, 0), strict=False):
                span.active = count
        if next_superstep:
            for p, count in enumerate(_counts(results, int(now))):
                self._next_active[p] += count

    def computed(self, since: float, until: float) -> None:
        """Record that the only element computed between two host times."""
        for span in self._spans:
            span.compute += until - since
            self._add_slice(span, "compute", since, until)

    def sent(self, since: float, until: float, nbytes: Sequence[int]) -> None:
        """Record that the rank sent bytes of each element between two host times."""
        for span, count in zip(self._spans, nbytes, strict=False):
            span.send += until - since
            span.bytes_sent += count
            self._add_slice(span, "send", since, until)

    def add(self, done: Sequence[StepsDone], *, in_turn: bool) -> None:
        """Record the steps of all elements; `settle` adds their times and bytes to the timeline.

        `in_turn` is whether the elements ran one after another, so that none waited for another.
        """
        self._pending.append((self._spans, done, in_turn))
        if len(self._pending) >= MAX_PENDING:
            self.settle()

    def settle(self) -> None:
        """Add the times and the bytes of all recorded steps to the timeline, after waiting for them."""
        for spans, done, in_turn in self._pending:
            times = [one.element.times(one.marks) for one in done]
            began, ended = min(own[0] for own in times), max(own[-1] for own in times)
            for span, one, own in zip(spans, done, times, strict=False):
                if not in_turn:
                    span.wait += own[0] - began + ended - own[-1]
                since = own[0]
                for (phase, _, _), value, until in zip(one.steps, one.values, own[1:], strict=True):
                    setattr(span, phase, getattr(span, phase) + until - since)
                    self._add_slice(span, phase, since, until)
                    since = until
                    if phase != "compute":
                        for sender, nbytes in value:
                            spans[sender].bytes_sent += nbytes() if callable(nbytes) else nbytes
        self._pending = []

    def finish(self) -> float:
        """End the timeline and return the seconds of the run. Later work and later calls are not measured."""
        if not self.timeline.seconds:
            self.timeline.seconds = self.seconds
            self.timeline.compile_seconds = compile_seconds() - self._compiled
        self.settle()
        self._spans = []
        if self._bar is not None:
            count = self._superstep + 1
            self._bar.close(f"{self.algorithm}: {count} superstep{'' if count == 1 else 's'}")
        return self.timeline.seconds

    def _add_slice(self, span: Span, activity: str, since: float, until: float) -> None:
        begin, end = since - self._began, until - self._began
        self.timeline.add_slice(Slice(span.superstep, span.phase, span.element, activity, begin, end))


def _counts(results: Sequence[Any], place: int) -> list[int]:
    """Return the value of each element's result at a place, as a number of vertices."""
    values = [result if isinstance(result, tuple) else (result,) for result in results]
    if None in results or any(len(own) <= place for own in values):
        msg = (
            "count_next_active= and count_active=: expected a kernel that returns a count, found one without "
            "results; return the number of active vertices first, for both arguments two numbers"
        )
        raise ArgumentError(msg)
    return [int(own[place]) for own in values]
